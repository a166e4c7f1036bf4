"""The Train tab, right: how the chosen run is doing, and what can be done with it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from tsdae_core import launch, run_queue
from tsdae_core.export import zip_encoder
from tsdae_core.records import why
from tsdae_core.runs import Run, delete_run, find_run
from tsdae_core.ui.components import component
from tsdae_core.ui.feeds import feeds
from tsdae_core.ui.header import see
from tsdae_core.ui.shell import QUIET, Shell

LOG_LINES = 200

HAND_OVER = "() => setTimeout(() => document.querySelector('a:has(#take-file), #take-file a, #take-file').click(), 100)"
"""The download starts as if its button had been pressed."""

PACKED = tempfile.TemporaryDirectory(prefix="tsdae-encoder-")
"""Encoders on their way out; gone when the app ends."""

CHART = ("dom", "curve", "chart_facts", "chart_plot")
WORDS = ("dom", "words")
"""What the scripts of the chart and of the probe table are built on, in `assets/js`."""


def build(shell: Shell) -> None:
    """The run bar, the live chart, the probe table and the log."""
    metrics, samples = feeds(shell.workspace)

    def log(asked: Any) -> str:
        return log_tail(shell, asked)

    bar = component("runbar", {"read_only": shell.read_only}, uses=["dom"], elem_id="runbar")
    chart = component("chart", {"run": ""}, uses=CHART, server_functions=[metrics], elem_id="chart")
    gr.HTML("<h3>Sentences rebuilt from their vector alone</h3>", apply_default_css=False)
    table = component("probes", {"run": ""}, uses=WORDS, server_functions=[samples], elem_id="probes")
    component("log", {}, uses=["dom"], server_functions=[log], elem_id="log")

    def on_pick(name: str) -> tuple[dict[str, str], dict[str, str]]:
        return {"run": name or ""}, {"run": name or ""}

    def on_open(request: gr.Request) -> tuple[dict[str, str], dict[str, str]]:
        return on_pick(see(shell, request.query_params.get("run", ""))[1]["run"])

    packed = gr.DownloadButton("Download", elem_id="take-file", elem_classes=["out-of-sight"])

    def on_take(name: str) -> Any:
        return gr.DownloadButton(value=pack(shell, name))

    def on_stop(name: str) -> tuple[Any, ...]:
        return act(shell, name, run_queue.halt)

    def on_kill(name: str) -> tuple[Any, ...]:
        return act(shell, name, run_queue.end)

    def on_resume(name: str) -> tuple[Any, ...]:
        return act(shell, name, launch.start)

    def on_delete(name: str) -> tuple[Any, ...]:
        return act(shell, name, delete_run)

    shell.app.load(on_open, None, [chart, table], **QUIET)  # the picker still holds what it was built with
    shell.picker.change(on_pick, shell.picker, [chart, table], **QUIET)
    for event, handler in [
        (bar.run_stop, on_stop),
        (bar.run_kill, on_kill),
        (bar.run_resume, on_resume),
        (bar.run_delete, on_delete),
    ]:
        event(handler, shell.picker, [shell.picker, shell.facts], **QUIET)
    bar.run_take(on_take, shell.picker, packed, **QUIET).success(None, None, None, js=HAND_OVER, **QUIET)


def pack(shell: Shell, name: str) -> str:
    """The run's encoder as a zip file, in a folder of its own that Gradio may hand out."""
    try:
        return str(zip_encoder(find_run(shell.workspace, name), Path(tempfile.mkdtemp(dir=PACKED.name))))
    except (ValueError, OSError) as error:
        raise gr.Error(why(error), print_exception=False) from error


def act(shell: Shell, name: str, deed: Callable[[Run], None]) -> tuple[Any, ...]:
    """Do something with the chosen run; the page shows what came of it."""
    try:
        if shell.read_only:
            raise ValueError("This page is read-only: runs cannot be changed here.")
        deed(find_run(shell.workspace, name))
    except (ValueError, OSError) as error:
        raise gr.Error(why(error), print_exception=False) from error
    return see(shell, name)


def log_tail(shell: Shell, asked: Any) -> str:
    """The end of a run's log; what the browser sends is only looked up."""
    name = asked[0] if isinstance(asked, list) and asked else asked
    try:
        return find_run(shell.workspace, str(name)).log_tail(LOG_LINES)
    except ValueError:
        return ""
