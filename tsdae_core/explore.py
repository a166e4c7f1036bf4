"""Search: a corpus as an encoder, or BM25, sees it, and the sentences nearest to a query.

Legend: N sentences, H vector size, k hits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from tsdae_core.encoders import Encoder, Progress, fingerprint, load_encoder
from tsdae_core.lexical import BM25
from tsdae_core.vectors import embed, embedded, neighbours

__all__ = [
    "WORDS",
    "Encoder",
    "Index",
    "Progress",
    "VectorIndex",
    "WordIndex",
    "columns",
    "compare",
    "embed",
    "embedded",
    "fingerprint",
    "load_encoder",
    "neighbours",
    "open_index",
    "ranks",
    "search",
]

Told = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done and how much there is."""

WORDS = "bm25"
"""The system that compares words."""


@dataclass(frozen=True)
class Index:
    """A corpus as one system sees it: N sentences and their labels."""

    texts: list[str]
    labels: list[str]

    def scores(self, query: str) -> np.ndarray:
        """(N,) how near every sentence is to `query`. Raises `ValueError` when it is blank."""
        raise NotImplementedError

    def hits(self, scores: np.ndarray, k: int) -> list[dict[str, Any]]:
        """The k best by `scores` (N,): dicts of rank, row, score, sentence and label, best first; -inf is left out."""
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
            if scores[row] > -np.inf
        ]

    def within(self, scores: np.ndarray, label: str) -> np.ndarray:
        """Scores (N,) with -inf for every sentence of another label."""
        return np.where(np.array(self.labels, dtype=object) == label, scores, -np.inf).astype(np.float32)


@dataclass(frozen=True)
class VectorIndex(Index):
    """As an encoder sees it: vectors (N, H)."""

    encoder: Encoder
    vectors: np.ndarray

    def scores(self, query: str) -> np.ndarray:
        """(N,) cosines. Raises `ValueError` when the query is blank."""
        _not_blank(query)
        vector = torch.from_numpy(self.encoder.encode([query])[0])  # (H,)
        return (torch.from_numpy(np.require(self.vectors, np.float32, "W")) @ vector).numpy()


@dataclass(frozen=True)
class WordIndex(Index):
    """As BM25 sees it."""

    engine: BM25

    def scores(self, query: str) -> np.ndarray:
        """(N,) BM25, and -inf for a sentence without a common word. Raises `ValueError` when the query is blank."""
        _not_blank(query)
        found = self.engine.scores(query)
        return np.where(found > 0, found, -np.inf).astype(np.float32)


def _not_blank(query: str) -> None:
    if not query.strip():
        raise ValueError("the query is empty; type a sentence to search for")


def open_index(
    system: str,
    corpus: pa.Table,
    *,
    workspace: Path,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> Index:
    """Load a system and what it knows of `corpus`.

    Args:
        system: see `load_encoder`; or "bm25".
        corpus: columns sentence and label.
        workspace: the folder of all runs.
        cache_dir: where the vectors are kept; None keeps none.
        progress: of embedding the corpus, or of reading its words; never called when the vectors are there.

    Raises:
        ValueError: for an unknown system.
    """
    texts, labels = corpus["sentence"].to_pylist(), [label or "" for label in corpus["label"].to_pylist()]
    if system == WORDS:
        return WordIndex(texts, labels, BM25(texts, progress))
    encoder = load_encoder(system, workspace)
    if cache_dir:
        vectors = embed(encoder, texts, cache_dir, progress=progress)
    else:
        vectors = encoder.encode(texts, progress=progress)
    return VectorIndex(texts, labels, encoder, vectors)


def ranks(scores: np.ndarray, rows: Sequence[int]) -> list[int | None]:
    """The place, from 1, that each of `rows` has when all scores (N,) are sorted, best first; None for -inf.

    >>> ranks(np.array([0.1, 0.9, -np.inf]), [0, 1, 2])
    [2, 1, None]
    """
    return [int((scores > scores[row]).sum()) + 1 if scores[row] > -np.inf else None for row in rows]


def search(
    system: str,
    corpus: pa.Table,
    query: str,
    *,
    k: int,
    workspace: Path,
    label: str = "",
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """The k sentences of `corpus` nearest to `query`: dicts of rank, row, score, sentence and label, best first.

    Args:
        query: a sentence.
        k: how many.
        label: only among the sentences of this label; "" among all.
        system, corpus, workspace, cache_dir, progress: see `open_index`.

    Raises:
        ValueError: for a blank query, an unknown system, or a label that no sentence has.
    """
    _can_answer([system], corpus, query, label, workspace)
    index = open_index(system, corpus, workspace=workspace, cache_dir=cache_dir, progress=progress)
    scores = index.scores(query)
    return index.hits(index.within(scores, label) if label else scores, k)


def columns(
    systems: Sequence[str],
    corpus: pa.Table,
    query: str,
    *,
    k: int,
    workspace: Path,
    label: str = "",
    cache_dir: Path | None = None,
    told: Told = lambda phase, done, total: None,
) -> list[dict[str, Any]]:
    """`search` by several systems, each hit with its place in the others.

    Args:
        systems: each once; see `open_index`.
        told: called with a system's name, sentences done and sentences in all.
        query, k, label, corpus, workspace, cache_dir: see `search`.

    Returns:
        a dict of title (the system) and hits per system, completed by `compare`.

    Raises:
        ValueError: as `search`, before anything is embedded.
    """
    _can_answer(systems, corpus, query, label, workspace)
    found: list[dict[str, Any]] = []
    scores = []
    for system in dict.fromkeys(systems):

        def progress(done: int, total: int, system: str = system) -> None:
            told(system, done, total)

        index = open_index(system, corpus, workspace=workspace, cache_dir=cache_dir, progress=progress)
        scored = index.scores(query)
        scores.append(index.within(scored, label) if label else scored)
        found.append({"title": system, "hits": index.hits(scores[-1], k)})
    compare(found, scores)
    return found


def _can_answer(systems: Sequence[str], corpus: pa.Table, query: str, label: str, workspace: Path) -> None:
    """Raises `ValueError` for what `search` refuses."""
    _not_blank(query)
    if label and label not in corpus["label"].to_pylist():
        raise ValueError(f"no sentence has the label {label!r}")
    for system in systems:
        if system != WORDS:
            fingerprint(system, workspace)


def compare(columns: list[dict[str, Any]], scores: Sequence[np.ndarray | None]) -> None:
    """Add to each hit of each column its place in the other columns among all sentences, None where a column does not find it.

    `places` is a list of [title, place]; `there` is the place in the one column that it is told against, whose title the
    column gets as `against`: the second column for the first, else the first.

    Args:
        columns: dicts of title and hits.
        scores: (N,) of each column; None for a column without an answer.
    """
    answered = [(one, scored) for one, scored in zip(columns, scores, strict=True) if scored is not None]
    for place, (column, _) in enumerate(answered):
        rows = [hit["row"] for hit in column["hits"]]
        others = answered[:place] + answered[place + 1 :]
        for number, (other, scored) in enumerate(others):
            if number == 0:
                column["against"] = other["title"]
            for hit, there in zip(column["hits"], ranks(scored, rows), strict=True):
                hit.setdefault("places", []).append([other["title"], there])
                if number == 0:
                    hit["there"] = there
