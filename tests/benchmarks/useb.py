"""Scores of a USEB `data-eval` folder beside those that the official toolkit printed for it.

    python -m tests.benchmarks.useb --data FOLDER [--expected FILE]

FOLDER holds `data-eval`; FILE (FOLDER/expected.json) is what the toolkit's `run` returned for "valid" and "test" with an
encoder whose vector of a text is the sum over its words of 16 normal numbers, drawn by a generator that is seeded with the
first eight hex digits of the word's MD5. Ends with 1 when a score differs in its two decimals.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tsdae_core.evaluate.systems import VectorSystem
from tsdae_core.evaluate.useb import official_names, read_useb


def encode(texts: Sequence[str], progress: Any = None) -> np.ndarray:
    """The encoder of the module's docstring, float32 (N, 16)."""
    return np.stack(
        [np.sum([_word(word) for word in text.split()], axis=0, initial=0.0) + np.zeros(16) for text in texts]
    ).astype(np.float32)


def _word(word: str) -> np.ndarray:
    seed = int(hashlib.md5(word.encode()).hexdigest()[:8], 16)
    return np.random.default_rng(seed).normal(size=16)


def main() -> int:
    """Print every metric: ours, theirs, and whether they are equal."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--expected", type=Path)
    arguments = parser.parse_args()
    expected = json.loads((arguments.expected or arguments.data / "expected.json").read_text())
    wrong = count = 0
    for split, results in expected.items():
        theirs = {name: value for group in results["detailed"].values() for name, value in group.items()}
        theirs |= results["main"]
        tasks = read_useb(arguments.data / "data-eval", split)
        system = VectorSystem("words", encode)
        ours = official_names(tasks, [task.run(system) for task in tasks])
        ours["avg"] = float(np.mean([round(ours[name], 2) for name in results["main"] if name != "avg"]))
        for name, value in theirs.items():
            equal = round(ours[name], 2) == round(value, 2)
            count, wrong = count + 1, wrong + (not equal)
            print(f"{split:6} {name:40} {ours[name]:8.2f} {value:8.2f} {'' if equal else 'DIFFERS'}")
    print(f"{count - wrong} of {count} scores are equal to two decimals")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
