"""One sentence: its normal form and its length in words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from tsdae_core.encodings import LOST

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2800\u3164\uffa0]")
_UNSEEN = re.compile("[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSPACED = re.compile(
    r"([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,4}"
)
_JOINERS = "\u200c\u200d "


def normalise(text: str) -> str:
    """NFC, with all spaces and controls folded to single spaces and unseen marks taken out.

    Joiners stay inside a text, since emoji, Persian and Indic scripts are spelled with them.
    """
    if not text.isascii():
        text = _UNSEEN.sub("", _SURROGATE.sub(LOST, text))
        text = unicodedata.normalize("NFC", text).strip(_JOINERS)
    if not text.isprintable():
        text = _CONTROL.sub(" ", text)
    return " ".join(text.split())


def count_words(text: str) -> int:
    """Words of a sentence, also for scripts without spaces; see `ReadOptions.min_words`."""
    if text.isascii():
        return len(text.split())
    signs = sum(1 for _ in _UNSPACED.finditer(text))
    return signs + len(_UNSPACED.sub(" ", text).split()) if signs else len(text.split())


def lost_halves(text: str) -> int:
    """Halves of characters, as a broken JSON escape leaves them: they cannot be written as UTF-8."""
    return 0 if text.isascii() else len(_SURROGATE.findall(text))


class Seen:
    """Knows sentences again by 128-bit digests: 16 bytes each, and no two of a million fall together by chance."""

    def __init__(self) -> None:
        self._runs: list[NDArray[np.bytes_]] = []  # sorted, each more than twice as long as the next

    def new(self, sentences: Sequence[str]) -> NDArray[np.bool_]:
        """(N,): True for those that came neither earlier in `sentences` nor in an earlier call."""
        digests = np.array(
            [blake2b(each.encode(), digest_size=16).digest() for each in sentences], dtype="S16"
        )
        fresh = np.zeros(len(sentences), dtype=bool)
        fresh[np.unique(digests, return_index=True)[1]] = True
        for run in self._runs:
            places = np.searchsorted(run, digests)
            fresh &= run[np.minimum(places, len(run) - 1)] != digests
        if fresh.any():
            self._runs.append(np.sort(digests[fresh]))
        while len(self._runs) > 1 and len(self._runs[-2]) <= 2 * len(self._runs[-1]):
            self._runs[-2:] = [np.sort(np.concatenate(self._runs[-2:]))]
        return fresh
