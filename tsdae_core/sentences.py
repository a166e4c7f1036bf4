"""One sentence: its normal form and its length in words."""

from __future__ import annotations

import re
import unicodedata

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
