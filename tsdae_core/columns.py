"""Tables written as text: the delimiter, the header, the rows, and which column holds the sentences.

A row is found line by line, so that one stray quote never swallows the rest of a file: a quoted cell may go on over
the next lines only if that ends in a row of the right width.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
ALONE = "\x1f"
"""The delimiter of a table with one column: a character that no text has."""
MAX_LINES = 500
"""Lines that one quoted cell may span."""


def _names(text: str) -> list[str]:
    return text.split()


TEXT_NAMES = _names(
    "text texts sentence sentences title body content comment message review question query utterance tweet "
    "description abstract document passage sentence1 sentence2 sentence_a sentence_b sent1 sent2 text1 text2 name"
)
LABEL_NAMES = _names(
    "label category class topic intent target tag genre product language sentiment type group labels categories "
    "package"
)
OTHER_NAMES = _names(
    "id _id index idx no number pair_id score scores date time timestamp url link user author rating label_text "
    "relatedness_score entailment_judgment similarity gold source section split"
)
_HEADER_CELL = re.compile(r"[^\W\d][\w .:/#()-]{0,39}")
_NUMBER = re.compile(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?%?")
csv.field_size_limit(1 << 30)

Row = tuple[int, list[str]]
"""The number of its first line, counted from 1, and its cells."""


@dataclass(frozen=True)
class Layout:
    """What kind of table it is.

    Attributes:
        delimiter: between cells; `ALONE` for a single column.
        width: cells per row.
        even: every line seen is a row when quotes mean nothing, so a quote left open is a stray one.
        header: the first row names the columns.
    """

    delimiter: str
    width: int
    even: bool
    header: bool = False


def find_layout(lines: Sequence[str], *, prefer: str | None = None, header: bool | None = None) -> Layout:
    """The layout of a table from its first lines; `prefer` is the delimiter that the file's name promises."""
    filled = [line for line in lines if line.strip()]
    best, best_share = Layout(ALONE, 1, False), 0.0
    order = [prefer] if prefer else []
    for delimiter in [*order, *(each for each in DELIMITERS if each not in order)]:
        if not any(delimiter in line for line in filled):
            continue
        raw = Counter(line.count(delimiter) + 1 for line in filled)
        even = len(raw) == 1 and max(raw) > 1
        widths = Counter(len(cells) for cells in _strict_rows(filled, delimiter))
        width, count = max(widths.items(), key=lambda item: (item[1], item[0])) if widths else (1, 0)
        if even and count < len(filled):
            width, count = max(raw), len(filled)
        share = count / max(1, sum(widths.values()), count)
        if width > 1 and share >= 0.8 and share > best_share + 1e-9:
            best, best_share = Layout(delimiter, width, even), share
            if delimiter == prefer:
                break
    if best.delimiter == ALONE:
        best = Layout(ALONE, 1, not any(line.lstrip().startswith('"') for line in filled))
    rows = [cells for _, cells in islice(read_rows(iter(lines), best), 1000)]
    return Layout(best.delimiter, best.width, best.even, has_header(rows) if header is None else header)


def is_named_table(lines: Sequence[str]) -> bool:
    """Whether lines of a file without a telling name are a table: even rows below usual names of columns."""
    layout = find_layout(lines)
    first = next((cells for _, cells in read_rows(iter(lines), layout) if cells), [])
    known = {*TEXT_NAMES, *LABEL_NAMES, *OTHER_NAMES}
    return layout.width > 1 and layout.header and any(cell.strip().lower() in known for cell in first)


def read_rows(lines: Iterator[str], layout: Layout) -> Iterator[Row]:
    """Rows with the line each begins on; a blank line is a row of no cells."""
    ahead: list[str] = []
    number = 0
    while True:
        line = ahead.pop(0) if ahead else next(lines, None)
        if line is None:
            return
        number += 1
        start = number
        if '"' not in line:
            yield start, line.split(layout.delimiter) if line.strip() else []
            continue
        cells = _strict(line, layout.delimiter)
        if cells is not None:
            yield start, cells
            continue
        joined = _join(line, ahead, lines, layout) if _may_go_on(line, ahead, lines, layout) else None
        if joined is None:
            yield start, [_unquote(cell) for cell in line.split(layout.delimiter)]
            continue
        cells, more = joined
        del ahead[:more]
        number += more
        yield start, cells


def _may_go_on(line: str, ahead: list[str], lines: Iterator[str], layout: Layout) -> bool:
    """Whether an open quote is likely to close on a later line."""
    if not layout.even or line.count(layout.delimiter) + 1 != layout.width:
        return True
    if not ahead:
        ahead.extend(islice(lines, 1))
    if not ahead:
        return False
    return ahead[0].count(layout.delimiter) + 1 != layout.width


