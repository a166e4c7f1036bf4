"""The queue: jobs of a workspace that are done one after the other, by a small process that outlives the page.

`python -m tsdae_core.run_queue WORKSPACE` starts the next waiting job when no other run is being trained, and ends when none is
left or it is paused. The order is one file in WORKSPACE/.queue that whoever changes it writes and the process only reads; whether
a job still waits is told by its own status. An entry is a run's name, or the folder of another job, relative to the workspace,
such as the table of a sweep (.sweeps/NAME).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tsdae_core import launch
from tsdae_core.export import has_encoder, run_of_encoder
from tsdae_core.jobs import Job
from tsdae_core.records import read_json, why, write_json
from tsdae_core.runs import Run, find_run, list_runs

FOLDER = ".queue"
SWEEPS = ".sweeps"
PAUSE = 0.5
"""Seconds between two looks."""

AT_WORK = ("starting", "running", "stopping")
TABLE = "tsdae_core.evaluate.sweep"
"""What makes the table of a sweep, as a module of its own that is started by name."""


def queue_job(workspace: Path) -> Job:
    """The process that works through the queue, as a job: whether it lives, its log, the wish that it pauses."""
    return Job(workspace / FOLDER)


def order(workspace: Path) -> list[str]:
    """All entries in the order in which they are done, past ones included."""
    return [str(name) for name in read_json(workspace / FOLDER / "queue.json").get("order", [])]


def job_of(workspace: Path, entry: str) -> Job | None:
    """The job behind an entry; None when it is gone."""
    if entry.startswith(f"{SWEEPS}/"):
        job = Job(workspace / entry)
        return job if (job.path / "status.json").is_file() else None
    try:
        return find_run(workspace, entry)
    except ValueError:
        return None


def waiting(workspace: Path) -> list[tuple[str, Job]]:
    """The entries that still wait, next one first."""
    found = [(entry, job_of(workspace, entry)) for entry in order(workspace)]
    return [(entry, job) for entry, job in found if job is not None and job.state == "queued"]


def enqueue(workspace: Path, entries: Sequence[str]) -> None:
    """Put jobs at the end and see that the queue is worked through, unless it is paused.

    Raises:
        ValueError: for one that is not there.
    """
    for entry in entries:
        job = job_of(workspace, entry)
        if job is None:
            raise ValueError(f"there is no run {entry!r} to put into the queue")
        job.write_status(state="queued", phase="Waiting in the queue", error="", advice="")
    _write(workspace, [name for name in order(workspace) if name not in entries] + list(entries))
    if not paused(workspace):
        resume(workspace)


def move(workspace: Path, entry: str, *, by: int) -> None:
    """Let a waiting job come earlier (by < 0) or later. Raises `ValueError` when it does not wait."""
    names = [name for name, _ in waiting(workspace)]
    if entry not in names:
        raise ValueError(f"{entry} no longer waits in the queue")
    at = names.index(entry)
    names.insert(max(0, min(len(names) - 1, at + by)), names.pop(at))
    _write(workspace, [name for name in order(workspace) if name not in names] + names)


def halt(job: Job) -> None:
    """Stop a job: one that only waits leaves the queue, and can be started by hand later."""
    if job.state == "queued":
        begun = isinstance(job, Run) and bool(job.checkpoints())
        job.write_status(state="stopped" if begun else "new", phase="Taken off the queue")
    else:
        launch.stop(job)


def end(job: Job) -> None:
    """As `launch.kill`; one that only waits leaves the queue."""
    if job.state == "queued":
        halt(job)
    else:
        launch.kill(job)


def pause(workspace: Path) -> None:
    """Start no further job; the one that is being done goes on."""
    queue_job(workspace).request_stop()


def paused(workspace: Path) -> bool:
    """Whether somebody wished that no further job is started."""
    return queue_job(workspace).stop_requested()


def in_the_way(workspace: Path, devices: str) -> str:
    """The name of a run that is being trained on the devices that a setting names; "" when they are free."""
    for run in list_runs(workspace):
        if run.state in AT_WORK and (
            devices == run.config().devices or "auto" in (devices, run.config().devices)
        ):
            return run.name
    return ""


def resume(workspace: Path) -> None:
    """See that the queue is worked through, if anything waits."""
    job = queue_job(workspace)
    job.path.mkdir(parents=True, exist_ok=True)
    job.clear_stop()
    if waiting(workspace) and job.process() is None:
        root = str(workspace.resolve())
        launch.start_process(job, [sys.executable, "-m", "tsdae_core.run_queue", root])


def _write(workspace: Path, names: list[str]) -> None:
    (workspace / FOLDER).mkdir(parents=True, exist_ok=True)
    write_json(workspace / FOLDER / "queue.json", {"order": names})


def base_run(run: Run) -> Run | None:
    """The run whose encoder this one starts from, whether it is there yet or not; None for any other base."""
    base = Path(run.config().base_model)
    if base.name != "encoder" or base.parent.parent != run.path.resolve().parent:
        return None
    return Run(base.parent) if (base.parent / "status.json").is_file() else run_of_encoder(base)


def next_job(workspace: Path) -> Job | None:
    """The first waiting job that can start. One whose base can no longer come is told to have failed."""
    for _, job in waiting(workspace):
        base = base_run(job) if isinstance(job, Run) else None
        if base is None:
            return job
        state = base.state
        if state in ("queued", *AT_WORK):
            continue
        if has_encoder(base):
            return job
        job.write_status(
            state="failed",
            phase="Not started",
            error=f"It was to start from the encoder of {base.name}, which has none.",
            advice=f"Resume {base.name}, then start this run.",
        )
    return None


def work(workspace: Path) -> None:
    """Do one job after the other until none waits or the queue is paused."""
    mine = queue_job(workspace)
    while True:
        if mine.stop_requested():
            mine.write_status(state="stopped", phase="Paused")
            return
        if any(run.state in AT_WORK for run in list_runs(workspace)):
            mine.write_status(state="running", phase="Waiting for the run that is being trained")
            time.sleep(PAUSE)
            continue
        job = next_job(workspace)
        if job is None:
            if not waiting(workspace):
                mine.write_status(state="finished", phase="Nothing waits")
                return
            time.sleep(PAUSE)  # what waits, waits for a base that is still to come
            continue
        mine.write_status(state="running", phase=f"At {job.name}")
        try:
            if isinstance(job, Run):
                launch.start(job)
            else:
                launch.start_process(job, [sys.executable, "-m", TABLE, str(job.path.resolve())])
        except (ValueError, OSError) as error:
            job.write_status(state="failed", phase="Not started", error=why(error))
            continue
        while job.process() is not None:
            time.sleep(PAUSE)


if __name__ == "__main__":
    work(Path(sys.argv[1]))
