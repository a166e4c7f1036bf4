"""The Map tab: UMAP of the run's text or another file by base, trained and a further encoder, in one plot; in space; and live."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gradio as gr

from tsdae_core import launch
from tsdae_core.map_systems import film_systems
from tsdae_core.records import why
from tsdae_core.runs import ACTIVE, find_run
from tsdae_core.ui import own_text
from tsdae_core.ui.columns import other_encoders
from tsdae_core.ui.components import component
from tsdae_core.ui.map_feeds import feeds
from tsdae_core.ui.map_state import Choice, film_of, job_of, shown_first, state_of, systems_of_run
from tsdae_core.ui.shell import FOLLOW, QUIET, Shell
from tsdae_core.ui.warm import heavy

PARTS = (
    "dom",
    "words",
    "map_colour",
    "map_plot",
    "map_motion",
    "map_space",
    "map_side",
    "map_chosen",
    "map_more",
    "map_saves",
    "map_views",
)
FLAT, DEEP, LIVE = "flat", "deep", "live"
ALSO = "map-also"
"""The name under which the further encoder stands in the page's address."""

READ_ONLY = "This page is read-only: nothing can be started here."
NO_RUN = "Choose a run above, or start one on the Train tab."


def build(shell: Shell) -> None:
    """The tab's components and their events."""
    gr.Markdown(
        "See your text as a picture: sentences that an encoder finds alike lie together.", elem_classes="lead"
    )
    with gr.Row(elem_classes="map-ask"):
        own = own_text.build(shell, "map-in", label="Map of", in_url="map-in")
        also = gr.Dropdown(
            [("no other encoder", "")],
            value="",
            label="Another encoder",
            show_label=False,
            container=False,
            allow_custom_value=not shell.read_only,
            elem_id="map-also",
            min_width=250,
            scale=0,
        )
        go = gr.Button(
            "Draw map",
            variant="primary",
            interactive=False,
            scale=0,
            min_width=130,
            elem_id="map-go",
        )
    asked = feeds(shell.workspace, read_only=shell.read_only)
    seen = component("map", {"run": ""}, uses=PARTS, server_functions=asked, elem_id="map")
    view = gr.State(FLAT)

    def told(name: str, choice: Choice, message: str = "", *, asked: bool = False) -> dict[str, Any]:
        why_off = READ_ONLY if shell.read_only else "" if name else NO_RUN
        seen = {"run": name or "", "view": choice.view, "in": choice.key, "also": choice.also}
        return seen | {"message": message, "asked": asked, "why_off": why_off}

    def on_run(name: str, view: str, key: str, also: str) -> tuple[Any, ...]:
        view = shown_first(shell.workspace, name, view)
        return (
            told(name, Choice(view, key, also or "")),
            gr.Button(interactive=bool(name) and not shell.read_only),
            view,
        )

    def on_choice(name: str, view: str, key: str, also: str) -> tuple[Any, ...]:
        """Another text or encoder: its map in the plane or in space, since only the run's own is followed."""
        view = FLAT if view == LIVE and (key or also) else view
        return told(name, Choice(view, key, also or "")), view

    def on_draw(name: str, view: str, key: str, also: str) -> tuple[Any, ...]:
        choice = Choice(FLAT if view == LIVE else view, key, also or "")
        return told(name, choice, start(shell, name, choice), asked=True), choice.view

    def on_film(name: str, key: str, also: str) -> dict[str, Any]:
        choice = Choice(FLAT, key, also or "")
        return told(name, choice, start(shell, name, choice, film=True), asked=True)

    def on_stop(name: str, view: str, key: str, also: str) -> dict[str, Any]:
        choice = Choice(view, key, also or "")
        return told(name, choice, stop(shell, name, choice))

    def on_view(name: str, before: str, key: str, also: str, event: gr.EventData) -> tuple[Any, ...]:
        wish = str(event._data.get("view"))
        choice = Choice(wish if wish in (FLAT, DEEP, LIVE) else FLAT, key, also or "")
        return told(name, choice, turn(shell, name, before, choice)), choice.view

    def on_link(request: gr.Request, name: str) -> gr.Dropdown:
        """The further encoder that the address names."""
        also = request.query_params.get(ALSO, "")
        others = other_encoders(shell.workspace, request.query_params.get("run", name)) if also else []
        known = also in [value for _, value in others] or not shell.read_only
        return gr.Dropdown(choices=others, value=also) if also and known else gr.skip()

    def on_also(name: str) -> gr.Dropdown:
        return gr.Dropdown(choices=other_encoders(shell.workspace, name))

    given = [shell.picker, view, own.where, also]
    gr.on([shell.picker.change, shell.app.load], on_run, given, [seen, go, view], **FOLLOW)
    shell.app.load(on_link, shell.picker, also, **QUIET)
    also.change(None, also, None, js=own_text.INTO_URL.replace("NAME", ALSO), **QUIET)
    own.where.change(on_choice, given, [seen, view], **FOLLOW)
    also.change(on_choice, given, [seen, view], **FOLLOW)
    also.focus(on_also, shell.picker, also, **QUIET)
    shell.picker.input(lambda: "", None, also, **QUIET)  # another run's map begins with its own encoders
    go.click(on_draw, given, [seen, view], **QUIET)
    seen.map_film(on_film, [shell.picker, own.where, also], seen, **QUIET)
    seen.map_stop(on_stop, given, seen, **QUIET)
    seen.map_view(on_view, given, [seen, view], **QUIET)