def _join(line: str, ahead: list[str], lines: Iterator[str], layout: Layout) -> tuple[list[str], int] | None:
    """The row that begins on this line and ends on a later one, and how many later lines it took."""
    for more in range(1, MAX_LINES):
        if len(ahead) < more:
            ahead.extend(islice(lines, 1))
        if len(ahead) < more:
            return None
        if '"' not in ahead[more - 1]:
            continue
        text = "\n".join([line, *ahead[:more]])
        cells = _strict(text, layout.delimiter)
        if cells is not None:
            return (cells, more) if len(cells) == layout.width else None
        if not _is_open(text, layout.delimiter):
            return None
    return None


def _strict(text: str, delimiter: str) -> list[str] | None:
    """The cells of one complete row; None if a quote is open or closes before the end of its cell."""
    for spelled in (text, text.replace('\\"', '""')):  # some programs write \" for "" inside quotes
        try:
            rows = list(csv.reader([spelled], delimiter=delimiter, strict=True))
        except csv.Error:
            continue
        return rows[0] if len(rows) == 1 else None
    return None


def _is_open(text: str, delimiter: str) -> bool:
    """Whether the row is broken only because its last quote is not closed yet."""
    return _strict(text + '"', delimiter) is not None


def _strict_rows(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    """Rows of a sample for counting widths: quoted cells may span lines, a line that fits nothing stands alone."""
    place = 0
    while place < len(lines):
        for more in range(1, 20):
            text = "\n".join(lines[place : place + more])
            cells = _strict(text, delimiter)
            if cells is not None:
                yield cells
                place += more
                break
            if place + more >= len(lines) or not _is_open(text, delimiter):
                yield lines[place].split(delimiter)
                place += 1
                break
        else:
            yield lines[place].split(delimiter)
            place += 1


def _unquote(cell: str) -> str:
    """A cell of a line that is no strict row: quotes around the whole cell go, all others stay."""
    inner = cell[1:-1]
    if len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner.replace('""', ""):
        return inner.replace('""', '"')
    return cell


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: short words, none of which occurs again below it.

    Beyond that, one cell must be a usual name of a column, or stand above numbers only, or there must be two columns
    and text much longer than its name.
    """
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if len(rows) < 2:
        return False
    first, below = [cell.strip() for cell in rows[0]], rows[1:]
    names = [cell for cell in first if cell]
    if not names or len(set(names)) < len(names) or not all(_HEADER_CELL.fullmatch(name) for name in names):
        return False
    if any(len(name.split()) > 3 or name[-1] in ".:" for name in names):
        return False
    columns = [[row[place].strip() for row in below if place < len(row)] for place in range(len(first))]
    if any(name and name in column for name, column in zip(first, columns, strict=True)):
        return False
    known = {*TEXT_NAMES, *LABEL_NAMES, *OTHER_NAMES}
    if any(name.lower().replace(" ", "_") in known for name in names):
        return True
    if any(column and all(map(is_number, column)) for column in columns):
        return True
    longest = max(range(len(first)), key=lambda place: _length(columns[place]))
    return len(first) > 1 and _length(columns[longest]) > 3 * max(5, len(first[longest]))


def column_names(first: Sequence[str] | None, width: int) -> list[str]:
    """One name per column, none twice; "column 2" where the header says nothing."""
    names: list[str] = []
    for place in range(width):
        name = " ".join(first[place].split()) if first and place < len(first) else ""
        name = name or f"column {place + 1}"
        names.append(name if name not in names else f"{name} ({place + 1})")
    return names


def choose_text(names: Sequence[str], values: Sequence[Sequence[str]]) -> str | None:
    """The column with the longest text on average; columns of numbers or addresses only when there is nothing else."""
    if not names:
        return None

    def rank(place: int) -> tuple[bool, float]:
        filled = [value for value in values[place] if value.strip()]
        dull = sum(is_number(value) or value.startswith(("http://", "https://")) for value in filled)
        return dull * 2 < max(1, len(filled)), _length(values[place])

    return names[max(range(len(names)), key=rank)]


def choose_label(names: Sequence[str], values: Sequence[Sequence[str]], text: str | None) -> str | None:
    """A column of a few short values that come again and again, a usual name first; None if there is none."""
    good: list[tuple[int, int, str]] = []
    for place, name in enumerate(names):
        filled = [value for value in values[place] if value.strip()]
        kinds = len(set(filled))
        usual = name.lower() in LABEL_NAMES
        if (
            name in (text, "split")
            or kinds < 2
            or _length(filled) > 40
            or any(_is_fraction(value) for value in filled)
        ):
            continue
        if kinds <= len(filled) * (0.8 if usual else 0.34) and kinds <= 1000:
            good.append((LABEL_NAMES.index(name.lower()) if usual else 1000, kinds, name))
    return min(good)[2] if good else None


def is_number(value: str) -> bool:
    return bool(_NUMBER.fullmatch(value.strip()))


def _is_fraction(value: str) -> bool:
    return "." in value and is_number(value)


def _length(values: Sequence[str]) -> float:
    return sum(map(len, values)) / max(1, len(values))
