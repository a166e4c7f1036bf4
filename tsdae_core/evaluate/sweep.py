"""The table of a sweep, as the paper's appendix has them: a row for each value, mean and deviation over its seeds.

`python -m tsdae_core.evaluate.sweep FOLDER` measures in a process of its own; the queue starts it after the sweep's last run.
"""

from __future__ import annotations

import sys
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

BASE = "Untrained base"


def rows_of(sweep: Sweep, workspace: Path) -> list[tuple[str, list[str]]]:
    """(label, systems): the untrained base first, then what stands beside, then each value with its seeds; runs without an
    encoder are left out.

    Raises:
        ValueError: when no run has an encoder.
    """
    rows: list[tuple[str, list[str]]] = []
    for values, names in sweep.groups():
        runs = [find_run(workspace, name) for name in names if (workspace / name / "config.json").is_file()]
        done = [run.name for run in runs if has_encoder(run)]
        if done:
            rows.append((label_of(values) or sweep.name, done))
    if not rows:
        raise ValueError(f"no run of the sweep {sweep.name} has an encoder yet")
    varied = {key for values, _ in sweep.groups() for key in values}
    bases = [(BASE, [f"base:{rows[0][1][0]}"])]
    if varied & {"base_model", "pooling", "layers"}:  # then each value has a base of its own
        bases = [(f"{BASE}: {label}", [f"base:{names[0]}"]) for label, names in rows]
    return [*bases, *((name, [name]) for name in sweep.asked().get("beside", [])), *rows]


def label_of(values: dict[str, Any]) -> str:
    """Values in words: "Words deleted 0.6, Damage swap"."""
    words = []
    for name, value in values.items():
        shown = (
            f"{value:,}"
            if name == SIZE
            else {True: "yes", False: "no"}.get(value, value)
            if isinstance(value, bool)
            else value
        )
        words.append(f"{title_of(name)} {shown}")
    return ", ".join(words)


def title_of(name: str) -> str:
    """A varied setting in words."""
    return "Sentences" if name == SIZE else describe(name).label


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
    write_json(sweep.path / "table.json", table.data())
    sweep.write_status(state="finished", phase="Compared", step=0, total=0)
    return table


def _name(path: str, sweep: Sweep) -> str:
    return f"{sweep.name}, set aside" if Path(path).parent == sweep.path.resolve() else ""


def read_table(sweep: Sweep) -> Table | None:
    """The table, once it has been made."""
    data = read_json(sweep.path / "table.json")
    return Table.of_data(data) if data else None


def curve_of(sweep: Sweep, table: Table) -> dict[str, Any] | None:
    """The first column against the one number that varies; None when there is no such number.

    Returns:
        title and logarithmic (of x), metric, x, mean and deviation per value (ascending in x), base (None if there are several), and
        beside: (label, mean) of the systems that stand beside.
    """
    groups = sweep.groups()
    names = {name for values, _ in groups for name in values}
    if len(names) != 1:
        return None
    [name] = names
    numbers = {label_of(values): values[name] for values, _ in groups}
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in numbers.values()):
        return None
    points = sorted(
        (float(numbers[row.label]), row.cells[0].mean, row.cells[0].deviation or 0.0)
        for row in table.rows
        if row.label in numbers and row.cells[0].mean is not None
    )
    base = next((row.cells[0].mean for row in table.rows if row.label == BASE), None)
    if len(points) < 2:
        return None
    column, others = table.columns[0], set(sweep.asked().get("beside", []))
    beside = [
        [row.label, row.cells[0].mean]
        for row in table.rows
        if row.label in others and row.cells[0].mean is not None
    ]
    return {
        "beside": beside,
        "title": title_of(name), "logarithmic": name == SIZE, "metric": column.metric or column.task, "base": base,
        "x": [x for x, _, _ in points], "mean": [mean for _, mean, _ in points], "deviation": [d for _, _, d in points],
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(work(Sweep(Path(sys.argv[1])), compute))
