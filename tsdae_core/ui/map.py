"""The Map tab: UMAP of the corpus by the untrained base and by the trained encoder, in one plot."""

from __future__ import annotations

from typing import Any

import gradio as gr

from tsdae_core import launch
from tsdae_core.map_systems import film_systems
from tsdae_core.runs import ACTIVE, find_run
from tsdae_core.ui.components import component
from tsdae_core.ui.map_feeds import feeds
from tsdae_core.ui.map_state import film_of, job_of, systems_of_run
from tsdae_core.ui.shell import FOLLOW, QUIET, Shell
from tsdae_core.ui.warm import heavy

PARTS = ("dom", "words", "map_colour", "map_plot", "map_side", "map_chosen", "map_more")
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
    view = component("map", {"run": ""}, uses=PARTS, server_functions=asked, elem_id="map")

    def told(name: str, message: str = "", *, asked: bool = False) -> dict[str, Any]:
        why_off = READ_ONLY if shell.read_only else "" if name else NO_RUN
        return {"run": name or "", "message": message, "asked": asked, "why_off": why_off}

    def on_run(name: str) -> tuple[dict[str, Any], gr.Button]:
        return told(name), gr.Button(interactive=bool(name) and not shell.read_only)

    def on_draw(name: str) -> dict[str, Any]:
        return told(name, start(shell, name), asked=True)

    def on_film(name: str) -> dict[str, Any]:
        return told(name, start(shell, name, film=True), asked=True)

    def on_stop(name: str) -> dict[str, Any]:
        return told(name, stop(shell, name))

    gr.on([shell.picker.change, shell.app.load], on_run, shell.picker, [view, go], **FOLLOW)
    go.click(on_draw, shell.picker, view, **QUIET)
    view.map_film(on_film, shell.picker, view, **QUIET)
    view.map_stop(on_stop, shell.picker, view, **QUIET)


def start(shell: Shell, name: str, *, film: bool = False) -> str:
    """Start the map's job, or that of the film over the checkpoints; "" or one sentence on why not."""
    heavy()
    from tsdae_core import maps  # noqa: PLC0415 (brings torch, which the page need not wait for)

    try:
        if shell.read_only:
            raise ValueError(READ_ONLY)
        if not name:
            raise ValueError(NO_RUN)
        run = find_run(shell.workspace, name)
        systems = film_systems(run) if film else list(systems_of_run(run).values())
        maps.start_map(run, systems, shell.workspace)
    except ValueError as error:
        return str(error)
    return ""


def stop(shell: Shell, name: str) -> str:
    """End the map's process; what is drawn so far stays. "" or one sentence on why not."""
    try:
        if shell.read_only:
            raise ValueError(READ_ONLY)
        run = find_run(shell.workspace, name)
        for job in (job_of(shell.workspace, run), film_of(shell.workspace, run)):
            if job is not None and job.state in ACTIVE:
                launch.kill(job)
                job.write_status(state="stopped", phase="Stopped")
    except ValueError as error:
        return str(error)
    return ""
