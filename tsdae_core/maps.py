"""The map of a corpus as a job: one encoder after the other, in layouts that can be compared; computed once and kept.

`python -m tsdae_core.maps JOB` works in a folder below the run's cache. The folder's name is a fingerprint of encoders,
corpus and parameters. Everything is written as soon as it is known: a PCA picture of each encoder first, then the graphs
of true neighbours, then UMAP, where each encoder's points start from where the one before left them.

Legend: N points, k neighbours.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tsdae_core import explore, launch
from tsdae_core.map_clusters import clusters, middles, names
from tsdae_core.map_layout import (
    MapOptions,
    Told,
    faithfulness,
    neighbour_change,
    pca,
    project,
    turned,
)
from tsdae_core.map_systems import encoder_words
from tsdae_core.runs import Job, Run, read_json, write_json
from tsdae_core.vectors import graph, graph_files

MOST_POINTS = 50_000
COLLAPSED = 0.9999
"""Cosine above which two sentences count as the same; when all are, the picture means nothing."""

DEFAULTS = MapOptions()
FEWEST = 3
"""Sentences that make a map."""


@dataclass(frozen=True)
class Map:
    """The map of one encoder as it stands on disk.

    Attributes:
        rows: (N,) which sentence of the corpus each point is.
        xy: (N, 2) float32 in [-1, 1].
        kind: "pca" while UMAP still runs, then "umap".
        total: sentences in the corpus; more than N when the map shows a sample.
        faithful: share of each point's 15 true nearest that are among its 15 nearest on the map, averaged; None before
            UMAP ends.
        more: (N,) float32 columns by name, as far as they are known: "trust" is `faithful` of each point, "cluster" its
            group (-1: none), "change" how many of its ten nearest are others than by the first encoder (0 to 1).
        names: what the groups are called and where the names stand: dicts of text, x, y; largest group first.
    """

    rows: np.ndarray
    xy: np.ndarray
    kind: str
    total: int
    faithful: float | None
    more: dict[str, np.ndarray] = field(default_factory=dict)
    names: list[dict[str, Any]] = field(default_factory=list)


def map_job(run: Run, systems: Sequence[str], workspace: Path, *, options: MapOptions = DEFAULTS) -> Job:
    """The job of this map, whether it ran already or not. Raises `ValueError` for an unknown system."""
    encoders = [explore.fingerprint(system, workspace) for system in systems]
    corpus = run.corpus_path.stat()
    facts = (encoders, corpus.st_size, corpus.st_mtime_ns, sorted(asdict(options).items()))
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:20]
    return Job(_folder(run) / key)


def map_jobs(run: Run) -> list[Job]:
    """All maps of this run that were ever started, newest first."""
    found = [path.parent for path in _folder(run).glob("*/map.json")]
    return [
        Job(path)
        for path in sorted(found, key=lambda path: (path / "map.json").stat().st_mtime, reverse=True)
    ]


def _folder(run: Run) -> Path:
    return run.cache_dir / "maps"


def start_map(run: Run, systems: Sequence[str], workspace: Path, *, options: MapOptions = DEFAULTS) -> Job:
    """Compute the map of one or more encoders in a detached process, unless it is there or being computed.

    Args:
        run: whose corpus.
        systems: see `explore.load_encoder`; each map starts from the one before.
        workspace: the folder of all runs.
        options: parameters of UMAP.

    Raises:
        ValueError: for an unknown system, or a corpus with fewer than three sentences.
    """
    job = map_job(run, systems, workspace, options=options)
    if job.state in ("finished", "starting", "running", "stopping"):
        return job
    count = pq.read_metadata(run.corpus_path).num_rows
    if count < FEWEST:
        raise ValueError(f"a map needs at least three sentences, and this corpus has {count}")
    job.path.mkdir(parents=True, exist_ok=True)
    facts = {
        "run": str(run.path.resolve()),
        "systems": list(systems),
        "workspace": str(workspace.resolve()),
        "options": asdict(options),
    }
    write_json(job.path / "map.json", facts)
    launch.start_process(job, [sys.executable, "-m", "tsdae_core.maps", str(job.path.resolve())])
    return job


def systems_of(job: Job) -> list[str]:
    """The encoders of a map, in order."""
    return [str(system) for system in read_json(job.path / "map.json").get("systems", [])]


def kind_of(job: Job, place: int = 0) -> str:
    """What is drawn of the encoder at `place` so far: "umap", "pca" or ""."""
    return next((kind for kind in ("umap", "pca") if _points_path(job, kind, place).is_file()), "")


def facts_of(job: Job) -> dict[str, Any]:
    """Beside the points: `total` sentences, `points` drawn; per finished encoder `faithful-`, `collapsed-`, `names-PLACE`."""
    return read_json(job.path / "facts.json")


def read_map(job: Job, place: int = 0) -> Map | None:
    """The map of the encoder at `place` so far: the UMAP one, else the PCA one, else None."""
    kind = kind_of(job, place)
    if not kind:
        return None
    table, facts = pq.read_table(_points_path(job, kind, place)), facts_of(job)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    xy = np.stack([columns.pop("x"), columns.pop("y")], axis=1).astype(np.float32)
    rows = columns.pop("row")
    if (job.path / "change.npy").is_file():
        columns["change"] = np.load(job.path / "change.npy")
    if kind == "pca":
        return Map(rows, xy, kind, int(facts.get("total", len(xy))), None, columns)
    faithful, named = facts.get(f"faithful-{place}"), facts.get(f"names-{place}", [])
    return Map(rows, xy, kind, int(facts.get("total", len(xy))), faithful, columns, named)


def has_graph(job: Job, place: int = 0) -> bool:
    """Whether the true neighbours by the encoder at `place` are known."""
    return all(_graph_path(job, part, place).is_file() for part in ("points", "scores"))


def read_graph(job: Job, place: int = 0) -> tuple[np.ndarray, np.ndarray] | None:
    """Each point's true nearest others: points (N, k) by number on the map, and cosines (N, k); None before it is known."""
    if not has_graph(job, place):
        return None
    points, scores = (np.load(_graph_path(job, part, place), mmap_mode="r") for part in ("points", "scores"))
    return points, scores


