"""Opening a file of any kind: gzip taken off, and what is no text or table refused in one sentence."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

ACCEPTED = "txt, csv, tsv, jsonl, json and parquet files are accepted, also gzipped"

Open = Callable[[], BinaryIO]


def wants_folder(output: Path) -> None:
    """Raises `ValueError`, before any work is done, for a file or folder to be made in a folder that is not there."""
    if not output.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {output.absolute().parent}; make it first")


def cell(text: str) -> str:
    """A text as a cell of a CSV file: a leading = + - @, which a spreadsheet would run as a formula, gets an apostrophe before it."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


_MAGIC = [
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Word or Excel document"),
    (b"{\\rtf", "an RTF document"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\0", "a program"),
    (b"ARROW1\0\0", "an Arrow file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"OggS", "a sound or video file"),
    (b"ID3", "a sound file"),
    (b"RIFF", "a sound, picture or video file"),
]


def opener_of(path: Path) -> Open:
    if path.is_dir():
        raise ValueError(f"{path.name} is a folder; choose a file: {ACCEPTED}")
    if not path.exists():
        raise ValueError(f"there is no file {path}; {ACCEPTED}")
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
    except OSError as error:
        raise ValueError(f"{path.name} cannot be read: {error.strerror or error}") from error
    if zipped:
        return lambda: cast(BinaryIO, _Unzipped(path))
    return lambda: path.open("rb")


class _Unzipped(gzip.GzipFile):
    """A gzipped file whose damage is told in one sentence."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._told = path.name

    def read(self, size: int | None = -1) -> bytes:
        try:
            return super().read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(
                f"{self._told} is a damaged gzip file: it ends early or its content is broken; "
                "compress it again, or give it unzipped"
            ) from error


def ending(path: Path) -> str:
    """The last part of the name that tells the format, in small letters: "csv" for words.csv.gz."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".gzip")
    return name.rpartition(".")[2] if "." in name else ""


def refuse_known(path: Path, start: bytes, opener: Open) -> None:
    kind = next((kind for magic, kind in _MAGIC if start.startswith(magic)), "")
    if start.startswith(b"PK\x03\x04") or start.startswith(b"PK\x05\x06"):
        kind = _kind_of_zip(opener)
    elif len(start) >= 512 and start[257:262] == b"ustar":
        kind = "a tar archive"
    elif start.removeprefix(b"\xef\xbb\xbf").lstrip()[:14].lower().startswith((b"<!doctype html", b"<html")):
        kind = "a web page"
    elif start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<?xml"):
        kind = "an XML file"
    elif start.startswith(b"\x1f\x8b"):
        kind = "a file that is gzipped twice"
    if kind:
        raise ValueError(f"{path.name} is {kind}, which cannot be read; {ACCEPTED}")


def _kind_of_zip(opener: Open) -> str:
    try:
        with opener() as file, zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return "a zip archive"
    for part, kind in (
        ("word/", "a Word document"),
        ("xl/", "an Excel workbook; save it as CSV,"),
        ("ppt/", "a PowerPoint document"),
        ("content.xml", "an OpenDocument file; save it as text or CSV,"),
    ):
        if any(name.startswith(part) for name in names):
            return kind
    return "a zip archive; take the file out of it,"
