"""Runs and maps for tests of what the map is asked: real models with random weights, points anywhere, nothing computed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from tests.conftest import make_sentences
from tsdae_core import maps
from tsdae_core.config import TrainConfig
from tsdae_core.runs import Job, Run, create_run, write_json
from tsdae_core.storage import from_base, save
from tsdae_core.ui.map_feeds import feeds

WAIT = 300.0
HOSTILE = "<img src=x onerror=window.hit=1> ${document.title.length} `code`"


def with_decoder(folder: Path, model: Path, *, count: int, name: str, steps: tuple[int, ...] = ()) -> Run:
    """A finished run with a decoder and checkpoints over labelled sentences, the first one hostile."""
    sentences = [HOSTILE, *make_sentences(count - 1)]
    labels = [f"kind {number % 3}" for number in range(count)]
    table = pa.table({"sentence": sentences, "line": list(range(1, count + 1)), "label": labels})
    config = TrainConfig(base_model=str(model), pooling="mean", max_length=32)
    run = create_run(folder, config, table, name=name)
    for number, place in enumerate([*(run.checkpoint(step).path for step in steps), run.path]):
        torch.manual_seed(number)
        save(from_base(str(model), max_length=32, pooling="mean"), place)
    run.write_status(state="finished", step=1, total=1)
    return run


def as_drawn(run: Run, systems: list[str], rows: np.ndarray | None = None, *, groups: int = 3) -> Job:
    """A map of the run that says it is finished: points by chance, in a few groups, one after the other."""
    rows = np.arange(run.corpus().num_rows) if rows is None else rows
    job = maps.map_job(run, systems, run.path.parent)
    maps.describe(job, run, systems, run.path.parent)
    facts: dict[str, Any] = {"total": run.corpus().num_rows, "points": len(rows)}
    cluster = (np.arange(len(rows)) % groups).astype(np.float32)
    for place in range(len(systems)):
        xy = np.random.default_rng(place).uniform(-1, 1, (len(rows), 2)).astype(np.float32)
        table = {"row": rows, "x": xy[:, 0], "y": xy[:, 1], "trust": np.ones(len(rows), np.float32)}
        table |= {"cluster": cluster, "change": np.zeros(len(rows), np.float32)}
        pq.write_table(pa.table(table), job.path / f"umap-{place}.parquet")
        facts[f"names-{place}"] = [
            {"text": f"group {one}", "x": 0.1, "y": one / groups} for one in range(groups)
        ]
    write_json(job.path / "facts.json", facts)
    job.write_status(state="finished", phase="Map drawn")
    return job


def ask(run: Run, function: str, *given: Any, read_only: bool = False) -> Any:
    """What the browser gets for `await server.FUNCTION(run, ...)`, asked again until it is there."""
    called = {act.__name__: act for act in feeds(run.path.parent, read_only=read_only)}[function]
    deadline = time.monotonic() + WAIT
    while "phase" in (got := called([run.name, *given] if given else run.name)) and "state" not in got:
        assert time.monotonic() < deadline
    return got
