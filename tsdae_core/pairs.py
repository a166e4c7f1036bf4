"""Pairs of sentences from a file: two columns of a table, or two files side by side as USEB's `data-train` has them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from tsdae_core.corpus import Corpus, ReadOptions, column_of, read_corpus
from tsdae_core.readers import Source, open_source
from tsdae_core.report import Report
from tsdae_core.sentences import Seen, count_words, lost_halves, normalise
from tsdae_core.supervision import PAIRS

FIRST_NAMES = (
    "sentence1",
    "sentence_1",
    "sentence_a",
    "sent1",
    "text1",
    "s1",
    "question1",
    "anchor",
    "query",
)
SECOND_NAMES = (
    "sentence2",
    "sentence_2",
    "sentence_b",
    "sent2",
    "text2",
    "s2",
    "question2",
    "positive",
    "second",
)
SCORE_NAMES = ("score", "similarity", "relatedness_score", "is_duplicate", "gold", "label")

Cells = tuple[int, str, str, str | None]
"""The line, both sentences, and the score."""


def find_pair(names: list[str]) -> tuple[str, str, str | None] | None:
    """The columns of the first sentence, the second and the score (or None), by their usual names; None when there are none."""

    def usual(wanted: tuple[str, ...]) -> str | None:
        return next((name for want in wanted for name in names if name.strip().lower() == want), None)

    first, second = usual(FIRST_NAMES), usual(SECOND_NAMES)
    if first is None:
        first = next((name for name in names if name.strip().lower() == "sentence"), None)
    return (first, second, usual(SCORE_NAMES)) if first and second else None


def read_pairs(path: Path, options: ReadOptions) -> Corpus:
    """Pairs from a table's columns `text_column` and `second_column`, with a score from `label_column` if there is one.

    A table of three columns needs no names: columns may be given by their number, counted from 1.

    Raises:
        ValueError: in one sentence, for a file that cannot be used, an unknown column, or when no pair is left.
    """
    path = Path(path)
    if options.split_sentences:
        raise ValueError(
            "pairs cannot be split into sentences; leave the splitting out, or the second column"
        )
    source = open_source(path, encoding=options.encoding, header=options.header)
    first = column_of(source, options.text_column, path.name)
    second = column_of(source, options.second_column, path.name)
    label = column_of(source, options.label_column, path.name)
    if first is None or second is None or first == second:
        raise ValueError(
            f"{path.name} needs two different columns for a pair's sentences; got {first!r} and {second!r}"
        )
    report = Report(source.format, source.encoding, source.columns, first, label, second_column=second)
    table = _collect(_rows(source, [first, second, *([label] if label else [])], report), options, report)
    report.undecodable += source.lost
    return _with_some(Corpus(table, report), path.name)


def read_useb(folder: Path, *, supervised: bool, options: ReadOptions) -> Corpus:
    """The training text of one data set of USEB's `data-train` folder, such as data-train/askubuntu.

    Unsupervised it is unsupervised/train.txt; supervised the pairs of train.s1, train.s2 and train.lbl (scores, TwitterPara
    alone) or of train.org and train.para (pairs that belong together), which are aligned line by line.

    Raises:
        ValueError: in one sentence, for a folder without these files or files of different lengths.
    """
    if not supervised:
        file = folder / "unsupervised" / "train.txt"
        if not file.is_file():
            raise ValueError(
                f"{folder} has no unsupervised/train.txt; give a data set's folder of USEB's data-train, or a file"
            )
        return read_corpus(file, options)
    home = folder / "supervised"
    names = next(
        (
            names
            for names in (("train.s1", "train.s2", "train.lbl"), ("train.org", "train.para"))
            if (home / names[0]).is_file()
        ),
        None,
    )
    if names is None:
        raise ValueError(
            f"{folder} has neither supervised/train.org nor supervised/train.s1; give a data set's folder of USEB's data-train"
        )
    missing = [name for name in names if not (home / name).is_file()]
    if missing:
        raise ValueError(f"{home} lacks {missing[0]}, which belongs to {names[0]}")
    columns = [(home / name).read_text(encoding="utf-8", errors="replace").splitlines() for name in names]
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(f"{name} {len(column):,}" for name, column in zip(names, columns, strict=True))
        raise ValueError(f"the files in {home} must have one line for each pair; they have {lengths}")
    report = Report(
        "USEB pairs",
        "utf-8",
        list(names),
        names[0],
        names[2] if len(names) > 2 else None,
        second_column=names[1],
    )
    rows = ((number, cells[0], cells[1], cells[2] if len(cells) > 2 else None)
            for number, cells in enumerate(zip(*columns, strict=True), 1))  # fmt: skip
    return _with_some(Corpus(_collect(rows, options, report), report), str(home))


def _rows(source: Source, names: list[str], report: Report) -> Iterable[Cells]:
    places = [source.columns.index(name) for name in names]
    for number, found in source.read(places):
        cells = [cell or "" for cell in found] if found and len(found) > 1 and None not in found[:2] else None
        if cells is None:
            report.malformed += 1
            report.lines += 1
            if len(report.malformed_lines) < 5:
                report.malformed_lines.append(number)
        else:
            yield number, cells[0], cells[1], cells[2] if len(cells) > 2 else None


def _collect(rows: Iterable[Cells], options: ReadOptions, report: Report) -> pa.Table:
    """The pairs that are kept; every other one is counted in the report."""
    kept: list[tuple[str, int, str | None, str]] = []
    for line, one, other, label in rows:
        first, second = normalise(one), normalise(other)
        report.undecodable += lost_halves(one) + lost_halves(other)
        report.lines += 1
        both = (first, second)
        if not all(both):
            report.blank += 1
        elif max(map(len, both)) > options.max_characters:
            report.too_long += 1
        elif options.min_words > 1 and min(map(count_words, both)) < options.min_words:
            report.too_short += 1
        else:
            kept.append((first, line, (normalise(label) or None) if label else None, second))
    if kept:
        fresh = Seen().new([f"{first}\n{second}" for first, _, _, second in kept])
        report.duplicate += len(kept) - int(fresh.sum())
        kept = [row for row, new in zip(kept, fresh, strict=True) if new]
    report.kept = len(kept)
    columns = [pa.array([row[place] for row in kept], field.type) for place, field in enumerate(PAIRS)]
    return pa.table(columns, schema=PAIRS)


def _with_some(corpus: Corpus, name: str) -> Corpus:
    if not corpus.report.kept:
        raise ValueError(f"no pair is left of {name}: {' '.join(corpus.report.dropped()) or 'it holds none'}")
    return corpus
