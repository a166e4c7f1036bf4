"""Rows of a task's file, and what is said when one is not as it must be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tsdae_core.evaluate.kinds import KINDS
from tsdae_core.readers import open_source

TRUE, FALSE = ("1", "1.0", "true", "yes"), ("0", "0.0", "false", "no")


def columns(path: Path, *wanted: Sequence[str], kind: str) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and the cells of the wanted columns: by name, or the first ones when a table has just as many.

    Raises:
        ValueError: for columns that are not there and a row that is too short or too long.
    """
    source = open_source(path)
    lower = [name.lower() for name in source.columns]
    found = [next((lower.index(name) for name in names if name in lower), -1) for names in wanted]
    if -1 in found or len(set(found)) < len(found):
        if len(source.columns) != len(wanted):
            raise ValueError(
                f"{path.name} has {len(source.columns)} column{'s' * (len(source.columns) != 1)} ({', '.join(source.columns)[:120]}) where "
                f"{KINDS[kind].title.lower()} need {len(wanted)}; name them {', '.join(names[0] for names in wanted)}"
            )
        found = list(range(len(wanted)))
    for line, cells in source.read(found):
        if cells is None:
            raise ValueError(f"{path.name}, line {line}: a row must have {len(wanted)} cells; {rule(kind)}")
        texts = [str(cell if cell is not None else "").strip() for cell in cells]
        if any(texts):
            yield line, texts


def rule(kind: str) -> str:
    return KINDS[kind].text.split("\n")[0][0].lower() + KINDS[kind].text.split("\n")[0][1:].rstrip(".")


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers and objects. Raises `ValueError` for a file that is missing and a line that is no JSON object."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}; it must hold one JSON object per line")
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise ValueError(f"{path.name}, line {number}: a line must be one JSON object")
            yield number, row


def truth(label: str, path: Path, line: int) -> int:
    if label.lower() in TRUE:
        return 1
    if label.lower() in FALSE:
        return 0
    raise ValueError(f"{path.name}, line {line}: a label must be 1 or 0; got {short(label)}")


def short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
