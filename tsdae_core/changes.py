"""What changed most: how each sentence's nearest neighbours differ between two encoders, in the original space.

Legend: N sentences, k neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tsdae_core.encoders import Progress, load_encoder
from tsdae_core.vectors import embed, graph

Told = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done and how much there is."""

NEAREST = 10
ALIKE = 0.95
"""Cosine from which on two sentences count as near-duplicates."""

PERSISTENCE = 0.9
"""How much the top of a list weighs in rank-biased overlap: at 0.9 the first ten places carry most of it."""


@dataclass(frozen=True)
class Changes:
    """Two encoders' neighbours of the same N sentences.

    Attributes:
        before, after: (N, k) rows of each sentence's nearest others, best first.
        jaccard: (N,) shared neighbours divided by all of both lists; 1 when they are the same.
        overlap: (N,) rank-biased overlap, which also sees the order; 1 when the lists are the same.
        cosines: of `before` and of `after`, (N, k) each.
    """

    before: np.ndarray
    after: np.ndarray
    jaccard: np.ndarray
    overlap: np.ndarray
    cosines: tuple[np.ndarray, np.ndarray]

    def most(self, count: int) -> list[int]:
        """The rows that changed most: least shared neighbours first, then least overlap of ranks, then in order."""
        return np.lexsort((np.arange(len(self.jaccard)), self.overlap, self.jaccard))[:count].tolist()

    def part(self, rows: np.ndarray) -> Changes:
        """The same of some sentences only; neighbours keep their rows in the whole."""
        cosines = self.cosines[0][rows], self.cosines[1][rows]
        return Changes(self.before[rows], self.after[rows], self.jaccard[rows], self.overlap[rows], cosines)

    def of(self, row: int) -> dict[str, list[dict[str, Any]]]:
        """One sentence's neighbours: kept, gained and lost, as dicts of row and the places before and after (or None)."""
        before = {int(other): place for place, other in enumerate(self.before[row], 1)}
        after = {int(other): place for place, other in enumerate(self.after[row], 1)}
        told = [
            {"row": other, "before": before.get(other), "after": after.get(other)}
            for other in dict.fromkeys([*after, *before])
        ]
        return {
            "kept": [one for one in told if one["before"] and one["after"]],
            "gained": [one for one in told if not one["before"]],
            "lost": [one for one in told if not one["after"]],
        }


Graph = tuple[np.ndarray, np.ndarray]
"""Rows and cosines of each sentence's nearest others, (N, k) each, best first."""


def compare(first: Graph, second: Graph, *, k: int = NEAREST) -> Changes:
    """Compare two neighbour graphs of the same sentences; k is cut to what both have."""
    k = min(k, first[0].shape[1], second[0].shape[1])
    before, after = np.asarray(first[0][:, :k]), np.asarray(second[0][:, :k])
    cosines = np.asarray(first[1][:, :k]), np.asarray(second[1][:, :k])
    return Changes(before, after, jaccard(before, after), rank_biased_overlap(before, after), cosines)


