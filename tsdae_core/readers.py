"""Files to rows: text, tables, JSON lines, JSON and parquet. Only this module knows file formats.

The content decides, the name helps. A source is looked at first, for its columns and a sample; then it is read once,
for the columns that are wanted, in pieces.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from tsdae_core import columns, json_rows
from tsdae_core.encodings import LOST, Encoding, decode, find_encoding, lines, spread_lines
from tsdae_core.files import ACCEPTED, Open, ending, opener_of, refuse_known
from tsdae_core.json_rows import Cell

SAMPLE_ROWS = 1000
"""Rows that are looked at to choose columns."""
PREVIEW_ROWS = 50
SAMPLE_LINES = 3000

TABLES = ("csv", "tsv", "tab", "psv")
PLAIN = ("txt", "text", "md", "log")
"""Endings of files in which a comma is only a comma."""

Row = tuple[int, Sequence[Cell] | None]
"""A line or row number counted from 1, and its cells: none for a blank line, None for a malformed one."""


@dataclass
class Source:
    """A file that has been looked at.

    Attributes:
        format: what a person reads, as "table with commas".
        encoding: what a person reads; "" where text is always UTF-8.
        columns: names in the file's order; one for plain text.
        sample: cells of the first rows.
        read: rows from the first to the last, with the cells of the columns at the given places.
        lost: characters that could not be decoded, counted while the rows are read.
    """

    format: str
    encoding: str
    columns: list[str]
    sample: list[list[str]]
    read: Callable[[Sequence[int]], Iterator[Row]]
    lost: int = 0

    def values(self) -> list[list[str]]:
        """The sample by columns."""
        return [[row[place] for row in self.sample] for place in range(len(self.columns))]

    def text_of(self, opener: Open, encoding: Encoding) -> Iterator[str]:
        """Lines of the file, counting in `lost`."""

        def add(more: int) -> None:
            self.lost += more

        self.lost = 0
        return lines(decode(opener, encoding, add))


def open_source(path: Path, *, encoding: str | None = None, header: bool | None = None) -> Source:
    """Look at a file: its format, encoding, columns and first rows.

    Raises:
        ValueError: in one sentence, for a file that is missing, empty, a folder, or of a kind that is not read.
    """
    opener = opener_of(path)
    with opener() as file:
        start = file.read(1024)
    if not start:
        raise ValueError(f"{path.name} is empty; {ACCEPTED}")
    refuse_known(path, start, opener)
    if start.startswith(b"PAR1"):
        return _parquet(path, opener)
    kind = ending(path)
    if kind == "parquet":
        raise ValueError(f"{path.name} is no parquet file, although its name says so; {ACCEPTED}")
    try:
        found = find_encoding(opener, encoding)
    except ValueError as error:
        told = str(error)
        raise ValueError(told if told.startswith(path.name) else f"{path.name}: {told}") from error
    if kind == "json":
        whole = _json(path, opener, found)
        if whole is not None:
            return whole
    first = _first_lines(opener, found)
    if kind in ("jsonl", "ndjson", "json") or json_rows.looks_like_lines(first):
        return _json_lines(path, opener, found, first=first)
    if kind not in TABLES and json_rows.looks_like_list(first):
        with suppress(ValueError):
            whole = _json(path, opener, found)
            if whole is not None:
                return whole
    if kind in TABLES:
        return _table(opener, found, kind, first=first, header=header)
    if _has_even_tabs(first):
        return _table(opener, found, "tsv", first=first, header=header)
    if kind not in PLAIN and columns.is_named_table(first):
        return _table(opener, found, kind, first=first, header=header)
    source = Source(
        "text, one sentence per line", found.name, ["text"], _plain_sample(first), lambda places: iter(())
    )
    source.read = lambda places: _plain_rows(source.text_of(opener, found))
    return source


def open_text(text: str) -> Source:
    """Pasted text, one sentence per line."""
    rows = list(lines(iter([text.replace("\0", "")])))
    return Source("pasted text", "", ["text"], _plain_sample(rows), lambda places: _plain_rows(iter(rows)))


def _first_lines(opener: Open, encoding: Encoding) -> list[str]:
    return list(islice(lines(decode(opener, encoding)), SAMPLE_LINES))


def _more_lines(opener: Open, encoding: Encoding, first: list[str]) -> Iterator[str]:
    """Lines from the rest of a file."""
    known = set(first)
    return (line for line in spread_lines(opener, encoding) if line not in known)


def _thinned(rows: list[Any]) -> list[Any]:
    """The first rows for a preview, and some from all over the others."""
    rest = rows[PREVIEW_ROWS:]
    return rows[:PREVIEW_ROWS] + rest[:: len(rest) // SAMPLE_ROWS + 1]


def _plain_sample(rows: list[str]) -> list[list[str]]:
    return [[row] for row in islice((row for row in rows if row.strip()), SAMPLE_ROWS)]


def _plain_rows(rows: Iterator[str]) -> Iterator[Row]:
    for number, line in enumerate(rows, 1):
        yield number, (line,)


def _has_even_tabs(first: list[str]) -> bool:
    """Whether a file without a telling name is a table with tabs: as many in each line, and at least one."""
    counts = {line.count("\t") for line in first if line.strip()}
    return len(counts) == 1 and counts != {0} and len(first) > 2


def _table(opener: Open, encoding: Encoding, kind: str, *, first: list[str], header: bool | None) -> Source:
    prefer = {"tsv": "\t", "tab": "\t", "psv": "|"}.get(kind)
    layout = columns.find_layout(first, prefer=prefer, header=header)
    rows = [cells for _, cells in columns.read_rows(iter(first), layout) if cells]
    names = columns.column_names(rows[0] if layout.header and rows else None, layout.width)
    rows = rows[layout.header :]
    rows += [cells for _, cells in columns.read_rows(_more_lines(opener, encoding, first), layout)]
    sample = _thinned([cells for cells in rows if len(cells) == layout.width])
    said = columns.DELIMITERS.get(layout.delimiter)
    words = f"table with {said}s" if said else "table of one column"
    source = Source(words, encoding.name, names, sample, lambda places: iter(()))

    def read(places: Sequence[int]) -> Iterator[Row]:
        rows = columns.read_rows(source.text_of(opener, encoding), layout)
        if layout.header:
            next((row for row in rows if row[1]), None)
        for number, cells in rows:
            if not any(cells):
                yield number, ()
                continue
            fitted = _fit(cells, layout, places[0])
            yield number, fitted and [fitted[place] for place in places]

    source.read = read
    return source


def _fit(cells: list[str], layout: columns.Layout, text: int) -> list[str] | None:
    """A row of the table's width, or None.

    Delimiters too many belong to the text when the text stands last, since its writer then forgot the quotes.
    """
    extra = cells[layout.width :]
    if len(cells) < layout.width:
        return None
    if not any(extra):
        return cells
    if text != layout.width - 1:
        return None
    return [*cells[:text], layout.delimiter.join(cells[text:])]


def _json(path: Path, opener: Open, encoding: Encoding) -> Source | None:
    """A whole JSON file; None if it is JSON lines after all."""
    lost: list[int] = []
    text = "".join(decode(opener, encoding, lost.append))
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        if json_rows.looks_like_lines(text[:100_000].split("\n")):
            return None
        where = f" (line {error.lineno}: {error.msg})" if isinstance(error, json.JSONDecodeError) else ""
        raise ValueError(f"{path.name} is not valid JSON{where}; {ACCEPTED}") from error
    rows = list(json_rows.rows_of(data))
    if not rows:
        raise ValueError(
            f"{path.name} holds no list of sentences; a JSON file must be a list of texts, of objects or of "
            '[text, label] pairs, or such lists by name, as {"train": [...]}'
        )
    names = json_rows.names_of(rows)
    source = Source(
        "JSON",
        encoding.name,
        names,
        json_rows.sample_of(_thinned(rows), names),
        lambda places: iter(()),
    )

    def read(places: Sequence[int]) -> Iterator[Row]:
        source.lost = sum(lost)
        for number, row in enumerate(rows, 1):
            cells = json_rows.cells_of(row, names)
            yield number, cells and [cells[place] for place in places]

    source.read = read
    return source


def _json_lines(path: Path, opener: Open, encoding: Encoding, *, first: list[str]) -> Source:
    parsed = [json_rows.loads(line) for line in first if line.strip()]
    good = [row for row in parsed if row is not ...]
    if parsed and len(good) * 2 <= len(parsed):
        raise ValueError(
            f"{path.name} is no JSON lines file: {len(parsed) - len(good):,} of its first {len(parsed):,} lines are "
            f"not valid JSON; {ACCEPTED}"
        )
    good += [row for row in map(json_rows.loads, _more_lines(opener, encoding, first)) if row is not ...]
    names = json_rows.names_of(good)
    source = Source(
        "JSON lines",
        encoding.name,
        names,
        json_rows.sample_of(_thinned(good), names),
        lambda places: iter(()),
    )

    def read(places: Sequence[int]) -> Iterator[Row]:
        for number, line in enumerate(source.text_of(opener, encoding), 1):
            if not line.strip():
                yield number, ()
                continue
            cells = json_rows.cells_of(json_rows.loads(line), names)
            yield number, cells and [cells[place] for place in places]

    source.read = read
    return source


def _parquet(path: Path, opener: Open) -> Source:
    """A parquet file; a gzipped one goes through a temporary file, for its end must be read first."""
    file: BinaryIO = opener()
    if not isinstance(file, type(path.open("rb"))):
        unzipped = tempfile.TemporaryFile()  # noqa: SIM115
        shutil.copyfileobj(file, unzipped)
        file = unzipped
    try:
        table = pq.ParquetFile(file)
        names = [each.name for each in table.schema_arrow if not pa.types.is_nested(each.type)]
        sample = next(table.iter_batches(SAMPLE_ROWS, columns=names), None)
    except pa.ArrowException as error:
        raise ValueError(f"{path.name} is a damaged parquet file, or of a kind that is not read") from error
    if not names:
        raise ValueError(f"{path.name} has no column of text; it must have one")

    def read(places: Sequence[int]) -> Iterator[Row]:
        wanted = [names[place] for place in places]
        raw = any(_is_raw(table.schema_arrow.field(name).type) for name in wanted)
        number, source.lost = 0, 0
        try:
            for batch in table.iter_batches(50_000, columns=list(dict.fromkeys(wanted))):
                cells = [_strings(batch.column(name)) for name in wanted]
                for row in zip(*cells, strict=True):
                    number += 1
                    source.lost += sum(cell.count(LOST) for cell in row) if raw else 0
                    yield number, row
        except pa.ArrowException as error:
            raise ValueError(
                f"{path.name} is a damaged parquet file, or of a kind that is not read"
            ) from error

    rows = (
        [list(row) for row in zip(*(_strings(column) for column in sample.columns), strict=True)]
        if sample
        else []
    )
    source = Source("parquet", "", names, rows, read)
    return source


def _strings(column: pa.Array) -> list[str]:
    """Any column as text; bytes are taken for UTF-8."""
    if _is_raw(column.type):
        cells = column.to_pylist()
        return ["" if cell is None else cell.decode("utf-8", "replace") for cell in cells]
    with suppress(pa.ArrowException):
        return ["" if cell is None else cell for cell in column.cast(pa.string()).to_pylist()]
    return ["" if cell is None else str(cell) for cell in column.to_pylist()]


def _is_raw(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
