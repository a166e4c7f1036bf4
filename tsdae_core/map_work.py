"""The process that computes a map: `python -m tsdae_core.map_work JOB`, in a folder of `maps`.

Everything is written as soon as it is known: a PCA picture of each encoder first, then the graphs of true neighbours, then
UMAP, where each encoder's points start from where the one before left them.

Legend: N points, k neighbours, D dimensions of the map.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tsdae_core import explore, maps
from tsdae_core.jobs import Job, work
from tsdae_core.map_clusters import clusters, named
from tsdae_core.map_layout import Told, faithfulness, neighbour_change, pca, project, trust_of, turned
from tsdae_core.map_systems import encoder_words
from tsdae_core.vectors import graph, graph_files

COLLAPSED = 0.9999
"""Cosine above which two sentences count as the same; when all are, the picture means nothing."""


def compute(job: Job) -> None:
    """Everything from vectors to the map, telling how far it is."""
    run, workspace, options = maps.description(job)
    systems = maps.systems_of(job)
    texts = maps.table_of(job)["sentence"].to_pylist()
    rows = maps.sample(len(texts), options.seed)
    maps.add_facts(job, total=len(texts), points=len(rows))
    drawn = [texts[row] for row in rows]
    encoders: list[explore.Encoder] = []
    vectors: list[np.ndarray] = []
    first = np.zeros((len(rows), options.dimensions), np.float32)
    for place, system in enumerate(systems):
        job.write_status(state="running", phase=f"Loading {encoder_words(system, run.name)}", step=0, total=0)
        encoders.append(explore.load_encoder(system, workspace))
        tell = _teller(job, f"Embedding with {encoder_words(system, run.name)}")
        vectors.append(_vectors(encoders[place], texts, drawn, rows=rows, cache_dir=run.cache_dir, tell=tell))
        job.write_status(phase=f"First picture with {encoder_words(system, run.name)}", step=0, total=0)
        flat = pca(vectors[place], options.dimensions)
        maps.write_points(job, "pca", place, rows=rows, xy=turned(flat, first) if place else flat)
        first = first if place else flat
    graphs = []
    for place, system in enumerate(systems):
        tell = _teller(job, f"Nearest neighbours by {encoder_words(system, run.name)}")
        graphs.append(graph(encoders[place], drawn, run.cache_dir, vectors=vectors[place], progress=tell))
        files = graph_files(encoders[place].fingerprint, drawn, run.cache_dir)
        for part, file in zip(("points", "scores"), files, strict=True):
            maps.link(file, maps.graph_path(job, part, place))
    if len(graphs) > 1:
        maps.save_array(job.path / "change.npy", neighbour_change(graphs[0][0], graphs[-1][0]))
    xy: np.ndarray | None = None
    for place, (system, (points, scores)) in enumerate(zip(systems, graphs, strict=True)):
        job.write_status(phase=f"Preparing UMAP of {encoder_words(system, run.name)}", step=0, total=0)
        tell = _teller(job, f"UMAP of {encoder_words(system, run.name)}, epoch")
        xy = project(vectors[place], points, scores, options=options, init=xy, on_epoch=tell)
        job.write_status(phase=f"Naming the groups of {encoder_words(system, run.name)}", step=0, total=0)
        near = {"points": points, "scores": scores, "vectors": vectors[place]}
        finish(job, place, drawn, rows=rows, xy=xy, **near)
    job.write_status(state="finished", phase="Map drawn", step=0, total=0)


def finish(
    job: Job,
    place: int,
    drawn: list[str],
    *,
    rows: np.ndarray,
    xy: np.ndarray,
    points: np.ndarray,
    scores: np.ndarray,
    vectors: np.ndarray,
    **more: np.ndarray,
) -> None:
    """Write the map by the encoder at `place` with all that is said of it: trust, groups and their names.

    Args:
        drawn: N sentences.
        rows: (N,) which of the corpus they are.
        xy: (N, D).
        points, scores: (N, k), `neighbour_graph`'s.
        vectors: (N, H).
        more: further columns (N,).
    """
    trust, groups = faithfulness(xy, points), clusters(xy)
    facts = {
        f"faithful-{place}": float(trust.mean()),
        f"trustworthy-{place}": trust_of(vectors, xy),
        f"collapsed-{place}": bool(scores.min() > COLLAPSED),
        f"names-{place}": named(drawn, xy, groups),
    }
    maps.add_facts(job, **facts)
    columns = {"trust": trust, "cluster": groups.astype(np.float32), **more}
    maps.write_points(job, "umap", place, rows=rows, xy=xy, **columns)


def _vectors(
    encoder: explore.Encoder,
    texts: list[str],
    drawn: list[str],
    *,
    rows: np.ndarray,
    cache_dir: Path,
    tell: Told,
) -> np.ndarray:
    """(N, H) of the drawn sentences: cut from the whole corpus's when these are kept, so that nothing is embedded twice."""
    everything = explore.embedded(encoder, texts, cache_dir) if len(drawn) < len(texts) else None
    if everything is not None:
        return np.asarray(everything[rows])
    return np.asarray(explore.embed(encoder, drawn, cache_dir, progress=tell))


def _teller(job: Job, phase: str) -> Told:
    return lambda done, total: job.write_status(phase=phase, step=done, total=total)


if __name__ == "__main__":
    sys.exit(work(Job(Path(sys.argv[1])), compute))
