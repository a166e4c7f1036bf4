"""The table of a sweep, as the paper's appendix has them: a row for each value, mean and deviation over its seeds.

`python -m tsdae_core.evaluate.sweep FOLDER` measures in a process of its own; the queue starts it after the sweep's last run.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tsdae_core.config import describe
from tsdae_core.evaluate.read import read_task
from tsdae_core.evaluate.run import evaluate
from tsdae_core.evaluate.table import Table
from tsdae_core.export import has_encoder
from tsdae_core.jobs import work
from tsdae_core.records import read_json, write_json
from tsdae_core.runs import find_run
from tsdae_core.sweeps import SIZE, Sweep

SENTENCES = "Sentences"

BASE = "Untrained base"


def rows_of(sweep: Sweep, workspace: Path) -> list[tuple[str, list[str]]]:
    """(label, systems): the untrained base first, then what stands beside, then each value with its seeds; runs without an
    encoder are left out.

    Raises:
        ValueError: when no run has an encoder.
    """
    rows: list[tuple[str, list[str]]] = []
    for values, names in sweep.groups():
        done = [name for name in names if _trained(workspace, name)]
        if done:
            rows.append((label_of(values, unit=unit_of(sweep)) or sweep.name, done))
    if not rows:
        why = _why(workspace, sweep.asked()["runs"][0]["run"])
        raise ValueError(f"no run of the sweep {sweep.name} has an encoder yet; {why}")
    varied = {key for values, _ in sweep.groups() for key in values}
    bases = [(BASE, [f"base:{rows[0][1][0]}"])]
    if varied & {"base_model", "pooling", "layers"}:  # then each value has a base of its own
        bases = [(f"{BASE}: {label}", [f"base:{names[0]}"]) for label, names in rows]
    return [*bases, *((name, [name]) for name in sweep.asked().get("beside", [])), *rows]


def _trained(workspace: Path, name: str) -> bool:
    return (workspace / name / "config.json").is_file() and has_encoder(find_run(workspace, name))


def left_out(sweep: Sweep, workspace: Path) -> list[str]:
    """A sentence on each run that has no encoder, and why."""
    every = [name for _, names in sweep.groups() for name in names]
    return [
        f"Left out: {_why(workspace, name).replace(' ', ', which ', 1)}."
        for name in every
        if not _trained(workspace, name)
    ]


def _why(workspace: Path, name: str) -> str:
    """ "NAME failed: the disk is full"."""
    if not (workspace / name / "config.json").is_file():
        return f"{name} was deleted"
    said = find_run(workspace, name).status()
    state = {
        "failed": "failed",
        "crashed": "ended unexpectedly",
        "stopped": "was stopped",
        "queued": "still waits",
    }
    error = str(said.get("error") or "").rstrip(".")
    return f"{name} {state.get(said['state'], 'is not trained yet')}" + (f": {error}" if error else "")


def label_of(values: dict[str, Any], *, unit: str = SENTENCES) -> str:
    """Values in words: "Words deleted 0.6, Damage swap"; `unit` is what a corpus size counts."""
    words = []
    for name, value in values.items():
        shown = (
            f"{value:,}"
            if name == SIZE
            else {True: "yes", False: "no"}[value]
            if isinstance(value, bool)
            else value
        )
        words.append(f"{title_of(name, unit=unit)} {shown}")
    return ", ".join(words)


def title_of(name: str, *, unit: str = SENTENCES) -> str:
    """A varied setting in words."""
    return unit if name == SIZE else describe(name).label


def unit_of(sweep: Sweep) -> str:
    """What its corpus sizes count: sentences, labelled sentences, scored pairs, pairs."""
    return str(sweep.asked().get("unit") or SENTENCES)


def compute(sweep: Sweep) -> Table:
    """Measure every run and write table.json, telling how far it is."""
    asked = sweep.asked()
    workspace = Path(asked["workspace"])
    tasks = [
        task for kind, path in asked["tasks"] for task in read_task(kind, Path(path), name=_name(path, sweep))
    ]

    def tell(phase: str, done: int, total: int) -> None:
        sweep.write_status(state="running", phase=phase, step=done, total=total)

    table = evaluate(rows_of(sweep, workspace), tasks, workspace=workspace, every=len(tasks) == 1, tell=tell)
    table = replace(table, notes=[*table.notes, *left_out(sweep, workspace)])
    write_json(sweep.path / "table.json", table.data())
    sweep.write_status(state="finished", phase="Compared", step=0, total=0)
    return table


def _name(path: str, sweep: Sweep) -> str:
    return f"{sweep.name} (set aside)" if Path(path).parent == sweep.path.resolve() else ""


def read_table(sweep: Sweep) -> Table | None:
    """The table, once it has been made."""
    data = read_json(sweep.path / "table.json")
    return Table.of_data(data) if data else None


def with_words(sweep: Sweep, table: Table) -> Table:
    """The table with what its curves show as further notes, for whoever cannot see them drawn."""
    return replace(
        table, notes=[*table.notes, *(said for one in curves_of(sweep, table) for said in one["said"])]
    )


def curves_of(sweep: Sweep, table: Table) -> list[dict[str, Any]]:
    """`curve_of` for every column that has one, the main one first."""
    found = [curve_of(sweep, table, column=column) for column in range(len(table.columns))]
    return [one for one in found if one is not None]


def curve_of(sweep: Sweep, table: Table, *, column: int = 0) -> dict[str, Any] | None:
    """A column against the one number that varies; None when there is no such number.

    Returns:
        title and logarithmic (of x), series (what the points are), metric, x, mean and deviation per value (ascending in x), base (None if
        there are several), beside: (label, mean) of the systems that stand beside, and said: sentences on what the curve shows.
    """
    groups, unit = sweep.groups(), unit_of(sweep)
    names = {name for values, _ in groups for name in values}
    if len(names) != 1:
        return None
    [name] = names
    numbers = {label_of(values, unit=unit): values[name] for values, _ in groups}
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in numbers.values()):
        return None
    cells = {row.label: row.cells[column] for row in table.rows if row.cells[column].mean is not None}
    points = sorted(
        (float(numbers[label]), cell.mean, cell.deviation or 0.0)
        for label, cell in cells.items()
        if label in numbers
    )
    if len(points) < 2:
        return None
    others = set(sweep.asked().get("beside", []))
    labelled = name == SIZE and unit != SENTENCES
    what = table.columns[column]
    curve: dict[str, Any] = {
        "title": f"{unit} to train on" if name == SIZE else title_of(name), "logarithmic": name == SIZE,
        "series": "Supervised" if labelled else "Trained",
        "metric": what.metric or what.task, "base": cells[BASE].mean if BASE in cells else None,
        "beside": [[label, cell.mean] for label, cell in cells.items() if label in others],
        "x": [x for x, _, _ in points], "mean": [mean for _, mean, _ in points], "deviation": [d for _, _, d in points],
    }  # fmt: skip
    said = (
        [_needed(curve, label, value, unit.lower()) for label, value in curve["beside"]] if labelled else []
    )
    return curve | {"said": said}


def _needed(curve: dict[str, Any], label: str, value: float, unit: str) -> str:
    """How many labels a supervised encoder needs to match a system, in words."""
    what = f"{label} ({curve['metric']} {value:.1f})"
    sizes, means = curve["x"], curve["mean"]
    if curve["base"] is not None and curve["base"] >= value:
        return f"No labels are needed to match {what}: the untrained base has {curve['base']:.1f}."
    if means[0] >= value:
        return f"{what} is matched with {sizes[0]:,.0f} {unit} or fewer, the smallest number tried."
    at = next((place for place, mean in enumerate(means) if mean >= value), None)
    if at is None:
        return f"{what} is not matched by {sizes[-1]:,.0f} {unit}, the largest number tried; the best has {max(means):.1f}."
    part = (value - means[at - 1]) / (means[at] - means[at - 1])
    about = math.exp(
        math.log(sizes[at - 1]) + part * math.log(sizes[at] / sizes[at - 1])
    )  # along the drawn line
    digits = 1 - math.floor(math.log10(about))
    spread = curve["deviation"][at]
    rest = f"; its seeds spread by {spread:.1f} there" if spread >= 0.05 else ""
    return (
        f"A supervised encoder needs about {round(about, digits):,.0f} {unit} to match {what}: it has {means[at - 1]:.1f} with "
        f"{sizes[at - 1]:,.0f} and {means[at]:.1f} with {sizes[at]:,.0f}{rest}."
    )


if __name__ == "__main__":
    sys.exit(work(Sweep(Path(sys.argv[1])), compute))
