"""Where the points of a map lie: exact neighbour graph, PCA, UMAP on that graph, and how far the picture can be trusted.

Pure functions of arrays; `maps` runs them as a job.

Legend: N points, H vector size, k neighbours, D dimensions of the map: two or three.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Told = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


@dataclass(frozen=True)
class MapOptions:
    """What decides a map. The defaults were measured to be several times faster than the library's at equal quality.

    `rate` is UMAP's learning rate. On 1,680 sentences, a map that started from the base's at a rate of 0.3 with 80 epochs showed
    as many true neighbours (27 %) as one at 1.0 with 200, its points moved less far (0.14 of the distance between two points by
    chance, against 0.16), and it took 0.24 CPU-seconds instead of 0.58.
    """

    n_neighbors: int = 15
    min_dist: float = 0.1
    epochs: int = 200
    seed: int = 42
    dimensions: int = 2
    rate: float = 1.0


def pca(vectors: np.ndarray, dimensions: int = 2) -> np.ndarray:
    """The main directions of vectors (N, H): (N, D) in [-1, 1]; zeros where there are not so many directions."""
    from sklearn.decomposition import PCA  # noqa: PLC0415 (slow to import, and most of the app works without)

    with np.errstate(invalid="ignore"):  # equal vectors have no main direction
        most = min(dimensions, *np.shape(vectors))
        flat = PCA(n_components=most, svd_solver="randomized", random_state=0).fit_transform(
            np.asarray(vectors)
        )
    return normalised(np.pad(flat, [(0, 0), (0, dimensions - most)]))


def turned(xy: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Coordinates (N, D), turned and mirrored as a whole to lie as near as possible to `like` (N, D)."""
    left, _, right = np.linalg.svd((xy - xy.mean(0)).T @ (like - like.mean(0)))
    return normalised((xy - xy.mean(0)) @ (left @ right))


def project(
    vectors: np.ndarray,
    points: np.ndarray,
    scores: np.ndarray,
    *,
    options: MapOptions,
    init: np.ndarray | None = None,
    on_epoch: Told | None = None,
) -> np.ndarray:
    """UMAP of vectors (N, H) on their own exact neighbour graph: (N, D) in [-1, 1], the same for the same seed.

    Args:
        vectors: unit length.
        points, scores: `neighbour_graph`'s.
        options: neighbours, minimal distance, epochs, seed, dimensions.
        init: (N, D) where the points start, such as the map of another encoder; None starts from PCA.
        on_epoch: called with epochs done and epochs in all.
    """
    from umap import UMAP  # noqa: PLC0415 (brings numba: seconds)

    k = min(options.n_neighbors, len(vectors) - 1)  # oneself included
    if k < 3:  # so few points have no neighbourhoods to lay out
        return normalised(pca(vectors, options.dimensions) if init is None else init)
    own = np.arange(len(vectors))[:, None]
    indices = np.concatenate([own, points[:, : k - 1]], axis=1)  # (N, k), each point its own first
    distances = np.concatenate([np.zeros((len(own), 1)), 1 - scores[:, : k - 1]], axis=1)  # (N, k)
    start = pca(vectors, options.dimensions) if init is None else init
    jitter = np.random.default_rng(options.seed).normal(
        scale=1e-4, size=start.shape
    )  # equal vectors start apart
    bar = {"file": _Epochs(on_epoch, options.epochs), "disable": False, "mininterval": 0.2, "desc": "epochs"}
    umap = UMAP(
        metric="cosine",
        n_neighbors=k,
        n_components=options.dimensions,
        min_dist=options.min_dist,
        n_epochs=options.epochs,
        learning_rate=options.rate,
        init=((start + jitter) * 10).astype(np.float32),
        random_state=options.seed,
        n_jobs=1,
        force_approximation_algorithm=True,  # below 4,096 points it would ignore the graph
        precomputed_knn=(indices.astype(np.int32), distances.clip(0).astype(np.float32)),
        tqdm_kwds=bar,
        verbose=on_epoch is not None,
    )
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # with a progress bar come all arguments, in full
        fitted = umap.fit_transform(np.asarray(vectors))
    return normalised(fitted)


