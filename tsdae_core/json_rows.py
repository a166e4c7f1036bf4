"""Rows of JSON: which shapes of a file are a table, and what its columns and cells are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tsdae_core import columns

Cell = str | None
"""Text, or None for what is no text, as a list inside a JSON object."""


def rows_of(data: Any) -> Iterator[Any]:
    """The rows of a JSON file: a list, lists by name with the name as a last cell, or columns by name."""
    if isinstance(data, list):
        yield from data
        return
    parts = (
        {name: part for name, part in data.items() if isinstance(part, list)}
        if isinstance(data, dict)
        else {}
    )
    flat = all(not isinstance(cell, (list, dict)) for part in parts.values() for cell in part[:100])
    even = len({len(part) for part in parts.values()}) == 1
    if len(parts) > 1 and flat and even and {name.lower() for name in parts} & {*columns.TEXT_NAMES}:
        yield from (dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True))
        return
    for name, part in parts.items():
        for row in part:
            if len(parts) == 1:
                yield row
            elif isinstance(row, dict):
                yield {**row, "split": name}
            elif isinstance(row, list):
                yield {**{f"column {place}": cell for place, cell in enumerate(row, 1)}, "split": name}
            else:
                yield {"text": row, "split": name}


def looks_like_lines(first: list[str]) -> bool:
    filled = [line for line in first[:20] if line.strip()][:2]
    return bool(filled) and all(isinstance(loads(line), dict) for line in filled)


def loads(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return ...


def names_of(rows: list[Any]) -> list[str]:
    """Columns of JSON rows: all keys of the objects, or one per place of the longest list, or one for texts."""
    keys = list(dict.fromkeys(key for row in rows if isinstance(row, dict) for key in row))
    if keys:
        return keys
    width = max((len(row) for row in rows if isinstance(row, list)), default=0)
    return [f"column {place}" for place in range(1, width + 1)] or ["text"]


def cells_of(row: Any, names: list[str]) -> list[Cell] | None:
    """The cells of a JSON row, or None when it is of another shape than the file's first rows."""
    if isinstance(row, dict):
        return [_cell(row.get(name)) for name in names]
    if isinstance(row, list):
        return [_cell(row[place]) if place < len(row) else "" for place in range(len(names))]
    if isinstance(row, str) or row is None:
        return [row or ""] if names == ["text"] else None
    return None


def _cell(value: Any) -> Cell:
    if isinstance(value, (list, dict)):
        return None
    return "" if value is None else str(value)


def sample_of(rows: list[Any], names: list[str]) -> list[list[str]]:
    found = (cells_of(row, names) for row in rows)
    return [[cell or "" for cell in cells] for cells in found if cells]
