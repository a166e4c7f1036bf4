"""The maps of a run as folders below its cache: which there are, what they hold, and how one is started.

Only this module knows the file names in a map's folder. The folder's name is a fingerprint of encoders, corpus and
parameters, but for the live map's. `map_work` computes a map in a process of its own, `map_live` one that follows a training.

Legend: N points, k neighbours, D dimensions of the map.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tsdae_core import explore, launch
from tsdae_core.map_layout import MapOptions
from tsdae_core.runs import Job, Run, read_json, write_json

MOST_POINTS = 50_000
DEFAULTS = MapOptions()
FEWEST = 3
"""Sentences that make a map."""

FLAT, DEEP, LIVE = VIEWS = ("flat", "deep", "live")
"""Kinds of maps: in the plane, in space, and the one that follows a training."""

LIVE_NAME = "live"
AXES = "xyz"


@dataclass(frozen=True)
class Map:
    """The map of one encoder as it stands on disk.

    Attributes:
        rows: (N,) which sentence of the corpus each point is.
        xy: (N, D) float32 in [-1, 1].
        kind: "pca" while UMAP still runs, then "umap".
        total: sentences in the corpus; more than N when the map shows a sample.
        faithful: share of each point's 15 true nearest that are among its 15 nearest on the map, averaged; None before
            UMAP ends.
        more: (N,) float32 columns by name, as far as they are known: "trust" is `faithful` of each point, "cluster" its
            group (-1: none), "change" how many of its ten nearest are others than by the first encoder (0 to 1).
        names: what the groups are called and where the names stand: dicts of text, x, y and, in space, z; largest
            group first.
    """

    rows: np.ndarray
    xy: np.ndarray
    kind: str
    total: int
    faithful: float | None
    more: dict[str, np.ndarray] = field(default_factory=dict)
    names: list[dict[str, Any]] = field(default_factory=list)


def map_job(
    run: Run,
    systems: Sequence[str],
    workspace: Path,
    *,
    options: MapOptions = DEFAULTS,
    text: Path | None = None,
) -> Job:
    """The job of this map, whether it ran already or not; `text` as in `start_map`. Raises `ValueError` for an unknown system."""
    encoders = [explore.fingerprint(system, workspace) for system in systems]
    corpus = (text or run.corpus_path).stat()
    deciding = asdict(options)
    for later in ("dimensions", "rate"):  # maps keep the names that they had before there was a choice
        if deciding[later] == getattr(DEFAULTS, later):
            del deciding[later]
    time = (
        corpus.st_mtime_ns if text is None else text.name
    )  # a text of its own never changes, but is touched
    facts = (encoders, corpus.st_size, time, sorted(deciding.items()))
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:20]
    return Job(_folder(run) / key)


def map_jobs(run: Run, view: str = "") -> list[Job]:
    """All maps of this run that were ever started, of any text, or those of one of `VIEWS`, newest first."""
    found = [path.parent for path in _folder(run).glob("*/map.json")]
    newest = sorted(found, key=lambda path: (path / "map.json").stat().st_mtime, reverse=True)
    return [Job(path) for path in newest if not view or view_of(Job(path)) == view]


def view_of(job: Job) -> str:
    """One of `VIEWS`."""
    if job.name == LIVE_NAME:
        return LIVE
    return DEEP if read_json(job.path / "map.json").get("options", {}).get("dimensions") == 3 else FLAT


def live_job(run: Run) -> Job:
    """The map that follows the run's training, whether it was ever begun or not."""
    return Job(_folder(run) / LIVE_NAME)


def _folder(run: Run) -> Path:
    return run.cache_dir / "maps"


def start_map(
    run: Run,
    systems: Sequence[str],
    workspace: Path,
    *,
    options: MapOptions = DEFAULTS,
    text: Path | None = None,
) -> Job:
    """Compute the map of one or more encoders in a detached process, unless it is there or being computed.

    Args:
        run: whose corpus.
        systems: see `explore.load_encoder`; each map starts from the one before.
        workspace: the folder of all runs.
        options: parameters of UMAP.
        text: Parquet with the columns sentence, line and label, to be drawn instead of the run's corpus; never changes.

    Raises:
        ValueError: for an unknown system, or a corpus with fewer than three sentences.
    """
    job = map_job(run, systems, workspace, options=options, text=text)
    if job.state in ("finished", "starting", "running", "stopping"):
        return job
    count = pq.read_metadata(text or run.corpus_path).num_rows
    if count < FEWEST:
        raise ValueError(f"a map needs at least three sentences, and this corpus has {count}")
    describe(job, run, systems, workspace, options=options, text=text)
    launch.start_process(job, [sys.executable, "-m", "tsdae_core.map_work", str(job.path.resolve())])
    return job


