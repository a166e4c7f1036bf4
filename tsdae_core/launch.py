"""Start a job as a process that outlives whoever started it, and end it again."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tsdae_core.jobs import Job
from tsdae_core.runs import Run

WAITING = {"GOMP_SPINCOUNT": "10000"}
"""How long OpenMP's threads wait for each other awake, in libgomp's rounds: a moment, then they sleep. Asleep at once, a
training step of thousands of small operations mostly waits to be woken; awake for as long as libgomp does by itself, threads
starve one another as soon as something else, such as the page that shows the training, wants a core."""

PROJECT = Path(__file__).resolve().parent.parent


def start(run: Run) -> None:
    """Train `run` in a detached process; a stopped, failed or crashed run resumes from its last checkpoint.

    Raises:
        ValueError: when the run is already being trained.
    """
    _, launcher = _launcher(run.config().devices)
    start_process(run, [sys.executable, *launcher, "-m", "tsdae_core.train", str(run.path)])


def processes(devices: str) -> int:
    """How many processes a `devices` setting asks for."""
    return _launcher(devices)[0]


def _launcher(devices: str) -> tuple[int, list[str]]:
    """How many processes a `devices` setting asks for, and Python's arguments that start them; none for a single one.

    Accelerate's own launcher starts one process on a CPU, however many it is asked for.
    """
    if devices.startswith("cpu*"):
        count = int(devices.removeprefix("cpu*"))
        return count, ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(count)]
    names = [name.strip() for name in devices.split(",") if name.strip()]
    if len(names) > 1:
        ids = ",".join(name.removeprefix("cuda:") for name in names)
        return len(names), ["-m", "accelerate.commands.launch", "--multi_gpu", "--gpu_ids", ids, "--num_processes", str(len(names)), "--num_machines",
                            "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]  # fmt: skip
    return 1, []


def start_process(job: Job, command: list[str]) -> None:
    """Run `command` for `job`: own session, output into the job's log, no tie to this process.

    Raises:
        ValueError: when a process already works on the job.
    """
    if job.process() is not None:
        raise ValueError(f"{job.name} is already running; stop it first")
    job.clear_stop()
    job.write_status(state="starting", phase="starting", error="", advice="", started=time.time())
    environment = {**WAITING, **os.environ} | {
        "PYTHONPATH": os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    with job.log_path.open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=job.path,
            env=environment,
        )
    job.write_process(process.pid, command)
    _CHILDREN.append(process)
    _CHILDREN[:] = [
        child for child in _CHILDREN if child.poll() is None
    ]  # buries the dead, so none stays a zombie


_CHILDREN: list[subprocess.Popen[bytes]] = []


def stop(job: Job) -> None:
    """Ask the job to save and end; it does so at its next step."""
    job.request_stop()


def kill(job: Job, *, patience: float = 5.0) -> None:
    """End the job's process and its children now: terminate, wait `patience` seconds, then kill.

    A process that had the time to say how it ended has the last word; else the status says that it was ended by hand.
    """
    process = job.process()
    if process is None:
        return
    family = [process, *process.children(recursive=True)]
    for member in family:
        _quietly(member.terminate)
    _, alive = psutil.wait_procs(family, timeout=patience)
    for member in alive:
        _quietly(member.kill)
    psutil.wait_procs(alive, timeout=patience)
    said = job.status()
    if said["state"] == "crashed":
        step = int(said.get("step") or 0)
        where = f" at step {step:,}; resume goes on from the last checkpoint" if step else ""
        job.clear_stop()
        job.write_status(state="stopped", phase=f"Ended by hand{where}", eta=0.0)


def _quietly(act: Callable[[], None]) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        act()


def wait(job: Job, *, timeout: float) -> str:
    """Block until the job's process has ended or `timeout` seconds are over; returns the state."""
    deadline = time.monotonic() + timeout
    while job.process() is not None and time.monotonic() < deadline:
        time.sleep(0.1)
    return job.state