def jaccard(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(N,) float32: of two lists (N, k) without repeats, shared entries divided by all entries of both.

    >>> jaccard(np.array([[1, 2]]), np.array([[2, 3]])).round(3).tolist()
    [0.3330000042915344]
    """
    k = before.shape[1]
    shared = np.zeros(len(before))
    for place in range(k):
        shared += (before[:, place, None] == after).any(1)
    return (shared / np.maximum(2 * k - shared, 1)).astype(np.float32)


def rank_biased_overlap(
    before: np.ndarray, after: np.ndarray, *, persistence: float = PERSISTENCE
) -> np.ndarray:
    """(N,) float32: rank-biased overlap of two ranked lists (N, k), extrapolated from the k places that are known.

    Webber, Moffat and Zobel (2010), equation 32 for lists of equal length: X(k)/k p^k + (1-p)/p * sum of X(d)/d p^d, where
    X(d) counts the entries that the two lists share among their first d.
    """
    k = before.shape[1]
    total, shared = np.zeros(len(before)), np.zeros(len(before))
    for depth in range(1, k + 1):
        new, other = before[:, depth - 1, None], after[:, depth - 1, None]
        shared += (new == after[:, :depth]).any(
            1
        )  # this place's entry of the first list, anywhere in the second
        shared += (other == before[:, : depth - 1]).any(
            1
        )  # and the other way round, the same place counted once
        total += shared / depth * persistence**depth
    return (shared / k * persistence**k + (1 - persistence) / persistence * total).astype(np.float32)


def hubs(near: np.ndarray, *, k: int = NEAREST) -> np.ndarray:
    """(N,) how often each sentence is among the k nearest of another (N, k or more): a few very high ones answer anything."""
    return np.bincount(np.asarray(near[:, :k]).ravel(), minlength=len(near))


def twins(near: np.ndarray, cosines: np.ndarray, *, least: float = ALIKE) -> list[tuple[int, int, float]]:
    """Pairs of sentences that lie as good as on one another: (row, other row, cosine), each pair once, nearest first."""
    rows, places = np.nonzero(cosines >= least)
    found = {
        (int(min(row, near[row, place])), int(max(row, near[row, place]))): float(cosines[row, place])
        for row, place in zip(rows, places, strict=True)
    }
    return sorted(((a, b, cosine) for (a, b), cosine in found.items()), key=lambda one: (-one[2], one[:2]))


def twins_in_either(
    found: Changes, pairs: Sequence[Sequence[tuple[int, int, float]]], *, most: int
) -> list[tuple[int, int, float | None, float | None]]:
    """The nearest pairs before or after: (row, other row, cosine before, cosine after), nearest first.

    Args:
        found: the comparison.
        pairs: `twins` of both graphs.
        most: pairs that are wanted.

    Returns:
        A cosine is None where neither sentence is among the other's nearest.
    """
    graphs = list(zip((found.before, found.after), found.cosines, strict=True))

    def cosine(a: int, b: int, near: np.ndarray, cosines: np.ndarray) -> float | None:
        for row, other in ((a, b), (b, a)):
            places = np.flatnonzero(near[row] == other)
            if len(places):
                return float(cosines[row, places[0]])
        return None

    nearest = {(a, b) for some in pairs for a, b, _ in some[:most]}
    both = [(a, b, cosine(a, b, *graphs[0]), cosine(a, b, *graphs[1])) for a, b in nearest]
    return sorted(both, key=lambda one: (-max(one[2] or -1.0, one[3] or -1.0), one[:2]))[:most]


def changed(
    systems: Sequence[str],
    corpus: pa.Table,
    *,
    workspace: Path,
    cache_dir: Path,
    told: Told = lambda phase, done, total: None,
) -> Changes:
    """How the neighbours of a corpus differ between two systems, the earlier one first.

    Args:
        systems: two names, see `load_encoder`.
        corpus: column sentence.
        workspace: the folder of all runs.
        cache_dir: where vectors and neighbour graphs are kept; what is there is not computed again.
        told: progress.

    Raises:
        ValueError: for an unknown system, or fewer than two sentences.
    """
    texts = corpus["sentence"].to_pylist()
    if len(texts) < 2:
        raise ValueError("neighbours need at least two sentences")
    graphs = []
    for number, system in enumerate(systems, 1):
        encoder = load_encoder(system, workspace)
        which = f"encoder {number} of {len(systems)}"
        embedding, searching = (
            _named(told, f"Embedding, {which}"),
            _named(told, f"Nearest neighbours, {which}"),
        )
        vectors = embed(encoder, texts, cache_dir, progress=embedding)
        graphs.append(graph(encoder, texts, cache_dir, vectors=vectors, progress=searching))
    return compare(graphs[0], graphs[1])


def _named(told: Told, phase: str) -> Progress:
    return lambda done, total: told(phase, done, total)