class _Epochs:
    """Where umap's progress bar is written to: the only way it tells how far it is."""

    def __init__(self, on_epoch: Told | None, total: int):
        self.on_epoch, self.total = on_epoch, total

    def write(self, text: str) -> int:
        done = re.search(r"(\d+)/(\d+)", text)
        if done and self.on_epoch:
            self.on_epoch(int(done[1]), self.total)
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""


def placed(points: np.ndarray, scores: np.ndarray, xy: np.ndarray) -> tuple[float, ...]:
    """Where a sentence that is not on the map belongs: the mean of its nearest neighbours' places, weighted by similarity.

    Args:
        points: (k,) its nearest on the map.
        scores: (k,) their cosines; what is not similar at all has no say, unless nothing is.
        xy: (N, D).
    """
    weights = np.maximum(scores, 0)
    if not weights.sum() > 0:
        weights = np.ones(len(scores))
    return tuple((xy[points] * (weights / weights.sum())[:, None]).sum(0).tolist())


def normalised(xy: np.ndarray) -> np.ndarray:
    """Coordinates (N, D) moved and scaled, alike in all directions, into [-1, 1]."""
    middle = (xy.min(0) + xy.max(0)) / 2
    return ((xy - middle) / max(1e-9, float(np.abs(xy - middle).max()))).astype(np.float32)


def faithfulness(xy: np.ndarray, points: np.ndarray, *, k: int = 15) -> np.ndarray:
    """(N,) share of each point's k nearest in the original space that are among its k nearest on the map.

    The measure of Lee and Verleysen (2009), Q_NX(k), per point.

    Args:
        xy: (N, D).
        points: (N, k or more), `neighbour_graph`'s.
        k: cut to what the graph has.
    """
    from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415

    k = min(k, points.shape[1])
    near = (
        NearestNeighbors(n_neighbors=k).fit(xy).kneighbors(return_distance=False)
    )  # (N, k), without oneself
    both = zip(points[:, :k].tolist(), near.tolist(), strict=True)
    return np.array([len(set(true) & set(shown)) / k for true, shown in both], dtype=np.float32)


def trust_of(vectors: np.ndarray, xy: np.ndarray, *, k: int = 15, most: int = 2000, seed: int = 0) -> float:
    """Trustworthiness (Venna and Kaski 2001) of the map: 1 when no sentence is shown near another that it is far from.

    Args:
        vectors: (N, H), compared by cosine.
        xy: (N, D).
        k: neighbours on the map that are looked at; fewer than half of the points.
        most: points that it is measured on, drawn by chance: the ranks of all pairs are needed.
    """
    from sklearn.manifold import trustworthiness  # noqa: PLC0415

    rows = np.arange(len(xy))
    if len(xy) > most:
        rows = np.random.default_rng(seed).choice(len(xy), most, replace=False)
    k = min(k, (len(rows) - 1) // 2)
    if k < 1:
        return 1.0
    return float(trustworthiness(np.asarray(vectors[rows]), xy[rows], n_neighbors=k, metric="cosine"))


def neighbour_change(before: np.ndarray, after: np.ndarray, *, k: int = 10) -> np.ndarray:
    """(N,) how much each point's k nearest changed: 0 when they are the same, 1 when none stayed (1 - Jaccard).

    Args:
        before, after: (N, k or more) rows, `neighbour_graph`'s by two encoders.
        k: cut to what both have.
    """
    k = min(k, before.shape[1], after.shape[1])
    kept = np.zeros(len(before))
    for place in range(k):
        kept += (before[:, place, None] == after[:, :k]).any(1)
    return (1 - kept / (2 * k - kept)).astype(np.float32)
