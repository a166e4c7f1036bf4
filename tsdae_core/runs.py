"""A run is a folder. This module is the only one that knows the file names inside it, but for those of every job (jobs.py).

A training process and the page have nothing in common but this folder: every file has one writer, every reader
tolerates a writer that was killed in the middle of a line.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tsdae_core import supervision
from tsdae_core.config import TrainConfig, checked
from tsdae_core.jobs import ACTIVE, Job
from tsdae_core.records import (
    append_line,
    new_folder,
    read_json,
    read_lines,
    write_json,
    write_text,
)

__all__ = [
    "ACTIVE",
    "Checkpoint",
    "Job",
    "Run",
    "create_run",
    "delete_run",
    "find_run",
    "free_name",
    "list_runs",
    "new_folder",
    "read_json",
    "safe_name",
    "write_json",
]


@dataclass(frozen=True)
class Run(Job):
    """One training run."""

    def config(self) -> TrainConfig:
        """The run's settings. Raises `ValueError` when the file does not hold valid ones."""
        return checked(read_json(self.path / "config.json"))

    @property
    def corpus_path(self) -> Path:
        """Parquet with the columns sentence, line and label, and second where rows are pairs."""
        return self.path / "corpus.parquet"

    def corpus(self) -> pa.Table:
        """The corpus, memory-mapped: columns sentence, line, label."""
        return pq.read_table(self.corpus_path, memory_map=True)

    @property
    def encoder_dir(self) -> Path:
        """The trained encoder, a sentence-transformers folder."""
        return self.path / "encoder"

    @property
    def decoder_dir(self) -> Path:
        """Bottleneck and masked-LM head: with the encoder, all that rebuilding a sentence needs."""
        return self.path / "decoder"

    @property
    def cache_dir(self) -> Path:
        """What can be computed again: vectors, neighbours, maps, tokens."""
        return self.path / "cache"

    def checkpoints(self) -> list[Checkpoint]:
        """Whole checkpoints, oldest first."""
        folder = self.checkpoints_dir
        found = [Checkpoint(path) for path in folder.glob("step-*")] if folder.is_dir() else []
        return sorted(found, key=lambda checkpoint: checkpoint.step)

    def checkpoint(self, step: int) -> Checkpoint:
        return Checkpoint(self.checkpoints_dir / f"step-{step}")

    @property
    def checkpoints_dir(self) -> Path:
        return self.path / "checkpoints"

    @property
    def base_dir(self) -> Path:
        """The untrained model that was made from this run's own text, when it starts from none."""
        return self.path / "base"

    @property
    def best_dir(self) -> Path:
        """The model with the lowest held-out loss so far, kept while early stopping is on."""
        return self.path / "best"

    def append_metrics(self, row: dict[str, Any]) -> None:
        """Add one row of numbers: step, loss, lr, rate; held-out looks add held_out and more."""
        append_line(self.path / "metrics.jsonl", row)

    def metrics(self, offset: int = 0, *, limit: int = -1) -> tuple[list[dict[str, Any]], int]:
        """The rows written since byte `offset`, and the offset to ask with next time; at most `limit` bytes."""
        return read_lines(self.path / "metrics.jsonl", offset, limit=limit)

    def append_samples(self, row: dict[str, Any]) -> None:
        """Add one look at the probe sentences: step and a list of original, damaged and rebuilt tokens."""
        append_line(self.path / "samples.jsonl", row)

    def samples(self, offset: int = 0, *, limit: int = -1) -> tuple[list[dict[str, Any]], int]:
        """The looks written since byte `offset`, and the offset to ask with next time; at most `limit` bytes."""
        return read_lines(self.path / "samples.jsonl", offset, limit=limit)

    def edition(self) -> str:
        """Changes when the process starts anew or its lines are cut: an offset from another edition means nothing."""
        numbers = [read_json(self.path / "process.json").get("born", 0)]
        for name in ("metrics.jsonl", "samples.jsonl"):
            path = self.path / name
            numbers.append(path.stat().st_ino if path.exists() else 0)
        return "-".join(str(number) for number in numbers)

    def cut_after(self, step: int) -> None:
        """Forget metrics and samples after `step`, so that a resumed run has no overlapping curve."""
        for name in ("metrics.jsonl", "samples.jsonl"):
            rows, _ = read_lines(self.path / name, 0)
            text = "".join(json.dumps(row) + "\n" for row in rows if row.get("step", 0) <= step)
            write_text(self.path / name, text)

    def probes(self) -> list[str]:
        """The sentences the user chose to watch; empty when the run may choose."""
        said = read_json(self.path / "probes.json").get("sentences", [])
        return [str(sentence) for sentence in said]


