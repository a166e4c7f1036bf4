"""A file of vectors as a system: whatever made them, a paid service or another program, can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tsdae_core.evaluate.systems import Progress, VectorSystem


def read_vectors(path: Path) -> VectorSystem:
    """VECTORS.npy with its sentences in VECTORS.txt beside it, one per line, or a parquet file with sentence and vector.

    Raises:
        ValueError: in one sentence, for a file that is missing, damaged, or does not fit its sentences.
    """
    if not path.is_file():
        raise ValueError(f"there is no file {path}; give a .npy or .parquet file of vectors")
    texts, vectors = _parquet(path) if path.suffix == ".parquet" else _npy(path)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ValueError(
            f"{path.name} must hold one vector for each of its {len(texts):,} sentences; its shape is {vectors.shape}"
        )
    if not np.isfinite(vectors).all():
        raise ValueError(f"{path.name} holds numbers that are not finite; every vector must be whole")
    place = {text.strip(): row for row, text in enumerate(texts)}

    def encode(asked: Sequence[str], progress: Progress | None) -> np.ndarray:
        missing = [text for text in asked if text.strip() not in place]
        if missing:
            shown = missing[0] if len(missing[0]) <= 60 else f"{missing[0][:60]}..."
            raise ValueError(
                f"{path.name} has no vector for {len(missing):,} of the {len(asked):,} texts of this task, such as "
                f"{shown!r}; embed these too"
            )
        return vectors[[place[text.strip()] for text in asked]]

    return VectorSystem(str(path), encode)


def _npy(path: Path) -> tuple[list[str], np.ndarray]:
    beside = path.with_suffix(".txt")
    if not beside.is_file():
        raise ValueError(f"{path.name} needs its sentences beside it, in {beside.name}, one per line")
    try:
        vectors = np.asarray(np.load(path, allow_pickle=False), np.float32)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path.name} is no NumPy file of numbers") from error
    return beside.read_text(encoding="utf-8").splitlines(), vectors


def _parquet(path: Path) -> tuple[list[str], np.ndarray]:
    try:
        table = pq.read_table(path, columns=["sentence", "vector"])
        vectors = np.array(table["vector"].to_pylist(), np.float32)
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path.name} must be a parquet file with the columns sentence and vector (numbers, all of one length)"
        ) from error
    return [str(text) for text in table["sentence"].to_pylist()], vectors
