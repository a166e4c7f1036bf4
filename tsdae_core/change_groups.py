"""What changed most, group by group: the sentences of a label, or of a cluster of the map.

Legend: N sentences, H vector size, k neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tsdae_core.changes import Changes, Graph, Told
from tsdae_core.map_clusters import UNCLUSTERED, clusters, names
from tsdae_core.map_layout import MapOptions, project
from tsdae_core.vectors import neighbour_graph

MOST = 5000
"""Sentences that are laid out to find their clusters."""

UNNAMED = "unclustered"


@dataclass(frozen=True)
class Group:
    """The change of a group's sentences, on average.

    Attributes:
        name: the label, or the cluster's most distinctive words.
        count: its sentences.
        stayed: how many of the k nearest are the same before and after.
        jaccard, overlap: means of `Changes`'.
        clustered: False for the sentences that are in no group.
    """

    name: str
    count: int
    stayed: float
    jaccard: float
    overlap: float
    clustered: bool = True


def stayed(found: Changes) -> np.ndarray:
    """(N,) how many of each sentence's k nearest are the same before and after."""
    k = found.before.shape[1]
    return np.rint(2 * k * found.jaccard / (1 + found.jaccard)).astype(int)


def by_label(found: Changes, labels: Sequence[str | None]) -> list[Group]:
    """The groups of N labels, most changed first; sentences without a label come last. [] without any label."""
    called, groups = np.unique([label or "" for label in labels], return_inverse=True)
    if list(called) == [""]:
        return []
    groups = np.where(called[groups] == "", UNCLUSTERED, groups)
    return by_group(found, groups, [str(name) for name in called], without="no label")


def by_group(
    found: Changes, groups: np.ndarray, called: Sequence[str], *, without: str = UNNAMED
) -> list[Group]:
    """The groups with their means, most changed first, and last the sentences that are in none.

    Args:
        groups: (N,) each sentence's place in `called`; -1 for none.
        called: names.
        without: what those in no group are called.
    """
    same = stayed(found)
    made = []
    for number in np.unique(groups).tolist():
        own = groups == number
        made.append(
            Group(
                called[number] if number != UNCLUSTERED else without,
                int(own.sum()),
                float(same[own].mean()),
                float(found.jaccard[own].mean()),
                float(found.overlap[own].mean()),
                number != UNCLUSTERED,
            )
        )
    return sorted(made, key=lambda one: (not one.clustered, one.stayed, one.name))


def cluster(
    texts: Sequence[str],
    vectors: np.ndarray,
    *,
    graph: Graph | None = None,
    told: Told = lambda phase, done, total: None,
) -> tuple[np.ndarray, list[str]]:
    """Groups of the sentences as the map finds them, and their names: HDBSCAN on a UMAP of their vectors.

    Args:
        texts: N sentences, at most `MOST`: what is more takes minutes.
        vectors: (N, H), unit length.
        graph: `neighbour_graph`'s of the same vectors when it is at hand.
        told: progress.

    Returns:
        (N,) each sentence's place among the names, -1 for none; and the names.

    Raises:
        ValueError: for more sentences than `MOST`.
    """
    if len(texts) > MOST:
        raise ValueError(f"at most {MOST:,} sentences are laid out; got {len(texts):,}: draw a sample")
    options = MapOptions()
    told("Laying out the sentences", 0, options.epochs)
    points, scores = graph or neighbour_graph(vectors, options.n_neighbors)
    xy = project(
        vectors,
        points,
        scores,
        options=options,
        on_epoch=lambda done, total: told("Laying out the sentences", done, total),
    )
    told("Naming the clusters", 0, 0)
    groups = clusters(xy)
    return groups, names(texts, groups)
