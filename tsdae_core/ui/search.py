"""The Search tab: a query's nearest sentences in the run's text or another file, by the trained encoder, its base, words, and one more."""

from __future__ import annotations

import itertools
import random
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from tsdae_core.records import why
from tsdae_core.runs import find_run
from tsdae_core.ui import blind, changes, own_text
from tsdae_core.ui.columns import LONGEST, NO_RUN, found, other_encoders, say
from tsdae_core.ui.components import component
from tsdae_core.ui.indexes import cancel
from tsdae_core.ui.own_text import RUNS_OWN, looked_at
from tsdae_core.ui.rebuild_models import has_model, pick_sentence
from tsdae_core.ui.shell import FOLLOW, LIGHT, QUIET, Shell

READY = (
    "The ten nearest sentences of your text are listed here: by the trained encoder, by its untrained base, and by the words "
    "they share."
)
ONLY_BASE = (
    "The ten nearest sentences of your text are listed here. This run has no trained encoder yet; it comes with the first "
    "checkpoint. Until then its base and the shared words answer alone."
)
ALL_LABELS = ("all labels", "")
MOST_LABELS = 500


def build(shell: Shell) -> None:
    """The tab's components and their events."""
    gr.Markdown(
        "Find the sentences of your text that lie nearest to a query, before and after training.",
        elem_classes="lead",
    )
    own = own_text.build(shell, "search-in", label="Search in", in_url="in")
    with gr.Tabs(elem_id="search-parts") as parts:
        with gr.Tab("Query", id="query"):
            with gr.Row(elem_classes="near-ask"):
                query = gr.Textbox(
                    label="Query",
                    placeholder="Type a sentence and press Enter",
                    show_label=False,
                    container=False,
                    max_length=LONGEST,
                    scale=5,
                    min_width=180,
                    elem_id="query",
                )
                go = gr.Button("Search", variant="primary", scale=0, min_width=110, elem_id="search-go")
            with gr.Row(elem_classes="near-ask"):
                quiet: dict[str, Any] = {
                    "show_label": False,
                    "container": False,
                    "scale": 0,
                    "min_width": 250,
                }
                label = gr.Dropdown(
                    [ALL_LABELS], value="", label="Label", visible=False, elem_id="search-label", **quiet
                )
                also = gr.Dropdown(
                    [("no other encoder", "")],
                    value="",
                    label="Another encoder",
                    allow_custom_value=not shell.read_only,
                    elem_id="search-also",
                    **quiet,
                )
                words = gr.Checkbox(
                    True, label="Compare with shared words (BM25)", container=False, scale=0, min_width=280,
                    elem_id="search-words",
                )  # fmt: skip
            view = component("neighbours", say(NO_RUN), uses=["dom"], elem_id="neighbours", min_height=260)
        with gr.Tab("What changed most", id="changes"):
            changed = changes.build(shell, own.where)
        with gr.Tab("Blind test", id="blind"):
            blind.build(shell, own.where)
    given = [shell.picker, query, label, also, words, own.where]

    def on_search(
        request: gr.Request, name: str, text: str, label: str, also: str, words: bool, key: str
    ) -> Iterator[Any]:
        newest = _newest(str(request.session_hash), (name, key))
        options = {"label": label or "", "also": also or "", "words": words, "key": key}
        yield from until_superseded(found(shell.workspace, name, text, **options), newest)

    def on_choice(request: gr.Request, shown: Any, name: str, *rest: Any) -> Iterator[Any]:
        if (shown or {}).get("query"):
            yield from on_search(request, name, *rest)
        else:
            yield gr.skip()

    def on_pick(event: gr.EventData) -> str:
        return str(event._data.get("sentence", ""))[:LONGEST]

    def on_link(event: gr.EventData, name: str, key: str) -> tuple[Any, Any, Any]:
        """A pressed sentence is asked with what the form says; a link brings its own label and further encoder."""
        asked, text = event._data, on_pick(event)
        if "label" not in asked:
            return text, gr.skip(), gr.skip()
        labels = label_choices(shell.workspace, name, key, chosen=str(asked["label"]))
        there = [text for _, text in labels_of(shell.workspace, name, key)]
        if asked["label"] and asked["label"] not in there:
            gr.Warning("The label that the link asks for is not in this text; all labels are searched.")
        others = other_encoders(shell.workspace, name)
        other = str(asked["also"])
        known = other in [value for _, value in others] or not shell.read_only
        return text, labels, gr.Dropdown(choices=others, value=other if known else "")

    def on_run(shown: Any, name: str, key: str) -> Any:
        if name and (shown or {}).get("run") == name:  # the picker only learned a new state of the same run
            return (gr.skip(),) * 3
        others = gr.Dropdown(choices=other_encoders(shell.workspace, name), value="")
        return ready(shell.workspace, name, key), label_choices(shell.workspace, name, key), others

    def on_text(request: gr.Request, shown: Any, name: str, key: str) -> Any:
        """Another text: its labels, and its sentences to try unless a query stands there, which is then asked again."""
        asked = bool((shown or {}).get("query")) or _was_asked(str(request.session_hash), (name, key))
        return gr.skip() if asked else ready(shell.workspace, name, key), label_choices(
            shell.workspace, name, key
        )

    def on_open(event: gr.SelectData, request: gr.Request, shown: Any, name: str, key: str) -> Any:
        """The run may have got its encoder since it was chosen; results that stand there, or are on their way, stay."""
        on_its_way = _was_asked(str(request.session_hash), (name, key))
        if event.value != "Search" or on_its_way or (shown or {}).get("columns"):
            return gr.skip()
        return ready(shell.workspace, name, key)

    def on_cancel(name: str, key: str) -> None:
        cancel(looked_at(shell.workspace, find_run(shell.workspace, name), key).path)

    asked: dict[str, Any] = QUIET | {"concurrency_limit": 8, "concurrency_id": "search"}
    gr.on([go.click, query.submit], on_search, given, view, **asked)
    gr.on([label.input, also.input, words.input], on_choice, [view, *given], view, **asked)
    for one in (view, changed):
        one.cancel(on_cancel, [shell.picker, own.where], None, **LIGHT)
    view.pick(on_link, [shell.picker, own.where], [query, label, also], **QUIET).then(
        on_search, given, view, **asked
    )
    changed.pick(on_pick, None, query, **QUIET).then(
        lambda: gr.Tabs(selected="query"), None, parts, **QUIET
    ).then(on_search, given, view, **asked)
    also.focus(
        lambda name: gr.Dropdown(choices=other_encoders(shell.workspace, name)), shell.picker, also, **QUIET
    )
    here = [view, shell.picker, own.where]
    gr.on([shell.picker.change, shell.app.load], on_run, here, [view, label, also], **FOLLOW)
    own.where.change(on_text, here, [view, label], **FOLLOW).then(on_choice, [view, *given], view, **asked)
    shell.tabs.select(on_open, here, view, **QUIET)


