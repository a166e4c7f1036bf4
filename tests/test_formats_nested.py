"""JSON, JSON lines and parquet: each row is read or counted."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.corpora import labels, texts, write
from tsdae_core.corpus import ReadOptions, read_corpus


def test_json_lines_keep_the_broken_and_odd_ones_in_the_count(tmp_path: Path) -> None:
    rows = [json.dumps({"id": n, "text": f"sentence number {n}", "label": "ab"[n % 2]}) for n in range(10)]
    rows += [
        "{broken",
        "",
        '{"text": ["a", "list"]}',
        '{"text": "only \\ud83d half"}',
        '{"text": null}',
        "[1]",
    ]
    corpus = read_corpus(write(tmp_path, "a.jsonl", "\n".join(rows)), ReadOptions(label_column="label"))
    assert corpus.report.text_column == "text"
    assert (corpus.report.malformed, corpus.report.blank, corpus.report.undecodable) == (2, 3, 1)
    assert texts(corpus)[-1] == "only \ufffd half" and labels(corpus)[-1] is None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (["one text", "two texts"], ["one text", "two texts"]),
        ([{"text": "one text", "n": 1}, {"text": "two texts"}], ["one text", "two texts"]),
        ({"train": [["one text", "a"]], "test": [["two texts", "b"]]}, ["one text", "two texts"]),
        ({"data": [{"text": "one text"}], "version": 2}, ["one text"]),
        ({"text": ["one text", "two texts"], "label": ["a", "b"]}, ["one text", "two texts"]),
    ],
)
def test_json_of_all_common_shapes_is_read(tmp_path: Path, data: object, expected: list[str]) -> None:
    for indent in (None, 4):
        assert texts(read_corpus(write(tmp_path, "a.json", json.dumps(data, indent=indent)))) == expected


def test_json_lines_named_json_are_read_and_bad_json_is_refused(tmp_path: Path) -> None:
    rows = "\n".join(json.dumps({"text": f"number {n}"}) for n in range(3))
    assert len(texts(read_corpus(write(tmp_path, "a.json", rows)))) == 3
    with pytest.raises(ValueError, match=r"a\.json is not valid JSON \(line 2"):
        read_corpus(write(tmp_path, "a.json", '["a",\n"b"'))
    with pytest.raises(ValueError, match="must be a list"):
        read_corpus(write(tmp_path, "a.json", '{"a": 1}'))
    with pytest.raises(ValueError, match="no JSON lines file"):
        read_corpus(write(tmp_path, "a.jsonl", "one\ntwo\nthree\n"))


def test_parquet_is_read_with_labels_of_any_type(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table(
        {
            "id": [1, 2, 3],
            "text": ["one text", None, "two texts"],
            "label": pa.array(["a", "b", "a"]).dictionary_encode(),
        }
    )
    pq.write_table(table, path)
    corpus = read_corpus(path, ReadOptions(label_column="label"))
    assert texts(corpus) == ["one text", "two texts"] and labels(corpus) == ["a", "a"]
    assert corpus.report.blank == 1
    assert labels(read_corpus(path, ReadOptions(label_column="id"))) == ["1", "3"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            '{"text": {"0": "one two", "1": "three four"}, "label": {"0": "a", "1": "b"}}',
            ["one two", "three four"],
        ),
        ('{"a1": {"title": "one two"}, "a2": {"title": "three four"}}', ["one two", "three four"]),
        ('{"android": {"a1": "one two"}, "gis": {"b1": "three four"}}', ["one two", "three four"]),
        ('{"a1": "one two", "a2": "three four"}', ["one two", "three four"]),
        ('{"text": "one two", "label": "a"}', ["one two"]),
        ('["one two", null, {"a": 1}, "three four"]', ["one two", "three four"]),
    ],
)
def test_json_of_other_shapes_is_read(tmp_path: Path, data: str, expected: list[str]) -> None:
    assert texts(read_corpus(write(tmp_path, "a.json", data))) == expected


def test_bytes_in_parquet_are_text_and_broken_ones_are_counted(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": pa.array([b"one two", b"th\xffree", None])}), tmp_path / "a.parquet")
    corpus = read_corpus(tmp_path / "a.parquet")
    assert texts(corpus) == ["one two", "th\ufffdree"]
    assert (corpus.report.undecodable, corpus.report.blank) == (1, 1)
