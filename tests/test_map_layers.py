"""Columns that are worked out for every point when asked for: loss, how much it fell, and steadiness under damage."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import make_sentences
from tests.drawn import as_drawn, ask, with_decoder
from tsdae_core import explore, inside, map_export, map_layers, rebuild
from tsdae_core.map_sheet import sheet_of
from tsdae_core.runs import Job, Run

SYSTEMS = ["base:layers", "layers@10", "layers"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    folder = tmp_path_factory.mktemp("layers")
    return with_decoder(folder, tiny_model_folder, count=40, name="layers", steps=(10, 20))


@pytest.fixture(scope="module")
def job(run: Run) -> Job:
    """A map of every second sentence."""
    return as_drawn(run, SYSTEMS, np.arange(0, 40, 2))


def values(got: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(got["values"]), np.float32)


def test_the_drop_is_the_first_checkpoints_loss_less_the_trained_models(run: Run, job: Job) -> None:
    config, texts = run.config(), run.corpus()["sentence"].to_pylist()[::2]
    first, last = (
        inside.losses(rebuild.load_model(run, step=step), texts, noise=config.noise, ratio=config.noise_ratio)
        for step in (10, None)
    )
    assert values(ask(run, "layer", job.name, "loss", 2)) == pytest.approx(last, abs=1e-4)
    assert values(ask(run, "layer", job.name, "drop", 2)) == pytest.approx(first - last, abs=1e-4)


def test_steadiness_is_each_encoders_own_and_needs_no_decoder(run: Run, job: Job) -> None:
    base, checkpoint = (values(ask(run, "layer", job.name, "steady", place)) for place in (0, 1))
    assert len(base) == len(checkpoint) == 20
    assert (base <= 1.0001).all()
    assert (base > 0).all()
    assert np.abs(base - checkpoint).max() < 1e-3, "the weights of this run are those of its base"


def test_damage_that_takes_more_away_moves_the_vectors_more(run: Run) -> None:
    encoder = explore.load_encoder("layers", run.path.parent)
    texts = make_sentences(30)
    told: list[int] = []
    little, much, none = (
        map_layers.steadiness(
            encoder, texts, noise="delete", ratio=ratio, copies=2, told=lambda done, total: told.append(done)
        ).mean()
        for ratio in (0.2, 0.8, 0.0)
    )
    assert 1.0001 > none > 0.999 > little > much
    assert told[-1] == 90


@pytest.mark.parametrize("text", ["", "  ", "…", "🙂🙂", "火车晚点了"])
def test_a_text_without_words_to_damage_is_no_failure(run: Run, text: str) -> None:
    encoder = explore.load_encoder("layers", run.path.parent)
    for noise in ("delete", "mask", "swap"):
        assert np.isfinite(map_layers.steadiness(encoder, [text], noise=noise, ratio=0.6)).all()


def test_what_was_worked_out_is_kept_read_and_saved_with_the_map(
    run: Run, job: Job, tiny_model_folder: Path
) -> None:
    asked = map_layers.Asked(run, job, "steady", 2, run.path.parent)
    found = map_layers.column(asked)
    assert asked.path.is_file()
    np.save(asked.path, found + 1)
    assert map_layers.column(asked) == pytest.approx(found + 1), "it is read, not computed again"
    assert map_layers.column(map_layers.Asked(run, job, "loss", 2, run.path.parent)).shape == (20,)
    sheet = sheet_of(run, job)
    assert {"steady", "loss"} <= set(sheet.layers[2].more)
    assert "loss" not in sheet.layers[0].more, "the base has no decoder"
    assert "steady_trained_encoder" in map_export.to_csv(sheet).splitlines()[0]
    assert b"<svg" in map_export.picture(sheet, "svg", colour="steady")
    asked.path.unlink()


def test_another_map_of_the_same_sentences_has_it_at_once_and_one_of_others_has_not(
    run: Run, job: Job
) -> None:
    asked = map_layers.Asked(run, job, "loss", 2, run.path.parent)
    map_layers.column(asked)
    film = as_drawn(run, ["base:layers", "layers"], np.arange(0, 40, 2))
    assert film.path != job.path
    assert map_layers.Asked(run, film, "loss", 1, run.path.parent).path == asked.path
    others = as_drawn(run, ["layers"], np.arange(1, 40))
    assert len(map_layers.column(map_layers.Asked(run, others, "loss", 0, run.path.parent))) == 39


def test_a_run_with_one_checkpoint_has_no_drop_and_says_so(tmp_path: Path, tiny_model_folder: Path) -> None:
    run = with_decoder(tmp_path, tiny_model_folder, count=6, name="one", steps=(5,))
    job = as_drawn(run, ["base:one", "one"])
    assert "two checkpoints" in ask(run, "layer", job.name, "drop", 1)["error"]
    assert ask(run, "state")["first"] == 0


@pytest.mark.parametrize("given", [["height", 0], ["steady", 9], ["steady", "x"], []])
def test_a_wrong_layer_is_answered_with_an_error(run: Run, job: Job, given: list[Any]) -> None:
    assert set(ask(run, "layer", job.name, *given)) == {"error"}


def test_a_layer_on_its_way_can_be_cancelled_and_begun_anew(run: Run, job: Job) -> None:
    path = map_layers.Asked(run, job, "steady", 1, run.path.parent).path
    path.unlink(missing_ok=True)
    from tsdae_core.ui import indexes  # noqa: PLC0415 (the test looks at what the page keeps)

    indexes._OPENED.clear()
    ask(run, "cancel", job.name, "steady", 1)
    got = ask(run, "layer", job.name, "steady", 1)
    assert "cancelled" in got.get("error", "cancelled")
    assert len(values(ask(run, "layer", job.name, "steady", 1))) == 20
