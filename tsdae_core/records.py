"""Files that one process writes and others read at any moment: nobody sees half of one, and a killed writer spoils none."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty when the file is missing or torn."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def write_text(path: Path, text: str) -> None:
    """Readers see the old file or the new one, never half of one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def write_json(path: Path, data: dict[str, Any]) -> None:
    """`write_text` for an object."""
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False))


def append_line(path: Path, row: dict[str, Any]) -> None:
    """Add one JSON line in a single write."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_lines(path: Path, offset: int = 0, *, limit: int = -1) -> tuple[list[dict[str, Any]], int]:
    """JSON lines from byte `offset` on, and the next offset. A last line without its newline is left for later.

    An offset behind the end belongs to a file that has been cut since: reading starts over, and the next offset is
    smaller than the one given. With a `limit` at most that many bytes are read.
    """
    try:
        with path.open("rb") as file:
            offset = 0 if offset > os.fstat(file.fileno()).st_size else offset
            file.seek(offset)
            data = file.read(limit)
    except FileNotFoundError:
        return [], 0
    whole = data[: data.rfind(b"\n") + 1]
    return list(_rows(whole)), offset + len(whole)


def _rows(data: bytes) -> Iterator[dict[str, Any]]:
    lines = data.splitlines()
    try:  # one call for all lines takes a third of the time, which a million rows make felt
        rows = json.loads(b"[" + b",".join(lines) + b"]")
        if len(rows) == len(lines):
            yield from (row for row in rows if isinstance(row, dict))
            return
    except ValueError:
        pass
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue  # a writer was killed inside this line, and a later one went on behind it
        if isinstance(row, dict):
            yield row


def new_folder(target: Path) -> Path:
    """An empty hidden folder beside `target`, to be filled and handed to `put_in_place`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f".{target.name}.{secrets.token_hex(6)}"
    temporary.mkdir()
    return temporary


def put_in_place(temporary: Path, target: Path) -> None:
    """Rename a filled folder to its final name, replacing an older one; a crash leaves one of the two whole."""
    old = target.parent / f".{target.name}.old-{secrets.token_hex(6)}"
    if target.exists():
        target.rename(old)
    temporary.rename(target)
    shutil.rmtree(old, ignore_errors=True)
