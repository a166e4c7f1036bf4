"""What the Compare tab's component asks for: how far an evaluation is, its table, and the table as a file.

The browser calls these directly: runs and evaluations are only ever looked up, and an error is an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tsdae_core.evaluate.reported import REPORTED
from tsdae_core.runs import Job, Run, find_run
from tsdae_core.ui.rebuild_models import has_model
from tsdae_core.ui.warm import heavy

NO_RUN = "Choose a run above, or start one on the Train tab."
LONGEST = 300
"""Characters of an encoder's name."""

MOST = 12
"""Systems in one table."""


def choices() -> list[tuple[str, str]]:
    """The systems that every run offers."""
    return [
        ("Untrained base", "base"),
        ("This run's encoder", "run"),
        ("BM25 (matching words)", "bm25"),
        ("Averaged word vectors of the base", "words"),
    ]


def rows_of(
    workspace: Path, run: Run, systems: Sequence[str], further: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """The table's rows: label and system. The base comes first, for the others are compared with the first row.

    Raises:
        ValueError: when nothing is chosen, the run has no encoder yet, or a name cannot be one.
    """
    known = {
        "base": ("Untrained base", f"base:{run.name}"),
        "run": (f"Trained ({run.name})", run.name),
        "bm25": ("BM25", "bm25"),
        "words": ("Averaged word vectors", f"words:{run.name}"),
    }
    if "run" in systems and not has_model(run):
        raise ValueError(
            f"{run.name} has no trained encoder yet; it comes with the first checkpoint. Leave it out until then."
        )
    rows = [(label, [system]) for key, (label, system) in known.items() if key in systems]
    heavy()
    from tsdae_core import explore  # noqa: PLC0415 (brings torch, which the page need not wait for)

    for name in dict.fromkeys(str(name).strip()[:LONGEST] for name in further):
        if name:
            explore.fingerprint(name, workspace)  # raises what is wrong with the name
            rows.append((name, [name]))
    if not rows:
        raise ValueError("Choose at least one system to evaluate.")
    if len(rows) > MOST:
        raise ValueError(f"A table holds at most {MOST} systems; {len(rows)} are chosen.")
    return rows


def feeds(workspace: Path) -> list[Callable[[list[Any]], Any]]:
    """The server functions; from JavaScript `await server.state(run)` and `await server.file(run, job, format)`."""

    def state(asked: list[Any]) -> Any:
        return _safely(_state, workspace, asked)

    def file(asked: list[Any]) -> Any:
        return _safely(_file, workspace, asked)

    return [state, file]


def _safely(act: Callable[..., Any], workspace: Path, asked: list[Any]) -> Any:
    given = asked if isinstance(asked, list) else [asked]  # a single argument arrives bare
    try:
        return act(workspace, *(str(one) for one in given))
    except (ValueError, IndexError, TypeError, OSError) as error:
        return {"error": str(error)}


def find_job(workspace: Path, run: str, key: str) -> Job:
    """The evaluation of that name about that run. Raises `ValueError` when it is gone."""
    heavy()
    from tsdae_core.evaluate import job  # noqa: PLC0415

    for one in job.evaluations(workspace, run):
        if one.name == key:
            return one
    raise ValueError("This evaluation is gone; press Evaluate.")


def _state(workspace: Path, run: str, known: str = "") -> dict[str, Any]:
    """The newest evaluation about a run, and the newest table; not the table again that the page knows."""
    find_run(workspace, run)
    heavy()
    from tsdae_core.evaluate import job, render  # noqa: PLC0415
    from tsdae_core.evaluate.table import verdict  # noqa: PLC0415

    found = job.evaluations(workspace, run)
    if not found:
        return {"job": "", "state": "new"}
    said = found[0].status()
    shown = next((one for one in found if (one.path / "table.json").is_file()), None)
    answer = {key: said.get(key) for key in ("state", "phase", "step", "total", "error")} | {
        "job": found[0].name,
        "shown": shown.name if shown else "",
    }
    table = job.read_table(shown) if shown and shown.name != known else None
    if table is not None:
        answer["table"] = table.data() | {
            "verdict": verdict(table),
            "legend": render.legend(table),
            "headings": [render.heading(column) for column in table.columns],
            "shown": [[render.number(cell) for cell in row.cells] for row in table.rows],
            "differs": [[cell.differs for cell in row.cells] for row in table.rows],
        }
        answer["reported"] = REPORTED
    return answer


def _file(workspace: Path, run: str, key: str, kind: str) -> dict[str, str]:
    """A table as csv, markdown or latex."""
    heavy()
    from tsdae_core.evaluate import job  # noqa: PLC0415
    from tsdae_core.evaluate.render import FORMATS  # noqa: PLC0415

    table = job.read_table(find_job(workspace, run, key))
    if table is None or kind not in FORMATS:
        raise ValueError("This evaluation has no table yet.")
    return {"text": FORMATS[kind](table) + "\n"}
