"""The Map tab: UMAP of the corpus by the untrained base and by the trained encoder, in one plot; in space; and live."""

from __future__ import annotations

from typing import Any

import gradio as gr

from tsdae_core import launch
from tsdae_core.map_systems import film_systems
from tsdae_core.runs import ACTIVE, find_run
from tsdae_core.ui.components import component
from tsdae_core.ui.map_feeds import feeds
from tsdae_core.ui.map_state import film_of, job_of, shown_first, systems_of_run
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
    "map_views",
)
FLAT, DEEP, LIVE = "flat", "deep", "live"
READ_ONLY = "This page is read-only: nothing can be started here."
NO_RUN = "Choose a run above, or start one on the Train tab."


def build(shell: Shell) -> None:
    """The tab's components and their events."""
    with gr.Row(elem_classes="map-ask"):
        gr.Markdown(
            "See your text as a picture: sentences that an encoder finds alike lie together.",
            elem_classes="lead",
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

    def told(name: str, view: str, message: str = "", *, asked: bool = False) -> dict[str, Any]:
        why_off = READ_ONLY if shell.read_only else "" if name else NO_RUN
        return {"run": name or "", "view": view, "message": message, "asked": asked, "why_off": why_off}

    def on_run(name: str, view: str) -> tuple[Any, ...]:
        view = shown_first(shell.workspace, name, view)
        return told(name, view), gr.Button(interactive=bool(name) and not shell.read_only), view

    def on_draw(name: str, view: str) -> tuple[Any, ...]:
        view = FLAT if view == LIVE else view
        return told(name, view, start(shell, name, view=view), asked=True), view

    def on_film(name: str) -> dict[str, Any]:
        return told(name, FLAT, start(shell, name, film=True), asked=True)

    def on_stop(name: str, view: str) -> dict[str, Any]:
        return told(name, view, stop(shell, name))

    def on_view(name: str, before: str, event: gr.EventData) -> tuple[Any, ...]:
        wish = str(event._data.get("view"))
        view = wish if wish in (FLAT, DEEP, LIVE) else FLAT
        return told(name, view, turn(shell, name, before, view)), view

    gr.on([shell.picker.change, shell.app.load], on_run, [shell.picker, view], [seen, go, view], **FOLLOW)
    go.click(on_draw, [shell.picker, view], [seen, view], **QUIET)
    seen.map_film(on_film, shell.picker, seen, **QUIET)
    seen.map_stop(on_stop, [shell.picker, view], seen, **QUIET)
    seen.map_view(on_view, [shell.picker, view], [seen, view], **QUIET)


def start(shell: Shell, name: str, *, film: bool = False, view: str = FLAT) -> str:
    """Start the map's job, or that of the film over the checkpoints; "" or one sentence on why not."""
    heavy()
    from tsdae_core import map_live, maps  # noqa: PLC0415 (brings torch, which the page need not wait for)

    try:
        if shell.read_only:
            raise ValueError(READ_ONLY)
        if not name:
            raise ValueError(NO_RUN)
        run = find_run(shell.workspace, name)
        if view == LIVE:
            map_live.start_live(run, shell.workspace)
            return ""
        systems = film_systems(run) if film else list(systems_of_run(run).values())
        options = maps.MapOptions(dimensions=3 if view == DEEP else 2)
        maps.start_map(run, systems, shell.workspace, options=options)
    except ValueError as error:
        return str(error)
    return ""


def turn(shell: Shell, name: str, before: str, view: str) -> str:
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
    except ValueError as error:
        return str(error)
    live = maps.live_job(run)
    if before == LIVE != view and live.state in ACTIVE and not shell.read_only:
        launch.stop(live)
    if view == LIVE and run.state in ACTIVE:
        return "" if shell.read_only and maps.systems_of(live) else start(shell, name, view=LIVE)
    if view == DEEP and not any(maps.kind_of(job) for job in maps.map_jobs(run, DEEP)):
        return start(shell, name, view=DEEP)
    return ""


def stop(shell: Shell, name: str) -> str:
    """End the map's process; what is drawn so far stays. "" or one sentence on why not."""
    try:
        if shell.read_only:
            raise ValueError(READ_ONLY)
        run = find_run(shell.workspace, name)
        jobs = [job_of(shell.workspace, run, view) for view in (FLAT, DEEP, LIVE)]
        for job in (*jobs, film_of(shell.workspace, run)):
            if job is not None and job.state in ACTIVE:
                launch.kill(job)
                job.write_status(state="stopped", phase="Stopped")
    except ValueError as error:
        return str(error)
    return ""
