"""The Search tab: a query's nearest sentences in the run's corpus, the trained encoder beside its untrained base."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from tsdae_core.ui.rebuild import has_model as has_result
from tsdae_core.runs import Run, find_run
from tsdae_core.ui.components import component
from tsdae_core.ui.shell import QUIET, Shell

HITS = 10
LONGEST = 2000


def build(shell: Shell) -> None:
    """The tab's components and their events."""
    gr.Markdown("Find the sentences of your text that lie nearest to a query, before and after training.")
    with gr.Row(elem_classes="near-ask"):
        query = gr.Textbox(
            placeholder="Type a sentence and press Enter",
            show_label=False,
            container=False,
            scale=5,
            elem_id="query",
        )
        go = gr.Button("Search", variant="primary", scale=0, min_width=110, elem_id="search-go")
    view = component("neighbours", say("Type a sentence above. A hit can be searched for in turn by pressing it."),
                     elem_id="neighbours")  # fmt: skip

    def on_search(name: str, text: str, progress: gr.Progress = gr.Progress()) -> dict[str, Any]:  # noqa: B008
        return found(shell.workspace, name, text, progress)

    def on_pick(event: gr.EventData) -> str:
        return str(event._data.get("sentence", ""))[:LONGEST]

    def on_run(name: str) -> dict[str, Any]:
        return say(ready(shell.workspace, name))

    asked: dict[str, Any] = {"api_visibility": "private", "show_progress": "full", "show_progress_on": [view]}
    gr.on([go.click, query.submit], on_search, [shell.picker, query], view, **asked)
    view.pick(on_pick, None, query, **QUIET).then(on_search, [shell.picker, query], view, **asked)
    gr.on([shell.picker.change, shell.app.load], on_run, shell.picker, view, **QUIET)


def say(message: str, *, error: bool = False) -> dict[str, Any]:
    """The results' place with nothing but a sentence in it."""
    return {"columns": [], "message": message, "error": error}


def ready(workspace: Path, name: str) -> str:
    """What to do here, for the run that is chosen."""
    try:
        if not name:
            return "Choose a run above, or start one on the Train tab."
        if not has_result(find_run(workspace, name)):
            return "This run has no encoder yet; the first comes with its first checkpoint. Its base can be searched already."
    except ValueError as error:
        return str(error)
    return "Type a sentence above. A hit can be searched for in turn by pressing it."


def systems(run: Run) -> list[tuple[str, str, str]]:
    """The columns: title, note and system name."""
    base = ("Untrained base", run.config().base_model, f"base:{run.name}")
    return [("Trained", run.name, run.name), base] if has_result(run) else [base]


def found(workspace: Path, name: str, text: str, progress: gr.Progress) -> dict[str, Any]:
    """The nearest sentences by each encoder, or one sentence on why not."""
    from tsdae_core import explore  # noqa: PLC0415 (brings torch, which the page need not wait for)

    try:
        if not name:
            raise ValueError("Choose a run above, or start one on the Train tab.")
        run = find_run(workspace, name)
        columns = []
        for title, note, system in systems(run):
            hits = explore.search(
                system, run.corpus(), (text or "")[:LONGEST], k=HITS, workspace=workspace, cache_dir=run.cache_dir,
                progress=lambda done, total, title=title: progress((done, total), desc=f"{title}: embedding sentences"),
            )  # fmt: skip
            columns.append({"title": title, "note": note, "hits": hits})
    except ValueError as error:
        return say(str(error), error=True)
    return {"columns": columns, "message": "", "query": text}
