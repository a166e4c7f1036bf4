"""Does training slow down, or its memory grow, with the corpus: `python -m tests.benchmarks.growth [--rows 10000 100000 1000000]`.

Trains the bundled model a few steps on so many made-up sentences, each size in a process of its own, the sizes in turn
for several rounds, and prints: seconds until the first step, when the text is tokenised and when that is kept, sentences per second (median), the
memory of the process, the size of the token cache on disk.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tsdae_core.launch import WAITING

WORDS = [
    "data",
    "file",
    "server",
    "user",
    "query",
    "index",
    "table",
    "cache",
    "thread",
    "window",
    "button",
    "image",
    "record",
    "model",
    "error",
    "value",
]
STEPS = 40


def sentences(count: int) -> list[str]:
    """So many different sentences of 5 to 15 words."""
    rng = random.Random(0)
    return [f"{' '.join(rng.choices(WORDS, k=rng.randint(4, 14)))} {number}" for number in range(count)]


def one(rows: int, folder: Path) -> None:
    """Train a few steps on `rows` sentences and print what it took as JSON."""
    import pyarrow as pa

    from tsdae_core.batches import endless
    from tsdae_core.config import checked
    from tsdae_core.prepare import prepare
    from tsdae_core.runs import create_run, find_run
    from tsdae_core.steps import make_accelerator

    if not (folder / f"rows-{rows}").is_dir():  # by a process that is not measured
        texts = sentences(rows)
        table = pa.table({"sentence": texts, "line": range(rows), "label": pa.nulls(rows, pa.string())})
        create_run(folder, checked({"batch_size": 16, "vocabulary": "corpus"}), table, name=f"rows-{rows}")
        return
    run = find_run(folder, f"rows-{rows}")
    config = run.config()
    started = time.monotonic()
    steps = prepare(run, config, make_accelerator(config))
    ready = time.monotonic() - started
    order = endless(steps.order_by, config.batch_size, seed=0)
    times = []
    for _ in range(STEPS):
        began = time.monotonic()
        epoch, indices = next(order)
        float(steps.step(indices, epoch=epoch, rate=3e-5))
        times.append(time.monotonic() - began)
    own = psutil.Process().memory_full_info()
    cache = sum(file.stat().st_size for file in run.cache_dir.rglob("*") if file.is_file())
    print(json.dumps({
        "ready": ready, "rate": config.batch_size / statistics.median(times), "first": times[0],
        "memory": own.uss, "cache": cache,
    }))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one, arguments.folder)
        return
    found: dict[int, list[dict[str, float]]] = {rows: [] for rows in arguments.rows}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds + 1):
            for rows in arguments.rows:
                command = [
                    sys.executable,
                    "-m",
                    "tests.benchmarks.growth",
                    "--one",
                    str(rows),
                    "--folder",
                    folder,
                ]
                done = subprocess.run(
                    command, capture_output=True, text=True, check=False, env={**WAITING, **os.environ}
                )
                if done.returncode:
                    sys.exit(f"{rows} sentences failed:\n{done.stderr[-2000:]}")
                if number:  # the first round makes the runs; the second the token caches
                    found[rows].append(json.loads(done.stdout.splitlines()[-1]))
    print(
        f"{'sentences':>10} {'ready s':>8} {'again s':>8} {'sentences/s':>12} {'first step s':>13} {'memory MB':>10} {'cache MB':>9}"
    )
    for rows, each in found.items():
        rate = statistics.median(one["rate"] for one in each)
        again = statistics.median(one["ready"] for one in each[1:]) if each[1:] else float("nan")
        print(
            f"{rows:>10,} {each[0]['ready']:8.1f} {again:8.1f} {rate:12.1f} {each[-1]['first']:13.2f} "
            f"{each[-1]['memory'] / 2**20:10.0f} {each[-1]['cache'] / 2**20:9.0f}"
        )


if __name__ == "__main__":
    main()
