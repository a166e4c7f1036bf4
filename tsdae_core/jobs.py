"""What a detached process does in a folder of its own, and whether it lives: its status, its log, the wish that it stops."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tsdae_core.records import read_json, why, write_json

ACTIVE = ("queued", "starting", "running", "stopping")
"""States in which a process works or is about to."""

WORDS = {
    "new": "not started",
    "queued": "waiting",
    "starting": "starting",
    "running": "running",
    "stopping": "stopping",
    "finished": "finished",
    "stopped": "stopped",
    "failed": "failed",
    "crashed": "ended unexpectedly",
    "missing": "not there",
}
"""The states of `Job.status` as people say them."""


@dataclass(frozen=True)
class Job:
    """Anything that a detached process does in a folder of its own: a training run, a map."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def log_path(self) -> Path:
        """Standard output and standard error of the process; never a pipe, which dies with its reader."""
        return self.path / "log.txt"

    def log_tail(self, lines: int = 40) -> str:
        """The last lines of the log, undecodable bytes replaced; empty when there is none."""
        try:
            with self.log_path.open("rb") as file:
                file.seek(max(0, self.log_path.stat().st_size - 400 * lines))
                return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-lines:])
        except FileNotFoundError:
            return ""

    def write_process(self, pid: int, command: list[str]) -> None:
        """Remember which process works here. The birth time tells it from a later process with the same number."""
        try:
            born = psutil.Process(pid).create_time()
        except psutil.NoSuchProcess:
            born = 0.0
        write_json(self.path / "process.json", {"pid": pid, "born": born, "command": command})

    def process(self) -> psutil.Process | None:
        """The living process of this job, or None. A zombie does not live."""
        said = read_json(self.path / "process.json")
        try:
            process = psutil.Process(said["pid"])
            if abs(process.create_time() - said["born"]) > 1 or process.status() == psutil.STATUS_ZOMBIE:
                return None
            return process
        except (KeyError, TypeError, ValueError, psutil.Error):
            return None

    def write_status(self, **changes: Any) -> None:
        """Merge `changes` into the status; only the job's own process, or who starts it, may call this."""
        write_json(
            self.path / "status.json",
            read_json(self.path / "status.json") | changes | {"updated": time.time()},
        )

    def status(self) -> dict[str, Any]:
        """What the job last said, corrected by whether its process lives.

        Returns:
            At least `state`: "new", "starting", "running", "stopping", "finished", "stopped", "failed" or "crashed".
        """
        alive = self.process() is not None  # asked before the status is read: a last word may come in between
        said = {"state": "new"} | read_json(self.path / "status.json")
        if said["state"] in ACTIVE and said["state"] != "queued" and not alive:
            just_started = said["state"] == "starting" and time.time() - said.get("updated", 0.0) < 2
            if not just_started:  # the starter writes the status first and the process number a moment later
                said["state"] = "crashed"
        elif said["state"] == "running" and self.stop_requested():
            said["state"] = "stopping"
        return said

    @property
    def state(self) -> str:
        return str(self.status()["state"])

    def request_stop(self) -> None:
        """Ask the process to save and end."""
        (self.path / "stop").touch()

    def stop_requested(self) -> bool:
        return (self.path / "stop").exists()

    def clear_stop(self) -> None:
        (self.path / "stop").unlink(missing_ok=True)


def work(job: Job, act: Callable[[Any], object]) -> int:
    """Do `act` for `job`; a failure is in its status as one sentence, and in the log whole. Returns the exit code."""
    try:
        act(job)
        return 0
    except BaseException as error:
        traceback.print_exc()
        if job.path.is_dir():
            job.write_status(state="failed", phase="Failed", error=why(error))
        return 1
