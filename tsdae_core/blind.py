"""The blind test: experts choose between two unlabelled neighbour lists, and the share of wins is told with its uncertainty.

The verdicts lie in the run's folder as JSON lines; this module is the only one that reads and writes them.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tsdae_core.encoders import fingerprint
from tsdae_core.files import cell
from tsdae_core.records import append_line, read_lines
from tsdae_core.runs import Run

CHOICES = ("before", "after", "same")
"""Whose list is better: the earlier encoder's, the later one's, or neither's."""


COLUMNS = ("sentence", "choice", "judge", "time", "before", "after", "text")
"""Of a table of verdicts."""


@dataclass(frozen=True)
class Tally:
    """How the verdicts stand.

    Attributes:
        before, after, same: how many of each.
        share: of the verdicts that are not "same", the share for the later encoder; None without any.
        low, high: its 95 % Wilson interval.
    """

    before: int
    after: int
    same: int
    share: float | None
    low: float
    high: float

    @property
    def words(self) -> str:
        """One plain sentence."""
        decided = self.before + self.after
        if self.share is None:
            return "No verdict for either side yet."
        interval = (
            f"between {100 * self.low:.0f} and {100 * self.high:.0f} % (95 % interval, {decided} decided)"
        )
        if self.low > 0.5:
            return f"The later encoder is preferred: {100 * self.share:.0f} %, {interval}."
        if self.high < 0.5:
            return f"The earlier encoder is preferred: the later one wins only {100 * self.share:.0f} %, {interval}."
        return f"Too few verdicts to tell: the later encoder wins {100 * self.share:.0f} %, {interval}."


def wilson(wins: int, trials: int, *, z: float = 1.959964) -> tuple[float, float]:
    """The Wilson score interval of a share (Wilson 1927); 0 to 1 without trials.

    >>> low, high = wilson(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    """
    if not trials:
        return 0.0, 1.0
    share = wins / trials
    middle = share + z**2 / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    scale = 1 + z**2 / trials
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def tally(verdicts: Sequence[dict[str, Any]]) -> Tally:
    """Count verdicts; "same" is not counted as half a win for anyone."""
    before, after, same = (sum(one.get("choice") == choice for one in verdicts) for choice in CHOICES)
    low, high = wilson(after, before + after)
    return Tally(before, after, same, after / (before + after) if before + after else None, low, high)


def _path(run: Run) -> Path:
    return run.path / "verdicts.jsonl"


def verdicts(run: Run, before: str, after: str, *, text: str = "") -> list[dict[str, Any]]:
    """What was said of these two systems on the sentences of a text ("" is the run's own), oldest first.

    A later verdict on the same sentence by the same judge replaces the earlier.
    """
    rows, _ = read_lines(_path(run), 0)
    kept: dict[tuple[Any, Any], dict[str, Any]] = {}
    for row in rows:
        if (row.get("before"), row.get("after"), row.get("text", "")) == (before, after, text):
            kept.pop((row.get("judge"), row.get("row")), None)
            kept[row.get("judge"), row.get("row")] = row
    return list(kept.values())


def encoders_of(run: Run, workspace: Path) -> tuple[str, str]:
    """The run's base and its trained encoder, so named that verdicts on an earlier state are not counted for a later one.

    Raises:
        ValueError: while the run has no trained encoder.
    """
    before, after = (f"{one}#{fingerprint(one, workspace)[:12]}" for one in (f"base:{run.name}", run.name))
    return before, after


def text_name(title: str, sentences: Sequence[str]) -> str:
    """What verdicts on another text than the run's own are kept under: the same for the same sentences."""
    digest = hashlib.sha256()
    for text in sentences:
        digest.update(text.encode("utf-8", "replace") + b"\0")
    return f"{title}#{digest.hexdigest()[:12]}"


def texts(run: Run) -> list[str]:
    """The texts that have verdicts, the run's own ("") first."""
    rows, _ = read_lines(_path(run), 0)
    return sorted({str(row.get("text", "")) for row in rows})


def count(run: Run) -> int:
    """All verdicts that were ever given, those that a later one replaced and those on earlier states too."""
    return len(read_lines(_path(run), 0)[0])


def table(verdicts: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """A row of `COLUMNS` per verdict; None for what it does not say."""
    return [[one.get(name) for name in COLUMNS] for one in verdicts]


def to_csv(verdicts: Sequence[dict[str, Any]]) -> str:
    """The table as CSV under a line of names; texts are written by `files.cell`."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([cell("" if one is None else str(one)) for one in row] for row in table(verdicts))
    return text.getvalue()


def judge(
    run: Run,
    *,
    before: str,
    after: str,
    row: int,
    sentence: str,
    choice: str,
    judge: str = "",
    text: str = "",
) -> None:
    """Add a verdict.

    Args:
        before, after: the two systems, with their fingerprints where they may change.
        row: which sentence of the text.
        sentence: the sentence itself, for who reads the file.
        choice: one of `CHOICES`.
        judge: who said so.
        text: names the text when it is not the run's own.

    Raises:
        ValueError: for another choice.
    """
    if choice not in CHOICES:
        raise ValueError(f"a verdict is one of {', '.join(CHOICES)}; got {choice!r}")
    said = {
        "before": before,
        "after": after,
        "row": row,
        "sentence": sentence,
        "choice": choice,
        "judge": judge,
    }
    if text:
        said["text"] = text
    append_line(_path(run), said | {"time": round(time.time())})


def ask(
    before: np.ndarray, after: np.ndarray, asked: Sequence[int], *, seed: int, number: int, shown: int = 5
) -> tuple[int, bool] | None:
    """The next sentence to judge, and whether the later encoder's list stands at the left.

    Sentences come by chance among those whose first `shown` neighbours differ, each once; None when there is none left.

    Args:
        before, after: (N, k) neighbour graphs.
        asked: sentences that were judged already.
        seed: of the order, the same for one judge.
        number: counts the questions, so that the side is drawn anew for each.
        shown: neighbours in a list.
    """
    k = min(shown, before.shape[1], after.shape[1])
    differ = np.flatnonzero((np.sort(before[:, :k], 1) != np.sort(after[:, :k], 1)).any(1))
    order = np.random.default_rng(seed).permutation(differ)
    left = order[~np.isin(order, np.asarray(asked, dtype=np.int64))]
    if not len(left):
        return None
    return int(left[0]), bool(np.random.default_rng([seed, number, int(left[0])]).integers(2))
