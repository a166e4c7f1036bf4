"""The verdict on a run: by labels where there are some, and no claim where there are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.neighbors import NearestNeighbors

from tests.conftest import make_sentences
from tsdae_core import train
from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run, create_run
from tsdae_core.verdict import FEWEST, is_base_still, judge, same_label_shares, verdict_of


def test_shares_agree_with_an_independent_nearest_neighbour_search() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(80, 6))
    labels = [f"label {n % 4}" for n in range(80)]
    found = NearestNeighbors(n_neighbors=6, metric="cosine").fit(vectors).kneighbors(vectors)[1][:, 1:]
    expected = [np.mean([labels[other] == labels[row] for other in found[row]]) for row in range(80)]
    assert same_label_shares(vectors, labels) == pytest.approx(expected, abs=1e-4)


def test_a_share_is_of_the_neighbours_that_could_have_the_label() -> None:
    vectors = np.array([[1.0, 0.001 * n] for n in range(2)] + [[0.001 * n, 1.0] for n in range(40)])
    labels = ["rare", "rare"] + ["usual"] * 40
    assert same_label_shares(vectors, labels)[0] == 1.0, "its one possible neighbour is among the nearest"


def test_sentences_without_a_label_or_alone_with_theirs_are_left_out() -> None:
    vectors = np.random.default_rng(0).normal(size=(70, 4))
    labels = ["a", "b"] * 20 + [""] * 20 + [f"alone {n}" for n in range(10)]
    assert len(same_label_shares(vectors, labels)) == 40
    assert same_label_shares(vectors, [""] * 70) == []
    assert same_label_shares(vectors, ["one"] * 70) == [], "one label cannot tell anything"
    assert same_label_shares(vectors[: FEWEST - 1], labels[: FEWEST - 1]) == []


@pytest.mark.parametrize(
    ("gain", "noise", "word"),
    [(0.2, 0.3, "better"), (-0.2, 0.3, "worse"), (0.0, 0.0, "unchanged"), (0.02, 0.5, "cannot tell")],
)
def test_labels_decide_and_a_wide_interval_decides_nothing(gain: float, noise: float, word: str) -> None:
    rng = np.random.default_rng(1)
    before = rng.uniform(0.3, 0.6, 200)
    after = before + gain + noise * rng.normal(size=200)
    rows = [
        {"step": step, "same_label_each": list(each), "held_out": 3.0}
        for step, each in enumerate((before, after))
    ]
    verdict = judge(*rows)
    assert verdict.word == word
    assert "by your labels" in verdict.text and "nearest to a held-out one" in verdict.text
    assert "95 % interval over 200 sentences" in verdict.text


def test_without_labels_nothing_is_claimed_however_well_it_rebuilds() -> None:
    before, after = (
        {"held_out": 9.0, "mrr": 0.5, "written": 0.0},
        {"held_out": 2.0, "mrr": 0.99, "written": 0.9},
    )
    verdict = judge(before, after)
    assert verdict.word == "cannot tell" and "no labels" in verdict.text
    assert ("held-out loss", 9.0, 2.0) in verdict.evidence
    assert judge(before, after | {"warning": "The vectors have collapsed."}).word == "worse"


def trained(folder: Path, base: Path, labels: list[str], **settings: object) -> Run:
    sentences = make_sentences(len(labels))
    table = pa.table({"sentence": sentences, "line": range(len(labels)), "label": labels})
    config = TrainConfig(
        base_model=str(base), max_steps=6, precision="fp32", devices="cpu", probe_every=3, **settings
    )  # type: ignore[arg-type]
    run = create_run(folder, config, table, name="run")
    assert train.main(run.path) == 0
    return run


@pytest.mark.parametrize("objective", ["tsdae", "mlm"])
def test_a_run_on_labelled_text_ends_with_a_verdict_by_its_labels(
    tmp_path: Path, tiny_model_folder: Path, objective: str
) -> None:
    subjects = [" ".join(text.split()[:2]) for text in make_sentences(600)]
    run = trained(tmp_path, tiny_model_folder, subjects, objective=objective)
    verdict = verdict_of(run)
    assert verdict is not None and "by your labels" in verdict.text
    looks = [row for row in run.metrics()[0] if "held_out" in row]
    assert len(looks[0]["same_label_each"]) == 60
    assert looks[-1]["same_label"] == pytest.approx(np.mean(looks[-1]["same_label_each"]), abs=1e-4)
    assert "same_label_each" not in run.status()


def test_a_run_on_text_without_labels_cannot_tell(tmp_path: Path, tiny_model_folder: Path) -> None:
    verdict = verdict_of(trained(tmp_path, tiny_model_folder, [""] * 600))
    assert verdict is not None and verdict.word == "cannot tell"


def test_a_run_that_ended_while_only_the_decoder_learnt_is_its_base_still(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    table = pa.table({"sentence": make_sentences(60), "line": list(range(60)), "label": [""] * 60})
    config = TrainConfig(base_model=str(tiny_model_folder), decoder_warmup_steps=20, max_steps=40)
    run = create_run(tmp_path, config, table, name="early")
    assert not is_base_still(run), "there is nothing yet"
    for step, still in ((20, True), (21, False)):
        run.checkpoint(step).path.mkdir(parents=True)
        assert is_base_still(run) is still
