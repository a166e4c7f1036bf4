"""Files that one process writes and others read at any moment: nobody sees half of one, and a killed writer spoils none."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FULL = (errno.ENOSPC, errno.EDQUOT)
"""What the system says when nothing more can be written."""

OLD = ".old-"
"""How the name goes on of a folder that is being replaced."""


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty when the file is missing or torn."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def write_text(path: Path, text: str) -> None:
    """Readers see the old file or the new one, never half of one; only a full disk has it written over the old one, if that has room."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        temporary.unlink(missing_ok=True)
        data = text.encode()
        if not disk_is_full(error) or not path.is_file() or len(data) > 512 * path.stat().st_blocks:
            raise
        with path.open("r+b") as file:
            file.write(data)
            file.truncate()
        return
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


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """An empty hidden folder beside `target` to fill; then it gets the final name, replacing an older one.

    A crash leaves one of the two whole. What fails inside leaves nothing: half a model on a full disk would leave no room for
    saying so.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f".{target.name}.{secrets.token_hex(6)}"
    temporary.mkdir()
    try:
        yield temporary
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    old = target.parent / f".{target.name}{OLD}{secrets.token_hex(6)}"
    if target.exists():
        target.rename(old)
    temporary.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Remove what a writer that was killed left of `new_folder`, or put back what it was about to replace; only for who alone
    fills folders there."""
    for left in folder.glob(".*"):
        if not left.is_dir():
            continue
        name, _, replaced = left.name[1:].rpartition(OLD)
        if replaced and not (folder / name).exists():
            left.rename(folder / name)
        else:
            shutil.rmtree(left, ignore_errors=True)


def disk_is_full(error: BaseException) -> bool:
    """Whether a failure is that of a full disk or a used-up quota, which several libraries say in their message only."""
    if getattr(error, "errno", None) in FULL:
        return True
    said = f"{error}"
    return any(f"{told} {number}" in said for told in ("os error", "[Errno") for number in FULL)


def why(error: BaseException) -> str:
    """A failure as one line for people."""
    if disk_is_full(error):
        return "The disk is full."
    return (str(error).strip() or type(error).__name__).splitlines()[0]
