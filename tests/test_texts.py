"""What the Data tab shows of a text, and what happens behind each of its doors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.conftest import make_sentences
from tsdae_core.ui import doors, texts
from tsdae_core.ui.drafts import find_draft, save_draft

WISH = doors.Wish("file", None, None, "topics", None, None, None, False, 1, 5000)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("there is no text yet", "There is no text yet."),
        ("notes.txt is empty; choose a file", "notes.txt is empty; choose a file."),  # as the file is called
        ("all-MiniLM is not here!", "all-MiniLM is not here!"),
    ],
)
def test_an_error_becomes_a_sentence_and_names_stay_as_they_are(said: str, shown: str) -> None:
    assert texts.sentence(said) == shown


def test_the_histogram_counts_every_sentence_and_says_the_share_cut_off():
    lengths = np.array([5] * 90 + [200] * 10)
    seen = texts.histogram(lengths, 128, total=100)
    assert sum(seen["counts"]) == 100
    assert "10 % are cut off at 128" in seen["text"]
    assert "no sentence is longer than 256" in texts.histogram(lengths, 256, total=100)["text"]


def test_a_few_giants_do_not_squeeze_the_histogram_into_one_bar():
    seen = texts.histogram(np.array([10] * 500 + [20] * 499 + [8000]), 128, total=5000)
    assert seen["more"] and seen["width"] <= 2
    assert "measured on 1,000 of 5,000" in seen["text"]


def test_the_damage_preview_deletes_about_the_share_asked_for():
    sentences = ["one two three four five six seven eight nine ten"] * 20
    seen = texts.damaged(sentences, noise="delete", ratio=0.6, seed=3)
    states = [token["s"] for tokens in seen["sentences"] for token in tokens]
    assert 0.5 < states.count("deleted") / len(states) < 0.7
    assert f"{states.count('deleted')} of 200 words" in seen["share"]
    assert seen != texts.damaged(sentences, noise="delete", ratio=0.6, seed=4)


def test_the_preview_is_spread_over_the_text_and_shows_labels_only_when_there_are_some(tmp_path: Path):
    def table(label: str) -> pa.Table:
        rows = range(1, 1001)
        sentences = [f"sentence {row}" for row in rows]
        return pa.table({"sentence": sentences, "line": pa.array(rows, pa.int64()), "label": [label] * 1000})

    plain = texts.preview(save_draft(tmp_path, table(""), title="t"))
    assert plain["headers"] == ["Line", "Sentence"]
    assert [row[0] for row in plain["data"][:3]] == ["1", "11", "21"] and len(plain["data"]) == texts.SHOWN
    assert texts.preview(save_draft(tmp_path, table("x"), title="t"))["headers"][-1] == "Label"


def test_each_door_ends_as_a_draft_with_a_title_and_a_report(tmp_path: Path):
    file = tmp_path / "mine.csv"
    file.write_text("kind,text\n" + "\n".join(f"k,{text}" for text in make_sentences(30)), encoding="utf-8")
    by_file = replace(WISH, path=str(file), column="text", label="kind")
    by_text = replace(WISH, door="text", text="one line here\n\nanother line there")
    by_example = replace(WISH, door="example")
    expected = [("mine.csv", 30), ("pasted text", 2), ("Twelve topics", 1680)]
    for wish, (title, count) in zip((by_file, by_text, by_example), expected, strict=True):
        kept = doors.enter(tmp_path / "runs", wish)
        found = find_draft(tmp_path / "runs", kept.key)
        assert found is not None
        assert (found.title, found.table().num_rows) == (title, count)
        assert found.report


def test_how_a_text_is_read_reaches_the_reader(tmp_path: Path):
    wish = replace(WISH, door="text", text="One two three. Four five six.\nshort", split=True, shortest=2)
    table = doors.enter(tmp_path, wish).table()
    assert table["sentence"].to_pylist() == ["One two three.", "Four five six."]


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (replace(WISH, door="text", text=" \n"), "paste some lines"),
        (replace(WISH, path=None), "choose one first"),
        (replace(WISH, door="text", text="a b", longest=0), "longest length"),
        (replace(WISH, door="example", example="../secret"), "no example"),
    ],
)
def test_a_door_with_nothing_behind_it_says_so_in_one_sentence(tmp_path: Path, wish: doors.Wish, said: str):
    with pytest.raises(ValueError, match=said):
        doors.enter(tmp_path, wish)
    assert not (tmp_path / ".drafts").exists()


def test_a_file_that_cannot_be_read_offers_no_columns(tmp_path: Path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 torn")
    assert doors.columns(str(tmp_path / "x.parquet")) == ([], None, doors.NO_LABEL)
    assert doors.columns(None) == ([], None, doors.NO_LABEL)


def test_a_file_is_read_again_in_another_way_when_only_its_draft_is_left(tmp_path: Path):
    file = tmp_path / "mine.csv"
    rows = [f"{text},title {number} of it" for number, text in enumerate(make_sentences(30))]
    file.write_text("body,title\n" + "\n".join(rows), encoding="utf-8")
    first = doors.enter(tmp_path / "runs", replace(WISH, path=str(file), column="body"))
    file.unlink()
    before = find_draft(tmp_path / "runs", first.key)
    assert doors.can_read_again(before)
    again = doors.enter(tmp_path / "runs", replace(WISH, door="", column="title"), before=before)
    assert again.title == "mine.csv"
    assert again.table()["sentence"].to_pylist()[0] == "title 0 of it"
    assert again.reading["column"] == "title"


def test_pasted_text_is_read_again_and_an_example_is_not(tmp_path: Path):
    first = doors.enter(tmp_path, replace(WISH, door="text", text="One two. Three four.\nFive six."))
    before = find_draft(tmp_path, first.key)
    again = doors.enter(tmp_path, replace(WISH, door="", split=True), before=before)
    assert again.table()["sentence"].to_pylist() == ["One two.", "Three four.", "Five six."]
    example = doors.enter(tmp_path, replace(WISH, door="example"))
    assert not doors.can_read_again(example) and not doors.can_read_again(None)


def test_tokens_are_counted_by_the_chosen_base_and_by_the_bundled_one_when_that_is_not_here(
    tmp_path: Path, tiny_model_folder: Path
):
    draft = doors.enter(tmp_path, replace(WISH, door="text", text="\n".join(["boat xylophone"] * 3)))
    own = texts.lengths_of(draft, 128, str(tiny_model_folder))
    assert f"the tokenizer of {tiny_model_folder.name}." in own["note"]
    missing = texts.lengths_of(draft, 128, "somebody/some-model")
    assert (
        "all-MiniLM-L6-v2" in missing["note"]
        and "somebody/some-model is not on this machine" in missing["note"]
    )
    assert own["text"] != missing["text"]  # the tiny vocabulary spells the long word out
