"""The damage done to a sentence before it is encoded: the paper's five noises (arXiv 2104.06979, section 3 and table 5).

Pure functions on a list of words. A word may be anything: text, a span of token ids, or a position. `ratio` is always
the share of words that is *affected*: deletion at 0.6 deletes 60 % and keeps 40 %.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

Word = TypeVar("Word")
Spare = Callable[[np.random.Generator], Word]


def generator(seed: int, epoch: int, index: int) -> np.random.Generator:
    """The random numbers of one sentence in one epoch.

    A function of its three arguments alone, so damage is fresh in each epoch, fixed in evaluation, and the same after
    a resume and for any number of processes.
    """
    return np.random.default_rng((seed, epoch, index))


def delete(
    words: Sequence[Word], ratio: float, rng: np.random.Generator, spare: Spare[Word] | None = None
) -> list[Word]:
    """Drop each word with probability `ratio`; at least one word stays."""
    kept = [word for word, dropped in zip(words, rng.random(len(words)) < ratio, strict=True) if not dropped]
    return kept or ([words[int(rng.integers(len(words)))]] if len(words) else [])


def swap(
    words: Sequence[Word], ratio: float, rng: np.random.Generator, spare: Spare[Word] | None = None
) -> list[Word]:
    """Choose each word with probability `ratio` and put the chosen ones into a random order."""
    chosen = np.flatnonzero(rng.random(len(words)) < ratio)
    swapped = list(words)
    for place, source in zip(chosen, rng.permutation(chosen), strict=True):
        swapped[place] = words[source]
    return swapped


def mask(
    words: Sequence[Word], ratio: float, rng: np.random.Generator, spare: Spare[Word] | None = None
) -> list[Word]:
    """Put the mask (what `spare` gives) in place of each word with probability `ratio`; at least one word stays."""
    return _exchange(words, ratio, rng, spare, keep_one=True)


def replace(
    words: Sequence[Word], ratio: float, rng: np.random.Generator, spare: Spare[Word] | None = None
) -> list[Word]:
    """Put another word (what `spare` gives) in place of each word with probability `ratio`."""
    return _exchange(words, ratio, rng, spare, keep_one=False)


def add(
    words: Sequence[Word], ratio: float, rng: np.random.Generator, spare: Spare[Word] | None = None
) -> list[Word]:
    """Put an additional word (what `spare` gives) behind each word with probability `ratio`."""
    if spare is None:
        raise ValueError("this noise needs spare words to add; got none")
    longer: list[Word] = []
    for word, followed in zip(words, rng.random(len(words)) < ratio, strict=True):
        longer.append(word)
        if followed:
            longer.append(spare(rng))
    return longer


def _exchange(
    words: Sequence[Word],
    ratio: float,
    rng: np.random.Generator,
    spare: Spare[Word] | None,
    *,
    keep_one: bool,
) -> list[Word]:
    if spare is None:
        raise ValueError("this noise needs spare words to put in place; got none")
    hit = rng.random(len(words)) < ratio
    if keep_one and len(words) and hit.all():
        hit[rng.integers(len(words))] = False
    return [spare(rng) if exchanged else word for word, exchanged in zip(words, hit, strict=True)]


NOISES: dict[str, Callable[..., list]] = {
    "delete": delete,
    "swap": swap,
    "mask": mask,
    "replace": replace,
    "add": add,
}


def damage(
    words: Sequence[Word],
    *,
    noise: str,
    ratio: float,
    rng: np.random.Generator,
    spare: Spare[Word] | None = None,
) -> list[Word]:
    """Damage a sentence with the named noise.

    Args:
        words: the sentence.
        noise: a key of `NOISES`.
        ratio: share of words affected, 0 to 1.
        rng: from `generator`.
        spare: gives the mask or a random word, for the noises that put something in.

    Raises:
        ValueError: for an unknown noise or a ratio outside 0 to 1.
    """
    if noise not in NOISES:
        raise ValueError(f"there is no noise {noise!r}; the noises are {', '.join(NOISES)}")
    if not 0 <= ratio <= 1:
        raise ValueError(f"the noise ratio must be between 0 and 1; got {ratio}")
    return NOISES[noise](words, ratio, rng, spare)