def describe(
    job: Job,
    run: Run,
    systems: Sequence[str],
    workspace: Path,
    *,
    options: MapOptions = DEFAULTS,
    text: Path | None = None,
) -> None:
    """Write down what the map is of; what computes it reads that."""
    job.path.mkdir(parents=True, exist_ok=True)
    facts = {
        "run": str(run.path.resolve()),
        "systems": list(systems),
        "workspace": str(workspace.resolve()),
        "options": asdict(options),
        "text": str(text.resolve()) if text else "",
    }
    write_json(job.path / "map.json", facts)


def description(job: Job) -> tuple[Run, Path, MapOptions]:
    """The run that the map is of, the folder of all runs, and the parameters."""
    said = read_json(job.path / "map.json")
    return Run(Path(said["run"])), Path(said["workspace"]), MapOptions(**said["options"])


def text_of(job: Job) -> Path | None:
    """The text that is drawn instead of the run's corpus."""
    said = read_json(job.path / "map.json").get("text")
    return Path(said) if said else None


def table_of(job: Job) -> pa.Table:
    """All sentences that the map is of: columns sentence, line, label. Raises `ValueError` when its text is gone."""
    text = text_of(job)
    if text is None:
        return description(job)[0].corpus()
    if not text.is_file():
        raise ValueError("the file that this map is of is not there any more; choose it again")
    return pq.read_table(text, memory_map=True)


def systems_of(job: Job) -> list[str]:
    """The encoders of a map, in order."""
    return [str(system) for system in read_json(job.path / "map.json").get("systems", [])]


def kind_of(job: Job, place: int = 0) -> str:
    """What is drawn of the encoder at `place` so far: "umap", "pca" or ""."""
    return next((kind for kind in ("umap", "pca") if points_path(job, kind, place).is_file()), "")


def facts_of(job: Job) -> dict[str, Any]:
    """Beside the points: `total` sentences, `points` drawn; per finished encoder `faithful-`, `trustworthy-`, `collapsed-`, `names-PLACE`."""
    return read_json(job.path / "facts.json")


def add_facts(job: Job, **facts: Any) -> None:
    """Add to `facts_of`; only what computes the map may."""
    write_json(job.path / "facts.json", facts_of(job) | facts)


def read_map(job: Job, place: int = 0) -> Map | None:
    """The map of the encoder at `place` so far: the UMAP one, else the PCA one, else None."""
    kind = kind_of(job, place)
    if not kind:
        return None
    table, facts = pq.read_table(points_path(job, kind, place)), facts_of(job)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    xy = np.stack([columns.pop(axis) for axis in AXES if axis in columns], axis=1).astype(np.float32)
    rows = columns.pop("row")
    if (job.path / "change.npy").is_file():
        columns["change"] = np.load(job.path / "change.npy")
    if kind == "pca":
        return Map(rows, xy, kind, int(facts.get("total", len(xy))), None, columns)
    faithful, named = facts.get(f"faithful-{place}"), facts.get(f"names-{place}", [])
    return Map(rows, xy, kind, int(facts.get("total", len(xy))), faithful, columns, named)


def has_graph(job: Job, place: int = 0) -> bool:
    """Whether the true neighbours by the encoder at `place` are known."""
    return all(graph_path(job, part, place).is_file() for part in ("points", "scores"))


def read_graph(job: Job, place: int = 0) -> tuple[np.ndarray, np.ndarray] | None:
    """Each point's true nearest others: points (N, k) by number on the map, and cosines (N, k); None before it is known."""
    if not has_graph(job, place):
        return None
    points, scores = (np.load(graph_path(job, part, place), mmap_mode="r") for part in ("points", "scores"))
    return points, scores


def points_path(job: Job, kind: str, place: int) -> Path:
    """Parquet: row, x, y and z of each point, and what else is known of it."""
    return job.path / f"{kind}-{place}.parquet"


def graph_path(job: Job, part: str, place: int) -> Path:
    """Of `read_graph`: "points" or "scores"."""
    return job.path / f"graph-{part}-{place}.npy"


def sample(count: int, seed: int, most: int = MOST_POINTS) -> np.ndarray:
    """Which of `count` sentences are drawn, ascending: all, or `most`, which a page draws smoothly, by chance."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))


def save_array(path: Path, array: np.ndarray) -> None:
    """Readers see the whole array or none."""
    temporary = path.with_name(f".{path.name}")
    np.save(temporary, array)
    temporary.replace(path)


def link(file: Path, target: Path) -> None:
    """One file under two names, or a copy where the disk has no such links."""
    target.unlink(missing_ok=True)
    try:
        os.link(file, target)
    except OSError:
        shutil.copyfile(file, target)


def write_points(
    job: Job, kind: str, place: int, *, rows: np.ndarray, xy: np.ndarray, **more: np.ndarray
) -> None:
    """Where the encoder at `place` puts the points: rows (N,), xy (N, D), further columns (N,); readers see all or nothing."""
    temporary = job.path / f".{kind}-{place}.parquet"
    axes = dict(zip(AXES, xy.T, strict=False))
    pq.write_table(pa.table({"row": rows, **axes, **more}), temporary)
    temporary.replace(points_path(job, kind, place))
