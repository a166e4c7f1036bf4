"""The map of a corpus: vectors, their exact neighbour graph, UMAP; computed by a process of its own and kept.

`python -m tsdae_core.maps JOB` works in a job folder below the run's cache. The folder's name is a fingerprint of encoder,
corpus and parameters, so the same map is never computed twice.

Legend: N points, H vector size, k neighbours.
"""

from __future__ import annotations

import hashlib
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tsdae_core import explore, launch
from tsdae_core.runs import Job, Run, read_json, write_json

MOST_POINTS = 50_000
GRAPH = 30
"""Neighbours per point in the graph that is kept."""


@dataclass(frozen=True)
class MapOptions:
    """What decides a map. The defaults were measured to be several times faster than the library's at equal quality."""

    n_neighbors: int = 15
    min_dist: float = 0.1
    epochs: int = 200
    seed: int = 42


@dataclass(frozen=True)
class Map:
    """A map as it stands on disk.

    Attributes:
        rows: (N,) which sentence of the corpus each point is.
        xy: (N, 2) float32 in [-1, 1].
        kind: "pca" while UMAP still runs, then "umap".
        total: sentences in the corpus; more than N when the map shows a sample.
        faithful: share of each point's true 15 nearest that are among its 15 nearest on the map, averaged; None before
            UMAP ends.
    """

    rows: np.ndarray
    xy: np.ndarray
    kind: str
    total: int
    faithful: float | None


def map_job(run: Run, system: str, workspace: Path, *, options: MapOptions = MapOptions()) -> Job:
    """The job of this map, whether it ran already or not. Raises `ValueError` for an unknown system."""
    encoder = explore.fingerprint(system, workspace)
    corpus = run.corpus_path.stat()
    facts = (encoder, corpus.st_size, corpus.st_mtime_ns, sorted(asdict(options).items()))
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:20]
    return Job(run.cache_dir / "maps" / key)


def start_map(run: Run, system: str, workspace: Path, *, options: MapOptions = MapOptions()) -> Job:
    """Compute a map in a detached process, unless it is there or being computed.

    Raises:
        ValueError: for an unknown system, or a corpus with fewer than three sentences.
    """
    job = map_job(run, system, workspace, options=options)
    if job.state in ("finished", "starting", "running", "stopping"):
        return job
    if pq.read_metadata(run.corpus_path).num_rows < 3:
        raise ValueError("a map needs at least three sentences")
    job.path.mkdir(parents=True, exist_ok=True)
    facts = {
        "run": str(run.path.resolve()),
        "system": system,
        "workspace": str(workspace.resolve()),
        "options": asdict(options),
    }
    write_json(job.path / "map.json", facts)
    launch.start_process(job, [sys.executable, "-m", "tsdae_core.maps", str(job.path)])
    return job


def read_map(job: Job) -> Map | None:
    """The map so far: the UMAP one, else the PCA one, else None."""
    for kind in ("umap", "pca"):
        path = job.path / f"{kind}.parquet"
        if path.is_file():
            table = pq.read_table(path)
            facts = read_json(job.path / "facts.json")
            xy = np.stack([table["x"].to_numpy(), table["y"].to_numpy()], axis=1).astype(np.float32)
            return Map(
                table["row"].to_numpy(), xy, kind, int(facts.get("total", len(xy))), facts.get("faithful")
            )
    return None


def read_graph(job: Job) -> tuple[np.ndarray, np.ndarray] | None:
    """Each point's nearest others in the original space: points (N, k) by number on the map, and cosines (N, k)."""
    path = job.path / "graph.npz"
    if not path.is_file():
        return None
    with np.load(path) as saved:
        return saved["points"], saved["scores"]


