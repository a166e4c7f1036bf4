"""Bytes of a file to text: which encoding it is in, and its lines.

Only this module knows how an encoding is found. Order: byte order mark, UTF-16 without one (seen by its NUL bytes),
UTF-8 over the whole file, UTF-8 with a few broken bytes, then charset-normalizer on a bounded sample of the lines
that hold bytes above 127.
"""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from charset_normalizer import from_bytes

CHUNK = 1 << 20
"""Bytes read at a time."""
SAMPLE = 1 << 17
"""Bytes that charset-normalizer looks at."""
LOST = "\ufffd"
"""What stands for bytes that could not be decoded."""

Open = Callable[[], BinaryIO]

_MARKS = [
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32 little-endian with a byte order mark"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32 big-endian with a byte order mark"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16 little-endian with a byte order mark"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16 big-endian with a byte order mark"),
]
_UTF8_CHARACTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH = re.compile(rb"[\x80-\xff]")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_LIKELY = {
    "cp1252": "Windows-1252",
    "gb18030": "GB18030",
    "cp932": "Shift JIS",
    "big5": "Big5",
    "cp949": "EUC-KR",
    "euc_jp": "EUC-JP",
    "cp1251": "Windows-1251",
    "koi8_r": "KOI8-R",
    "iso8859_5": "ISO 8859-5",
    "cp866": "DOS 866",
    "cp1250": "Windows-1250",
    "iso8859_2": "ISO 8859-2",
    "cp1253": "Windows-1253",
    "cp1254": "Windows-1254",
    "cp1255": "Windows-1255",
    "cp1256": "Windows-1256",
    "cp1257": "Windows-1257",
    "cp1258": "Windows-1258",
    "cp874": "Windows-874",
    "iso2022_jp": "ISO-2022-JP",
    "mac_roman": "Mac Roman",
    "cp850": "DOS 850",
}
"""Encodings that are guessed, and their names for a person."""
_WEST, _EAST = "äöüßéèêëàâçñáíóúãõåøæœîïôûù«»’“”–", "ąćęłńóśźżáčďéěíňřšťúůýžäöüßőűâîăţş„’“”–"
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєў«»№–"
_USUAL = {
    "cp1252": _WEST,
    "mac_roman": _WEST,
    "cp850": _WEST,
    "cp1250": _EAST,
    "iso8859_2": _EAST,
    "cp1251": _CYRILLIC,
    "koi8_r": _CYRILLIC,
    "iso8859_5": _CYRILLIC,
    "cp866": _CYRILLIC,
    "cp1253": "αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώ",
    "cp1254": "çğıöşüâîû’“”–",
    "cp1255": "אבגדהוזחטיכלמנסעפצקרשתםןץףך",
    "cp1257": "āčēģīķļņšūžąęėįųõäöü",
}
"""Small letters and signs beyond ASCII that a text in such an encoding is full of."""
LONGEST_LINE = 1 << 24
"""Characters of a line; without a limit a file without line ends would be held in memory as a whole."""


@dataclass(frozen=True)
class Encoding:
    """How to decode a file.

    Attributes:
        codec: Python's name of it.
        name: what a person reads.
        skip: bytes of a byte order mark at the start.
    """

    codec: str
    name: str
    skip: int = 0


def find_encoding(open_file: Open, given: str | None = None) -> Encoding:
    """The encoding of a file, from its bytes, or the one that is given.

    Raises:
        ValueError: for an unknown given name, and for bytes that are not text.
    """
    with open_file() as file:
        start = file.read(SAMPLE)
    marked = next(((mark, codec, name) for mark, codec, name in _MARKS if start.startswith(mark)), None)
    if given:
        return _given(given, len(marked[0]) if marked and _normal(marked[1])[:6] == _normal(given)[:6] else 0)
    if marked:
        return Encoding(marked[1], marked[2], len(marked[0]))
    for codec, name in (("utf-16-le", "UTF-16 little-endian"), ("utf-16-be", "UTF-16 big-endian")):
        if _is_utf16(start, codec):
            return Encoding(codec, name)
    _refuse_binary(start)
    sound, unsound, sample = _count_utf8(open_file)
    if not unsound:
        if not sound and b"\x1b$" in start and b"\x1b(" in start:  # escapes that switch to Japanese and back
            return Encoding("iso2022_jp", _LIKELY["iso2022_jp"])
        return Encoding("utf-8", "UTF-8")
    if sound >= 10 * unsound:
        return Encoding("utf-8", "UTF-8 with broken bytes")
    return _guess(sample or start)


