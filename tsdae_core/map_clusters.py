"""Groups of points on a map and what to call them: HDBSCAN on the picture, names from a group's own distinctive words.

Legend: N points, W words, D dimensions of the map.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

UNCLUSTERED = -1
WITHOUT_SPACES = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
"""Thai, Japanese, Chinese: words are not told apart by spaces, so pairs of characters stand for them."""


def clusters(xy: np.ndarray) -> np.ndarray:
    """(N,) int16: each point's group on the map (N, D), largest first, and -1 for points between the groups."""
    from sklearn.cluster import HDBSCAN  # noqa: PLC0415 (slow to import, and most of the app works without)

    smallest = max(8, len(xy) // 100)
    if len(xy) < 3 * smallest:
        return np.full(len(xy), UNCLUSTERED, np.int16)
    found = HDBSCAN(min_cluster_size=smallest, min_samples=8, cluster_selection_method="leaf", copy=True).fit(
        xy
    )
    numbers, counts = np.unique(found.labels_[found.labels_ >= 0], return_counts=True)
    renamed = np.full(len(numbers) + 1, UNCLUSTERED, np.int16)  # the last place stands for -1
    renamed[numbers[np.argsort(-counts, kind="stable")]] = np.arange(len(numbers))
    return renamed[found.labels_]


DISTINCT = 2.0
"""How many times more often than outside it a word must stand in a group's sentences to name the group."""


@dataclass(frozen=True)
class Counted:
    """Which words stand in which sentences.

    Attributes:
        seen: (N, W) sparse float32, 1 where a word stands in a sentence, however often.
        vocabulary: (W,) the words in lower case; pairs of characters where words are not told apart by spaces.
    """

    seen: Any
    vocabulary: np.ndarray


def counted(texts: Sequence[str]) -> Counted | None:
    """The words of N sentences, counted once for any grouping of them; None when they hold nothing but numbers and signs."""
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415

    spaceless = sum(bool(WITHOUT_SPACES.search(text)) for text in texts) > len(texts) / 3
    kind: dict[str, Any] = (
        {"analyzer": "char", "ngram_range": (2, 2)} if spaceless else {"token_pattern": r"\b[^\W\d_]\w+\b"}
    )
    counter = CountVectorizer(binary=True, max_features=50_000, dtype=np.float32, **kind)
    try:
        seen = counter.fit_transform(texts)
    except ValueError:
        return None
    return Counted(seen, counter.get_feature_names_out())


def names(texts: Sequence[str], groups: np.ndarray, *, words: int = 3, ignore: str = "") -> list[str]:
    """What tells each group from the others: its `words` most distinctive words, joined by commas.

    Class-based TF-IDF (Grootendorst 2022): how often a word stands in the group, times log(1 + words per group / how
    often it stands anywhere). A word counts once per sentence, so that one sentence cannot name a group.

    Args:
        texts: N sentences.
        groups: (N,) `clusters`'.
        words: per name.
        ignore: words that name nothing, see `ignored`.
    """
    if not len(groups) or groups.max() < 0:
        return []
    return names_of(counted(texts), groups, words=words, ignore=ignore)


def names_of(words_in: Counted | None, groups: np.ndarray, *, words: int = 3, ignore: str = "") -> list[str]:
    """`names` of sentences whose words are counted already."""
    count = int(groups.max()) + 1 if len(groups) else 0
    if words_in is None:
        return [f"group {number + 1}" for number in range(count)]
    seen, vocabulary = words_in.seen, words_in.vocabulary
    within = np.stack(
        [np.asarray(seen[groups == number].sum(0))[0] for number in range(count)]
    )  # (groups, words)
    everywhere = np.maximum(np.asarray(seen.sum(0))[0], 1)
    share = within / np.maximum(within.sum(1, keepdims=True), 1)
    sizes = np.bincount(groups[groups >= 0], minlength=count)[:, None]
    outside = (everywhere - within + 0.5) / (len(groups) - sizes + 1)
    lift = within / np.maximum(sizes, 1) / outside
    # "the" is frequent in a group of long sentences, but hardly more than elsewhere: in any language a word like that names nothing
    weight = np.where(lift >= DISTINCT, share * np.log1p(within.sum() / count / everywhere), 0)
    weight *= np.log(
        (count + 1) / np.maximum((within > 0).sum(0), 1)
    )  # nor does one that stands in nearly every group
    weight[:, ignored(vocabulary, ignore)] = 0
    return [_name(vocabulary, row, words) or f"group {number + 1}" for number, row in enumerate(weight)]


def ignored(vocabulary: np.ndarray, ignore: str) -> np.ndarray:
    """(W,) bool: which words of the vocabulary are among those of `ignore`, which commas or spaces part; case does not matter.

    Where pairs of characters stand for words, a pair is ignored that stands within an ignored word.
    """
    away = {word for word in re.split(r"[\s,;，、]+", ignore.lower()) if word}
    pairs = {word[at : at + 2] for word in away if WITHOUT_SPACES.search(word) for at in range(len(word) - 1)}
    return np.array([word in away or word in pairs for word in vocabulary.tolist()], dtype=bool)


def _name(vocabulary: np.ndarray, weight: np.ndarray, words: int) -> str:
    chosen: list[str] = []
    for place in np.argsort(-weight)[: 4 * words]:
        word = str(vocabulary[place]).strip()
        alike = any(word in other or other in word for other in chosen)  # "crash, crashes" says one thing
        if weight[place] > 0 and word and not alike:
            chosen.append(word)
    return ", ".join(chosen[:words])


def middles(xy: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Where each group's name stands: the point of the group that is nearest to its median, (groups, D)."""
    places = []
    for number in range(int(groups.max()) + 1 if len(groups) else 0):
        own = xy[groups == number]
        places.append(own[np.abs(own - np.median(own, axis=0)).sum(1).argmin()])
    return np.array(places, dtype=np.float32).reshape(-1, xy.shape[1])


def named(texts: Sequence[str], xy: np.ndarray, groups: np.ndarray) -> list[dict[str, Any]]:
    """The groups' names and where they stand: dicts of text, x, y and, in space, z; largest group first.

    Args:
        texts: N sentences.
        xy: (N, D).
        groups: (N,) `clusters`'.
    """
    places = middles(xy, groups).tolist()
    return [
        {"text": text} | dict(zip("xyz", place, strict=False))
        for text, place in zip(names(texts, groups), places, strict=True)
    ]
