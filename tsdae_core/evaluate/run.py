"""Measure systems on tasks, one after the other, and say how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tsdae_core.evaluate.measure import Outcome
from tsdae_core.evaluate.systems import System, open_system
from tsdae_core.evaluate.table import RESAMPLES, Asked, Table, build
from tsdae_core.evaluate.tasks import Task

Tell = Callable[[str, int, int], None]
"""What is being done, how much of it, and how much there is (0: unknown)."""


def named(text: str) -> tuple[str, list[str]]:
    """A row from a word of the command line: "SYSTEM", "LABEL=SYSTEM", or "LABEL=SYSTEM,SYSTEM,..." for several seeds.

    Raises:
        ValueError: when a part is empty.
    """
    if Path(text).exists() or "=" not in text:
        return text, [text]
    label, _, rest = text.partition("=")
    systems = [rest] if Path(rest).exists() else [part.strip() for part in rest.split(",")]
    if not label.strip() or not all(systems):
        raise ValueError(
            f"a row is written LABEL=SYSTEM or LABEL=SYSTEM,SYSTEM for several seeds; got {text!r}"
        )
    return label.strip(), systems


def evaluate(
    rows: Sequence[tuple[str, list[str]]],
    tasks: Sequence[Task],
    *,
    workspace: Path,
    every: bool = False,
    resamples: int = RESAMPLES,
    tell: Tell | None = None,
) -> Table:
    """The table of all `rows` on all `tasks`; the first row is what the others are compared with.

    Args:
        rows: (label, systems), several systems being seeds of one; see `systems.open_system`.
        tasks: from `read.read_tasks`.
        workspace: the folder of all runs.
        every: a column for every metric.
        resamples: of the bootstrap.
        tell: called with what is being done.

    Raises:
        ValueError: for an unknown system, or one that cannot answer a task.
    """
    tell = tell or (lambda phase, done, total: None)
    opened: list[list[System]] = []
    for label, systems in rows:
        tell(f"Loading {label}", 0, 0)
        opened.append([open_system(system, workspace) for system in systems])
    outcomes: list[list[list[Outcome]]] = []
    for (label, _), seeds in zip(rows, opened, strict=True):
        outcomes.append([])
        for task in tasks:
            outcomes[-1].append([_timed(task, system, f"{label} on {task.name}", tell) for system in seeds])
    tell("Comparing", 0, 0)
    asked = Asked(
        [(task.name, task.kind, task.note) for task in tasks],
        [label for label, _ in rows],
        [list(systems) for _, systems in rows],
        outcomes,
    )
    return build(asked, every=every, resamples=resamples)


def _timed(task: Task, system: System, words: str, tell: Tell) -> Outcome:
    tell(words, 0, 0)
    started = time.monotonic()
    outcome = task.run(system, progress=lambda done, total: tell(words, done, total))
    return Outcome(outcome.metrics, time.monotonic() - started)
