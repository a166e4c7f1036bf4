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
    if isinstance(data, dict) and not parts:
        yield from _rows_by_name(data)
        return
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


def _rows_by_name(data: dict[str, Any]) -> Iterator[Any]:
    """The rows of an object without lists: one record, texts or records by name, or columns of numbered cells."""
    inner = list(data.values())
    known = {*columns.TEXT_NAMES, *columns.LABEL_NAMES}
    named = any(name.lower() in known for name in data)
    if all(isinstance(part, dict) for part in inner):
        if named and len({tuple(part) for part in inner}) == 1:
            yield from (
                dict(zip(data, row, strict=True))
                for row in zip(*(part.values() for part in inner), strict=True)
            )
        elif any(name.lower() in known for part in inner[:100] for name in part):
            yield from ({**part, "key": name} for name, part in data.items())
        elif all(isinstance(cell, str) for part in inner for cell in part.values()):
            yield from (
                {"text": cell, "split": name} for name, part in data.items() for cell in part.values()
            )
    elif named:
        yield data
    elif all(isinstance(part, str) for part in inner):
        yield from ({"text": part, "key": name} for name, part in data.items())


def looks_like_list(first: list[str]) -> bool:
    """Whether lines are the start of a JSON list or object, rather than text in brackets."""
    text = "\n".join(first)[:1_000_000].lstrip()
    if text[:1] not in ("[", "{"):
        return False
    try:
        end = json.JSONDecoder().raw_decode(text, len(text) - len(text[1:].lstrip()))[1]
    except (ValueError, RecursionError):
        return False
    return text[end:].lstrip()[:1] in ({"[": (",", "]"), "{": (":",)}[text[0]])


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
    strings, objects = (sum(isinstance(row, kind) for row in rows) for kind in (str, dict))
    if strings and strings >= objects:
        return ["text"]
    keys = list(dict.fromkeys(key for row in rows if isinstance(row, dict) for key in row))
    if keys:
        return keys
    width = max((len(row) for row in rows if isinstance(row, list)), default=0)
    return [f"column {place}" for place in range(1, width + 1)] or ["text"]


def cells_of(row: Any, names: list[str]) -> list[Cell] | None:
    """The cells of a JSON row, or None when it is of another shape than the file's first rows."""
    if isinstance(row, dict):
        return [_cell(row.get(name)) for name in names] if any(name in row for name in names) else None
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
