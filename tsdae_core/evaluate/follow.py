"""A task measured at every checkpoint of a run, while it is trained or afterwards: a curve over the steps.

It is a process of its own that looks for new checkpoints, so training is the same with it and without it, and it chooses nothing:
which step is used is for people to say (RUN@STEP names one). How often there is a checkpoint is the run's own setting.
`python -m tsdae_core.evaluate.follow FOLDER` works in WORKSPACE/.followed/KEY.
"""

from __future__ import annotations

import secrets
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tsdae_core import launch
from tsdae_core.evaluate.job import copied, tasks_of
from tsdae_core.evaluate.run import evaluate
from tsdae_core.jobs import ACTIVE, Job, work
from tsdae_core.records import append_line, read_json, read_lines, write_json
from tsdae_core.runs import Run, find_run

FOLDER = ".followed"
KEPT = 20
"""Curves that stay on disk."""

PAUSE = 2.0
"""Seconds between two looks for a new checkpoint."""


def start_following(
    workspace: Path, run: Run, *, own: str = "", kind: str = "", files: Sequence[Path] = ()
) -> Job:
    """Measure in a detached process, until the run has ended and every checkpoint is measured.

    Args:
        own, kind, files: the task, as `job.start_evaluation` takes it.

    Raises:
        ValueError: for a task that cannot be read, and while the run's checkpoints are measured already.
    """
    found = followed(workspace, run.name)
    if found and found[0].state in ACTIVE:
        raise ValueError(f"The checkpoints of {run.name} are being measured already; stop that first.")
    folder = workspace / FOLDER / f"{time.time_ns():020d}-{secrets.token_hex(3)}"
    folder.mkdir(parents=True)
    try:
        path = "" if own else str(copied(files, kind, folder / "files"))
        task = tasks_of(run, own, kind, Path(path))[0]
    except Exception:
        shutil.rmtree(folder)
        raise
    wish = {
        "run": run.name,
        "own": own,
        "kind": kind,
        "path": path,
        "task": task.name,
        "workspace": str(workspace.resolve()),
    }
    write_json(folder / "follow.json", wish)
    job = Job(folder)
    launch.start_process(job, [sys.executable, "-m", "tsdae_core.evaluate.follow", str(folder.resolve())])
    for old in _every(workspace)[KEPT:]:
        if old.state not in ACTIVE:
            shutil.rmtree(old.path, ignore_errors=True)
    return job


def followed(workspace: Path, run: str) -> list[Job]:
    """All curves of the run of that name, newest first."""
    return [job for job in _every(workspace) if read_json(job.path / "follow.json").get("run") == run]


def _every(workspace: Path) -> list[Job]:
    found = [path.parent for path in (workspace / FOLDER).glob("*/follow.json")]
    return [Job(path) for path in sorted(found, reverse=True)]  # names begin with the time


def compute(job: Job) -> None:
    """Measure the base and then each checkpoint, the new ones as they come."""
    wish = read_json(job.path / "follow.json")
    workspace = Path(wish["workspace"])
    run = find_run(workspace, wish["run"])
    task = tasks_of(run, wish["own"], wish["kind"], Path(wish["path"]))[0]
    done = {int(row["step"]) for row in points(job)}
    while not job.stop_requested():
        going = run.state in ACTIVE  # asked first: a checkpoint may come before the answer is used
        waits = [step for step in (0, *(one.step for one in run.checkpoints())) if step not in done]
        if not waits and not going:
            break
        if not waits:
            job.write_status(state="running", phase="Waiting for the next checkpoint", step=0, total=0)
            time.sleep(PAUSE)
            continue
        step = waits[0]
        where = "the untrained base" if step == 0 else f"step {step:,}"
        job.write_status(state="running", phase=f"Measuring {where}", step=0, total=0)
        system = f"base:{run.name}" if step == 0 else f"{run.name}@{step}"
        table = evaluate([(where, [system])], [task], workspace=workspace, every=True, resamples=0)
        values = {
            column.metric or column.task: cell.mean
            for column, cell in zip(table.columns, table.rows[0].cells, strict=True)
        }
        append_line(job.path / "curve.jsonl", {"step": step, "values": values})
        done.add(step)
    job.write_status(
        state="stopped" if job.stop_requested() else "finished", phase="Measured", step=0, total=0
    )


def points(job: Job) -> list[dict[str, Any]]:
    """What was measured: step, and values by metric, the main one first."""
    return read_lines(job.path / "curve.jsonl")[0]


def curves_of(job: Job) -> list[dict[str, Any]]:
    """Each metric over the steps, as `sweep.curve_of` gives a curve, the main one first; none before two points were measured."""
    rows = sorted(points(job), key=lambda row: row["step"])
    curves = []
    for metric in rows[0]["values"] if rows else []:
        found = [row for row in rows if row["values"].get(metric) is not None]
        if len(found) < 2:
            continue
        curves.append({
            "title": "Step", "logarithmic": False, "series": "Trained", "metric": metric, "beside": [], "said": [],
            "base": found[0]["values"][metric] if found[0]["step"] == 0 else None,
            "x": [row["step"] for row in found], "mean": [row["values"][metric] for row in found], "deviation": [0.0] * len(found),
        })  # fmt: skip
    return curves


if __name__ == "__main__":
    sys.exit(work(Job(Path(sys.argv[1])), compute))