@dataclass(frozen=True)
class Checkpoint:
    """A saved state inside a run: a model like the run's own result, plus what a resume needs."""

    path: Path

    @property
    def step(self) -> int:
        return int(self.path.name.removeprefix("step-"))

    @property
    def encoder_dir(self) -> Path:
        return self.path / "encoder"

    @property
    def optimizer_path(self) -> Path:
        """Optimizer moments and random states as safetensors; only the newest checkpoint keeps them."""
        return self.path / "optimizer.safetensors"

    @property
    def progress_path(self) -> Path:
        """Where training stood, as JSON."""
        return self.path / "progress.json"


def create_run(
    workspace: Path, config: TrainConfig, corpus: pa.Table, *, name: str = "", probes: list[str] | None = None
) -> Run:
    """Make the folder of a new run: settings, corpus and probe sentences; nothing is started.

    Args:
        workspace: the folder of all runs; made when missing.
        config: the settings.
        corpus: columns sentence, line and label, and second where rows are pairs; what the objective cannot use is left
            out, see `supervision.fit`.
        name: letters, digits, dots, dashes and underscores; other characters become dashes. A number is added when
            the name is taken.
        probes: sentences to watch while training, in addition to nothing; empty lets the run choose.

    Raises:
        ValueError: when the corpus has no sentences, or nothing that a supervised run could learn.
    """
    corpus = supervision.fit(corpus, config.objective)
    if corpus.num_rows == 0:
        raise ValueError("the corpus has no sentences; load a text file with at least a few lines")
    workspace.mkdir(parents=True, exist_ok=True)
    temporary = workspace / f".new-{secrets.token_hex(6)}"
    temporary.mkdir()
    pq.write_table(corpus, temporary / "corpus.parquet", compression="zstd")
    write_json(temporary / "config.json", config.model_dump())
    write_json(temporary / "probes.json", {"sentences": probes or []})
    write_json(temporary / "status.json", {"state": "new", "created": time.time(), "updated": time.time()})
    for _ in range(100):
        target = workspace / free_name(workspace, name)
        try:
            temporary.rename(target)
        except OSError:  # another process took the name in between
            continue
        return Run(target)
    shutil.rmtree(temporary)
    raise ValueError(f"no run named {name!r} could be made in {workspace}; choose another name")


def free_name(workspace: Path, name: str) -> str:
    """The name that a new run gets: `name` made safe, with a number behind it when it is taken."""
    wanted = safe_name(name) or f"run-{datetime.now():%m%d-%H%M}"
    number = 1
    while (workspace / (free := wanted if number == 1 else f"{wanted}-{number}")).exists():
        number += 1
    return free


def safe_name(text: str) -> str:
    """Letters, digits, dots, dashes and underscores of `text`, at most 60; never a path or a hidden name."""
    return re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII).strip(".-")[:60]


def list_runs(workspace: Path) -> list[Run]:
    """All runs, newest first."""
    if not workspace.is_dir():
        return []
    found = [
        Run(path) for path in workspace.iterdir() if (path / "config.json").is_file() and path.name[0] != "."
    ]
    return sorted(found, key=lambda run: (_created(run), run.name), reverse=True)


def _created(run: Run) -> float:
    try:
        return float(read_json(run.path / "status.json").get("created") or run.path.stat().st_mtime)
    except (OSError, ValueError, TypeError):
        return 0.0


def find_run(workspace: Path, name: str) -> Run:
    """The run of that name. A name from a browser is only ever looked up here, never joined into a path.

    Raises:
        ValueError: when there is none.
    """
    for run in list_runs(workspace):
        if run.name == name:
            return run
    raise ValueError(f"there is no run {name!r} in {workspace}; `python -m tsdae_core runs` lists them")


def run_at(workspace: Path, name: str) -> tuple[Run, int | None]:
    """The run of RUN or RUN@STEP, and the step that was asked for, or None; whether there is such a checkpoint is not looked at.

    Raises:
        ValueError: when there is no such run.
    """
    first, _, step = name.rpartition("@")
    return (
        (find_run(workspace, first), int(step))
        if first and step.isdecimal()
        else (find_run(workspace, name), None)
    )


def delete_run(run: Run) -> None:
    """Remove a run and all it holds. Raises `ValueError` while its process lives."""
    if run.process() is not None:
        raise ValueError(f"{run.name} is still running; stop it first")
    shutil.rmtree(run.path)