_COUNT = itertools.count()
_ASKED: OrderedDict[str, tuple[int, tuple[str, str]]] = OrderedDict()
MOST_ASKED = 1000
"""Browsers whose newest search is known."""


def _newest(browser: str, of: tuple[str, str]) -> Callable[[], bool]:
    """Begin a search of a run's text: what is called while it goes on tells whether the same browser has begun none since."""
    mine = _ASKED[browser] = next(_COUNT), of
    _ASKED.move_to_end(browser)
    while len(_ASKED) > MOST_ASKED:
        _ASKED.popitem(last=False)
    return lambda: _ASKED.get(browser, mine) == mine


def until_superseded(answers: Iterator[Any], newest: Callable[[], bool]) -> Iterator[Any]:
    """The answers while no newer search was begun: what was asked last is what stands in the form.

    The last is "leave it as it is", since Gradio takes no answer at all for an empty one.
    """
    for shown in answers:
        if not newest():
            yield gr.skip()
            return
        yield shown


def _was_asked(browser: str, of: tuple[str, str]) -> bool:
    """Whether the browser's newest search is of this run and text: what it shows is not to be written over."""
    return _ASKED.get(browser, (0, None))[1] == of


def labels_of(workspace: Path, name: str, key: str = RUNS_OWN) -> list[tuple[str, str]]:
    """(words, label) of a text's labels, the most frequent first; [] when it has none."""
    try:
        table = looked_at(workspace, find_run(workspace, name), key).table() if name else None
        labels = table["label"].value_counts().to_pylist() if table else []
    except (ValueError, OSError):
        labels = []
    counts = sorted((-one["counts"], one["values"]) for one in labels if one["values"])
    return [(f"{text} ({-count:,})", text) for count, text in counts[:MOST_LABELS]]


def label_choices(workspace: Path, name: str, key: str = RUNS_OWN, *, chosen: str = "") -> gr.Dropdown:
    """The labels of the text, to search among the sentences of one; hidden when there are none.

    `chosen` is taken if there is such a label.
    """
    choices = labels_of(workspace, name, key)
    value = chosen if chosen in [text for _, text in choices] else ""
    return gr.Dropdown(choices=[ALL_LABELS, *choices], value=value, visible=bool(choices))


def ready(workspace: Path, name: str, key: str = RUNS_OWN) -> dict[str, Any]:
    """What to do here, for the run and the text that are chosen."""
    try:
        if not name:
            return say(NO_RUN)
        run = find_run(workspace, name)
        looked = looked_at(workspace, run, key)
    except (ValueError, OSError) as error:
        return say(why(error), error=True)
    if looked.title:
        texts = looked.table()["sentence"]
        examples = [texts[random.randrange(len(texts))].as_py()[:LONGEST] for _ in range(3)]
    else:
        examples = [pick_sentence(workspace, name)[:LONGEST] for _ in range(3)]
    message = READY if has_model(run) else ONLY_BASE
    return say(message, run=name, examples=list(dict.fromkeys(examples)), key=key)
