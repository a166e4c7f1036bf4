"""How far an encoder has moved from its base at every checkpoint: one point each, on the same few sentences, kept on disk.

Legend: N sentences, k neighbours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tsdae_core.changes import NEAREST, Graph, Told, compare
from tsdae_core.encoders import fingerprint, load_encoder
from tsdae_core.runs import Run, read_json, write_json
from tsdae_core.vectors import GRAPH, neighbour_graph

MOST = 2000
"""Sentences that are compared at every checkpoint."""


def drawn(total: int, *, most: int = MOST) -> np.ndarray:
    """Rows of the sentences that are compared: all, or `most` drawn by chance, always the same ones, in order."""
    if total <= most:
        return np.arange(total)
    return np.sort(np.random.default_rng(0).choice(total, most, replace=False))


def states(run: Run) -> list[tuple[int, str]]:
    """(step, system) of every checkpoint of a run, and of its result when that is not one of them, in order of training."""
    found = [(one.step, f"{run.name}@{one.step}") for one in run.checkpoints()]
    last = int(run.status().get("step") or 0)
    if run.encoder_dir.is_dir() and (not found or last > found[-1][0]):
        found.append((last, run.name))
    return found


def over_training(
    run: Run,
    corpus: pa.Table,
    *,
    workspace: Path,
    cache_dir: Path,
    most: int = MOST,
    told: Told = lambda phase, done, total: None,
) -> dict[str, Any]:
    """How like the base's neighbours each checkpoint's are, on the same sentences of a text.

    Neighbours are looked for among the sentences that are compared, exactly. What was computed for a checkpoint is kept in
    `cache_dir` and read again as long as neither encoder nor sentences change.

    Args:
        run: its base and its checkpoints are compared.
        corpus: column sentence; at most `most` of them are taken, see `drawn`.
        workspace: the folder of all runs.
        told: progress.

    Returns:
        points: dicts of step, jaccard and overlap (means over the sentences; 1 means that nothing changed), the base first,
        at step 0. count, of: how many sentences were compared, and of how many. nearest: k.

    Raises:
        ValueError: for a run without checkpoints, or fewer than two sentences.
    """
    column = corpus["sentence"]
    rows = drawn(len(column), most=most)
    if len(rows) < 2:
        raise ValueError("neighbours need at least two sentences")
    steps = states(run)
    if not steps:
        raise ValueError(
            f"{run.name} has no checkpoint yet; the first one is compared as soon as it is there"
        )
    texts = [str(text) for text in column.take(pa.array(rows)).to_pylist()]
    base = f"base:{run.name}"
    first = fingerprint(base, workspace)
    nearest = min(NEAREST, len(texts) - 1)
    points: list[dict[str, Any]] = [{"step": 0, "jaccard": 1.0, "overlap": 1.0}]
    known: Graph | None = None
    for place, (step, system) in enumerate(steps):
        file = cache_dir / f"moved-{_digest(first, fingerprint(system, workspace), texts)}.json"
        kept = read_json(file) if file.is_file() else {}
        if not {"jaccard", "overlap"} <= set(kept):
            known = known or _graph(base, texts, workspace, told, phase="Embedding, the base")
            phase = f"Embedding, checkpoint {place + 1} of {len(steps)}"
            changes = compare(known, _graph(system, texts, workspace, told, phase=phase))
            kept = {"jaccard": float(changes.jaccard.mean()), "overlap": float(changes.overlap.mean())}
            cache_dir.mkdir(parents=True, exist_ok=True)
            write_json(file, kept)
        points.append({"step": step, "jaccard": kept["jaccard"], "overlap": kept["overlap"]})
    return {"points": points, "count": len(texts), "of": len(column), "nearest": nearest}


def _graph(system: str, texts: Sequence[str], workspace: Path, told: Told, *, phase: str) -> Graph:
    vectors = load_encoder(system, workspace).encode(
        texts, progress=lambda done, total: told(phase, done, total)
    )
    return neighbour_graph(
        vectors, GRAPH
    )  # as deep as the graph that is kept: equal cosines are then ordered alike


def _digest(*facts: Any) -> str:
    return hashlib.sha256(repr((facts, NEAREST)).encode("utf-8", "replace")).hexdigest()[:32]
