"""What the verbs of the command line share: options, how numbers are read, progress, and the answer as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def json_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--json`, whose help says what is printed."""
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def workspace_option(parser: argparse.ArgumentParser) -> None:
    """Add `--workspace`."""
    parser.add_argument(
        "--workspace", type=Path, default=Path("workspace"), help="folder of all runs [workspace]"
    )


def count(text: str) -> int:
    """A whole number of at least 1, as argparse reads it."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1 is needed; got {text}")
    return int(text)


def above_zero(text: str) -> float:
    """A finite number above 0, as argparse reads it."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"a number above 0 is needed; got {text}")
    return number


def numbers(text: str) -> list[int]:
    """Whole numbers of at least 1 that commas part, as argparse reads them.

    >>> numbers("2,5")
    [2, 5]
    """
    return [count(part.strip()) for part in text.split(",")]


def tell(phase: str, done: int, total: int) -> None:
    """One line of progress, for people alone."""
    if sys.stderr.isatty():
        print(f"\r\033[K{phase}: {done:,} of {total:,}", end="\n" if done == total else "", file=sys.stderr)


def print_json(told: Any) -> int:
    """The whole answer; returns the exit code."""
    print(json.dumps(told, ensure_ascii=False, indent=2))
    return 0
