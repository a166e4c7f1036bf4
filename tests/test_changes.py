"""What changed: overlap of neighbour lists, kept, gained and lost neighbours, one graph per encoder on disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.conftest import make_sentences
from tsdae_core import explore, vectors
from tsdae_core.changes import changed, compare, hubs, jaccard, rank_biased_overlap, twins, twins_in_either
from tsdae_core.config import TrainConfig
from tsdae_core.lexical import BM25
from tsdae_core.runs import Run, create_run


@pytest.fixture
def run(tmp_path: Path, tiny_model_folder: Path) -> Run:
    """60 sentences; the result is the tiny model itself, its base the same with other pooling and one layer."""
    table = pa.table({"sentence": make_sentences(60), "line": range(60), "label": ["a", "b", "c"] * 20})
    config = TrainConfig(base_model=str(tiny_model_folder), pooling="cls", layers=1, max_length=32)
    run = create_run(tmp_path / "runs", config, table, name="done")
    shutil.copytree(tiny_model_folder, run.encoder_dir)
    run.decoder_dir.mkdir()
    return run


def by_definition(first: list[int], second: list[int], persistence: float) -> float:
    """Extrapolated rank-biased overlap, counted with sets."""
    shared = [len(set(first[:depth]) & set(second[:depth])) for depth in range(1, len(first) + 1)]
    total = sum(one / depth * persistence**depth for depth, one in enumerate(shared, 1))
    return shared[-1] / len(first) * persistence ** len(first) + (1 - persistence) / persistence * total


def test_rank_biased_overlap_is_the_papers() -> None:
    random = np.random.default_rng(0)
    first = np.stack([random.permutation(14)[:10] for _ in range(50)])
    second = np.stack([random.permutation(14)[:10] for _ in range(50)])
    expected = [by_definition(a, b, 0.9) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    assert rank_biased_overlap(first, second).tolist() == pytest.approx(expected, abs=1e-6)
    assert rank_biased_overlap(first, first).tolist() == pytest.approx([1.0] * 50, abs=1e-6)
    assert rank_biased_overlap(first, first + 100).tolist() == [0.0] * 50


def test_a_swap_at_the_top_costs_more_than_one_at_the_end_and_jaccard_sees_neither() -> None:
    same = np.arange(10)[None]
    top, end = same.copy(), same.copy()
    top[0, [0, 1]] = top[0, [1, 0]]
    end[0, [8, 9]] = end[0, [9, 8]]
    assert rank_biased_overlap(same, top)[0] < rank_biased_overlap(same, end)[0] < 1
    assert jaccard(same, top)[0] == jaccard(same, end)[0] == 1


def test_the_most_changed_come_first_with_kept_gained_and_lost_neighbours() -> None:
    before = np.array([[1, 2], [0, 2], [0, 1], [0, 1]])
    after = np.array([[2, 1], [0, 2], [3, 1], [2, 2]])
    found = compare((before, np.zeros(before.shape)), (after, np.zeros(after.shape)))
    assert found.most(3) == [3, 2, 0]
    assert found.of(2) == {
        "kept": [{"row": 1, "before": 2, "after": 2}],
        "gained": [{"row": 3, "before": None, "after": 1}],
        "lost": [{"row": 0, "before": 1, "after": None}],
    }


def test_hubs_are_counted_among_the_nearest_only() -> None:
    assert hubs(np.array([[1, 2], [2, 0], [1, 0]]), k=1).tolist() == [0, 2, 1]


def test_near_duplicates_are_told_once_each_nearest_first() -> None:
    near = np.array([[1, 2], [0, 2], [0, 1], [0, 1]])
    cosines = np.array([[0.99, 0.96], [0.99, 0.5], [0.96, 0.5], [0.1, 0.1]])
    assert twins(near, cosines, least=0.95) == [(0, 1, 0.99), (0, 2, 0.96)]
    assert twins(near, cosines, least=1.0) == []


def test_pairs_that_lie_on_one_another_before_or_after_have_both_cosines() -> None:
    before = (np.array([[1], [0], [1]]), np.array([[0.99], [0.99], [0.3]]))
    after = (np.array([[2], [0], [1]]), np.array([[0.5], [0.97], [0.96]]))
    pairs = [twins(*before), twins(*after)]
    both = twins_in_either(compare(before, after), pairs, most=8)
    assert both == [(0, 1, 0.99, 0.97), (1, 2, 0.3, 0.96)]
    assert twins_in_either(compare(before, after), pairs, most=1) == both[:1]
    gone = (np.array([[2], [2], [1]]), np.array([[0.5], [0.4], [0.4]]))
    pairs = [twins(*before), twins(*gone)]
    assert twins_in_either(compare(before, gone), pairs, most=8) == [(0, 1, 0.99, None)]


def test_the_graph_is_exact_and_computed_once_per_encoder(run: Run) -> None:
    workspace = run.path.parent
    found = changed(["base:done", "done"], run.corpus(), workspace=workspace, cache_dir=run.cache_dir)
    own = explore.load_encoder("done", workspace).encode(make_sentences(60))
    cosines = own @ own.T - 2 * np.eye(60)
    assert found.after.tolist() == np.argsort(-cosines, axis=1)[:, :10].tolist()
    assert 0 < found.jaccard.mean() < 1
    kept = {file.name: file.stat().st_mtime_ns for file in run.cache_dir.glob("near-*.npy")}
    assert len(kept) == 4
    changed(["base:done", "done"], run.corpus(), workspace=workspace, cache_dir=run.cache_dir)
    assert {file.name: file.stat().st_mtime_ns for file in run.cache_dir.glob("near-*.npy")} == kept


def test_one_sentence_has_no_neighbours(run: Run) -> None:
    with pytest.raises(ValueError, match="at least two sentences"):
        changed(["base:done", "done"], run.corpus()[:1], workspace=run.path.parent, cache_dir=run.cache_dir)


def test_equal_vectors_have_neighbours_other_than_themselves() -> None:
    points, _ = vectors.neighbour_graph(np.ones((6, 4), np.float32) / 2, 3)
    assert all(row not in near for row, near in enumerate(points.tolist()))


def test_bm25_ranks_rare_common_words_and_leaves_out_sentences_without_any(run: Run) -> None:
    table = pa.table(
        {"sentence": ["the red boat", "the cat", "a dog", "the boat sails"], "label": ["x", "y", "x", "y"]}
    )
    hits = explore.search("bm25", table, "The RED boat!", k=4, workspace=run.path.parent)
    assert [hit["row"] for hit in hits] == [0, 3, 1]
    assert hits[0]["score"] > hits[1]["score"] > hits[2]["score"] > 0
    assert explore.search("bm25", table, "zebra", k=4, workspace=run.path.parent) == []
    assert BM25(["", "..."]).scores("red").tolist() == [0, 0]


@pytest.mark.parametrize("system", ["done", "bm25"])
def test_a_label_restricts_the_search(run: Run, system: str) -> None:
    query = make_sentences(60)[1]
    found = explore.search(system, run.corpus(), query, k=100, workspace=run.path.parent, label="a")
    assert found
    assert {hit["label"] for hit in found} == {"a"}
    assert len(found) <= 20
    with pytest.raises(ValueError, match="no sentence has the label 'z'"):
        explore.search(system, run.corpus(), query, k=3, workspace=run.path.parent, label="z")
