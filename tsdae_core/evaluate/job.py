"""An evaluation as a job: a detached process in a folder of its own, so that the page never waits and may be closed.

`python -m tsdae_core.evaluate.job FOLDER` works in WORKSPACE/.evaluations/KEY; the table is there when it ends.
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
from tsdae_core.evaluate import proxies
from tsdae_core.evaluate.kinds import KINDS
from tsdae_core.evaluate.read import read_task
from tsdae_core.evaluate.run import evaluate
from tsdae_core.evaluate.table import Table
from tsdae_core.evaluate.tasks import Task
from tsdae_core.jobs import work
from tsdae_core.runs import ACTIVE, Job, Run, find_run, read_json, safe_name, write_json

OWN = ("damaged", "halves", "labels")
"""Tasks made from a run's own text; see `proxies.of_run`."""

KEPT = 30
"""Evaluations that stay on disk."""

PAUSE = 0.3
"""Seconds between two words on how far it is."""


def start_evaluation(
    workspace: Path,
    run: Run,
    rows: Sequence[tuple[str, list[str]]],
    *,
    own: str = "",
    kind: str = "",
    files: Sequence[Path] = (),
) -> Job:
    """Evaluate in a detached process.

    Args:
        run: the run that it is about; its latest evaluation is found again by `evaluations`.
        rows: see `run.evaluate`.
        own: one of `OWN`, a task made from the run's text; else `kind` and `files` say the task.
        kind: a key of `KINDS`.
        files: a file, a zip file, or the three files of a retrieval task; they are copied.

    Raises:
        ValueError: when there is nothing to compare, and for a task that cannot be read.
    """
    if not rows:
        raise ValueError("Choose at least one system to evaluate.")
    if len(dict(rows)) < len(rows):
        raise ValueError("Two systems have the same name; leave one of them out.")
    home = workspace / ".evaluations"
    folder = home / f"{time.time_ns():020d}-{secrets.token_hex(3)}"
    folder.mkdir(parents=True)
    wish = {"run": run.name, "rows": [[label, systems] for label, systems in rows], "own": own, "kind": kind}
    try:
        path = "" if own else str(copied(files, kind, folder / "files"))
        tasks_of(run, own, kind, Path(path))
    except Exception:
        shutil.rmtree(folder)
        raise
    write_json(folder / "evaluate.json", wish | {"path": path, "workspace": str(workspace.resolve())})
    job = Job(folder)
    launch.start_process(job, [sys.executable, "-m", "tsdae_core.evaluate.job", str(folder.resolve())])
    for old in _every(home)[KEPT:]:
        if old.state not in ACTIVE:
            shutil.rmtree(old.path, ignore_errors=True)
    return job


def copied(files: Sequence[Path], kind: str, folder: Path) -> Path:
    """The user's files under names of our own; the folder itself when there are several."""
    if kind not in KINDS:
        raise ValueError(f"Choose what kind of task the file is: {', '.join(KINDS)}.")
    if not files:
        raise ValueError(f"Choose a file first. {KINDS[kind].text.splitlines()[0]}")
    folder.mkdir()
    for file in files:
        name = safe_name(file.name) or "task"
        if kind == "retrieval" and file.suffix != ".zip":
            name = {"corpus": "corpus.jsonl", "querie": "queries.jsonl"}.get(
                file.name[:6].lower(), "qrels.tsv"
            )
        shutil.copyfile(file, folder / name)
    if kind == "retrieval" and files[0].suffix != ".zip":
        return folder.rename(folder.with_name("retrieval"))
    if len(files) > 1:
        raise ValueError(f"{KINDS[kind].title} are one file; {len(files)} were given.")
    return next(folder.iterdir())


def tasks_of(run: Run, own: str, kind: str, path: Path) -> list[Task]:
    """The tasks that a wish names. Raises `ValueError` for one that cannot be read."""
    return [proxies.of_run(run, own)] if own else read_task(kind, path)


def evaluations(workspace: Path, run: str) -> list[Job]:
    """All evaluations about the run of that name, newest first."""
    return [job for job in _every(workspace / ".evaluations") if wish_of(job).get("run") == run]


def _every(home: Path) -> list[Job]:
    found = [path.parent for path in home.glob("*/evaluate.json")] if home.is_dir() else []
    return [Job(path) for path in sorted(found, reverse=True)]  # names begin with the time


def wish_of(job: Job) -> dict[str, Any]:
    """What was asked: run, rows, own, kind, path."""
    return read_json(job.path / "evaluate.json")


def read_table(job: Job) -> Table | None:
    """The table, once the job has finished."""
    data = read_json(job.path / "table.json")
    return Table.of_data(data) if data else None


def compute(job: Job) -> None:
    """Measure and write the table, telling how far it is."""
    wish = wish_of(job)
    workspace = Path(wish["workspace"])
    run = find_run(workspace, wish["run"])
    tasks = tasks_of(run, wish["own"], wish["kind"], Path(wish["path"]))
    rows = [(str(label), list(systems)) for label, systems in wish["rows"]]
    told = [0.0]

    def tell(phase: str, done: int, total: int) -> None:
        if not total or done == total or time.monotonic() - told[0] > PAUSE:
            told[0] = time.monotonic()
            job.write_status(state="running", phase=phase, step=done, total=total)

    every = len(tasks) == 1  # one task: all it measures; several: the main metric of each and their average
    table = evaluate(rows, tasks, workspace=workspace, every=every and wish["kind"][:4] != "useb", tell=tell)
    write_json(job.path / "table.json", table.data())
    job.write_status(state="finished", phase="Compared", step=0, total=0)


if __name__ == "__main__":
    sys.exit(work(Job(Path(sys.argv[1])), compute))
