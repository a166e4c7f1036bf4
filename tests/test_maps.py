"""Maps: the neighbour graph, layouts that can be compared, named groups, the job, and what the page asks for."""

from __future__ import annotations

import base64
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.conftest import make_sentences
from tsdae_core import launch, maps
from tsdae_core.config import TrainConfig
from tsdae_core.map_clusters import UNCLUSTERED, clusters, middles, names
from tsdae_core.map_layout import (
    MapOptions,
    faithfulness,
    neighbour_change,
    pca,
    project,
    turned,
)
from tsdae_core.runs import Run, create_run, read_json
from tsdae_core.ui.map_feeds import _largest, feeds
from tsdae_core.vectors import neighbour_graph

WAIT = 120
OPTIONS = MapOptions(epochs=50)


def blobs(count: int, *, size: int = 16, groups: int = 3, seed: int = 0) -> np.ndarray:
    """(count, size) unit vectors around a few directions."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(groups, size))
    drawn = centres[np.arange(count) % groups] + 0.2 * random.normal(size=(count, size))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def test_the_graph_holds_the_exact_nearest_others() -> None:
    vectors = blobs(1100)  # more than one block
    seen: list[int] = []
    points, scores = neighbour_graph(vectors, 5, progress=lambda done, total: seen.append(done))
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    assert np.abs(scores - -np.sort(-cosines, axis=1)[:, :5]).max() < 1e-6
    assert not (points == np.arange(1100)[:, None]).any()
    assert seen[-1] == 1100


def test_equal_vectors_have_neighbours_and_never_themselves() -> None:
    points, scores = neighbour_graph(np.full((50, 4), 0.5, np.float32), 10)
    assert points.shape == (50, 10)
    assert not (points == np.arange(50)[:, None]).any()
    assert np.allclose(scores, 1)


@pytest.mark.parametrize("vectors", [blobs(3), blobs(4), blobs(10), np.full((40, 4), 0.5, np.float32)])
def test_tiny_and_collapsed_corpora_have_a_finite_map(vectors: np.ndarray) -> None:
    points, scores = neighbour_graph(vectors, 30)
    xy = project(vectors, points, scores, options=OPTIONS)
    assert xy.shape == (len(vectors), 2)
    assert np.isfinite(xy).all()
    assert np.abs(xy).max() <= 1


def test_a_map_is_the_same_for_the_same_seed_and_tells_its_epochs() -> None:
    vectors = blobs(200)
    points, scores = neighbour_graph(vectors, 30)
    told: list[tuple[int, int]] = []
    first = project(vectors, points, scores, options=OPTIONS, on_epoch=lambda *done: told.append(done))
    again = project(vectors, points, scores, options=OPTIONS)
    assert np.array_equal(first, again)
    assert told[-1] == (50, 50)


def test_a_map_started_from_another_stays_comparable_with_it() -> None:
    vectors = blobs(300)
    points, scores = neighbour_graph(vectors, 30)
    first = project(vectors, points, scores, options=OPTIONS)
    other = MapOptions(epochs=50, seed=7)
    warm = project(vectors, points, scores, options=other, init=first)
    mirrored = project(vectors, points, scores, options=other, init=first * [-1, 1])
    assert np.abs(warm - first).mean() < 0.5 * np.abs(mirrored - first).mean()


def test_a_map_in_space_has_three_coordinates_and_a_name_of_its_own(run: Run) -> None:
    vectors = blobs(120)
    points, scores = neighbour_graph(vectors, 30)
    deep = MapOptions(epochs=50, dimensions=3)
    xyz = project(vectors, points, scores, options=deep)
    assert xyz.shape == (120, 3)
    assert np.abs(xyz).max() <= 1
    assert xyz.std(0).min() > 0.05, "no dimension is idle"
    assert faithfulness(xyz, points).shape == (120,)
    assert middles(xyz, np.arange(120) % 3).shape == (3, 3)
    assert pca(blobs(2), 3).shape == (2, 3)
    jobs = [maps.map_job(run, ["done"], run.path.parent, options=one) for one in (MapOptions(), deep)]
    assert jobs[0].name != jobs[1].name


def test_turning_undoes_a_turn_and_a_mirror() -> None:
    xy = pca(blobs(60))
    angle = np.array([[0.6, -0.8], [0.8, 0.6]])
    moved = (xy @ angle) * [1, -1]
    assert np.abs(turned(moved, xy) - xy).max() < 0.02


def test_faithfulness_is_one_for_the_space_itself_and_low_for_a_shuffle() -> None:
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    points, _ = neighbour_graph(circle, 15)
    assert faithfulness(circle, points).mean() > 0.97
    assert faithfulness(np.random.default_rng(1).permutation(circle), points).mean() < 0.2


def test_change_counts_the_neighbours_that_did_not_stay() -> None:
    before = np.array([[1, 2], [0, 2], [0, 1], [0, 1]])
    after = np.array([[2, 1], [0, 3], [3, 4], [1, 0]])
    assert neighbour_change(before, after).tolist() == pytest.approx([0, 1 - 1 / 3, 1, 0])


def test_groups_are_found_largest_first_and_named_by_their_own_words() -> None:
    random = np.random.default_rng(0)
    xy = np.concatenate([random.normal(0, 0.03, (60, 2)), random.normal(0.8, 0.03, (120, 2))]).astype(
        np.float32
    )
    groups = clusters(xy)
    large = groups[groups >= 0][np.bincount(groups[groups >= 0]).argmax()]
    assert large == 0
    texts = ["the kernel panics at boot"] * 60 + ["the printer prints a page"] * 120
    called = names(texts, np.array([1] * 60 + [0] * 120))
    assert "printer" in called[0]
    assert "kernel" in called[1]
    assert "the" not in f"{called[0]}, {called[1]}".split(", ")
    assert np.abs(middles(xy, np.array([1] * 60 + [0] * 120)) - [[0.8, 0.8], [0, 0]]).max() < 0.1


def test_a_few_points_are_no_group_and_signs_have_no_words() -> None:
    assert set(clusters(np.random.default_rng(0).normal(size=(12, 2))).tolist()) == {UNCLUSTERED}
    assert names([], np.array([], np.int16)) == []
    assert names(["12 34", "56 !!"], np.array([0, 0])) == ["group 1"]


def test_a_script_without_spaces_is_named_by_pairs_of_characters() -> None:
    called = names(
        ["我喜欢喝红茶", "红茶很好喝"] * 5 + ["火车晚点了", "火车站在哪里"] * 5, np.array([0] * 10 + [1] * 10)
    )
    assert "红茶" in called[0]
    assert "火车" in called[1]


def test_a_large_corpus_is_sampled_the_same_way_each_time() -> None:
    rows = maps.sample(212_000, 42)
    assert len(set(rows.tolist())) == maps.MOST_POINTS
    assert rows.tolist() == sorted(maps.sample(212_000, 42).tolist())
    assert maps.sample(10, 42).tolist() == list(range(10))


# ---- the job


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    """A finished run over 120 labelled sentences, whose result is the untrained tiny model itself."""
    labels = [f"kind {number % 3}" for number in range(120)]
    table = pa.table({"sentence": make_sentences(120), "line": list(range(1, 121)), "label": labels})
    config = TrainConfig(base_model=str(tiny_model_folder), pooling="cls")
    run = create_run(tmp_path_factory.mktemp("maps"), config, table, name="done")
    shutil.copytree(tiny_model_folder, run.encoder_dir)
    run.decoder_dir.mkdir()
    return run


def ask(run: Run, function: str, *given: Any) -> Any:
    """What the browser gets for `await server.FUNCTION(run, ...)`; a single argument arrives bare."""
    called = {act.__name__: act for act in feeds(run.path.parent)}[function]
    return called([run.name, *given] if given else run.name)


def unpacked(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=np.float32)


def test_a_killed_map_can_be_drawn_again_and_is_then_kept(run: Run) -> None:
    systems = ["base:done", "done"]
    assert ask(run, "state")["state"] == "new"
    job = maps.start_map(run, systems, run.path.parent)
    deadline = time.monotonic() + WAIT
    while job.state == "starting" and time.monotonic() < deadline:
        time.sleep(0.05)
    launch.kill(job)
    assert job.state == "stopped", job.log_tail()

    job = maps.start_map(run, systems, run.path.parent)
    phases = set()
    while job.state in ("starting", "running") and time.monotonic() < deadline:
        phases.add(str(job.status().get("phase")))
        time.sleep(0.05)
    assert job.state == "finished", job.log_tail()
    assert any("UMAP" in phase for phase in phases)
    drawn = read_json(job.path / "process.json")
    assert maps.start_map(run, systems, run.path.parent).path == job.path
    assert read_json(job.path / "process.json") == drawn  # nothing was started

    said = ask(run, "state")
    assert (said["map"], said["stale"], said["points"], said["sentences"]) == (job.name, False, 120, 120)
    assert [one["kind"] for one in said["layouts"]] == ["umap", "umap"]
    assert all(0.5 < one["trustworthy"] <= 1 for one in said["layouts"])

    columns = ask(run, "columns", job.name)
    assert columns["counts"] == [40, 40, 40]
    for place in (0, 1):
        layout = ask(run, "layout", job.name, place)
        assert len(unpacked(layout["x"])) == len(unpacked(layout["change"])) == 120
        assert 0 <= unpacked(layout["trust"]).min() <= unpacked(layout["trust"]).max() <= 1

    card = ask(run, "card", job.name, 1, 5)
    assert card["sentence"] == make_sentences(120)[5]
    assert len(card["near"]) == 10
    assert [one["score"] for one in card["near"]] == sorted(
        (one["score"] for one in card["near"]), reverse=True
    )
    assert [one["line"] for one in ask(run, "sentences", job.name, [3, 0])] == [4, 1]


@pytest.mark.parametrize(
    ("function", "given"),
    [
        ("card", ["../../etc", 0, 1]),
        ("card", ["KEY", 0, 120]),
        ("card", ["KEY", 0, -1]),
        ("card", ["KEY", 0, "x"]),
        ("card", ["KEY", 9, 0]),
        ("sentences", ["KEY", [1, 999_999]]),
        ("sentences", ["KEY", None]),
        ("layout", ["KEY"]),
        ("columns", [{"a": 1}]),
    ],
)
def test_wrong_questions_are_answered_with_an_error(run: Run, function: str, given: list[Any]) -> None:
    job = maps.map_job(run, ["base:done", "done"], run.path.parent)
    filled = [job.name if one == "KEY" else one for one in given]
    assert set(ask(run, function, *filled)) == {"error"}


def test_a_run_that_is_not_there_is_an_answer_too(run: Run) -> None:
    for act in feeds(run.path.parent):
        assert "error" in act(["../" + run.path.name, "x", 0, 0])


def test_two_sentences_are_no_map(run: Run, tmp_path: Path) -> None:
    small = create_run(tmp_path, run.config(), run.corpus().slice(0, 2), name="small")
    with pytest.raises(ValueError, match="at least three sentences"):
        maps.start_map(small, ["base:small"], tmp_path)


def test_labels_beyond_twenty_four_join_the_others() -> None:
    labels = np.array([f"label {number}" for number in range(40) for _ in range(41 - number)])
    called, places, counts = _largest(labels)
    assert len(called) == 24
    assert called[0] == "label 0"
    assert called[-1] == "17 others"
    assert counts[-1] == sum(41 - number for number in range(23, 40))
    assert (np.bincount(places) == counts).all()
    assert _largest(np.array(["", ""]))[0] == []


def test_a_word_that_stands_everywhere_names_no_group() -> None:
    long = [f"the {word} of the house and the garden with the gate" for word in ("roof", "wall", "door") * 10]
    short = [f"{word} the goal" for word in ("shoot", "miss", "save") * 10]
    groups = np.array([0] * 30 + [1] * 30)
    named = names(long + short, groups)
    assert "the" not in [word for name in named for word in name.split(", ")]
    assert "goal" in named[1]


def test_ignored_words_name_no_group_and_the_next_ones_take_their_place() -> None:
    texts = ["the kernel panics at boot"] * 30 + ["the printer prints a page"] * 30
    groups = np.array([0] * 30 + [1] * 30)
    before = names(texts, groups)
    assert "kernel" in before[0] and "printer" in before[1]
    after = names(texts, groups, ignore="KERNEL, printer;prints")
    assert "kernel" not in after[0]
    assert "panics" in after[0]
    assert "page" in after[1] and "print" not in after[1]
    assert names(texts, groups, ignore="kernel panics at boot")[0] == "group 1"
    assert names(texts, groups, ignore=" , ") == before


def test_an_ignored_word_of_a_script_without_spaces_takes_its_pairs_along() -> None:
    texts = ["我喜欢喝红茶", "红茶很好喝"] * 5 + ["火车晚点了", "火车站在哪里"] * 5
    groups = np.array([0] * 10 + [1] * 10)
    assert "红茶" not in names(texts, groups, ignore="红茶")[0]
    assert "火车" not in names(texts, groups, ignore="红茶、火车站")[1]
