"""Loaded texts that no run has used yet: one Parquet file each, so that a reload of the page loses nothing.

This module is the only one that knows where they lie and what is written beside the sentences.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = ".drafts"
DAYS = 14
"""Days after which an unused draft is removed; a run keeps its own copy of the text."""

KEY = re.compile(r"[0-9a-f]{16}")
NOTES = b"tsdae"


@dataclass(frozen=True)
class Draft:
    """A loaded text.

    Attributes:
        key: names it in the page's address.
        path: Parquet with the columns sentence, line and label.
        title: where it came from, as the user knows it: a file's name, "Pasted text", an example's title.
        report: what was read and what was left out, one sentence per entry.
    """

    key: str
    path: Path
    title: str
    report: list[str] = field(default_factory=list)

    def table(self) -> pa.Table:
        """All sentences, memory-mapped: columns sentence, line, label."""
        return pq.read_table(self.path, memory_map=True)


def save_draft(
    workspace: Path,
    table: pa.Table,
    *,
    title: str,
    report: list[str] | None = None,
) -> Draft:
    """Keep a loaded text on disk; drafts of two weeks ago are removed by the way."""
    folder = workspace / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    _forget_old(folder)
    key = secrets.token_hex(8)
    notes = {"title": title, "report": report or []}
    kept = {**(table.schema.metadata or {}), NOTES: json.dumps(notes).encode()}
    temporary = folder / f"{key}.{os.getpid()}.part"
    pq.write_table(table.replace_schema_metadata(kept), temporary, compression="zstd")
    os.replace(temporary, folder / f"{key}.parquet")
    return Draft(key, folder / f"{key}.parquet", **notes)


def find_draft(workspace: Path, key: str | None) -> Draft | None:
    """The draft of that key, or None when there is none (any more). A key from a browser is checked before it is a path."""
    if not isinstance(key, str) or not KEY.fullmatch(key):
        return None
    path = workspace / FOLDER / f"{key}.parquet"
    try:
        notes = json.loads((pq.read_schema(path).metadata or {})[NOTES])
        return Draft(key, path, str(notes["title"]), list(notes["report"]))
    except (OSError, KeyError, ValueError, TypeError, pa.ArrowException):
        return None


def _forget_old(folder: Path) -> None:
    for path in folder.iterdir():
        try:
            if path.is_file() and path.stat().st_mtime < time.time() - DAYS * 86_400:
                path.unlink()
        except OSError:
            continue  # another page was faster
