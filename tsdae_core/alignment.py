"""Which words of a rebuilt sentence are right: every rebuilt token is laid against the original it should have been.

One alignment serves the training's probes, the rebuild tab and the shares of recovered words, so that a colour on the
page and a number in a table never disagree. No torch: tokens are plain strings.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

KEPT, RECOVERED, WRONG, INVENTED = "kept", "recovered", "wrong", "invented"


def align(
    original: Sequence[str], deleted: Collection[int] | Sequence[bool], rebuilt: Sequence[str]
) -> list[str]:
    """The state of each rebuilt token.

    The two lists are laid side by side with as many equal tokens as possible, and among those layouts the one with the
    fewest gaps, then the most equal tokens at equal positions, then the fewest claims of recovery: a token that can be
    explained by what the encoder saw is not counted as recovered.

    Args:
        original: the tokens of the sentence before it was damaged.
        deleted: which of them the encoder did not see: positions, or one bool for each token.
        rebuilt: the tokens that the decoder wrote; compared as exact strings.

    Returns:
        For each rebuilt token "kept" (equal to one the encoder saw), "recovered" (equal to a deleted one), "wrong"
        (stands where another token should be) or "invented" (has no place in the original).

    Raises:
        ValueError: when `deleted` does not fit `original`.

    >>> align(["the", "old", "cat", "sleeps"], {1, 3}, ["the", "old", "dog", "sleeps", "well"])
    ['kept', 'recovered', 'wrong', 'recovered', 'invented']
    """
    gone = _flags(original, deleted)
    states = [INVENTED] * len(rebuilt)
    for place, written in _pairs(original, gone, rebuilt):
        if original[place] != rebuilt[written]:
            states[written] = WRONG
        else:
            states[written] = RECOVERED if gone[place] else KEPT
    return states


def recovered_share(
    original: Sequence[str], deleted: Collection[int] | Sequence[bool], states: Sequence[str]
) -> float | None:
    """Share of the deleted tokens that came back; None when nothing was deleted.

    `states` is what `align` said of the rebuilt tokens.

    >>> recovered_share(["a", "b", "c"], {1, 2}, align(["a", "b", "c"], {1, 2}, ["a", "b", "x"]))
    0.5
    """
    count = sum(_flags(original, deleted))
    return sum(state == RECOVERED for state in states) / count if count else None


def kept_share(
    original: Sequence[str], deleted: Collection[int] | Sequence[bool], states: Sequence[str]
) -> float | None:
    """Share of the tokens that the encoder saw and that the rebuilt sentence still has; None when it saw none.

    >>> kept_share(["a", "b", "c"], {1}, align(["a", "b", "c"], {1}, ["a", "x"]))
    0.5
    """
    count = len(original) - sum(_flags(original, deleted))
    return sum(state == KEPT for state in states) / count if count else None


def tokens_json(texts: Sequence[str], states: Sequence[str], glued: Sequence[bool]) -> list[dict[str, Any]]:
    """Tokens as the page and the run folder hold them: text, state, and whether no space stands before it.

    Raises:
        ValueError: when the three differ in length.

    >>> tokens_json(["cat", "."], ["kept", "kept"], [False, True])
    [{'t': 'cat', 's': 'kept', 'g': False}, {'t': '.', 's': 'kept', 'g': True}]
    """
    if not len(texts) == len(states) == len(glued):
        raise ValueError(
            f"{len(texts)} tokens, {len(states)} states and {len(glued)} glue marks; give one of each per token"
        )
    return [
        {"t": text, "s": state, "g": bool(glue)}
        for text, state, glue in zip(texts, states, glued, strict=True)
    ]


def _flags(original: Sequence[str], deleted: Collection[int] | Sequence[bool]) -> list[bool]:
    """One bool per original token from positions or bools."""
    if isinstance(deleted, Sequence) and deleted and isinstance(deleted[0], bool):
        if len(deleted) != len(original):
            raise ValueError(f"{len(deleted)} deletion marks for {len(original)} tokens; give one per token")
        return [bool(flag) for flag in deleted]
    flags = [False] * len(original)
    for place in deleted:
        if not 0 <= place < len(original):
            raise ValueError(f"deleted position {place} is outside a sentence of {len(original)} tokens")
        flags[place] = True
    return flags


def _pairs(original: Sequence[str], gone: Sequence[bool], rebuilt: Sequence[str]) -> list[tuple[int, int]]:
    """Positions laid against each other, equal or not, in order.

    Needleman-Wunsch over whole numbers: each of the four wishes of `align` weighs more than all later ones together.
    """
    n, m = len(original), len(rebuilt)
    recovery = 1
    place = recovery * (n + m + 1)
    gap = place * (n + m + 1)
    match = gap * (n + m + 1)
    # best[i][j]: highest score of original[i:] against rebuilt[j:]
    best = [[-gap * (n - i + m - j) for j in range(m + 1)] for i in range(n + 1)]
    for i, (row, below) in reversed(list(enumerate(pairwise(best)))):
        token, equal = original[i], match - (recovery if gone[i] else 0)
        for j in range(m - 1, -1, -1):
            pair = below[j + 1]
            if token == rebuilt[j]:
                pair += equal + (place if i == j else 0)
            row[j] = max(pair, below[j] - gap, row[j + 1] - gap)
    pairs, i, j = [], 0, 0
    while i < n and j < m:
        if best[i][j] == best[i][j + 1] - gap:
            j += 1
        elif best[i][j] == best[i + 1][j] - gap:
            i += 1
        else:
            pairs.append((i, j))
            i, j = i + 1, j + 1
    return pairs
