"""What the Compare tab's component asks for: how far an evaluation is, its table, and the table as a file.

The browser calls these directly: runs and evaluations are only ever looked up, and an error is an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tsdae_core.evaluate.reported import REPORTED
from tsdae_core.records import read_json, why
from tsdae_core.runs import Job, Run, find_run
from tsdae_core.sweeps import Sweep, find_sweep, list_sweeps
from tsdae_core.ui.rebuild_models import has_model
from tsdae_core.ui.warm import heavy

NO_RUN = "Choose a run above, or start one on the Train tab."
SWEEP = "sweep:"
"""What is shown is a sweep's table: this, and the sweep's name."""

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
    workspace: Path,
    run: Run,
    systems: Sequence[str],
    further: Sequence[str],
    *,
    uploaded: Sequence[tuple[str, str]] = (),
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
    from tsdae_core.evaluate.run import named  # noqa: PLC0415

    for name in dict.fromkeys(str(name).strip()[:LONGEST] for name in further):
        if name:
            label, seeds = named(name)
            for seed in seeds:
                explore.fingerprint(seed, workspace)  # raises what is wrong with the name
            rows.append((label, seeds))
    rows += [(label, [system]) for label, system in uploaded]
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
        return {"error": why(error)}


def find_job(workspace: Path, run: str, key: str) -> Job:
    """The evaluation of that name about that run, or the sweep. Raises `ValueError` when it is gone."""
    if run.startswith(SWEEP):
        return find_sweep(workspace, run.removeprefix(SWEEP))
    heavy()
    from tsdae_core.evaluate import follow, job  # noqa: PLC0415

    for one in [*job.evaluations(workspace, run), *follow.followed(workspace, run)]:
        if one.name == key:
            return one
    raise ValueError("This evaluation is gone; press Evaluate.")


def _state(workspace: Path, run: str, known: str = "") -> dict[str, Any]:
    """The newest evaluation about a run, and the newest table; not the table again that the page knows."""
    if run.startswith(SWEEP):
        return _sweep_state(find_sweep(workspace, run.removeprefix(SWEEP)), known)
    find_run(workspace, run)
    heavy()
    from tsdae_core.evaluate import job  # noqa: PLC0415

    found, curve = job.evaluations(workspace, run), _followed(workspace, run)
    if not found:
        return {"job": "", "state": "new", "followed": curve}
    said = found[0].status()
    shown = next((one for one in found if (one.path / "table.json").is_file()), None)
    answer = {key: said.get(key) for key in ("state", "phase", "step", "total", "error")} | {
        "job": found[0].name,
        "shown": shown.name if shown else "",
        "followed": curve,
    }
    table = job.read_table(shown) if shown and shown.name != known else None
    if table is not None:
        answer |= {"table": drawn(table), "reported": REPORTED}
    return answer


def _followed(workspace: Path, run: str) -> dict[str, Any] | None:
    """The newest curve over a run's checkpoints, and how far it is."""
    from tsdae_core.evaluate import follow  # noqa: PLC0415

    found = follow.followed(workspace, run)
    if not found:
        return None
    said = found[0].status()
    words = {key: said.get(key) for key in ("state", "phase", "error")}
    task = read_json(found[0].path / "follow.json").get("task", "")
    return words | {"job": found[0].name, "task": task, "curves": follow.curves_of(found[0])}


def drawn(table: Any) -> dict[str, Any]:
    """A table with all that is written around it."""
    from tsdae_core.evaluate import render  # noqa: PLC0415
    from tsdae_core.evaluate.table import verdict  # noqa: PLC0415

    return table.data() | {
        "verdict": verdict(table),
        "legend": render.legend(table),
        "headings": [render.heading(column) for column in table.columns],
        "shown": [[render.number(cell) for cell in row.cells] for row in table.rows],
        "differs": [[cell.differs for cell in row.cells] for row in table.rows],
    }


def _sweep_state(sweep: Sweep, known: str) -> dict[str, Any]:
    """How far a sweep is, its table once it is there, and the curves over the one number that it varied."""
    said, ready = sweep.status(), (sweep.path / "table.json").is_file()
    stamp = f"{sweep.name}-{(sweep.path / 'table.json').stat().st_mtime_ns}" if ready else ""
    answer = {key: said.get(key) for key in ("state", "phase", "step", "total", "error")}
    answer |= {"job": sweep.name, "shown": stamp}
    if said["state"] == "queued":
        every = [one for _, runs in sweep.groups() for one in runs]
        done = sum(
            (sweep.path.parent.parent / one / "encoder" / "model.safetensors").is_file() for one in every
        )
        answer["phase"] = f"{done} of {len(every)} runs are trained; the table comes after the last one"
    if ready and stamp != known:
        heavy()
        from tsdae_core.evaluate.sweep import curves_of, read_table  # noqa: PLC0415

        table = read_table(sweep)
        if table is not None:
            answer |= {"table": drawn(table), "reported": REPORTED, "curves": curves_of(sweep, table)}
    return answer


def shown_choices(workspace: Path) -> list[tuple[str, str]]:
    """What the tab can show: the chosen run's comparison, or a sweep."""
    return [
        ("The run above", ""),
        *((f"Sweep {one.name}", f"{SWEEP}{one.name}") for one in list_sweeps(workspace)),
    ]


def _file(workspace: Path, run: str, key: str, kind: str) -> dict[str, str]:
    """A table as csv, markdown or latex."""
    heavy()
    from tsdae_core.evaluate import job  # noqa: PLC0415
    from tsdae_core.evaluate.render import FORMATS  # noqa: PLC0415
    from tsdae_core.evaluate.sweep import with_words  # noqa: PLC0415

    found = find_job(workspace, run, key)
    table = job.read_table(found)  # a sweep's is called the same
    if table is not None and isinstance(found, Sweep):
        table = with_words(found, table)
    if table is None or kind not in FORMATS:
        raise ValueError("This evaluation has no table yet.")
    return {"text": FORMATS[kind](table) + "\n"}
