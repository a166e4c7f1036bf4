"""Whatever can be compared: any encoder, BM25, averaged word vectors, a file of vectors. Two verbs: `vectors` and `index`.

Legend: N documents, Q queries, H vector size, k nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from tsdae_core import explore
from tsdae_core.base_models import hub_reachable, is_here, resolve
from tsdae_core.config import BUNDLED_MODEL
from tsdae_core.evaluate.words import Words, glove
from tsdae_core.lexical import BM25
from tsdae_core.runs import find_run, list_runs
from tsdae_core.scratch import base_of

Progress = Callable[[int, int], None]

MOST_KEPT = 100_000
"""Vectors that a system remembers."""


class Index(Protocol):
    """Documents that queries are scored against."""

    def top(self, queries: Sequence[str], k: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores (Q, k) and row numbers (Q, k) of the best documents, best first."""

    def some(self, queries: Sequence[str], rows: Sequence[np.ndarray]) -> list[np.ndarray]:
        """For each query the scores of the documents at its `rows`."""


class System(Protocol):
    """What is compared."""

    @property
    def name(self) -> str: ...

    def index(self, documents: Sequence[str], *, progress: Progress | None = None) -> Index:
        """Get ready to score `documents` for any query."""

    def vectors(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray | None:
        """(N, H) float32, of any length; None from a system that has no vectors."""


@dataclass(frozen=True)
class VectorSystem:
    """A system that turns each text into a vector; two texts are as alike as the cosine of their vectors."""

    name: str
    encode: Callable[[Sequence[str], Progress | None], np.ndarray]
    kept: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    def vectors(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray:
        """(N, H); a text is encoded once, for a task asks for it several times."""
        new = [text for text in dict.fromkeys(texts) if text not in self.kept]
        if len(self.kept) + len(new) > MOST_KEPT:
            self.kept.clear()
            new = list(dict.fromkeys(texts))
        fresh = dict(zip(new, self.encode(new, progress), strict=True)) if new else {}
        if len(new) <= MOST_KEPT:
            self.kept.update(fresh)
            fresh = self.kept
        return np.stack([fresh[text] for text in texts])

    def index(self, documents: Sequence[str], *, progress: Progress | None = None) -> VectorIndex:
        return VectorIndex(self, unit(self.vectors(documents, progress=progress)))


@dataclass(frozen=True)
class VectorIndex:
    """Documents as unit vectors (N, H)."""

    system: VectorSystem
    table: np.ndarray

    def top(self, queries: Sequence[str], k: int) -> tuple[np.ndarray, np.ndarray]:
        return explore.neighbours(unit(self.system.vectors(queries)), self.table, k)

    def some(self, queries: Sequence[str], rows: Sequence[np.ndarray]) -> list[np.ndarray]:
        asked = unit(self.system.vectors(queries))  # (Q, H)
        return [self.table[row] @ query for query, row in zip(asked, rows, strict=True)]


@dataclass(frozen=True)
class ByWords:
    """BM25; see `lexical.BM25`."""

    name: str = "bm25"

    def vectors(self, texts: Sequence[str], *, progress: Progress | None = None) -> None:
        return None

    def index(self, documents: Sequence[str], *, progress: Progress | None = None) -> WordIndex:
        return WordIndex(BM25(documents))


@dataclass(frozen=True)
class WordIndex:
    """Documents with BM25's weights."""

    engine: BM25

    def top(self, queries: Sequence[str], k: int) -> tuple[np.ndarray, np.ndarray]:
        k = min(k, self.engine.count)
        values, rows = np.zeros((len(queries), k), np.float32), np.zeros((len(queries), k), np.int64)
        for place, query in enumerate(queries):
            scores = self.engine.scores(query)
            best = np.argpartition(-scores, k - 1)[:k]
            rows[place] = best[np.argsort(-scores[best], kind="stable")]
            values[place] = scores[rows[place]]
        return values, rows

    def some(self, queries: Sequence[str], rows: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [self.engine.scores(query)[row] for query, row in zip(queries, rows, strict=True)]


def unit(vectors: np.ndarray) -> np.ndarray:
    """Each row at length 1, float32 (N, H); a row of zeros stays one."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1.0)).astype(np.float32)


SYSTEMS = (
    "a run, RUN@STEP, base:RUN, bundled, a sentence-transformers folder or hub name, bm25, glove:FILE, words:MODEL, "
    "or a .npy or .parquet file of vectors"
)


def open_system(name: str, workspace: Path) -> System:
    """A system by name.

    Args:
        name: what `explore.load_encoder` knows; "bm25"; "glove:FILE" (averaged word vectors of a text file);
            "words:MODEL" (the averaged input embeddings of a run's base model, a folder or a hub model); or a file of
            vectors: VECTORS.npy with its sentences beside it, or a parquet file with the columns sentence and vector.
        workspace: the folder of all runs.

    Raises:
        ValueError: when there is no such system.
    """
    if name == "bm25":
        return ByWords()
    if name.startswith("glove:"):
        return _averaged(name, glove(Path(name.removeprefix("glove:"))))
    if name.startswith("words:"):
        return _averaged(name, _own_table(name.removeprefix("words:"), workspace))
    path = Path(name)
    if path.suffix in (".npy", ".parquet") and not path.is_dir():
        from tsdae_core.evaluate.vectors import read_vectors  # noqa: PLC0415 (it imports this module)

        return read_vectors(path)
    encoder = _encoder(name, workspace)
    return VectorSystem(name, lambda texts, progress: _encode(encoder, texts, progress))


def _encoder(name: str, workspace: Path) -> explore.Encoder:
    """As `explore.load_encoder`; "bundled" is the model that comes with the app, and a missing hub is noticed at once."""
    name = BUNDLED_MODEL if name == "bundled" else name
    known = {run.name for run in list_runs(workspace)}
    if (
        not name.startswith("base:")
        and not {name, name.rpartition("@")[0]} & known
        and not Path(name).is_dir()
    ):
        resolve(name)
        if not is_here(name) and not hub_reachable():
            raise ValueError(
                f"there is no run {name!r}, and no hub model of that name on this machine while the hub cannot be "
                f"reached; a system is {SYSTEMS}"
            )
    return explore.load_encoder(name, workspace)


def _encode(encoder: explore.Encoder, texts: Sequence[str], progress: Progress | None) -> np.ndarray:
    """Vectors as the model gives them, not cut to unit length, for one of USEB's metrics is Euclidean."""
    order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
    parts = []
    with encoder.lock:
        for first in range(0, len(order), 256):
            part = [texts[row] for row in order[first : first + 256]]
            parts.append(
                encoder.model.encode(part, batch_size=64, convert_to_numpy=True, show_progress_bar=False)
            )
            if progress:
                progress(min(first + 256, len(texts)), len(texts))
    size = int(encoder.model.get_embedding_dimension())
    vectors = np.zeros((len(texts), size), np.float32)
    if parts:
        vectors[order] = np.concatenate(parts)
    return vectors


def _averaged(name: str, table: Words) -> VectorSystem:
    return VectorSystem(name, lambda texts, progress: table.average(texts))


def _own_table(model: str, workspace: Path) -> Words:
    """The input embedding table of a model, looked up with its own tokenizer."""
    if model in {run.name for run in list_runs(workspace)}:
        model = base_of(find_run(workspace, model))
    encoder = _encoder(model, workspace)
    transformer = encoder.model[0]
    table = getattr(transformer, "auto_model", None) or transformer.model
    weights = table.get_input_embeddings().weight.detach().float().cpu().numpy()
    tokenizer = encoder.model.tokenizer

    def ids(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    return Words(ids, weights)
