"""The results: rows are systems, columns are metrics of tasks, as in the paper's tables. Numbers are percent.

Several seeds of one system are one row: mean and standard deviation. A paired bootstrap over queries (pairs, sentences)
says whether a row differs from the first one by more than chance.

Legend: N units of a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tsdae_core.evaluate.measure import Outcome, Part

RESAMPLES = 1000
SIGNIFICANT = 0.05
MOST_AT_ONCE = 4_000_000
"""Numbers in a block of resamples."""


@dataclass(frozen=True)
class Column:
    """A metric of a task; `average` marks the one that averages the columns before it."""

    task: str
    metric: str
    kind: str
    units: int
    average: bool = False


@dataclass(frozen=True)
class Cell:
    """A system's value in a column, in percent.

    Attributes:
        mean: over the seeds; None where the system cannot be measured.
        deviation: standard deviation over the seeds (n - 1); None with one seed.
        seeds: each seed's value.
        best: whether no row has a higher mean, to two decimals.
        p: two-sided p-value of the difference to the first row, by paired bootstrap; None in the first row.
    """

    mean: float | None
    deviation: float | None = None
    seeds: list[float] = field(default_factory=list)
    best: bool = False
    p: float | None = None

    @property
    def differs(self) -> bool:
        """Whether it differs from the first row by more than chance."""
        return self.p is not None and self.p < SIGNIFICANT


@dataclass(frozen=True)
class Row:
    """A system: what it is called, the systems behind it (one per seed), its cells, seconds it took."""

    label: str
    systems: list[str]
    cells: list[Cell]
    seconds: float


@dataclass(frozen=True)
class Table:
    """All results; `notes` say what each task was."""

    columns: list[Column]
    rows: list[Row]
    notes: list[str] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        """As JSON carries it."""
        return asdict(self)

    @classmethod
    def of_data(cls, data: dict[str, Any]) -> Table:
        """The inverse of `data`."""
        rows = [Row(**(row | {"cells": [Cell(**cell) for cell in row["cells"]]})) for row in data["rows"]]
        return cls([Column(**column) for column in data["columns"]], rows, list(data["notes"]))


@dataclass(frozen=True)
class Asked:
    """What a table is made of: per task its name, kind and note, and per row the outcomes of its seeds.

    Attributes:
        outcomes: [row][task] -> one outcome per seed.
    """

    tasks: list[tuple[str, str, str]]
    labels: list[str]
    systems: list[list[str]]
    outcomes: list[list[list[Outcome]]]


def build(asked: Asked, *, every: bool = False, resamples: int = RESAMPLES) -> Table:
    """The table of all outcomes.

    Args:
        every: a column for every metric of a task; else only for its main one.
        resamples: of the bootstrap; 0 leaves it out.
    """
    columns, cells = [], [[] for _ in asked.labels]  # type: ignore[var-annotated]
    for place, (name, kind, _) in enumerate(asked.tasks):
        seeds = [row[place] for row in asked.outcomes]  # per row: outcomes of its seeds
        metrics = list(dict.fromkeys(metric for row in seeds for metric in row[0].metrics))
        main = seeds[0][0].main
        for metric in metrics if every else [main]:
            parts = [[outcome.metrics.get(metric, ()) for outcome in row] for row in seeds]
            columns.append(Column(name, metric, kind, sum(len(part.values) for part in parts[0][0])))
            for row, cell in enumerate(_column(parts, resamples)):
                cells[row].append(cell)
    if len(asked.tasks) > 1 and {kind for _, kind, _ in asked.tasks} <= {"useb", "useb-valid"} and not every:
        columns.append(Column("Average", "", "useb", 0, average=True))
        for row, cell in enumerate(_average(cells)):
            cells[row].append(cell)
    seconds = [sum(one.seconds for task in row for one in task) / len(row[0]) for row in asked.outcomes]
    rows = [
        Row(label, systems, row, round(spent, 2))
        for label, systems, row, spent in zip(asked.labels, asked.systems, cells, seconds, strict=True)
    ]
    return Table(columns, rows, [f"{name}: {note}" for name, _, note in asked.tasks if note])


Seeds = Sequence[tuple[Part, ...]]
"""Of one system the parts of one metric, per seed."""


def _column(rows: Sequence[Seeds], resamples: int) -> list[Cell]:
    values = [[_value(parts) for parts in row] if row[0] else [] for row in rows]
    means = [float(np.mean(seeds)) if seeds else None for seeds in values]
    drawn = _resampled(rows, resamples) if resamples and len(rows) > 1 else None
    cells = []
    for place, seeds in enumerate(values):
        p = None
        if drawn is not None and place and drawn[0] is not None and drawn[place] is not None:
            p = p_value(drawn[place] - drawn[0])  # type: ignore[operator]
        cells.append(_cell(means, place, seeds, p))
    return cells


def _cell(means: Sequence[float | None], place: int, seeds: list[float], p: float | None) -> Cell:
    mean = means[place]
    if mean is None:
        return Cell(None)
    highest = max(round(other, 2) for other in means if other is not None)
    deviation = float(np.std(seeds, ddof=1)) if len(seeds) > 1 else None
    return Cell(mean, deviation, seeds, round(mean, 2) == highest and len(means) > 1, p)


def _value(parts: tuple[Part, ...]) -> float:
    return 100 * float(np.mean([part.value() for part in parts]))


def _average(cells: list[list[Cell]]) -> list[Cell]:
    """Per row the mean over its columns, seed by seed."""
    seeds = [
        [float(np.mean(one)) for one in zip(*(cell.seeds for cell in row), strict=True)]
        if all(cell.mean is not None for cell in row)
        else []
        for row in cells
    ]
    means = [float(np.mean(one)) if one else None for one in seeds]
    return [_cell(means, place, one, None) for place, one in enumerate(seeds)]


def _resampled(rows: Sequence[Seeds], resamples: int) -> list[np.ndarray | None]:
    """Per row its value (mean over seeds, share) on each resample of the units: the same resamples for all rows."""
    sizes = [len(part.values) for part in rows[0][0]]
    fits = [
        bool(row[0])
        and all([len(part.values) for part in parts] == sizes for parts in row)
        and all(part.resampled is not None for parts in row for part in parts)
        for row in rows
    ]
    totals = np.zeros((len(rows), resamples))
    rng = np.random.default_rng(0)
    for place, size in enumerate(sizes):
        block = max(1, min(resamples, MOST_AT_ONCE // max(1, size)))
        for first in range(0, resamples, block):
            drawn = min(block, resamples - first)
            counts = np.stack(
                [np.bincount(rng.integers(size, size=size), minlength=size) for _ in range(drawn)]
            )
            for number, row in enumerate(rows):
                if fits[number]:
                    seeds = [parts[place].resampled(counts) for parts in row]  # type: ignore[misc]
                    totals[number, first : first + drawn] += np.mean(seeds, axis=0) / len(sizes)
    return [totals[number] if fit else None for number, fit in enumerate(fits)]


def p_value(differences: np.ndarray) -> float:
    """Two-sided p-value from the differences on the resamples: twice the share on the rarer side of zero, at most 1.

    Counted with one more resample than drawn, so that it is never 0 (Davison and Hinkley 1997, section 4.2.3).
    """
    drawn = len(differences)
    below, above = int((differences <= 0).sum()), int((differences >= 0).sum())
    return min(1.0, 2 * (min(below, above) + 1) / (drawn + 1))


def verdict(table: Table) -> str:
    """One plain sentence on the first column: who is best, and whether that is more than chance."""
    if not table.columns or len(table.rows) < 2:
        return ""
    column = table.columns[0]
    first = table.rows[0].cells[0]
    ranked = [row for row in table.rows if row.cells[0].mean is not None]
    if len(ranked) < 2 or first.mean is None:
        return ""
    best = max(ranked, key=lambda row: row.cells[0].mean or 0.0)
    what = f"{column.metric} {best.cells[0].mean:.1f}"
    where = f"on {column.task}"
    if best is table.rows[0]:
        second = max((row for row in ranked if row is not best), key=lambda row: row.cells[0].mean or 0.0)
        behind = (first.mean or 0.0) - (second.cells[0].mean or 0.0)
        sure = "more than chance" if second.cells[0].differs else "which may be chance"
        return (
            f"{best.label} is best {where} ({what}); {second.label} comes next, {behind:.1f} below, {sure}."
        )
    gain = (best.cells[0].mean or 0.0) - first.mean
    sure = "more than chance" if best.cells[0].differs else "which may be chance"
    return f"{best.label} is best {where} ({what}): {gain:.1f} above {table.rows[0].label}, {sure}."
