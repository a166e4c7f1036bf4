"""Vocabulary entries as people read them."""

from __future__ import annotations

from collections.abc import Sequence

CLOSING = frozenset(".,;:!?)]}%'’”")
OPENING = frozenset("([{‘“")


def pieces_of(tokens: Sequence[str]) -> list[tuple[str, bool]]:
    """Vocabulary entries as readable text, each with whether no space stands before it.

    WordPiece marks what continues a word ("##ing"), byte-level BPE and SentencePiece mark what begins one ("Ġthe", "▁the").
    """
    marked = any(token[:1] in ("Ġ", "▁") for token in tokens)
    pieces: list[tuple[str, bool]] = []
    for place, token in enumerate(tokens):
        if token.startswith("##"):
            pieces.append((token[2:], True))
        elif marked:
            text = _bytes_to_text(token.lstrip("Ġ▁")) if "Ġ" in "".join(tokens) else token.lstrip("▁")
            pieces.append((text or " ", place > 0 and token[:1] not in ("Ġ", "▁")))
        else:
            after_open = place > 0 and tokens[place - 1] in OPENING
            pieces.append((token, place > 0 and (token in CLOSING or after_open)))
    return pieces


def _bytes_to_text(token: str) -> str:
    """Undo byte-level BPE's stand-in characters, which matter for everything but ASCII."""
    if token.isascii():
        return token
    stand_ins = {chr(c): c for c in [*range(33, 127), *range(161, 173), *range(174, 256)]}
    others = [byte for byte in range(256) if byte not in stand_ins.values()]
    stand_ins |= {chr(256 + place): byte for place, byte in enumerate(others)}
    try:
        return bytes(stand_ins[letter] for letter in token).decode("utf-8", "replace")
    except KeyError:
        return token
