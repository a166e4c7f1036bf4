"""Vectors and nearest neighbours: computed once, kept in a cache, exact.

Legend: N sentences, Q queries, H vector size, k neighbours.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from tsdae_core.encoders import Encoder, Progress

GRAPH = 30
"""Neighbours per sentence in the graph that is kept: enough for UMAP, the lists, overlap, hubs and a map's faithfulness."""


def embed(
    encoder: Encoder, texts: Sequence[str], cache_dir: Path, *, progress: Progress | None = None
) -> np.ndarray:
    """The vectors of `texts`, unit length, float32 (N, H): read from `cache_dir` or computed and kept there."""
    path = _kept("vectors", encoder.fingerprint, texts, cache_dir)
    if not path.is_file():
        _keep(path, encoder.encode(texts, progress=progress))
    return _read(path)


def embedded(encoder: Encoder, texts: Sequence[str], cache_dir: Path) -> np.ndarray | None:
    """What `embed` would read, or None when it would have to compute."""
    path = _kept("vectors", encoder.fingerprint, texts, cache_dir)
    return _read(path) if path.is_file() else None


def graph(
    encoder: Encoder,
    texts: Sequence[str],
    cache_dir: Path,
    *,
    vectors: np.ndarray | None = None,
    progress: Progress | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Each text's exact `GRAPH` nearest others: rows (N, k) int32 and cosines (N, k), best first.

    There is one such graph per encoder and corpus; it is read from `cache_dir` or computed and kept there.

    Args:
        vectors: (N, H) of the texts when they are at hand; else `embed` finds them.
        progress: of the graph alone.
    """
    points, scores = graph_files(encoder.fingerprint, texts, cache_dir)
    if not (points.is_file() and scores.is_file()):
        vectors = embed(encoder, texts, cache_dir) if vectors is None else vectors
        found = neighbour_graph(vectors, GRAPH, progress=progress)
        _keep(points, found[0].astype(np.int32))
        _keep(scores, found[1].astype(np.float32))
    return _read(points), _read(scores)


def graph_files(print_of: str, texts: Sequence[str], cache_dir: Path) -> tuple[Path, Path]:
    """Where `graph` keeps rows and cosines, whether they are there or not; `print_of` is the encoder's fingerprint."""
    return _kept("near", print_of, texts, cache_dir), _kept("near-scores", print_of, texts, cache_dir)


def _kept(what: str, print_of: str, texts: Sequence[str], cache_dir: Path) -> Path:
    digest = hashlib.sha256(print_of.encode())
    for text in texts:
        digest.update(text.encode("utf-8", "replace") + b"\0")
    return cache_dir / f"{what}-{digest.hexdigest()[:32]}.npy"


def _keep(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.npy")
    np.save(temporary, array)
    temporary.replace(path)


def _read(path: Path) -> np.ndarray:
    """Copy on write: torch takes it without a copy, and the file stays as it is."""
    return np.load(path, mmap_mode="c")  # type: ignore[no-any-return]


def neighbours(
    queries: np.ndarray, vectors: np.ndarray, k: int, *, block: int = 1024
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of `vectors` (N, H) to each of `queries` (Q, H) by cosine, exactly, best first.

    Args:
        queries, vectors: unit length.
        k: cut to N.
        block: queries at a time at most; fewer when N is large, so that scores take at most a quarter of a gigabyte.

    Returns:
        scores (Q, k) and row numbers (Q, k).
    """
    k = min(k, len(vectors))
    table = torch.from_numpy(np.require(vectors, np.float32, "W"))  # (N, H)
    block = max(1, min(block, 2**26 // max(1, len(vectors))))
    scores, rows = [], []
    for first in range(0, len(queries), block):
        part = torch.from_numpy(np.require(queries[first : first + block], np.float32, "W"))
        best = (part @ table.T).topk(k, dim=1)  # (block, k)
        scores.append(best.values.numpy())
        rows.append(best.indices.numpy())
    if not scores:
        return np.zeros((0, k), np.float32), np.zeros((0, k), np.int64)
    return np.concatenate(scores), np.concatenate(rows)


def neighbour_graph(
    vectors: np.ndarray, k: int, *, progress: Progress | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The exact k nearest others of every vector (N, H): rows (N, k) and cosines (N, k), best first; k is cut to N - 1."""
    k = min(k, len(vectors) - 1)
    points, scores = [], []
    for first in range(0, len(vectors), 1024):
        part = vectors[first : first + 1024]
        score, row = neighbours(part, vectors, k + 1)
        own = row == np.arange(first, first + len(part))[:, None]
        own[~own.any(1), -1] = (
            True  # among many equal vectors the point itself may be missing: drop the last one
        )
        points.append(row[~own].reshape(len(part), k))
        scores.append(score[~own].reshape(len(part), k))
        if progress:
            progress(first + len(part), len(vectors))
    return np.concatenate(points), np.concatenate(scores)
