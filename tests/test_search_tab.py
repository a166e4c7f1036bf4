"""The Search tab's own parts: searches that overtake one another, and the labels that a link may bring."""

from __future__ import annotations

from pathlib import Path

import gradio as gr
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import make_sentences
from tests.drawn import with_decoder
from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run, create_run
from tsdae_core.ui import columns, search
from tsdae_core.ui.indexes import cancel


@pytest.fixture
def run(tmp_path: Path) -> Run:
    table = pa.table({"sentence": ["a b", "c d", "e f"], "line": [1, 2, 3], "label": ["x", "x", "y"]})
    return create_run(tmp_path, TrainConfig(), table, name="labelled")


def test_a_search_that_was_overtaken_leaves_the_newer_results_as_they_are() -> None:
    answered = list(search.until_superseded(iter(["first", "second", "third"]), iter([True, False]).__next__))
    assert answered == ["first", gr.skip()], "no answer at all would empty the page"
    assert list(search.until_superseded(iter(["all"]), lambda: True)) == ["all"]


def test_only_the_newest_search_of_a_browser_counts_and_others_are_left_alone() -> None:
    first = search._newest("one", ("run", ""))
    other = search._newest("two", ("run", ""))
    second = search._newest("one", ("run", "file"))
    assert (first(), other(), second()) == (False, True, True)
    assert search._was_asked("one", ("run", "file"))
    assert not search._was_asked("one", ("run", ""))
    assert not search._was_asked("three", ("run", ""))


@pytest.mark.parametrize(("asked", "taken"), [("x", "x"), ("<b>none", ""), ("", "")])
def test_a_link_brings_a_label_only_if_the_text_has_it(run: Run, asked: str, taken: str) -> None:
    shown = search.label_choices(run.path.parent, run.name, chosen=asked)
    assert shown.value == taken
    assert [text for _, text in shown.choices] == ["", "x", "y"]


def test_who_cancels_one_embedding_is_not_made_to_wait_for_the_next(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    run = with_decoder(tmp_path, tiny_model_folder, count=10, name="large")
    many = [f"{text} {number}" for number in range(100) for text in make_sentences(400)]
    table = {"sentence": many, "line": list(range(len(many))), "label": [""] * len(many)}
    pq.write_table(pa.table(table), run.corpus_path)
    for shown in columns.found(tmp_path, run.name, "the red boat"):
        if shown.get("waiting") == "Trained" and shown["progress"][1]:
            cancel(run.corpus_path)
    trained, base, words = shown["columns"]
    assert "cancelled" in trained["error"]
    assert "cancelled" in base["error"]
    assert len(words["hits"]) == 10, "what takes no embedding answers still"
    again = next(iter(columns.found(tmp_path, run.name, "the red boat")))
    assert again["waiting"] == "Trained", "asked again, it begins anew"
    cancel(run.corpus_path)