def decode(
    open_file: Open, encoding: Encoding, on_lost: Callable[[int], None] | None = None
) -> Iterator[str]:
    """The text of a file in pieces, NUL characters taken out.

    Args:
        on_lost: called with the number of characters of a piece that could not be decoded.
    """
    decoder = codecs.getincrementaldecoder(encoding.codec)("replace")
    with open_file() as file:
        file.read(encoding.skip)
        while True:
            chunk = file.read(CHUNK)
            text = decoder.decode(chunk, final=not chunk)
            if on_lost and LOST in text:
                on_lost(text.count(LOST))
            if text:
                yield text.replace("\0", "")
            if not chunk:
                return


def lines(pieces: Iterator[str]) -> Iterator[str]:
    """Lines without their ends: LF or CRLF; a lone CR ends a line only when the first piece has no LF at all.

    Raises:
        ValueError: for a line of more than `LONGEST_LINE` characters.
    """
    first = next(pieces, "")
    end = "\n" if "\n" in first or "\r" not in first.rstrip("\r") else "\r"
    waiting: list[str] = []  # the start of a line that has not ended yet
    for piece in _chain(first, pieces):
        waiting.append(piece)
        if end not in piece:
            if sum(map(len, waiting)) > LONGEST_LINE:
                raise ValueError(
                    f"the file has a line of more than {LONGEST_LINE:,} characters; a corpus has one sentence or "
                    "paragraph per line"
                )
            continue
        *whole, rest = "".join(waiting).split(end)
        waiting = [rest]
        for line in whole:
            yield line[:-1] if line.endswith("\r") else line
    rest = "".join(waiting)
    if rest:
        yield rest[:-1] if rest.endswith("\r") else rest


