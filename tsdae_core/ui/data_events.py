"""What happens on the Data tab: a door is used, a text is shown, a preview is asked for."""

from __future__ import annotations

import random
from typing import Any

import gradio as gr

from tsdae_core.records import why
from tsdae_core.ui import doors, texts
from tsdae_core.ui.drafts import find_draft, first_found
from tsdae_core.ui.shell import LIGHT, QUIET, Shell

DRAFT_INTO_URL = """(key) => {
  const url = new URL(window.location);
  key ? url.searchParams.set("draft", key) : url.searchParams.delete("draft");
  window.history.replaceState(window.history.state, "", url);
}"""
OPTIONS = ("column", "label", "second", "split", "shortest", "longest")

Parts = dict[str, Any]


def wire(shell: Shell, asked: Parts, shown: Parts) -> None:
    """Connect the doors with the result, and the loaded text with the page's address."""
    show = _wire_result(shell, shown)
    _wire_doors(shell, asked, shown, show=show)


def _wire_doors(shell: Shell, asked: Parts, shown: Parts, *, show: Any) -> None:
    """Each door reads the text anew, and so does a change of how it is read."""
    door, before, many = (
        gr.State(""),
        gr.State(""),
        gr.State(False),
    )  # many: the file has columns to choose from
    options = [asked[name] for name in OPTIONS]
    given = [before, door, asked["file"], asked["text"], asked["example"], *options]
    read = [shell.draft, before, shown["report"]]
    slow = {"api_visibility": "private", "show_progress_on": shown["report"], "trigger_mode": "always_last"}

    def on_read(
        before: str,
        *wished: Any,
        progress: Any = gr.Progress(),  # noqa: B008 (Gradio finds it there)
    ) -> tuple[Any, ...]:
        wish, kept = doors.Wish(*wished), find_draft(shell.workspace, before)
        if not wish.door and not doors.can_read_again(kept):
            return gr.skip(), gr.skip(), gr.skip()
        try:
            draft = doors.enter(
                shell.workspace, wish, lambda done, total: progress((done, total)), before=kept
            )
        except (ValueError, OSError) as error:
            return "", gr.skip(), {"error": texts.sentence(why(error))}
        return draft.key, draft.key, gr.skip()

    def on_columns(path: str | None) -> tuple[Any, ...]:
        columns, text, label = doors.columns(path)
        return _column_choices(columns, text, label)

    def on_reload(request: gr.Request, kept: str) -> tuple[Any, ...]:
        key = first_found(shell.workspace, request.query_params.get("draft"), kept)
        draft = find_draft(shell.workspace, key)
        if draft is None or not doors.can_read_again(draft):
            return key, *[gr.skip()] * 8
        how = draft.reading
        columns, text, label = doors.columns(str(draft.source) if draft.source else None)
        choices = _column_choices(
            columns, how.get("column") or text, how.get("label") or label, how.get("second") or doors.NO_LABEL
        )
        return key, *choices, how.get("split", False), how.get("shortest"), how.get("longest")

    def through(event: Any, name: str) -> Any:
        """What was shown before leaves at once: it must not be taken for what is being read."""

        def on_door() -> tuple[Any, ...]:
            return name, {"busy": True}, gr.Button(visible=False), gr.Column(visible=False)

        return event(on_door, None, [door, shown["report"], shown["use"], shown["body"]], **LIGHT)

    columns = [asked["column"], asked["label"], asked["second"], asked["columns"], many]
    opened = through(asked["file"].upload, "file").then(on_columns, asked["file"], columns, **QUIET)
    pasted, taken = through(asked["paste"].click, "text"), through(asked["take"].click, "example")
    for entered in (opened, pasted, taken):
        show(entered.then(on_read, given, read, **slow))
    show(gr.on([one.input for one in options], on_read, given, read, **slow))
    asked["example"].change(lambda key: doors.EXAMPLES[key].text, asked["example"], asked["about"], **LIGHT)
    shell.app.load(on_reload, shell.draft, [before, *columns, *options[3:]], **LIGHT)
    for tab, in_file, readable in [("file", True, True), ("text", False, True), ("example", False, False)]:
        asked[f"{tab}_tab"].select(
            lambda many, in_file=in_file, readable=readable: (
                gr.Column(visible=many and in_file),
                gr.Accordion(visible=readable),
            ),
            many,
            [asked["columns"], asked["reading"]],
            **LIGHT,
        )


def _column_choices(
    columns: list[str], text: str | None, label: str, second: str = doors.NO_LABEL
) -> tuple[Any, ...]:
    """The three choices of columns, and whether there is anything to choose."""
    or_none = [("none", doors.NO_LABEL), *((name, name) for name in columns)]
    many = len(columns) > 1
    return (
        gr.Dropdown(columns, value=text),
        gr.Dropdown(or_none, value=label),
        gr.Dropdown(or_none, value=second),
        gr.Column(visible=many),
        many,
    )


def _wire_result(shell: Shell, shown: Parts) -> Any:
    """Show the loaded text; returns what puts that behind another event."""
    key, damage = shell.draft, [shown["noise"], shown["ratio"], shown["seed"]]
    measured = [key, shown["limit"], shell.base]
    parts = [shown[name] for name in ("report", "use", "body", "rows", "damaged")]

    def on_load(request: gr.Request, kept: str) -> str:
        return first_found(shell.workspace, request.query_params.get("draft"), kept)

    def on_show(key: str, shown: Any, *damage: Any) -> tuple[Any, ...]:
        draft = find_draft(shell.workspace, key)
        seen = draft is not None
        report = texts.report(draft) if draft else (shown if (shown or {}).get("error") else {})
        rows = gr.skip()
        if draft:  # with widths, or a column that comes later stands outside the table
            rows = texts.preview(draft)
            rows = gr.Dataframe(rows, column_widths=texts.widths(rows["headers"]))
        return (
            report,
            gr.Button(visible=seen),
            gr.Column(visible=seen),
            rows,
            texts.damage_of(draft, *damage),
        )

    def on_damage(key: str, *damage: Any) -> dict[str, Any]:
        return texts.damage_of(find_draft(shell.workspace, key), *damage)

    def on_lengths(key: str, limit: float, base: str) -> dict[str, Any]:
        return texts.lengths_of(find_draft(shell.workspace, key), int(limit), base)

    def show(event: Any) -> None:
        seen = event.then(on_show, [key, shown["report"], *damage], parts, **QUIET)
        seen.then(None, key, None, js=DRAFT_INTO_URL, **QUIET)
        seen.then(on_lengths, measured, shown["lengths"], **QUIET)

    show(shell.app.load(on_load, key, key, **LIGHT))
    again = QUIET | {"trigger_mode": "always_last"}
    gr.on([shown["noise"].input, shown["ratio"].input], on_damage, [key, *damage], shown["damaged"], **again)
    anew = shown["damaged"].reroll(lambda: random.randrange(10**6), None, shown["seed"], **LIGHT)
    anew.then(on_damage, [key, *damage], shown["damaged"], **again)
    gr.on([shown["limit"].change, shell.base.change], on_lengths, measured, shown["lengths"], **again)
    shown["use"].click(lambda: gr.Tabs(selected="train"), None, shell.tabs, **LIGHT)
    return show
