"""The page's frame: header with the run picker, the tabs, and the one timer that keeps the header true."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gradio as gr

from tsdae_core.runs import list_runs
from tsdae_core.ui.components import ASSETS, plotly_script, stylesheets
from tsdae_core.ui.shell import LIGHT, Shell

TABS = ("Data", "Train", "Rebuild", "Search", "Map")

LAUNCH: dict[str, Any] = {
    "css_paths": stylesheets(),
    "head": plotly_script(),
    "footer_links": [],
    "run_history": False,
    "enable_monitoring": False,
    "favicon_path": ASSETS / "logo.svg",
}
"""Keyword arguments of `Blocks.launch` that belong to the page rather than to whoever starts it."""


def build_app(workspace: Path, *, read_only: bool = False) -> gr.Blocks:
    """The whole page over the runs in `workspace`. Serve it with `build_app(...).launch(**LAUNCH)`."""
    with gr.Blocks(title="TSDAE Studio", fill_width=True, analytics_enabled=False) as app:
        with gr.Row():
            gr.Markdown("# TSDAE Studio")
            picker = gr.Dropdown(_choices(workspace), value="", label="Run", elem_id="picker")
        draft = gr.BrowserState("", storage_key="tsdae-draft", secret="tsdae-draft")
        with gr.Tabs(elem_id="tabs") as tabs:
            places = {name: gr.Tab(name, id=name.lower(), elem_id=f"tab-{name.lower()}") for name in TABS}
        shell = Shell(app, workspace, picker, tabs, read_only, draft)
        for name, place in places.items():
            with place:
                _build_tab(name, shell)
        app.load(lambda: gr.Dropdown(_choices(workspace)), None, picker, **LIGHT)
    return app


def _build_tab(name: str, shell: Shell) -> None:
    module = f"tsdae_core.ui.{name.lower()}"
    if find_spec(module):
        import_module(module).build(shell)
    else:
        gr.Markdown(f"{name} comes here.")


def _choices(workspace: Path) -> list[tuple[str, str]]:
    return [(run.name, run.name) for run in list_runs(workspace)] or [("no run yet", "")]