def _points_path(job: Job, kind: str, place: int) -> Path:
    return job.path / f"{kind}-{place}.parquet"


def _graph_path(job: Job, part: str, place: int) -> Path:
    return job.path / f"graph-{part}-{place}.npy"


def compute(job: Job) -> None:
    """Everything from vectors to the map, telling how far it is."""
    said = read_json(job.path / "map.json")
    run, workspace, options = Run(Path(said["run"])), Path(said["workspace"]), MapOptions(**said["options"])
    systems = systems_of(job)
    texts = run.corpus()["sentence"].to_pylist()
    rows = sample(len(texts), options.seed)
    write_json(job.path / "facts.json", {"total": len(texts), "points": len(rows)})
    drawn = [texts[row] for row in rows]
    encoders: list[explore.Encoder] = []
    vectors: list[np.ndarray] = []
    first = np.zeros((len(rows), 2), np.float32)
    for place, system in enumerate(systems):
        job.write_status(state="running", phase=f"Loading {encoder_words(system)}", step=0, total=0)
        encoders.append(explore.load_encoder(system, workspace))
        tell = _teller(job, f"Embedding with {encoder_words(system)}")
        vectors.append(_vectors(encoders[place], texts, drawn, rows=rows, cache_dir=run.cache_dir, tell=tell))
        job.write_status(phase=f"First picture with {encoder_words(system)}", step=0, total=0)
        flat = pca(vectors[place])
        _write(job, "pca", place, rows=rows, xy=turned(flat, first) if place else flat)
        first = first if place else flat
    graphs = []
    for place, system in enumerate(systems):
        tell = _teller(job, f"Nearest neighbours by {encoder_words(system)}")
        graphs.append(graph(encoders[place], drawn, run.cache_dir, vectors=vectors[place], progress=tell))
        files = graph_files(encoders[place].fingerprint, drawn, run.cache_dir)
        for part, file in zip(("points", "scores"), files, strict=True):
            _link(file, _graph_path(job, part, place))
    if len(graphs) > 1:
        save_array(job.path / "change.npy", neighbour_change(graphs[0][0], graphs[-1][0]))
    xy: np.ndarray | None = None
    for place, (system, (points, scores)) in enumerate(zip(systems, graphs, strict=True)):
        job.write_status(phase=f"Preparing UMAP of {encoder_words(system)}", step=0, total=0)
        tell = _teller(job, f"UMAP of {encoder_words(system)}, epoch")
        xy = project(vectors[place], points, scores, options=options, init=xy, on_epoch=tell)
        job.write_status(phase=f"Naming the groups of {encoder_words(system)}", step=0, total=0)
        trust, groups = faithfulness(xy, points), clusters(xy)
        named = zip(names(drawn, groups), middles(xy, groups).tolist(), strict=True)
        facts = {
            f"faithful-{place}": float(trust.mean()),
            f"collapsed-{place}": bool(scores.min() > COLLAPSED),
            f"names-{place}": [{"text": text, "x": x, "y": y} for text, (x, y) in named],
        }
        write_json(job.path / "facts.json", facts_of(job) | facts)
        _write(job, "umap", place, rows=rows, xy=xy, trust=trust, cluster=groups.astype(np.float32))
    job.write_status(state="finished", phase="Map drawn", step=0, total=0)


def sample(count: int, seed: int) -> np.ndarray:
    """Which of `count` sentences are drawn, ascending: all, or as many as a page draws smoothly, by chance."""
    if count <= MOST_POINTS:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, MOST_POINTS, replace=False))


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


def save_array(path: Path, array: np.ndarray) -> None:
    """Readers see the whole array or none."""
    temporary = path.with_name(f".{path.name}")
    np.save(temporary, array)
    temporary.replace(path)


def _link(file: Path, target: Path) -> None:
    """One file under two names, or a copy where the disk has no such links."""
    target.unlink(missing_ok=True)
    try:
        os.link(file, target)
    except OSError:
        shutil.copyfile(file, target)


def _write(job: Job, kind: str, place: int, *, rows: np.ndarray, xy: np.ndarray, **more: np.ndarray) -> None:
    temporary = job.path / f".{kind}-{place}.parquet"
    pq.write_table(pa.table({"row": rows, "x": xy[:, 0], "y": xy[:, 1], **more}), temporary)
    temporary.replace(_points_path(job, kind, place))


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
