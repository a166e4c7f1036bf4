"""How fast search is: `python -m tests.benchmarks.search_speed [--rows 100000 1000000] [--threads 2]`.

Prints the time of one query, from its vector to the ten best of all sentences, exactly, against the limits of 50 ms over 100,000 and
500 ms over 1,000,000 sentences; and how fast texts are encoded against sentence-transformers' own `encode`, at batch sizes
32 and 128, in alternating runs on the bundled model, by the clock and in processor time, which other work on the machine disturbs less. Every
time is the median of several, with the fastest and the slowest; the vectors of both are checked to be equal to 1e-5.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from tsdae_core import explore
from tsdae_core.config import BUNDLED_MODEL
from tsdae_core.examples import load_example

SIZE = 384
HITS = 10
LIMITS = {100_000: 50.0, 1_000_000: 500.0}
"""Milliseconds that a query over so many sentences may take on two cores."""


class _Given:
    """An encoder whose vectors are known: what is measured is the search alone."""

    def __init__(self, vector: np.ndarray):
        self.vector = vector

    def encode(self, texts: list[str]) -> np.ndarray:
        return self.vector[None]


def unit_vectors(count: int) -> np.ndarray:
    """Random unit vectors (count, SIZE), made a part at a time."""
    random = np.random.default_rng(0)
    vectors = np.empty((count, SIZE), np.float32)
    for first in range(0, count, 50_000):
        part = random.standard_normal((min(50_000, count - first), SIZE), dtype=np.float32)
        vectors[first : first + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return vectors


def milliseconds(act: Callable[[], object], times: int) -> list[float]:
    act()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        act()
        taken.append(1000 * (time.perf_counter() - start))
    return taken


def search(rows: int, times: int) -> bool:
    """Measure one size; False when it is too slow."""
    vectors = unit_vectors(rows)
    query = vectors[rows // 3] + 0.5 * vectors[rows // 2]
    index = explore.VectorIndex([""] * rows, [""] * rows, _Given(query / np.linalg.norm(query)), vectors)  # type: ignore[arg-type]
    found = index.hits(index.scores("query"), HITS)
    assert [hit["row"] for hit in found[:2]] == [rows // 3, rows // 2], "the search is not exact"
    taken = milliseconds(lambda: index.hits(index.scores("query"), HITS), times)
    middle = statistics.median(taken)
    limit = LIMITS.get(rows)
    said = "" if limit is None else f"   limit {limit:.0f} ms: {'kept' if middle <= limit else 'MISSED'}"
    print(
        f"search   {rows:>9,} x {SIZE}   {middle:7.1f} ms   ({min(taken):.1f} to {max(taken):.1f}){said}",
        flush=True,
    )
    return limit is None or middle <= limit


def encode(batch_size: int, rounds: int, count: int) -> None:
    """Our encoder and sentence-transformers' `encode` in turn over the same sentences."""
    sentences = load_example("topics").table["sentence"].to_pylist()
    texts = (sentences * (count // len(sentences) + 1))[:count]
    encoder = explore.load_encoder(BUNDLED_MODEL, Path("workspace"))
    ways: dict[str, Callable[[], object]] = {
        "ours": lambda: encoder.encode(texts, batch_size=batch_size),
        "theirs": lambda: encoder.model.encode(
            texts, batch_size=batch_size, normalize_embeddings=True, show_progress_bar=False
        ),
    }
    equal = float(
        np.abs(
            encoder.encode(texts[:200]) - encoder.model.encode(texts[:200], normalize_embeddings=True)
        ).max()
    )
    assert equal < 1e-5, f"our vectors differ by {equal}"
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for number in range(rounds):
        for name in sorted(ways, reverse=bool(number % 2)):
            wall, busy = time.perf_counter(), time.process_time()
            ways[name]()
            taken[name].append((time.perf_counter() - wall, time.process_time() - busy))
    for place, clock in enumerate(("by the clock", "processor time")):
        times = {name: [one[place] for one in every] for name, every in taken.items()}
        rates = {name: count / statistics.median(every) for name, every in times.items()}
        ratios = [theirs / ours for ours, theirs in zip(times["ours"], times["theirs"], strict=True)]
        print(
            f"encode   batch {batch_size:>3}, {clock:14}   ours {rates['ours']:6.0f} sentences/s, sentence-transformers "
            f"{rates['theirs']:6.0f}: {statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f} in "
            f"{rounds} pairs)",
            flush=True,
        )


def main() -> int:
    """Returns 1 when a limit is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="*", default=list(LIMITS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=1500)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    kept = [search(rows, arguments.times) for rows in arguments.rows]
    for batch_size in (32, 128) if arguments.rounds else ():
        encode(batch_size, arguments.rounds, arguments.sentences)
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
