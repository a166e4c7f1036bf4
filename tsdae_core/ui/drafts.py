"""Loaded texts that no run has used yet: one Parquet file each, and what was uploaded, so that a reload loses nothing.

This module is the only one that knows where they lie and what is written beside the sentences.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
        reading: how it was read; `doors` writes and reads it.
        source: the file that it was read from, kept so that it can be read in another way; None when there is none.
    """

    key: str
    path: Path
    title: str
    report: list[str] = field(default_factory=list)
    reading: dict[str, Any] = field(default_factory=dict)
    source: Path | None = None

    def count(self) -> int:
        """How many rows the table has."""
        return int(pq.read_metadata(self.path).num_rows)

    def table(self) -> pa.Table:
        """All sentences, memory-mapped: columns sentence, line, label."""
        return pq.read_table(self.path, memory_map=True)


def save_draft(
    workspace: Path,
    table: pa.Table,
    *,
    title: str,
    report: list[str] | None = None,
    reading: dict[str, Any] | None = None,
    source: Path | None = None,
) -> Draft:
    """Keep a loaded text on disk; drafts of two weeks ago are removed by the way.

    Args:
        source: a file that `keep_source` returned.
    """
    folder = workspace / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    if source is not None:
        os.utime(source)  # used again: it lives as long as this draft
    _forget_old(folder)
    key = secrets.token_hex(8)
    notes = {
        "title": title,
        "report": report or [],
        "reading": reading or {},
        "source": source.name if source else "",
    }
    kept = {**(table.schema.metadata or {}), NOTES: json.dumps(notes).encode()}
    temporary = folder / f"{key}.{os.getpid()}.part"
    pq.write_table(table.replace_schema_metadata(kept), temporary, compression="zstd")
    os.replace(temporary, folder / f"{key}.parquet")
    return Draft(key, folder / f"{key}.parquet", title, report or [], reading or {}, source)


def keep_source(workspace: Path, file: Path) -> Path:
    """A copy of an uploaded file among the drafts, where possible without taking its room twice."""
    folder = workspace / FOLDER
    if file.parent == folder:
        return file
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{secrets.token_hex(8)}-{re.sub(r'[^a-zA-Z0-9._-]', '-', file.name)[-80:]}"
    try:
        os.link(file, kept)
    except OSError:  # another disk
        shutil.copyfile(file, kept)
    return kept


def find_draft(workspace: Path, key: str | None) -> Draft | None:
    """The draft of that key, or None when there is none (any more). A key from a browser is checked before it is a path."""
    if not isinstance(key, str) or not KEY.fullmatch(key):
        return None
    path = workspace / FOLDER / f"{key}.parquet"
    try:
        notes = json.loads((pq.read_schema(path).metadata or {})[NOTES])
        source = path.parent / Path(str(notes.get("source") or "")).name
        return Draft(
            key,
            path,
            str(notes["title"]),
            list(notes["report"]),
            dict(notes.get("reading") or {}),
            source if source.is_file() else None,
        )
    except (OSError, KeyError, ValueError, TypeError, pa.ArrowException):
        return None


def first_found(workspace: Path, *keys: str | None) -> str:
    """The first key that names a draft; "" when none does."""
    return next((str(key) for key in keys if find_draft(workspace, key)), "")


def _forget_old(folder: Path) -> None:
    for path in folder.iterdir():
        try:
            if path.is_file() and path.stat().st_mtime < time.time() - DAYS * 86_400:
                path.unlink()
        except OSError:
            continue  # another page was faster