def spread_lines(open_file: Open, encoding: Encoding) -> list[str]:
    """A few hundred whole lines from all over a file: files sorted by label look alike at their start."""
    found: list[str] = []
    with open_file() as file:
        if isinstance(file, gzip.GzipFile):  # its length is not known before its end
            places = [1 << power for power in (16, 18, 20, 22, 24)]
        else:
            end = file.seek(0, 2)
            places = list(range(step := max(end // 40, 1 << 14), end, step))
        for place in places:
            file.seek(place - place % 4 + encoding.skip)
            text = file.read(1 << 13).decode(encoding.codec, "replace")
            found += list(lines(iter([text])))[1:-1][:20]
    return found


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _given(name: str, skip: int) -> Encoding:
    try:
        info = codecs.lookup(name)
        "".encode(name)  # refuses codecs that are not of text, as hex or zip
    except LookupError as error:
        raise ValueError(
            f"{name!r} is not the name of a text encoding; try utf-8, utf-16, windows-1252 or gb18030, "
            "or leave it empty to have it detected"
        ) from error
    return Encoding(info.name, _LIKELY.get(info.name.replace("-", "_"), info.name.upper()), skip)


def _normal(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return name


def _is_utf16(start: bytes, codec: str) -> bool:
    """Whether NUL bytes stand where the upper halves of plain letters, spaces and line ends stand in UTF-16."""
    start = start[: len(start) // 2 * 2]
    upper, lower = (start[1::2], start[0::2]) if codec == "utf-16-le" else (start[0::2], start[1::2])
    nul = upper.count(0)
    if not nul or lower.count(0) > nul:
        return False
    text = start.decode(codec, "replace")
    if text.count(LOST) > 1:  # the sample may cut a pair of surrogates in two
        return False
    shown = sum(character.isprintable() or character in "\r\n\t\u3000\xa0\ufeff" for character in text)
    if shown <= 0.97 * len(text):  # numbers in two or four bytes, or text with a stray NUL
        return False
    spaces = sum(text.count(space) for space in " \n\u3000\u3001\u3002\uff0c")
    return nul >= 0.4 * len(upper) or (
        spaces * 200 > len(text) and (not _is_utf8(start) or _is_binary(start))
    )


def _is_utf8(start: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _is_binary(start: bytes) -> bool:
    return len(_CONTROL.findall(start)) > 0.05 * len(start)


def _refuse_binary(start: bytes) -> None:
    if _is_binary(start):
        raise ValueError(
            "the file is not text: it holds bytes that no text has; "
            "txt, csv, tsv, jsonl, json and parquet files are accepted, also gzipped"
        )


def _count_utf8(open_file: Open) -> tuple[int, int, bytes]:
    """Characters beyond ASCII that are sound UTF-8, bytes that are not, and a sample of the lines that hold such."""
    sound = unsound = 0
    sample = b""
    rest = b""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    strict = True
    with open_file() as file:
        while True:
            chunk = file.read(CHUNK)
            if strict:
                try:
                    decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError:
                    strict = False
            if not chunk:
                break
            if chunk.isascii() and rest.isascii():
                rest = chunk[-3:]
                continue
            block = rest + chunk
            cut = block.rfind(b"\n") + 1 or len(block)
            block, rest = block[:cut], block[cut:]
            characters = _UTF8_CHARACTER.findall(block)
            sound += len(characters)
            unsound += len(_HIGH.findall(block)) - sum(map(len, characters))
            sample += _high_lines(block, SAMPLE - len(sample))
    if strict:
        return sound, 0, sample
    characters = _UTF8_CHARACTER.findall(rest)
    high = len(_HIGH.findall(rest)) - sum(map(len, characters))
    return sound + len(characters), max(1, unsound + high), sample + rest[: SAMPLE - len(sample)]


def _high_lines(block: bytes, room: int) -> bytes:
    if room <= 0:
        return b""
    return b"\n".join(line for line in block.split(b"\n") if not line.isascii())[:room]


def _guess(sample: bytes) -> Encoding:
    """charset-normalizer's best guess among encodings in use.

    It often finds several as good for a short text: then the letters decide that are usual in each, and after that
    the order in `_LIKELY`.
    """
    found = list(from_bytes(sample, cp_isolation=list(_LIKELY), enable_fallback=False))
    if not found:
        raise ValueError(
            "the encoding of the file could not be found; save it as UTF-8, or name its encoding"
        )
    best = found[0]
    if best.encoding in _USUAL:
        near = [one for one in found if one.chaos <= best.chaos + 0.1]
        fits = {name: one.coherence for one in near for name in (one.encoding, *one.could_be_from_charset)}
        codec = max(
            (name for name in _LIKELY if name in fits),
            key=lambda name: (_usual_share(sample, name), round(fits[name], 1)),
            default="",
        )
    else:
        equal = [one for one in found if one.chaos <= best.chaos and one.coherence >= best.coherence - 0.02]
        names = {name for one in equal for name in (one.encoding, *one.could_be_from_charset)}
        codec = next((name for name in _LIKELY if name in names), "")
    codec = codec or best.encoding
    return Encoding(codec, _LIKELY.get(codec, codec))


def _usual_share(sample: bytes, codec: str) -> float:
    """The share of usual letters among all that is beyond ASCII and no capital letter."""
    text = sample.decode(codec, "replace")
    others = [character for character in text if not character.isascii() and not character.isupper()]
    usual = _USUAL.get(codec, "")
    return round(sum(character in usual for character in others) / max(1, len(others)), 2)
