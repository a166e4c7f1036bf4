"""Tables, gzip and what is none of these: each row is read or counted, anything else is refused in one sentence."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.corpora import labels, texts, write
from tsdae_core.corpus import ReadOptions, peek, read_corpus


def test_quoted_newlines_delimiters_and_quotes_are_part_of_a_cell(tmp_path: Path) -> None:
    rows = [("text", "topic"), ("one, two", "a"), ("first\nsecond, third\n\nfourth", "b"), ('a "word"', "a")]
    rows += [(f"filler number {number}", "b") for number in range(20)]
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    corpus = read_corpus(write(tmp_path, "a.csv", file.getvalue()), ReadOptions(label_column="topic"))
    assert texts(corpus)[:3] == ["one, two", "first second, third fourth", 'a "word"']
    assert labels(corpus)[:3] == ["a", "b", "a"]
    assert corpus.table["line"].to_pylist()[:4] == [2, 3, 7, 8]
    assert corpus.report.lines == 23 and corpus.report.malformed == 0


def test_stray_quotes_in_a_tab_separated_file_swallow_no_row(tmp_path: Path) -> None:
    rows = [f"ham\tplain message number {number}" for number in range(30)]
    rows[3] = 'spam\t"Hello there'
    rows[5] = 'ham\tsaid "no" and left"'
    rows[9] = 'ham\t"""'
    rows[11] = 'ham\t"all of it"'
    rows[12] = 'ham\t"open, with\' and "inner" quotes'
    corpus = read_corpus(write(tmp_path, "a.tsv", "\n".join(rows)), ReadOptions(label_column="column 1"))
    found = texts(corpus)
    assert len(found) == 30
    assert found[3] == '"Hello there' and found[11] == "all of it"
    assert labels(corpus)[3] == "spam"


def test_a_stray_quote_in_a_file_with_quoted_newlines_costs_its_own_row_at_most(tmp_path: Path) -> None:
    rows = ['a,"first\nhalf, and half"', *(f'b,"cell, number {number}"' for number in range(30))]
    rows[10] = 'b,"open forever'
    corpus = read_corpus(write(tmp_path, "a.csv", "\n".join(rows)), ReadOptions(header=False))
    assert corpus.report.kept >= 30
    assert "first half, and half" in texts(corpus)


