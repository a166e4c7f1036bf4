"""What a text's labels teach a supervised run: scores of pairs, pairs that belong together, or labels of sentences. No torch.

A corpus has the columns sentence, line and label; one of pairs has `second` as well, and then `label` may hold scores.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

SECOND = "second"
"""The column with a pair's other sentence."""

PAIRS = pa.schema(
    [("sentence", pa.string()), ("line", pa.int64()), ("label", pa.string()), (SECOND, pa.string())]
)

KINDS = {
    "scores": "scored pairs: the cosine of their vectors is to be their score (mean squared error)",
    "positives": "pairs that belong together: each is to find its partner among those of its batch (multiple negatives ranking)",
    "labels": "labelled sentences: each is to find another one of its label among those of other labels in the batch",
}
"""What each kind trains on."""


@dataclass(frozen=True)
class Lessons:
    """What the rows of a corpus teach.

    Attributes:
        kind: a key of `KINDS`.
        seconds: (N,) the other sentences of pairs; empty for labels.
        targets: (N,) float64: scores from 0 to 1, or the numbers of labels; zeros for positives.
    """

    kind: str
    seconds: list[str]
    targets: np.ndarray

    def of(self, rows: list[int]) -> Lessons:
        """The lessons of some rows, in that order."""
        seconds = [self.seconds[row] for row in rows] if self.seconds else []
        return Lessons(self.kind, seconds, self.targets[rows])


def has_pairs(table: pa.Table) -> bool:
    """Whether a row of the corpus is a pair of sentences."""
    return SECOND in table.column_names


def kind_of(table: pa.Table) -> str:
    """Which of `KINDS` a corpus teaches.

    Raises:
        ValueError: when it teaches nothing.
    """
    labels = [label for label in table["label"].to_pylist() if label]
    if not has_pairs(table):
        if sum(count > 1 for count in Counter(labels).values()) < 2:
            raise ValueError(
                "supervised training needs labels (two of them with two sentences each), or pairs of sentences; this text has "
                "neither. Choose its label column, or the column with the second sentence"
            )
        return "labels"
    if not labels:
        return "positives"
    numbers = [_number(label) for label in labels]
    if not all(math.isfinite(number) for number in numbers):
        wrong = next(
            label for label, number in zip(labels, numbers, strict=True) if not math.isfinite(number)
        )
        raise ValueError(
            f"the label of a pair must be a number that is higher the more alike its sentences are; got {wrong!r}. Leave the label "
            "column out for pairs that all belong together"
        )
    if len(set(numbers)) < 2:
        raise ValueError(
            f"all pairs have the same score, {labels[0]}; leave the label column out if they all belong together"
        )
    return "scores"


def about(table: pa.Table, whole: int) -> str:
    """What supervised training learns from a corpus that `fit` has made of one with `whole` rows, in one sentence."""
    count = table.num_rows
    left = f" of {whole:,}; the others have no label that another one has" if count < whole else ""
    return f"It trains on {count:,} {KINDS[kind_of(table)]}{left}."


def fit(table: pa.Table, objective: str) -> pa.Table:
    """The rows of a corpus that an objective can use.

    The supervised one leaves out what has no label or score, and labels that occur once; the others take pairs apart.

    Raises:
        ValueError: when nothing can be learnt from it.
    """
    if objective != "supervised":
        return _taken_apart(table) if has_pairs(table) else table
    kind, labels = kind_of(table), table["label"].to_pylist()
    if kind == "positives":
        return table
    counts = Counter(label for label in labels if label)
    fewest = 2 if kind == "labels" else 1
    return table.filter(pa.array([counts.get(label, 0) >= fewest for label in labels], pa.bool_()))


def lessons_of(table: pa.Table) -> Lessons:
    """What each row of a corpus teaches that `fit` has left as it is.

    Scores are brought to 0 to 1 by the file's lowest and highest. Raises `ValueError` as `kind_of`.
    """
    kind, labels = kind_of(table), table["label"].to_pylist()
    seconds = table[SECOND].to_pylist() if has_pairs(table) else []
    if kind == "labels":
        _, targets = np.unique(
            np.array([label or "" for label in labels], dtype=object).astype(str), return_inverse=True
        )
        return Lessons(kind, [], targets.astype(np.float64))
    if kind == "positives":
        return Lessons(kind, seconds, np.zeros(len(seconds)))
    scores = np.array([_number(label) for label in labels])
    return Lessons(kind, seconds, (scores - scores.min()) / (scores.max() - scores.min()))


def _number(label: str | None) -> float:
    try:
        return float((label or "").replace(",", "."))
    except ValueError:
        return math.nan


def _taken_apart(table: pa.Table) -> pa.Table:
    """All different sentences of the pairs, each on the line where it came first; without labels, which belong to pairs."""
    lines: dict[str, int] = {}
    for first, second, line in zip(
        table["sentence"].to_pylist(), table[SECOND].to_pylist(), table["line"].to_pylist(), strict=True
    ):
        for sentence in (first, second):
            lines.setdefault(sentence, line)
    schema = pa.schema([PAIRS.field(name) for name in ("sentence", "line", "label")])
    return pa.table([list(lines), list(lines.values()), pa.nulls(len(lines), pa.string())], schema=schema)
