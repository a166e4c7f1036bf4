"""What changed by group and through training: means per label and cluster, one kept point per checkpoint, samples that are told."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.conftest import make_sentences
from tsdae_core import change_groups, change_line
from tsdae_core.changes import changed, compare
from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run, create_run


@pytest.fixture
def run(tmp_path: Path, tiny_model_folder: Path) -> Run:
    """60 sentences; its only checkpoint is the tiny model, which differs from the base by pooling and layers."""
    table = pa.table({"sentence": make_sentences(60), "line": range(60), "label": ["a", "b", None] * 20})
    config = TrainConfig(base_model=str(tiny_model_folder), pooling="cls", layers=1, max_length=32)
    run = create_run(tmp_path / "runs", config, table, name="done")
    shutil.copytree(tiny_model_folder, run.encoder_dir)
    run.decoder_dir.mkdir()
    run.write_status(state="finished", step=10, total=10)
    return run


def moved(run: Run, **more: int) -> dict[str, object]:
    return change_line.over_training(
        run, run.corpus(), workspace=run.path.parent, cache_dir=run.cache_dir, **more
    )


def test_groups_are_means_of_their_sentences_most_changed_first_and_the_rest_last() -> None:
    before = np.array([[1, 2], [0, 2], [0, 1], [0, 1]])
    after = np.array([[1, 2], [0, 3], [3, 1], [2, 3]])
    found = compare((before, np.zeros((4, 2))), (after, np.zeros((4, 2))))
    assert change_groups.stayed(found).tolist() == [2, 1, 1, 0]
    told = change_groups.by_label(found, ["x", "x", "y", ""])
    assert [(one.name, one.count, one.stayed) for one in told] == [
        ("y", 1, 1.0),
        ("x", 2, 1.5),
        ("no label", 1, 0.0),
    ]
    assert told[1].jaccard == pytest.approx((1 + 1 / 3) / 2)
    assert [one.clustered for one in told] == [True, True, False]
    assert change_groups.by_label(found, [None, "", None, ""]) == []


def test_clusters_are_the_maps_and_are_named_by_their_words() -> None:
    random = np.random.default_rng(0)
    middles = np.eye(3, 16)[[0] * 60 + [1] * 60 + [2] * 60]
    vectors = middles + 0.05 * random.normal(size=middles.shape)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    texts = [f"{word} number {place}" for word in ("boats", "trains", "planes") for place in range(60)]
    phases: list[str] = []
    groups, names = change_groups.cluster(
        texts, vectors, told=lambda phase, done, total: phases.append(phase)
    )
    kinds = {
        name: {texts[row].split()[0] for row in np.flatnonzero(groups == number)}
        for number, name in enumerate(names)
    }
    assert len(names) >= 3
    assert all(len(words) == 1 and words.pop() in name for name, words in kinds.items())
    assert "Laying out the sentences" in phases
    with pytest.raises(ValueError, match="draw a sample"):
        change_groups.cluster(["a"] * (change_groups.MOST + 1), vectors)


def test_the_line_has_the_base_at_one_and_equals_the_whole_comparison_when_nothing_is_left_out(
    run: Run,
) -> None:
    got = moved(run)
    found = changed(["base:done", "done"], run.corpus(), workspace=run.path.parent, cache_dir=run.cache_dir)
    first, last = got["points"]  # type: ignore[misc]
    assert first == {"step": 0, "jaccard": 1.0, "overlap": 1.0}
    assert last["step"] == 10
    assert last["jaccard"] == pytest.approx(float(found.jaccard.mean()), abs=1e-6)
    assert last["overlap"] == pytest.approx(float(found.overlap.mean()), abs=1e-6)
    assert (got["count"], got["of"], got["nearest"]) == (60, 60, 10)


def test_a_checkpoint_is_computed_once_and_a_sample_is_always_the_same(run: Run) -> None:
    once = moved(run, most=30)
    assert (once["count"], once["of"]) == (30, 60)
    [kept] = run.cache_dir.glob("moved-*.json")
    time = kept.stat().st_mtime_ns
    assert moved(run, most=30) == once
    assert kept.stat().st_mtime_ns == time
    assert change_line.drawn(9000).tolist() == change_line.drawn(9000).tolist()
    assert len(set(change_line.drawn(9000).tolist())) == change_line.MOST


def test_without_a_checkpoint_or_with_one_sentence_the_line_says_why(run: Run) -> None:
    workspace = run.path.parent
    with pytest.raises(ValueError, match="at least two sentences"):
        change_line.over_training(run, run.corpus()[:1], workspace=workspace, cache_dir=run.cache_dir)
    shutil.rmtree(run.encoder_dir)
    with pytest.raises(ValueError, match="no checkpoint yet"):
        moved(run)


def test_a_part_of_a_comparison_keeps_each_sentences_own_numbers(run: Run) -> None:
    found = changed(["base:done", "done"], run.corpus(), workspace=run.path.parent, cache_dir=run.cache_dir)
    part = found.part(np.array([5, 2]))
    assert part.jaccard.tolist() == found.jaccard[[5, 2]].tolist()
    assert part.after.tolist() == found.after[[5, 2]].tolist()
