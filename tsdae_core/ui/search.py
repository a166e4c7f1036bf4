"""The Search tab: a query's nearest sentences in the run's corpus, the trained encoder beside its untrained base."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import gradio as gr

from tsdae_core.runs import Run, find_run
from tsdae_core.ui.components import component
from tsdae_core.ui.rebuild import has_model, pick_sentence
from tsdae_core.ui.shell import QUIET, Shell

HITS = 10
LONGEST = 2000
"""Characters of a query."""

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
    view = component("neighbours", say(NO_RUN), elem_id="neighbours", min_height=260)

    def on_search(name: str, text: str, progress: gr.Progress = gr.Progress()) -> Iterator[Any]:  # noqa: B008
        yield from found(shell.workspace, name, text, progress)

    def on_pick(event: gr.EventData) -> str:
        return str(event._data.get("sentence", ""))[:LONGEST]

    def on_run(shown: Any, name: str) -> Any:
        if name and (shown or {}).get("run") == name:  # the picker only learned a new state of the same run
            return gr.skip()
        return ready(shell.workspace, name)

    asked: dict[str, Any] = {
        "api_visibility": "private",
        "show_progress": "full",
        "show_progress_on": [view],
        "concurrency_limit": 2,
        "concurrency_id": "search",
    }
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


def found(workspace: Path, name: str, text: str, progress: gr.Progress) -> Iterator[dict[str, Any]]:
    """The nearest sentences by one encoder as soon as they are known, then by all; or one sentence on why not."""
    try:
        if not name:
            raise ValueError(NO_RUN)
        if not (text or "").strip():
            raise ValueError("Type a sentence to search for.")
        run, text = find_run(workspace, name), text[:LONGEST]
        wanted = systems(run)
        columns: list[dict[str, Any]] = []
        scores = []
        for title, note, system in wanted:
            index = index_of(workspace, run, system, title=title, progress=progress)
            scores.append(index.scores(text))
            columns.append({"title": title, "note": note, "hits": index.hits(scores[-1], HITS)})
            if len(columns) < len(wanted):
                yield {"columns": columns, "run": name, "query": text, "waiting": wanted[len(columns)][0]}
        if len(columns) == 2:
            compare(columns, scores)
    except ValueError as error:
        yield say(str(error), run=name or "", error=True)
        return
    yield {"columns": columns, "run": name, "query": text}


def compare(columns: list[dict[str, Any]], scores: list[Any]) -> None:
    """Add to each hit of two columns which place it has in the other one, among all sentences."""
    from tsdae_core import explore  # noqa: PLC0415 (brings torch, which the page need not wait for)

    for column, other in zip(columns, reversed(scores), strict=True):
        places = explore.ranks(other, [hit["row"] for hit in column["hits"]])
        for hit, place in zip(column["hits"], places, strict=True):
            hit["there"] = place


def index_of(workspace: Path, run: Run, system: str, *, title: str, progress: gr.Progress) -> Any:
    """The run's corpus as one encoder sees it; kept for as long as neither changes."""
    from tsdae_core import explore  # noqa: PLC0415

    said = {"base": "the untrained base"}.get(system.partition(":")[0], "the trained encoder")
    progress(None, desc=f"Loading {said}")
    key = (explore.fingerprint(system, workspace), run.corpus_path, run.corpus_path.stat().st_mtime_ns)

    def tell(done: int, total: int) -> None:
        progress((done, total), desc=f"Embedding your text with {said}", unit="sentences")

    return _kept(key, _Opening(workspace, run, system, tell))


class _Opening:
    """How to open an index; equal to every other one, so that only the key decides what is kept."""

    def __init__(self, *given: Any):
        self.given = given

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Opening)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=4)
def _kept(key: tuple[Any, ...], opening: _Opening) -> Any:
    from tsdae_core import explore  # noqa: PLC0415

    workspace, run, system, tell = opening.given
    return explore.open_index(
        system, run.corpus(), workspace=workspace, cache_dir=run.cache_dir, progress=tell
    )
