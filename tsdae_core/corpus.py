"""A corpus: the sentences of a file, cleaned, counted and free of duplicates.

Nothing is dropped in silence: every line of a file is in exactly one count of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tsdae_core import columns
from tsdae_core.readers import Source, open_source, open_text
from tsdae_core.report import Report
from tsdae_core.sentences import Seen, count_words, lost_halves, normalise
from tsdae_core.supervision import PAIRS

SCHEMA = pa.schema([("sentence", pa.string()), ("line", pa.int64()), ("label", pa.string())])
CHUNK = 50_000
"""Sentences held as Python objects at a time; after that they are Arrow arrays."""


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read.

    Attributes:
        text_column: its name, or its number counted from 1; None takes the one with the longest text on average.
        label_column: likewise; None for no labels.
        second_column: likewise, with the other sentence of a pair; None where rows are single sentences. See `pairs`.
        split_sentences: lines are paragraphs, to be split into sentences.
        language: of the text, as a two-letter code; only for splitting.
        min_words: shorter sentences are dropped; for scripts without spaces a word is one sign, or four of Thai's.
        max_characters: longer sentences are dropped.
        encoding: None to detect it.
        header: whether a table's first row names its columns; None to detect it.
    """

    text_column: str | None = None
    label_column: str | None = None
    second_column: str | None = None
    split_sentences: bool = False
    language: str = "en"
    min_words: int = 1
    max_characters: int = 5000
    encoding: str | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        if self.min_words < 0:
            raise ValueError(f"the shortest length must be 0 words or more; got {self.min_words}")
        if self.max_characters < 1:
            raise ValueError(f"the longest length must be 1 character or more; got {self.max_characters}")


@dataclass(frozen=True)
class Corpus:
    """Sentences and how they were found.

    Attributes:
        table: columns sentence (string), line (int64, where in the file it began) and label (string, may be null).
    """

    table: pa.Table
    report: Report


@dataclass(frozen=True)
class Peek:
    """What a file holds, seen from its first rows: for choosing columns before it is read."""

    format: str
    encoding: str
    columns: list[str]
    text_column: str | None
    label_column: str | None
    rows: list[list[str]]


def peek(path: Path, *, rows: int = 5) -> Peek:
    """Look at a file's columns and first rows; raises `ValueError` as `read_corpus` does."""
    source = open_source(Path(path))
    values = source.values()
    text = columns.choose_text(source.columns, values)
    label = columns.choose_label(source.columns, values, text)
    return Peek(source.format, source.encoding, source.columns, text, label, source.sample[:rows])


def read_corpus(path: Path, options: ReadOptions = ReadOptions()) -> Corpus:
    """The sentences of a file: txt, csv, tsv, jsonl, json or parquet, also gzipped.

    A million lines are read in pieces; besides the result only 16 bytes per sentence are kept, to know duplicates.
    A JSON file that is not JSON lines is held in memory as a whole while it is read.

    Raises:
        ValueError: in one sentence, for a file that cannot be used, an unknown column, or when no sentence is left.
    """
    path = Path(path)
    if options.second_column:
        from tsdae_core.pairs import read_pairs  # noqa: PLC0415 (it imports this module)

        return read_pairs(path, options)
    source = open_source(path, encoding=options.encoding, header=options.header)
    return _read(source, options, path.name)


def read_labelled(path: Path) -> Corpus:
    """The sentences of a file with its labels: the columns of both are found by themselves. Raises as `read_corpus`."""
    seen = peek(path)
    return read_corpus(path, ReadOptions(text_column=seen.text_column, label_column=seen.label_column))


def from_text(text: str, options: ReadOptions = ReadOptions()) -> Corpus:
    """The sentences of a pasted text, one per line. Raises `ValueError` when none is left."""
    return _read(open_text(text), options, "the text")


def from_pairs(pairs: Iterable[tuple[str, str | None]], name: str) -> Corpus:
    """A corpus of (sentence, label) pairs; `name` is the format that its report tells."""
    report = Report(name, "", ["sentence", "label"], "sentence", "label")
    rows = ((number, sentence, label) for number, (sentence, label) in enumerate(pairs, 1))
    return Corpus(_collect(rows, ReadOptions(), report), report)


def write_parquet(table: pa.Table, path: Path) -> None:
    """A corpus's table as a file."""
    pq.write_table(table, path, compression="zstd")