def start(shell: Shell, name: str, choice: Choice, *, film: bool = False) -> str:
    """Start the map's job, or that of the film over the checkpoints; "" or one sentence on why not."""
    heavy()
    from tsdae_core import map_live, maps  # noqa: PLC0415 (brings torch, which the page need not wait for)

    try:
        if shell.read_only:
            raise ValueError(READ_ONLY)
        if not name:
            raise ValueError(NO_RUN)
        run = find_run(shell.workspace, name)
        if choice.view == LIVE:
            map_live.start_live(run, shell.workspace)
            return ""
        systems = film_systems(run) if film else systems_of_run(run, choice.also)
        options = maps.MapOptions(dimensions=3 if choice.view == DEEP else 2)
        text = choice.text(shell.workspace, run)
        maps.start_map(run, systems, shell.workspace, options=options, text=text)
    except (ValueError, OSError) as error:
        return why(error)
    return ""


def turn(shell: Shell, name: str, before: str, choice: Choice) -> str:
    """From one view to another: start what the new one lacks, and follow the training no longer than somebody looks.

    Returns:
        "" or one sentence on why the view shows nothing.
    """
    heavy()
    from tsdae_core import maps  # noqa: PLC0415

    if not name:
        return NO_RUN
    try:
        run = find_run(shell.workspace, name)
    except (ValueError, OSError) as error:
        return why(error)
    live, view = maps.live_job(run), choice.view
    if before == LIVE != view and live.state in ACTIVE and not shell.read_only:
        launch.stop(live)
    if view == LIVE and run.state in ACTIVE:
        return "" if shell.read_only and maps.systems_of(live) else start(shell, name, choice)
    try:
        if view == DEEP and not state_of(shell.workspace, run, choice)["map"]:
            return start(shell, name, choice)
    except (ValueError, OSError) as error:  # the text or the further encoder is gone
        return why(error)
    return ""


def stop(shell: Shell, name: str, choice: Choice) -> str:
    """End the map's process; what is drawn so far stays. "" or one sentence on why not."""
    try:
        if shell.read_only:
            raise ValueError(READ_ONLY)
        run = find_run(shell.workspace, name)
        views = [replace(choice, view=view) for view in (FLAT, DEEP, LIVE)]
        jobs = [job_of(shell.workspace, run, one) for one in views]
        for job in (*jobs, film_of(shell.workspace, run, choice)):
            if job is not None and job.state in ACTIVE:
                launch.kill(job)
                job.write_status(state="stopped", phase="Stopped")
    except (ValueError, OSError) as error:
        return why(error)
    return ""