@pytest.mark.parametrize(
    ("delimiter", "word"), [(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar")]
)
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str, word: str) -> None:
    lines = [delimiter.join(["title", "kind"]), *(delimiter.join([f"a title of {n}", "x"]) for n in range(9))]
    corpus = read_corpus(write(tmp_path, "a.csv", "\n".join(lines)))
    assert corpus.report.format == f"table with {word}s"
    assert corpus.report.columns == ["title", "kind"]
    assert texts(corpus)[0] == "a title of 0"


def test_a_csv_of_one_column_keeps_its_commas(tmp_path: Path) -> None:
    lines = ["text", "Well, yes.", '"No, never, ever."', "Perhaps", "a, b, c, and d", "the end"]
    corpus = read_corpus(write(tmp_path, "a.csv", "\n".join(lines)))
    assert texts(corpus) == ["Well, yes.", "No, never, ever.", "Perhaps", "a, b, c, and d", "the end"]


@pytest.mark.parametrize(
    ("first", "rows", "expected"),
    [
        ("text,label", ["a cat sat,x", "a dog ran,y"], True),
        ("Frage,Klasse", ["wo ist denn hier der Bahnhof bitte,x", "wie spät ist es denn gerade,x"], True),
        ("frog,points", ["a green one,4", "a blue one,5"], True),
        ("A man is dancing.,A man dances.,5.0", ["A cat sits.,A cat sat.,4.0", "Two.,Three.,1.0"], False),
        ("ham,ok see you", ["ham,ok fine now then good", "spam,win a prize"], False),
    ],
)
def test_a_header_is_told_from_a_first_row(
    tmp_path: Path, first: str, rows: list[str], expected: bool
) -> None:
    path = write(tmp_path, "a.csv", "\n".join([first, *rows]))
    corpus = read_corpus(path)
    assert corpus.report.lines == len(rows) + (not expected)
    assert (corpus.report.columns[0] == "column 1") is not expected
    assert read_corpus(path, ReadOptions(header=not expected)).report.lines == len(rows) + expected


def test_rows_that_do_not_fit_are_counted_and_never_guessed(tmp_path: Path) -> None:
    lines = ["text,label", *(f"sentence number {n},x" for n in range(20)), "too short", "a,b,c,d", ""]
    corpus = read_corpus(write(tmp_path, "a.csv", "\n".join(lines) + "\n"))
    assert (corpus.report.kept, corpus.report.malformed, corpus.report.blank) == (20, 2, 1)


def test_delimiters_too_many_belong_to_a_text_that_stands_last(tmp_path: Path) -> None:
    lines = ["label,text", *(f"x,sentence number {n}" for n in range(20)), "y,well, this, too"]
    assert texts(read_corpus(write(tmp_path, "a.csv", "\n".join(lines))))[-1] == "well, this, too"


def test_columns_are_chosen_by_name_or_number_and_unknown_ones_refused(tmp_path: Path) -> None:
    path = write(
        tmp_path, "a.csv", "short,longer text,topic\nab,a much longer text,x\ncd,another long text,\n"
    )
    assert texts(read_corpus(path)) == ["a much longer text", "another long text"]
    chosen = read_corpus(path, ReadOptions(text_column="1", label_column="topic"))
    assert texts(chosen) == ["ab", "cd"] and labels(chosen) == ["x", None]
    with pytest.raises(ValueError, match=r"no column 'title'; choose one of 'short', 'longer text', 'topic'"):
        read_corpus(path, ReadOptions(text_column="title"))


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet"])
def test_gzipped_files_give_what_the_plain_ones_give(tmp_path: Path, name: str) -> None:
    rows = [(f"sentence number {n}, of many", "ab"[n % 2]) for n in range(40)]
    objects = [{"text": text, "label": label} for text, label in rows]
    file = io.StringIO()
    csv.writer(file, delimiter="\t" if name == "a.tsv" else ",").writerows([("text", "label"), *rows])
    path = tmp_path / name
    if name == "a.parquet":
        pq.write_table(pa.Table.from_pylist(objects), path)
    elif name == "a.txt":
        write(tmp_path, name, "\n".join(text for text, _ in rows))
    elif name.startswith("a.json"):
        write(
            tmp_path, name, json.dumps(objects) if name == "a.json" else "\n".join(map(json.dumps, objects))
        )
    else:
        write(tmp_path, name, file.getvalue())
    zipped = write(tmp_path, name + ".gz", gzip.compress(path.read_bytes()))
    unnamed = write(tmp_path, "zipped_" + name, zipped.read_bytes())
    plain = read_corpus(path)
    assert texts(plain) == [text for text, _ in rows]
    assert read_corpus(zipped) == plain == read_corpus(unnamed)


def test_a_cut_gzip_file_is_refused_not_shortened(tmp_path: Path) -> None:
    whole = gzip.compress("\n".join(f"line {n * 7919}" for n in range(9000)).encode())
    for name in ("a.txt.gz", "a.csv.gz", "a.jsonl.gz"):
        with pytest.raises(ValueError, match="damaged gzip file"):
            read_corpus(write(tmp_path, name, whole[: len(whole) // 2]))


def zip_of(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "x" * 100)
    return file.getvalue()


def tar_of() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("words.txt"), io.BytesIO())
    return file.getvalue()


def database(folder: Path) -> bytes:
    connection = sqlite3.connect(folder / "made.db")
    connection.execute("create table words (word text)")
    connection.commit()
    connection.close()
    return (folder / "made.db").read_bytes()


def test_what_is_no_text_is_named_and_refused_under_any_name(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8).tobytes()
    for content, kind in (
        (b"\x89PNG\r\n\x1a\n" + noise, "a PNG picture"),
        (b"%PDF-1.7\n" + noise, "a PDF document"),
        (zip_of("word/document.xml"), "a Word document"),
        (zip_of("xl/workbook.xml"), "an Excel workbook"),
        (zip_of("words.txt"), "a zip archive"),
        (database(tmp_path), "an SQLite database"),
        (tar_of(), "a tar archive"),
        (gzip.compress(tar_of()), "a tar archive"),
        (noise, "is not text"),
        (b"", "is empty"),
        (b"\n \n", "no sentence is left"),
    ):
        for name in ("a.txt", "a.csv", "a.jsonl", "a"):
            with pytest.raises(ValueError, match=kind) as caught:
                read_corpus(write(tmp_path, name, content))
            assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no file"):
        read_corpus(tmp_path / "none.txt")
    with pytest.raises(ValueError, match="is a folder"):
        read_corpus(tmp_path)
    with pytest.raises(ValueError, match="damaged parquet"):
        read_corpus(write(tmp_path, "a.parquet", b"PAR1" + b"nonsense" * 20))
    with pytest.raises(ValueError, match="no parquet file"):
        read_corpus(write(tmp_path, "a.parquet", b"words\n"))


def test_a_peek_shows_columns_and_first_rows_and_guesses_labels_of_a_sorted_file(tmp_path: Path) -> None:
    lines = ["id\ttitle\tkind"]
    lines += [f"{n}\tthe title of document number {n}\tkind {n // 4000}" for n in range(12_000)]
    seen = peek(write(tmp_path, "a.tsv", "\n".join(lines)))
    assert seen.columns == ["id", "title", "kind"]
    assert (seen.text_column, seen.label_column) == ("title", "kind")
    assert seen.rows[0] == ["0", "the title of document number 0", "kind 0"]


def test_a_text_file_with_the_same_tabs_in_each_line_is_a_table(tmp_path: Path) -> None:
    table = write(tmp_path, "a.txt", "".join(f"{n}\tsentence number {n}\n" for n in range(9)))
    assert texts(read_corpus(table))[0] == "sentence number 0"
    text = write(tmp_path, "b.txt", "one\ttab here\nnone here\nnone there\n")
    assert texts(read_corpus(text))[0] == "one tab here"


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        (
            "a.txt",
            "id\tone (1, 6)\nid\ttwo (2, 6)\nie\tthree (3, 6)\n",
            ["one (1, 6)", "two (2, 6)", "three (3, 6)"],
        ),
        ("a.dat", "text,label\none two,a\nthree four,b\nfive six,a\n", ["one two", "three four", "five six"]),
        ("a.txt", "text,label\none two,a\n", ["text,label", "one two,a"]),
        ("a.dat", '["one two", "three four"]', ["one two", "three four"]),
        ("a.txt", "[ANN] new release\n[BUG] broken thing\n", ["[ANN] new release", "[BUG] broken thing"]),
        ("a.txt", "[1] a footnote\n[2] another one\n", ["[1] a footnote", "[2] another one"]),
    ],
)
def test_the_content_decides_where_the_name_does_not(
    tmp_path: Path, name: str, data: str, expected: list[str]
) -> None:
    assert texts(read_corpus(write(tmp_path, name, data))) == expected


def test_quotes_spelled_with_a_backslash_are_quotes(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'text,label\n"he said \\"hi, you\\" to me",a\nsecond line of it,b\n')
    assert texts(read_corpus(path)) == ['he said "hi, you" to me', "second line of it"]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"<!DOCTYPE html><html><body>Hi</body></html>", "web page"),
        (b'<?xml version="1.0"?><a>Hi</a>', "XML"),
        (np.arange(5000, dtype="<i4").tobytes(), "not text"),
        (np.random.default_rng(0).integers(0, 200, 5000).astype("<i2").tobytes(), "not text"),
    ],
)
def test_what_only_looks_like_text_is_refused(tmp_path: Path, data: bytes, found: str) -> None:
    with pytest.raises(ValueError, match=found):
        read_corpus(write(tmp_path, "a.txt", data))


def test_a_file_without_line_ends_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line of more than 16,777,216 characters"):
        read_corpus(write(tmp_path, "a.txt", b"word " * 5_000_000))


def test_malformed_lines_are_told_by_number(tmp_path: Path) -> None:
    lines = ['{"text": "one two"}', "no json", '{"other": 1}'] + [f'{{"text": "line {i}"}}' for i in range(4)]
    report = read_corpus(write(tmp_path, "a.jsonl", "\n".join(lines)), ReadOptions(text_column="text")).report
    assert (report.malformed, report.kept, report.lines) == (1, 5, 7)
    assert report.malformed_lines == [2]
    assert any("line 2" in said for said in report.sentences())
    assert report.as_dict()["malformed_lines"] == [2]
