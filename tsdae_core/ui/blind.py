"""The blind test: two unlabelled lists of neighbours, left or right or the same; which encoder is which stays on this side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import gradio as gr

from tsdae_core.runs import Run, find_run
from tsdae_core.ui.components import component
from tsdae_core.ui.indexes import comparing
from tsdae_core.ui.rebuild_models import has_model
from tsdae_core.ui.shell import FOLLOW, Shell
from tsdae_core.ui.warm import heavy

SHOWN = 5
READ_ONLY = "This page is read-only: no verdict can be given here."


def build(shell: Shell) -> None:
    """The component; it asks for itself."""
    view = component(
        "blind",
        {"run": ""},
        uses=["dom"],
        server_functions=feeds(shell.workspace, shell.read_only),
        elem_id="blind",
    )

    def on_run(name: str) -> dict[str, Any]:
        return {"run": name or ""}

    gr.on([shell.picker.change, shell.app.load], on_run, shell.picker, view, **FOLLOW)


def feeds(workspace: Path, read_only: bool) -> list[Callable[[list[Any]], Any]]:
    """The server functions: `await server.question(run, judge)`, `verdict(run, judge, row, choice)`, `verdicts(run)`."""

    def safely(act: Callable[..., Any], asked: Any) -> Any:
        try:
            heavy()
            given = asked if isinstance(asked, list) else [asked]  # a single argument arrives bare
            run = find_run(workspace, str(given[0]))
            if not has_model(run):
                raise ValueError("This run has no trained encoder yet; it comes with the first checkpoint.")
            return act(workspace, run, *given[1:])
        except (ValueError, TypeError, IndexError, OSError) as error:
            return {"error": str(error)}

    def question(asked: list[Any]) -> Any:
        return safely(_question, asked)

    def verdict(asked: list[Any]) -> Any:
        if read_only:
            return {"error": READ_ONLY}
        return safely(_verdict, asked)

    def verdicts(asked: Any) -> Any:
        return safely(_verdicts, asked)

    return [question, verdict, verdicts]


def _names(workspace: Path, run: Run) -> tuple[str, str]:
    """The two encoders, so named that verdicts on an earlier state of the run are not counted for a later one."""
    from tsdae_core import explore  # noqa: PLC0415 (brings torch, which the page need not wait for)

    systems = (f"base:{run.name}", run.name)
    return tuple(f"{system}#{explore.fingerprint(system, workspace)[:12]}" for system in systems)  # type: ignore[return-value]


def _next(workspace: Path, run: Run, judge: str) -> Any:
    """(rows of the corpus, comparison, (point, later one left) or None, verdicts), or how far the comparison is."""
    from tsdae_core import blind  # noqa: PLC0415

    work = comparing(workspace, run, f"base:{run.name}", run.name)
    if not work.finished.wait(0.3):
        return {"phase": work.phase, "done": work.done, "total": work.total}
    rows, found = work.result()
    said = blind.verdicts(run, *_names(workspace, run))
    place = {int(row): point for point, row in enumerate(rows.tolist())}
    mine = [place[one["row"]] for one in said if one["judge"] == judge and one["row"] in place]
    asked = blind.ask(
        found.before, found.after, mine, seed=crc32(judge.encode()), number=len(mine), shown=SHOWN
    )
    return rows, found, asked, said


def _question(workspace: Path, run: Run, judge: Any) -> dict[str, Any]:
    """The next sentence with two lists, without a word on whose they are, and how the verdicts stand."""
    from tsdae_core import blind  # noqa: PLC0415

    judge = _judge(judge)
    got = _next(workspace, run, judge)
    if isinstance(got, dict):
        return got
    rows, found, asked, said = got
    stand = blind.tally(said)
    told = {
        "mine": sum(one["judge"] == judge for one in said),
        "all": len(said),
        "words": stand.words,
        "same": stand.same,
    }
    if asked is None:
        return told | {"finished": True}
    point, later_left = asked
    texts = run.corpus()["sentence"]
    lists = [
        [texts[int(rows[other])].as_py() for other in near[point][:SHOWN]]
        for near in (found.before, found.after)
    ]
    left, right = reversed(lists) if later_left else lists
    sentence = texts[int(rows[point])].as_py()
    return told | {"row": int(rows[point]), "sentence": sentence, "left": left, "right": right}


def _verdict(workspace: Path, run: Run, judge: Any, row: Any, choice: Any) -> dict[str, Any]:
    """Keep a verdict on the sentence that was asked last; answers with the next question."""
    from tsdae_core import blind  # noqa: PLC0415

    judge = _judge(judge)
    got = _next(workspace, run, judge)
    if isinstance(got, dict):
        return got
    rows, _, asked, _ = got
    if asked is None or int(rows[asked[0]]) != int(row):
        return _question(
            workspace, run, judge
        )  # pressed twice, or in another window: the present question stands
    if choice not in ("left", "right", "same"):
        raise ValueError("a verdict is left, right or same")
    whose = "same" if choice == "same" else "after" if (choice == "left") == asked[1] else "before"
    before, after = _names(workspace, run)
    sentence = run.corpus()["sentence"][int(row)].as_py()
    blind.judge(run, before=before, after=after, row=int(row), sentence=sentence, choice=whose, judge=judge)
    return _question(workspace, run, judge)


def _verdicts(workspace: Path, run: Run) -> dict[str, Any]:
    """All verdicts, for a table."""
    from tsdae_core import blind  # noqa: PLC0415

    keys = ("sentence", "choice", "judge", "time", "before", "after")
    said = blind.verdicts(run, *_names(workspace, run))
    return {"header": list(keys), "rows": [[one.get(key) for key in keys] for one in said]}


def _judge(name: Any) -> str:
    return str(name or "")[:40]