def neighbour_graph(
    vectors: np.ndarray, k: int, *, progress: Callable[[int, int], None] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The exact k nearest others of every vector (N, H): rows (N, k) and cosines (N, k), best first."""
    k = min(k, len(vectors) - 1)
    points, scores = [], []
    for first in range(0, len(vectors), 1024):
        part = vectors[first : first + 1024]
        score, row = explore.neighbours(part, vectors, k + 1)
        own = row == np.arange(first, first + len(part))[:, None]
        own[~own.any(1), -1] = (
            True  # among many equal vectors the point itself may be missing: drop the last instead
        )
        keep = ~own & (np.cumsum(own, axis=1) >= 0)
        points.append(row[keep].reshape(len(part), k))
        scores.append(score[keep].reshape(len(part), k))
        if progress:
            progress(min(first + 1024, len(vectors)), len(vectors))
    return np.concatenate(points), np.concatenate(scores)


def pca(vectors: np.ndarray) -> np.ndarray:
    """The two main directions of vectors (N, H): (N, 2) in [-1, 1]."""
    from sklearn.decomposition import PCA

    flat = PCA(n_components=2, svd_solver="randomized", random_state=0).fit_transform(np.asarray(vectors))
    return normalised(flat)


def project(
    vectors: np.ndarray,
    points: np.ndarray,
    scores: np.ndarray,
    *,
    options: MapOptions,
    init: np.ndarray | None = None,
    on_epoch: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """UMAP of vectors (N, H) on their own exact neighbour graph: (N, 2) in [-1, 1], the same for the same seed.

    Args:
        vectors: unit length.
        points, scores: `neighbour_graph`'s.
        options: neighbours, minimal distance, epochs, seed.
        init: (N, 2) where the points start; None starts from PCA.
        on_epoch: called with epochs done and epochs in all.
    """
    from umap import UMAP

    k = min(options.n_neighbors, points.shape[1] + 1)
    own = np.arange(len(vectors))[:, None]
    indices = np.concatenate([own, points[:, : k - 1]], axis=1).astype(
        np.int32
    )  # (N, k), each point its own first
    distances = (
        np.concatenate([np.zeros((len(own), 1)), 1 - scores[:, : k - 1]], axis=1).clip(0).astype(np.float32)
    )
    start = pca(vectors) if init is None else init
    jitter = np.random.default_rng(options.seed).normal(
        scale=1e-4, size=start.shape
    )  # equal vectors must not start equal
    fitted = UMAP(
        metric="cosine",
        n_neighbors=k,
        min_dist=options.min_dist,
        n_epochs=options.epochs,
        init=((start + jitter) * 10).astype(np.float32),
        random_state=options.seed,
        n_jobs=1,
        precomputed_knn=(indices, distances),
        tqdm_kwds={
            "file": _Epochs(on_epoch, options.epochs),
            "disable": False,
            "mininterval": 0.2,
            "desc": "epochs",
        },
        verbose=on_epoch is not None,
    ).fit_transform(np.asarray(vectors))
    return normalised(fitted)


class _Epochs:
    """Where umap's progress bar is written to: the only way it tells how far it is."""

    def __init__(self, on_epoch: Callable[[int, int], None] | None, total: int):
        self.on_epoch, self.total = on_epoch, total

    def write(self, text: str) -> int:
        done = re.search(r"(\d+)/(\d+)", text)
        if done and self.on_epoch:
            self.on_epoch(int(done[1]), self.total)
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""


def normalised(xy: np.ndarray) -> np.ndarray:
    """Coordinates (N, 2) moved and scaled, alike in both directions, into [-1, 1]."""
    middle = (xy.min(0) + xy.max(0)) / 2
    return ((xy - middle) / max(1e-9, float(np.abs(xy - middle).max()))).astype(np.float32)


def faithfulness(xy: np.ndarray, points: np.ndarray, *, k: int = 15) -> np.ndarray:
    """(N,) share of each point's k nearest in the original space that are among its k nearest on the map.

    The measure of Lee and Verleysen (2009), Q_NX(k), per point.
    """
    from sklearn.neighbors import NearestNeighbors

    k = min(k, points.shape[1])
    _, near = NearestNeighbors(n_neighbors=k + 1).fit(xy).kneighbors(xy)
    return np.array(
        [len(set(a[:k]) & set(b[1:])) / k for a, b in zip(points, near, strict=True)], dtype=np.float32
    )


def compute(job: Job) -> None:
    """Everything from vectors to the map, telling how far it is."""
    said = read_json(job.path / "map.json")
    run, options = Run(Path(said["run"])), MapOptions(**said["options"])
    job.write_status(state="running", phase="Loading the encoder", step=0, total=0)
    encoder = explore.load_encoder(said["system"], Path(said["workspace"]))
    texts = run.corpus()["sentence"].to_pylist()
    rows = np.arange(len(texts))
    if len(rows) > MOST_POINTS:
        rows = np.sort(np.random.default_rng(options.seed).choice(rows, MOST_POINTS, replace=False))
    write_json(job.path / "facts.json", {"total": len(texts)})
    tell = _teller(job)
    everything = explore.embed(encoder, texts, run.cache_dir, progress=tell("Embedding sentences"))
    vectors = np.asarray(everything[rows], dtype=np.float32)
    _write(job, "pca", rows, pca(vectors))
    points, scores = neighbour_graph(vectors, GRAPH, progress=tell("Finding each sentence's neighbours"))
    np.savez(job.path / ".graph.npz", points=points.astype(np.int32), scores=scores.astype(np.float32))
    (job.path / ".graph.npz").replace(job.path / "graph.npz")
    job.write_status(phase="Preparing UMAP", step=0, total=0)
    xy = project(vectors, points, scores, options=options, on_epoch=tell("UMAP epochs"))
    write_json(
        job.path / "facts.json", {"total": len(texts), "faithful": float(faithfulness(xy, points).mean())}
    )
    _write(job, "umap", rows, xy)
    job.write_status(state="finished", phase="Map drawn", step=0, total=0)


def _teller(job: Job) -> Callable[[str], Callable[[int, int], None]]:
    def of(phase: str) -> Callable[[int, int], None]:
        return lambda done, total: job.write_status(phase=phase, step=done, total=total)

    return of


def _write(job: Job, kind: str, rows: np.ndarray, xy: np.ndarray) -> None:
    temporary = job.path / f".{kind}.parquet"
    pq.write_table(pa.table({"row": rows, "x": xy[:, 0], "y": xy[:, 1]}), temporary)
    temporary.replace(job.path / f"{kind}.parquet")


def main(path: Path) -> int:
    """Compute the map in `path`; record a failure in its status. Returns the exit code."""
    job = Job(path)
    try:
        compute(job)
        return 0
    except BaseException as error:
        traceback.print_exc()
        if job.path.is_dir():
            text = (str(error).strip() or type(error).__name__).splitlines()[0]
            job.write_status(state="failed", phase="Failed", error=text)
        return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