def read_parquet(path: Path) -> pa.Table:
    """A table that `write_parquet` wrote. Raises `ValueError` if it is none."""
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"{path} is not a corpus written by this app") from error
    if not (table.schema.equals(SCHEMA) or table.schema.equals(PAIRS)):
        raise ValueError(f"{path} is not a corpus: its columns must be sentence, line and label (and second)")
    return table


def _read(source: Source, options: ReadOptions, name: str) -> Corpus:
    text = column_of(source, options.text_column, name) or columns.choose_text(
        source.columns, source.values()
    )
    if text is None:
        raise ValueError(f"{name} has no column with text")
    label = column_of(source, options.label_column, name)
    report = Report(source.format, source.encoding, source.columns, text, label, options.split_sentences)
    places = [source.columns.index(column) for column in (text, label) if column]
    table = _collect(_rows(source, places, report), options, report)
    report.undecodable += source.lost
    if not report.kept:
        if not report.lines:
            raise ValueError(f"no sentence is left of {name}: it holds no text")
        read = f"{report.lines:,} {'sentence' if report.split else 'line'}{'' if report.lines == 1 else 's'} read"
        raise ValueError(f"no sentence is left of {name}: {read}; {' '.join(report.dropped())}")
    return Corpus(table, report)


def column_of(source: Source, wanted: str | None, name: str) -> str | None:
    """The column that is meant by a name or a number; None for none. Raises `ValueError` for one that is not there."""
    if not wanted:
        return None
    if wanted in source.columns:
        return wanted
    if wanted.isdecimal() and 0 < int(wanted) <= len(source.columns):
        return source.columns[int(wanted) - 1]
    has = ", ".join(repr(each) for each in source.columns[:20])
    raise ValueError(f"{name} has no column {wanted!r}; choose one of {has}")


def _rows(source: Source, places: list[int], report: Report) -> Iterator[tuple[int, str, str | None]]:
    """(line, text, label) of every row that has a text; the others are counted."""
    for number, cells in source.read(places):
        if cells is None or (cells and cells[0] is None):
            report.malformed += 1
            report.lines += 1
            if len(report.malformed_lines) < 5:
                report.malformed_lines.append(number)
        else:
            text, label = (cells[0] or "") if cells else "", cells[1] if len(cells) > 1 else None
            yield number, text, label


def _collect(rows: Iterable[tuple[int, str, str | None]], options: ReadOptions, report: Report) -> pa.Table:
    """The table of the sentences that are kept; every other one is counted in the report."""
    split = _splitter(options.language) if options.split_sentences else None
    candidates = _candidates(rows, options, report, split=split)
    seen = Seen()
    batches = []
    while chunk := list(islice(candidates, CHUNK)):
        fresh = seen.new([sentence for sentence, _, _ in chunk])
        kept = int(fresh.sum())
        report.kept += kept
        report.duplicate += len(chunk) - kept
        if not kept:
            continue
        sentences, numbers, labels = zip(*compress(chunk, fresh), strict=True)
        arrays = [
            pa.array(sentences, pa.string()),
            pa.array(numbers, pa.int64()),
            pa.array(labels, pa.string()),
        ]
        batches.append(pa.record_batch(arrays, schema=SCHEMA))
    return pa.Table.from_batches(batches, schema=SCHEMA)


def _candidates(
    rows: Iterable[tuple[int, str, str | None]],
    options: ReadOptions,
    report: Report,
    *,
    split: Callable[[str], Iterable[str]] | None,
) -> Iterator[tuple[str, int, str | None]]:
    """What is neither blank nor of the wrong length; the rest is counted."""
    for number, raw, label in rows:
        text = normalise(raw)
        report.undecodable += lost_halves(raw)
        for sentence in map(normalise, split(text)) if split and text else (text,):
            report.lines += 1
            if not sentence:
                report.blank += 1
            elif len(sentence) > options.max_characters:
                report.too_long += 1
            elif options.min_words > 1 and count_words(sentence) < options.min_words:
                report.too_short += 1
            else:
                yield sentence, number, (normalise(label) or None) if label else None


def _splitter(language: str) -> Callable[[str], Iterable[str]]:
    from sentencex import segment  # noqa: PLC0415  (needed only for files whose lines are paragraphs)

    return lambda text: segment(language, text)
