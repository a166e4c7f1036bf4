"""How long a map takes, ours against umap-learn's defaults: `python -m tests.benchmarks.map_speed [--rows 10000] [--rounds 3]`.

The vectors are random points around 200 directions, 384 wide. Both make a map on the same vectors in the same process, in turn,
after one small map each that pays for compilation; a "fresh" line is each in a process of its own, compilation included.
Ours counts everything: exact neighbour graph, PCA, UMAP. Printed: processor and wall seconds (median, fastest to
slowest), the share of the 15 nearest on the map that are true neighbours, and whether a repeat is identical.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

from tsdae_core.map_layout import MapOptions, faithfulness, project
from tsdae_core.vectors import GRAPH, neighbour_graph


def vectors_of(rows: int) -> np.ndarray:
    """(rows, 384) unit vectors, float32."""
    rng = np.random.default_rng(0)
    middles = rng.standard_normal((200, 384))
    made = middles[rng.integers(len(middles), size=rows)] + rng.standard_normal((rows, 384))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def ours(vectors: np.ndarray) -> np.ndarray:
    """A map as the app makes it."""
    points, scores = neighbour_graph(vectors, GRAPH)
    return project(vectors, points, scores, options=MapOptions())


def defaults(vectors: np.ndarray) -> np.ndarray:
    """A map by umap-learn with nothing but its defaults, cosine and a seed, so that a repeat is the same."""
    import umap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(umap.UMAP(metric="cosine", random_state=42).fit_transform(vectors))


MADE: dict[str, Callable[[np.ndarray], np.ndarray]] = {"ours": ours, "umap-learn's defaults": defaults}


def timed(make: Callable[[np.ndarray], np.ndarray], vectors: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Processor seconds, wall seconds, the map."""
    cpu, wall = time.process_time(), time.monotonic()
    made = make(vectors)
    return time.process_time() - cpu, time.monotonic() - wall, made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fresh", choices=list(MADE), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    vectors = vectors_of(arguments.rows)
    if arguments.fresh:
        print(*timed(MADE[arguments.fresh], vectors)[:2])
        return
    for make in MADE.values():
        make(vectors[:500])
    found: dict[str, list[tuple[float, float, np.ndarray]]] = {name: [] for name in MADE}
    for _ in range(arguments.rounds):
        for name, make in MADE.items():
            found[name].append(timed(make, vectors))
    points, _ = neighbour_graph(vectors, GRAPH)
    print(f"{arguments.rows:,} vectors, {arguments.rounds} rounds")
    for name, each in found.items():
        cpu, wall = ([one[part] for one in each] for part in (0, 1))
        faithful = float(np.mean(faithfulness(each[0][2], points)))
        same = all(np.array_equal(one[2], each[0][2]) for one in each)
        print(
            f"{name:22} {statistics.median(cpu):6.1f} CPU-s ({min(cpu):.1f}-{max(cpu):.1f})  {statistics.median(wall):6.1f} s "
            f"({min(wall):.1f}-{max(wall):.1f})  true neighbours {faithful:.0%}  repeat {'identical' if same else 'differs'}"
        )
    for name in MADE:
        command = [
            sys.executable,
            "-m",
            "tests.benchmarks.map_speed",
            "--rows",
            str(arguments.rows),
            "--fresh",
            name,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        cpu_s, wall_s = map(float, done.stdout.split())
        print(f"{name:22} {cpu_s:6.1f} CPU-s, {wall_s:.1f} s in a fresh process")


if __name__ == "__main__":
    main()
