"""What the map works out when asked: a typed sentence's place, what rebuilding costs, a film; and a map drawn in the middle of a training."""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from tests.conftest import make_sentences
from tsdae_core import inside, launch, maps
from tsdae_core.config import TrainConfig
from tsdae_core.map_layout import placed, trust_of
from tsdae_core.map_sheet import sheet_of
from tsdae_core.map_systems import film_systems
from tsdae_core.rebuild import rebuild
from tsdae_core.runs import ACTIVE, Job, Run, create_run
from tsdae_core.storage import from_base
from tsdae_core.ui.map_feeds import feeds

WAIT = 300.0


def test_a_sentence_is_placed_at_the_weighted_mean_of_its_neighbours() -> None:
    xy = np.array([[0, 0], [1, 0], [0, 1], [9, 9]], np.float32)
    assert placed(np.array([1, 2]), np.array([0.75, 0.25]), xy) == (0.75, 0.25)
    assert placed(np.array([1, 3]), np.array([0.5, -0.5]), xy) == (1, 0)
    assert placed(np.array([1, 2]), np.array([-0.5, -0.1]), xy) == (0.5, 0.5)


def test_the_loss_of_a_point_is_the_loss_of_its_rebuilding(tiny_model_folder: Path) -> None:
    torch.manual_seed(5)
    model = from_base(str(tiny_model_folder), max_length=32).eval()
    sentences = ["the cat sees a dog at night", " ", *make_sentences(40)]
    found = inside.losses(model, sentences, noise="delete", ratio=0.6, seed=4)
    assert math.isnan(found[1])
    [shown] = rebuild(model, sentences[:1], noise="delete", ratio=0.6, seed=4)
    assert found[0] == pytest.approx(shown["loss"], abs=1e-3)
    assert np.isfinite(np.delete(found, 1)).all()


def test_a_film_shows_the_base_some_checkpoints_and_the_result(tmp_path: Path) -> None:
    table = pa.table({"sentence": ["a b", "c d"], "line": [1, 2], "label": ["", ""]})
    run = create_run(tmp_path, TrainConfig(), table, name="film")
    for step in range(10, 210, 10):
        (run.checkpoint(step).path / "encoder").mkdir(parents=True)
    systems = film_systems(run)
    assert len(systems) == 8
    assert (systems[0], systems[1], systems[-2], systems[-1]) == ("base:film", "film@10", "film@190", "film")


@pytest.fixture
def training(tmp_path: Path, tiny_model_folder: Path) -> Iterator[Run]:
    """A run that trains in a process of its own, for longer than the test takes."""
    labels = [f"kind {number % 3}" for number in range(150)]
    table = pa.table({"sentence": make_sentences(150), "line": list(range(1, 151)), "label": labels})
    config = TrainConfig(
        base_model=str(tiny_model_folder), pooling="mean", max_steps=1_000_000, batch_size=8, checkpoint_every=400,
        precision="fp32", devices="cpu", max_length=32, probe_every=400,
    )  # fmt: skip
    run = create_run(tmp_path / "runs", config, table, name="going")
    launch.start(run)
    yield run
    launch.kill(run)


def until(reached: Any) -> None:
    deadline = time.monotonic() + WAIT
    while not reached():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.1)


def ask(run: Run, function: str, *given: Any) -> Any:
    """What the browser gets, asked again until it is there."""
    called = {act.__name__: act for act in feeds(run.path.parent)}[function]
    deadline = time.monotonic() + WAIT
    while "phase" in (got := called([run.name, *given])):
        assert time.monotonic() < deadline
    return got


def test_a_map_is_drawn_while_the_run_goes_on_and_answers_questions(training: Run) -> None:
    until(lambda: training.checkpoints())
    workspace = training.path.parent
    job: Job = maps.start_map(training, ["base:going", f"going@{training.checkpoints()[0].step}"], workspace)
    until(lambda: job.state not in ACTIVE)
    assert job.state == "finished", job.log_tail()
    assert training.state in ACTIVE, "drawing a map leaves the training alone"

    query = make_sentences(150)[7]
    got = ask(training, "place", job.name, 1, query)
    assert got["near"][0]["sentence"] == query
    similar = np.frombuffer(base64.b64decode(got["similar"]), np.float32)
    assert similar.argmax() == got["near"][0]["point"] == 7
    assert similar.max() == pytest.approx(1, abs=1e-3)
    xy = maps.read_map(job, 1).xy  # type: ignore[union-attr]
    assert (got["x"], got["y"]) == pytest.approx(
        placed(
            np.array([one["point"] for one in got["near"]]),
            np.array([one["score"] for one in got["near"]]),
            xy,
        ),
        abs=1e-3,
    )
    axes = ask(training, "axes", job.name, 1, query, make_sentences(150)[9])
    across = np.frombuffer(base64.b64decode(axes["x"]), np.float32)
    assert across[7] == pytest.approx(1, abs=1e-3)
    loss = layer(training, job.name)
    assert len(loss) == 150
    assert (loss > 0).all()
    assert "type a sentence" in ask(training, "place", job.name, 1, "  ")["error"]
    assert "phrase is missing" in ask(training, "axes", job.name, 1, "a", "")["error"]

    launch.kill(training)  # from here on no newer checkpoint makes the loss one of an earlier state
    loss = layer(training, job.name)
    assert sheet_of(training, job).layers[1].more["loss"].tolist() == loss.tolist()


def layer(run: Run, key: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(ask(run, "layer", key, "loss", 1)["values"]), np.float32)


def test_trustworthiness_is_one_for_a_map_that_keeps_all_neighbours_and_low_for_one_by_chance() -> None:
    rng = np.random.default_rng(0)
    angles = np.sort(rng.uniform(0, 1.5, 2500)).astype(np.float32)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert trust_of(vectors, np.stack([angles, 0 * angles], axis=1)) == pytest.approx(1, abs=1e-3)
    assert 0.4 < trust_of(vectors, rng.uniform(size=(2500, 2))) < 0.6
    assert 0 <= trust_of(vectors[:3], vectors[:3]) <= 1
    assert trust_of(vectors[:2], vectors[:2]) == 1.0
