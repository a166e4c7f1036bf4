"""The map that follows a training: one more map at each checkpoint, coherent with the ones before, in a process of its own."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from tests.drawn import WAIT, ask, with_decoder
from tsdae_core import launch, map_live, maps
from tsdae_core.runs import ACTIVE, Job, Run
from tsdae_core.storage import from_base, save


def until(reached: Any) -> None:
    deadline = time.monotonic() + WAIT
    while not reached():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.1)


@pytest.fixture
def run(tmp_path: Path, tiny_model_folder: Path) -> Run:
    """A run that trains: this very process stands for the training's."""
    run = with_decoder(tmp_path / "runs", tiny_model_folder, count=90, name="live", steps=(10,))
    run.write_process(os.getpid(), [])
    run.write_status(state="running")
    return run


def checkpoint(run: Run, model: Path, step: int) -> None:
    """Another checkpoint, as training makes them: finished elsewhere, then renamed."""
    torch.manual_seed(step)
    made = from_base(str(model), max_length=32, pooling="mean")
    with torch.no_grad():
        for weights in made.parameters():
            weights += 0.02 * torch.randn_like(weights)
    save(made, run.path / "new")
    run.checkpoint(step).path.parent.mkdir(parents=True, exist_ok=True)
    (run.path / "new").rename(run.checkpoint(step).path)


def test_each_checkpoint_adds_a_map_until_the_training_ends(run: Run, tiny_model_folder: Path) -> None:
    job = map_live.start_live(run, run.path.parent)
    try:
        until(lambda: len(maps.systems_of(job)) == 2)
        assert map_live.start_live(run, run.path.parent).process() is not None
        seen = ask(run, "state", "live")
        assert (seen["training"], seen["live"]["frames"]) == (True, 2)
        until(lambda: "Waiting" in str(job.status().get("phase")))
        checkpoint(run, tiny_model_folder, 20)
        until(lambda: len(maps.systems_of(job)) == 3)
        run.write_status(state="finished")
        until(lambda: job.state not in ACTIVE)
        assert job.state == "finished", job.log_tail()
    finally:
        launch.kill(job)
    assert maps.systems_of(job) == ["base:live", "live@10", "live@20"]

    shown = [maps.read_map(job, place) for place in range(3)]
    assert all(one is not None and one.kind == "umap" and len(one.xy) == 90 for one in shown)
    assert shown[0].more["change"].max() == 0  # type: ignore[union-attr]
    assert shown[2].more["change"].max() > 0  # type: ignore[union-attr]
    seen = ask(run, "state", "live")
    assert [one["title"] for one in seen["layouts"]] == ["Base", "Step 10", "Step 20"]
    assert (seen["map"], seen["state"], seen["training"]) == ("live", "finished", False)
    assert len(ask(run, "card", "live", 2, 5)["near"]) == 10
    assert ask(run, "state")["map"] == "", "it is no map of the whole text"


def test_a_map_started_from_the_last_stays_near_it(run: Run) -> None:
    job = maps.live_job(run)
    maps.describe(job, run, [], run.path.parent)
    rows = np.arange(90)
    drawn = run.corpus()["sentence"].to_pylist()
    for system in ("base:live", "live@10"):  # the same weights twice
        map_live.add(job, system, drawn, rows=rows, workspace=run.path.parent)
    first, second = (maps.read_map(job, place) for place in (0, 1))
    assert first is not None and second is not None
    moved, apart = (np.linalg.norm(first.xy - other, axis=1).mean() for other in (second.xy, first.xy[::-1]))
    assert moved < apart / 3


class Told(Job):
    """A job that remembers what it said it was doing."""

    phases: ClassVar[list[str]] = []

    def write_status(self, **said: Any) -> None:
        self.phases.append(str(said.get("phase")))
        super().write_status(**said)


def test_what_takes_long_is_said_before_it_begins(run: Run) -> None:
    job = Told(maps.live_job(run).path)
    maps.describe(job, run, [], run.path.parent)
    drawn = run.corpus()["sentence"].to_pylist()
    map_live.add(job, "base:live", drawn, rows=np.arange(90), workspace=run.path.parent)
    said = list(dict.fromkeys(job.phases))
    assert said == [
        "Loading the base",
        "Embedding with the base",
        "Preparing UMAP of the base",  # the library's first import compiles for many seconds
        "UMAP of the base, epoch",
        "Naming the groups of the base",
    ]


def test_only_the_newest_of_several_checkpoints_is_drawn(run: Run, tiny_model_folder: Path) -> None:
    assert map_live._next(run, []) == "base:live"
    checkpoint(run, tiny_model_folder, 20)
    assert map_live._next(run, ["base:live"]) == "live@20"
    assert map_live._next(run, ["base:live", "live@20"]) == ""


def test_a_map_of_a_large_text_follows_two_thousand_sentences_of_it() -> None:
    rows = maps.sample(50_000, 42, map_live.MOST_POINTS)
    assert len(set(rows.tolist())) == 2000


def test_a_run_that_does_not_train_cannot_be_followed(run: Run) -> None:
    run.write_status(state="finished")
    with pytest.raises(ValueError, match="does not train now"):
        map_live.start_live(run, run.path.parent)
