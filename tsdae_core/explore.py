"""Any encoder's vectors of any sentences, cached, and exact nearest neighbours among them.

Legend: N sentences, Q queries, H vector size, k neighbours.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from tsdae_core.encoders import Encoder, Progress, fingerprint, load_encoder

__all__ = [
    "Encoder",
    "Index",
    "Progress",
    "embed",
    "embedded",
    "fingerprint",
    "load_encoder",
    "neighbours",
    "open_index",
    "ranks",
    "search",
]


def embed(
    encoder: Encoder, texts: Sequence[str], cache_dir: Path, *, progress: Progress | None = None
) -> np.ndarray:
    """The vectors of `texts`, unit length, float32 (N, H): read from `cache_dir` or computed and kept there."""
    path = _vectors_path(encoder.fingerprint, texts, cache_dir)
    if not path.is_file():
        cache_dir.mkdir(parents=True, exist_ok=True)
        vectors = encoder.encode(texts, progress=progress)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.npy")
        np.save(temporary, vectors)
        temporary.replace(path)
    return np.load(
        path, mmap_mode="c"
    )  # copy on write: torch takes it without a copy and the file stays as it is


def embedded(encoder: Encoder, texts: Sequence[str], cache_dir: Path) -> np.ndarray | None:
    """What `embed` would read, or None when it would have to compute."""
    path = _vectors_path(encoder.fingerprint, texts, cache_dir)
    return np.load(path, mmap_mode="c") if path.is_file() else None


def _vectors_path(print_of: str, texts: Sequence[str], cache_dir: Path) -> Path:
    digest = hashlib.sha256(print_of.encode())
    for text in texts:
        digest.update(text.encode("utf-8", "replace") + b"\0")
    return cache_dir / f"vectors-{digest.hexdigest()[:32]}.npy"


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


@dataclass(frozen=True)
class Index:
    """A corpus as one encoder sees it: sentences, their labels, their vectors (N, H)."""

    encoder: Encoder
    texts: list[str]
    labels: list[str]
    vectors: np.ndarray

    def scores(self, query: str) -> np.ndarray:
        """(N,) cosines of every sentence with `query`. Raises `ValueError` when it is blank."""
        if not query.strip():
            raise ValueError("the query is empty; type a sentence to search for")
        vector = torch.from_numpy(self.encoder.encode([query])[0])  # (H,)
        return (torch.from_numpy(np.require(self.vectors, np.float32, "W")) @ vector).numpy()

    def hits(self, scores: np.ndarray, k: int) -> list[dict[str, Any]]:
        """The k best by `scores` (N,): dicts of rank, row, score, sentence and label, best first."""
        best = torch.from_numpy(scores).topk(min(k, len(scores))).indices.tolist()
        return [
            {
                "rank": rank,
                "row": row,
                "score": round(float(scores[row]), 4),
                "sentence": self.texts[row],
                "label": self.labels[row],
            }
            for rank, row in enumerate(best, start=1)
        ]


def open_index(
    system: str,
    corpus: pa.Table,
    *,
    workspace: Path,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> Index:
    """Load an encoder and its vectors of `corpus`.

    Args:
        system: see `load_encoder`.
        corpus: columns sentence and label.
        workspace: the folder of all runs.
        cache_dir: where the vectors are kept; None keeps none.
        progress: of embedding the corpus; never called when the vectors are there.

    Raises:
        ValueError: for an unknown system.
    """
    encoder = load_encoder(system, workspace)
    texts = corpus["sentence"].to_pylist()
    if cache_dir:
        vectors = embed(encoder, texts, cache_dir, progress=progress)
    else:
        vectors = encoder.encode(texts, progress=progress)
    return Index(encoder, texts, corpus["label"].to_pylist(), vectors)


def ranks(scores: np.ndarray, rows: Sequence[int]) -> list[int]:
    """The place, from 1, that each of `rows` has when all scores (N,) are sorted, best first.

    >>> ranks(np.array([0.1, 0.9, 0.5]), [0, 1])
    [3, 1]
    """
    return [int((scores > scores[row]).sum()) + 1 for row in rows]


def search(
    system: str,
    corpus: pa.Table,
    query: str,
    *,
    k: int,
    workspace: Path,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """The k sentences of `corpus` nearest to `query`: dicts of rank, row, score, sentence and label, best first.

    Args:
        query: a sentence.
        k: how many.
        system, corpus, workspace, cache_dir, progress: see `open_index`.

    Raises:
        ValueError: for a blank query or an unknown system.
    """
    if not query.strip():
        raise ValueError("the query is empty; type a sentence to search for")
    index = open_index(system, corpus, workspace=workspace, cache_dir=cache_dir, progress=progress)
    return index.hits(index.scores(query), k)
