"""The Map tab: UMAP of the corpus by the untrained base and by the trained encoder, in one plot."""

from __future__ import annotations

from typing import Any

import gradio as gr

from tsdae_core import launch
from tsdae_core.runs import find_run
from tsdae_core.ui.components import component
from tsdae_core.ui.map_feeds import feeds, job_of, systems_of_run
from tsdae_core.ui.shell import QUIET, Shell
from tsdae_core.ui.warm import heavy

READ_ONLY = "This page is read-only: nothing can be started here."


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
            interactive=not shell.read_only,
            scale=0,
            min_width=130,
            elem_id="map-go",
        )
    view = component("map", {"run": ""}, server_functions=feeds(shell.workspace), elem_id="map")

    def on_run(name: str) -> dict[str, Any]:
        return {"run": name or ""}

    def on_draw(name: str) -> dict[str, Any]:
        return {"run": name or "", "message": start(shell, name), "asked": True}

    def on_stop(name: str) -> dict[str, Any]:
        return {"run": name or "", "message": stop(shell, name)}

    gr.on([shell.picker.change, shell.app.load], on_run, shell.picker, view, **QUIET)
    go.click(on_draw, shell.picker, view, **QUIET)
    view.map_stop(on_stop, shell.picker, view, **QUIET)


def start(shell: Shell, name: str) -> str:
    """Start the map's job; "" or one sentence on why not."""
    heavy()
    from tsdae_core import maps  # noqa: PLC0415 (brings torch, which the page need not wait for)

    try:
        if shell.read_only:
            raise ValueError(READ_ONLY)
        if not name:
            raise ValueError("Choose a run above, or start one on the Train tab.")
        run = find_run(shell.workspace, name)
        maps.start_map(run, list(systems_of_run(run).values()), shell.workspace)
    except ValueError as error:
        return str(error)
    return ""


def stop(shell: Shell, name: str) -> str:
    """End the map's process; what is drawn so far stays. "" or one sentence on why not."""
    try:
        if shell.read_only:
            raise ValueError(READ_ONLY)
        job = job_of(shell.workspace, find_run(shell.workspace, name))
        launch.kill(job)
        job.write_status(state="stopped", phase="Stopped")
    except ValueError as error:
        return str(error)
    return ""
