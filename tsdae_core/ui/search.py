"""The Search tab: a query's nearest sentences in the run's corpus, the trained encoder beside its untrained base."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from tsdae_core.runs import Run, find_run
from tsdae_core.ui.components import component
from tsdae_core.ui.indexes import opening
from tsdae_core.ui.rebuild import has_model, pick_sentence
from tsdae_core.ui.shell import QUIET, Shell
from tsdae_core.ui.warm import heavy

HITS = 10
LONGEST = 2000
"""Characters of a query."""

WAIT = 0.3
"""Seconds between two looks at how far the embedding is."""

NO_RUN = "Choose a run above, or start one on the Train tab."
READY = "The ten nearest sentences of your text are listed here, by the trained encoder and by its untrained base."
ONLY_BASE = (
    "The ten nearest sentences of your text are listed here. This run has no trained encoder yet; it comes with the first "
    "checkpoint. Until then its base answers alone."
)


def build(shell: Shell) -> None:
    """The tab's components and their events."""
    gr.Markdown(
        "Find the sentences of your text that lie nearest to a query, before and after training.",
        elem_classes="lead",
    )
    with gr.Row(elem_classes="near-ask"):
        query = gr.Textbox(
            placeholder="Type a sentence and press Enter",
            show_label=False,
            container=False,
            max_length=LONGEST,
            scale=5,
            min_width=180,
            elem_id="query",
        )
        go = gr.Button("Search", variant="primary", scale=0, min_width=110, elem_id="search-go")
    view = component("neighbours", say(NO_RUN), uses=["dom"], elem_id="neighbours", min_height=260)

    def on_search(name: str, text: str) -> Iterator[Any]:
        yield from found(shell.workspace, name, text)

    def on_pick(event: gr.EventData) -> str:
        return str(event._data.get("sentence", ""))[:LONGEST]

    def on_run(shown: Any, name: str) -> Any:
        if name and (shown or {}).get("run") == name:  # the picker only learned a new state of the same run
            return gr.skip()
        return ready(shell.workspace, name)

    asked: dict[str, Any] = QUIET | {"concurrency_limit": 8, "concurrency_id": "search"}
    gr.on([go.click, query.submit], on_search, [shell.picker, query], view, **asked)
    view.pick(on_pick, None, query, **QUIET).then(on_search, [shell.picker, query], view, **asked)
    gr.on([shell.picker.change, shell.app.load], on_run, [view, shell.picker], view, **QUIET)


def say(
    message: str, *, run: str = "", error: bool = False, examples: list[str] | None = None
) -> dict[str, Any]:
    """The results' place with nothing but a sentence in it, and sentences to try."""
    return {"columns": [], "message": message, "error": error, "run": run, "examples": examples or []}


def ready(workspace: Path, name: str) -> dict[str, Any]:
    """What to do here, for the run that is chosen."""
    try:
        if not name:
            return say(NO_RUN)
        run = find_run(workspace, name)
    except ValueError as error:
        return say(str(error), error=True)
    examples = list(dict.fromkeys(pick_sentence(workspace, name)[:LONGEST] for _ in range(3)))
    return say(READY if has_model(run) else ONLY_BASE, run=name, examples=examples)


def systems(run: Run) -> list[tuple[str, str, str]]:
    """The columns: title, note and system name."""
    base = ("Untrained base", run.config().base_model, f"base:{run.name}")
    return [("Trained", run.name, run.name), base] if has_model(run) else [base]


def found(workspace: Path, name: str, text: str) -> Iterator[dict[str, Any]]:
    """How far the search is, the hits of each encoder as soon as they are known, or one sentence on why there are none."""
    try:
        if not name:
            raise ValueError(NO_RUN)
        if not (text or "").strip():
            raise ValueError("Type a sentence to search for.")
        run, text = find_run(workspace, name), text[:LONGEST]
        shown: dict[str, Any] = {"columns": [], "run": name, "query": text}
        scores = []
        for title, note, system in systems(run):
            index = opening(workspace, run, system)
            while not index.finished.wait(WAIT):
                yield shown | {"waiting": title, "progress": [index.phase, index.done, index.total]}
            scores.append(index.result().scores(text))
            hits = index.result().hits(scores[-1], HITS)
            shown["columns"] = [*shown["columns"], {"title": title, "note": note, "hits": hits}]
        if len(scores) == 2:
            compare(shown["columns"], scores)
    except ValueError as error:
        yield say(str(error), run=name or "", error=True)
        return
    yield shown


def compare(columns: list[dict[str, Any]], scores: list[Any]) -> None:
    """Add to each hit of two columns which place it has in the other one, among all sentences."""
    heavy()
    from tsdae_core import explore  # noqa: PLC0415 (brings torch, which the page need not wait for)

    for column, other in zip(columns, reversed(scores), strict=True):
        places = explore.ranks(other, [hit["row"] for hit in column["hits"]])
        for hit, place in zip(column["hits"], places, strict=True):
            hit["there"] = place
