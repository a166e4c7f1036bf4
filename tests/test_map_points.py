"""What is done with chosen points of a map: one is damaged and rebuilt, many are searched, or kept as a text of their own."""

from __future__ import annotations

import csv
import shutil
from base64 import b64decode
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import make_sentences
from tests.drawn import HOSTILE, as_drawn, ask, with_decoder
from tsdae_core import rebuild
from tsdae_core.runs import Job, Run
from tsdae_core.ui.drafts import find_draft

COUNT = 60


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    return with_decoder(tmp_path_factory.mktemp("points"), tiny_model_folder, count=COUNT, name="points")


@pytest.fixture(scope="module")
def job(run: Run) -> Job:
    """Its map by base and trained encoder."""
    return as_drawn(run, ["base:points", "points"])


def test_a_point_is_damaged_and_rebuilt_by_the_decoder_of_its_encoder(run: Run, job: Job) -> None:
    got = ask(run, "rebuilt", job.name, 1, 5, 3)
    config, text = run.config(), make_sentences(COUNT)[4]
    [wanted] = rebuild.rebuild(
        rebuild.load_model(run), [text], noise=config.noise, ratio=config.noise_ratio, seed=3
    )
    assert got == wanted | {"by": ""}
    assert got["source"] == text
    assert "deleted" in {token["s"] for token in got["original"]}


def test_the_base_has_no_decoder_so_the_trained_one_answers_and_says_so(run: Run, job: Job) -> None:
    assert ask(run, "rebuilt", job.name, 0, 0)["by"] == "trained"


def test_a_typed_sentence_is_rebuilt_like_a_point(run: Run, job: Job) -> None:
    assert ask(run, "rebuilt", job.name, 1, HOSTILE, 1) == ask(run, "rebuilt", job.name, 1, 0, 1)


def test_a_search_within_the_selected_ranks_these_and_no_others(run: Run, job: Job) -> None:
    text = make_sentences(COUNT)[9]
    hits = ask(run, "within", job.name, 1, text, [3, 10, 3, 40])["hits"]
    assert hits[0]["point"] == 10
    assert sorted(hit["point"] for hit in hits) == [3, 10, 40]
    assert hits[0]["score"] == pytest.approx(1, abs=1e-3)
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert hits[0]["sentence"] == text


def test_the_selected_become_a_text_with_their_labels_and_lines(run: Run, job: Job) -> None:
    got = ask(run, "keep", job.name, [7, 0, 2])
    draft = find_draft(run.path.parent, got["draft"])
    assert draft is not None
    assert draft.table().to_pylist() == run.corpus().take([0, 2, 7]).to_pylist()
    assert draft.title == "the map of points"
    assert draft.report == ["3 of the 60 sentences of points, chosen on its map."]
    shutil.rmtree(draft.path.parent)


def test_a_read_only_page_keeps_no_text(run: Run, job: Job) -> None:
    assert "read-only" in ask(run, "keep", job.name, [1, 2], read_only=True)["error"]


@pytest.mark.parametrize(
    ("function", "given", "said"),
    [
        ("rebuilt", [1, COUNT], "no such point"),
        ("rebuilt", [1, -1], "no such point"),
        ("rebuilt", [9, 0], ""),
        ("rebuilt", [1, "  "], "at least one word"),
        ("within", [1, " ", [1]], "type what to search for"),
        ("within", [1, "a", []], "no sentence is selected"),
        ("within", [1, "a", ["x"]], ""),
        ("within", [1, "a", [COUNT]], "no such point"),
        ("keep", [[1]], "at least 2 sentences"),
        ("keep", [None], ""),
    ],
)
def test_wrong_questions_about_points_are_answered_with_an_error(
    run: Run, job: Job, function: str, given: list[Any], said: str
) -> None:
    got = ask(run, function, job.name, *given)
    assert set(got) == {"error"}
    assert said in got["error"]


def test_the_names_without_ignored_words_keep_their_groups_and_places(run: Run, job: Job) -> None:
    before = ask(run, "names", job.name, 1, "")["names"]
    word = before[0]["text"].split(", ")[0]
    after = ask(run, "names", job.name, 1, word)["names"]
    assert [(one["x"], one["y"]) for one in after] == [(one["x"], one["y"]) for one in before]
    assert word not in [name for one in after for name in one["text"].split(", ")]
    saved = b64decode(ask(run, "saved", job.name, "csv", 1, "", False, word)["data"]).decode("utf-8-sig")
    groups = {row["group_trained_encoder"] for row in csv.DictReader(StringIO(saved))}
    assert groups == {one["text"] for one in after}


def saved_text(run: Run, job: Job, kind: str, *seen: Any) -> str:
    """A file that is saved of what the trained encoder's map shows."""
    return b64decode(ask(run, "saved", job.name, kind, 1, *seen)["data"]).decode("utf-8-sig")


def test_a_picture_coloured_by_similarity_is_saved_so(run: Run, job: Job) -> None:
    assert ">similarity<" in saved_text(run, job, "svg", "query", False, "", HOSTILE)
    table = list(csv.DictReader(StringIO(saved_text(run, job, "csv", "query", False, "", HOSTILE))))
    near = [float(row["similarity_trained_encoder"]) for row in table]
    assert near[0] == pytest.approx(1, abs=1e-3) and max(near) == near[0], "it is the first sentence"


def test_plain_axes_are_saved_as_plain_axes(run: Run, job: Job) -> None:
    phrases = ("the red boat", "<b>at night")
    axes = ask(run, "axes", job.name, 1, *phrases)
    x = np.frombuffer(b64decode(axes["x"]), np.float32)
    table = list(csv.DictReader(StringIO(saved_text(run, job, "csv", "label", False, "", "", *phrases))))
    np.testing.assert_allclose([float(row["x"]) for row in table], x, atol=1e-4)
    assert table[1]["group"] == "group 1", "the groups have names still"
    drawing = saved_text(run, job, "svg", "cluster", False, "", "", *phrases)
    assert "upwards to &quot;&lt;b&gt;at night&quot;" in drawing
    assert "group 1 (20)" in drawing
    assert (
        "saved as a picture" in ask(run, "saved", job.name, "html", 1, "", False, "", "", *phrases)["error"]
    )
