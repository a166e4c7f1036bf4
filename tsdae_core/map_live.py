"""A map that follows a training: at each checkpoint the same few sentences, each time started from where they lay before.

`python -m tsdae_core.map_live JOB` runs beside the training, on one thread of the processor and behind everything else that
wants it, so that the training is left alone. The map of each checkpoint is added to those before it, a film in the making.

Legend: N points, H vector size.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from tsdae_core import explore, launch, maps
from tsdae_core.jobs import work
from tsdae_core.map_layout import Told, neighbour_change, project, turned
from tsdae_core.map_systems import encoder_words
from tsdae_core.map_work import finish
from tsdae_core.runs import ACTIVE, Job, Run
from tsdae_core.vectors import GRAPH, neighbour_graph

MOST_POINTS = 2000
"""Sentences on the map: embedded and laid out anew within seconds."""

PAUSE = 0.5
"""Seconds between two looks for a checkpoint."""

KINDNESS = 5
"""How far behind other processes this one stands, as of `nice`: a quarter of a core where the training wants them all. Further
behind, the map of a checkpoint would not be there before the next one."""

EPOCHS, RATE = 80, 0.3
"""UMAP's for a map that starts from another, see `MapOptions`."""


def start_live(run: Run, workspace: Path) -> Job:
    """Follow the run's training in a detached process, unless one does so already; goes on where it was left.

    Raises:
        ValueError: when the run does not train, or has fewer than three sentences.
    """
    job = maps.live_job(run)
    if job.state in ACTIVE:
        return job
    if run.state not in ACTIVE:
        raise ValueError(f"{run.name} does not train now, so there is nothing to follow; press Draw map")
    count = run.corpus().num_rows
    if count < maps.FEWEST:
        raise ValueError(f"a map needs at least three sentences, and this corpus has {count}")
    maps.describe(job, run, maps.systems_of(job), workspace)
    launch.start_process(job, [sys.executable, "-m", "tsdae_core.map_live", str(job.path.resolve())])
    return job


def follow(job: Job, *, pause: float = PAUSE) -> None:
    """Add a map of each new checkpoint until the training ends or somebody asks to stop.

    When the training is faster than the maps, the checkpoints in between are left out: what is shown is the newest.

    Args:
        job: `maps.live_job`'s, described.
        pause: seconds between two looks for a checkpoint.
    """
    run, workspace, options = maps.description(job)
    rows = maps.sample(run.corpus().num_rows, options.seed, MOST_POINTS)
    maps.add_facts(job, total=run.corpus().num_rows, points=len(rows))
    drawn = run.corpus()["sentence"].take(rows).to_pylist()
    job.write_status(state="running", phase="Loading the base", step=0, total=0)
    while not job.stop_requested():
        trains = run.state in ACTIVE  # asked before the checkpoints: a last one may come in between
        system = _next(run, maps.systems_of(job))
        if system:
            with contextlib.suppress(FileNotFoundError):  # removed while it was read
                add(job, system, drawn, rows=rows, workspace=workspace)
        elif not trains:
            break
        else:
            job.write_status(phase="Waiting for the next checkpoint", step=0, total=0)
            time.sleep(pause)
    job.write_status(state="finished", phase="The training has ended", step=0, total=0)


def _next(run: Run, drawn: list[str]) -> str:
    """The encoder to draw now: the base first, then the newest checkpoint; "" when that is drawn."""
    base, checkpoints = f"base:{run.name}", run.checkpoints()
    if base not in drawn:
        return base
    newest = f"{run.name}@{checkpoints[-1].step}" if checkpoints else ""
    return "" if newest in drawn else newest


def add(job: Job, system: str, drawn: list[str], *, rows: np.ndarray, workspace: Path) -> None:
    """Add the map by one more encoder, started from where the last one left the points.

    Args:
        job: a described map.
        system: see `explore.load_encoder`.
        drawn: N sentences.
        rows: (N,) which of the corpus they are.
        workspace: the folder of all runs.
    """
    run, _, options = maps.description(job)
    systems = maps.systems_of(job)
    place, words = len(systems), encoder_words(system, run.name)
    job.write_status(phase=f"Loading {words}", step=0, total=0)
    encoder = explore.load_encoder(system, workspace)
    vectors = encoder.encode(drawn, progress=_teller(job, f"Embedding with {words}"))  # (N, H)
    job.write_status(phase=f"Preparing UMAP of {words}", step=0, total=0)  # its import takes longest of all
    points, scores = neighbour_graph(vectors, GRAPH)
    before = maps.read_map(job, place - 1) if place else None
    first = maps.read_graph(job, 0) if place else None
    tell = _teller(job, f"UMAP of {words}, epoch")
    if before is None:
        xy = project(vectors, points, scores, options=options, on_epoch=tell)
    else:
        again = replace(options, epochs=EPOCHS, rate=RATE)
        moved = project(vectors, points, scores, options=again, init=before.xy, on_epoch=tell)
        xy = turned(moved, before.xy)
    job.write_status(phase=f"Naming the groups of {words}", step=0, total=0)
    for part, array in (("points", points.astype(np.int32)), ("scores", scores.astype(np.float32))):
        maps.save_array(maps.graph_path(job, part, place), array)
    change = neighbour_change(points if first is None else first[0], points)
    near = {"points": points, "scores": scores, "vectors": vectors, "change": change}
    finish(job, place, drawn, rows=rows, xy=xy, **near)
    maps.describe(job, run, [*systems, system], workspace, options=options)  # last: now it is there for all


def _teller(job: Job, phase: str) -> Told:
    return lambda done, total: job.write_status(phase=phase, step=done, total=total)


def main(path: Path) -> int:
    """Follow the training of the job in `path`, quietly; returns the exit code."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # the training's; read when torch first asks for a device
    import torch  # noqa: PLC0415
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 (comes with scikit-learn)

    if hasattr(os, "nice"):
        os.nice(KINDNESS)
    torch.set_num_threads(1)
    with threadpool_limits(limits=1):
        return work(Job(path), follow)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
