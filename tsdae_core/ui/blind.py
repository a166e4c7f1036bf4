"""The blind test: two unlabelled lists of neighbours, left or right or the same; which encoder is which stays on this side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import gradio as gr

from tsdae_core.records import why
from tsdae_core.runs import Run, find_run
from tsdae_core.ui.components import component
from tsdae_core.ui.indexes import comparing
from tsdae_core.ui.own_text import Looked, looked_at
from tsdae_core.ui.rebuild_models import has_model
from tsdae_core.ui.shell import FOLLOW, Shell
from tsdae_core.ui.warm import heavy

SHOWN = 5
READ_ONLY = "This page is read-only: no verdict can be given here."


def build(shell: Shell, where: gr.Dropdown) -> None:
    """The component; it asks for itself. `where` holds the key of the text."""
    view = component(
        "blind",
        {"run": ""},
        uses=["dom"],
        server_functions=feeds(shell.workspace, shell.read_only),
        elem_id="blind",
    )

    def on_run(name: str, key: str) -> dict[str, Any]:
        return {"run": name or "", "in": key}

    told = [shell.picker.change, where.change, shell.app.load]
    gr.on(told, on_run, [shell.picker, where], view, **FOLLOW)


def feeds(workspace: Path, read_only: bool) -> list[Callable[[list[Any]], Any]]:
    """The server functions: `await server.question(run, text, judge)`, `verdict(run, text, judge, row, choice)`, `verdicts(run, text)`."""

    def safely(act: Callable[..., Any], asked: Any) -> Any:
        try:
            heavy()
            name, key, *given = asked
            run = find_run(workspace, str(name))
            if not has_model(run):
                raise ValueError("This run has no trained encoder yet; it comes with the first checkpoint.")
            return act(_Asked(workspace, run, looked_at(workspace, run, key)), *given)
        except (ValueError, TypeError, IndexError, OSError) as error:
            return {"error": why(error)}

    def question(asked: list[Any]) -> Any:
        return safely(_question, asked)

    def verdict(asked: list[Any]) -> Any:
        if read_only:
            return {"error": READ_ONLY}
        return safely(_verdict, asked)

    def verdicts(asked: Any) -> Any:
        return safely(_verdicts, asked)

    return [question, verdict, verdicts]


@dataclass(frozen=True)
class _Asked:
    """Whose encoders are compared, and on which text."""

    workspace: Path
    run: Run
    looked: Looked

    def names(self) -> tuple[str, str]:
        """The two encoders as verdicts name them."""
        from tsdae_core import blind  # noqa: PLC0415 (brings torch, which the page need not wait for)

        return blind.encoders_of(self.run, self.workspace)

    def verdicts(self) -> list[dict[str, Any]]:
        """What was said of the two on this text."""
        from tsdae_core import blind  # noqa: PLC0415

        return blind.verdicts(self.run, *self.names(), text=self.looked.name)

    def sentence(self, row: int) -> str:
        """A sentence of the text."""
        return str(self.looked.table()["sentence"][row].as_py())


def _next(on: _Asked, judge: str) -> Any:
    """(rows of the corpus, comparison, (point, later one left) or None, verdicts), or how far the comparison is."""
    from tsdae_core import blind  # noqa: PLC0415

    work = comparing(on.workspace, on.run, f"base:{on.run.name}", on.run.name, looked=on.looked)
    if not work.finished.wait(0.3):
        return work.far()
    rows, found = work.result()
    said = on.verdicts()
    place = {int(row): point for point, row in enumerate(rows.tolist())}
    mine = [place[one["row"]] for one in said if one["judge"] == judge and one["row"] in place]
    asked = blind.ask(
        found.before, found.after, mine, seed=crc32(judge.encode()), number=len(mine), shown=SHOWN
    )
    return rows, found, asked, said


def _question(on: _Asked, judge: Any) -> dict[str, Any]:
    """The next sentence with two lists, without a word on whose they are, and how the verdicts stand."""
    from tsdae_core import blind  # noqa: PLC0415

    judge = _judge(judge)
    got = _next(on, judge)
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
    lists = [
        [on.sentence(int(rows[other])) for other in near[point][:SHOWN]]
        for near in (found.before, found.after)
    ]
    left, right = reversed(lists) if later_left else lists
    sentence = on.sentence(int(rows[point]))
    return told | {"row": int(rows[point]), "sentence": sentence, "left": left, "right": right}


def _verdict(on: _Asked, judge: Any, row: Any, choice: Any) -> dict[str, Any]:
    """Keep a verdict on the sentence that was asked last; answers with the next question."""
    from tsdae_core import blind  # noqa: PLC0415

    judge = _judge(judge)
    got = _next(on, judge)
    if isinstance(got, dict):
        return got
    rows, _, asked, _ = got
    if asked is None or int(rows[asked[0]]) != int(row):
        return _question(on, judge)  # pressed twice, or in another window: the present question stands
    if choice not in ("left", "right", "same"):
        raise ValueError("a verdict is left, right or same")
    whose = "same" if choice == "same" else "after" if (choice == "left") == asked[1] else "before"
    before, after = on.names()
    blind.judge(
        on.run,
        before=before,
        after=after,
        row=int(row),
        sentence=on.sentence(int(row)),
        choice=whose,
        judge=judge,
        text=on.looked.name,
    )
    return _question(on, judge)


def _verdicts(on: _Asked) -> dict[str, Any]:
    """All verdicts, for a table."""
    from tsdae_core import blind  # noqa: PLC0415

    return {"header": list(blind.COLUMNS), "rows": blind.table(on.verdicts())}


def _judge(name: Any) -> str:
    return str(name or "")[:40]
