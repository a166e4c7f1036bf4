"""The page's frame: header with the run picker, the tabs, and what keeps the header true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from tsdae_core.config import PRESETS, TrainConfig
from tsdae_core.runs import list_runs
from tsdae_core.ui import compare, data, header, rebuild, search, train
from tsdae_core.ui import map as map_tab
from tsdae_core.ui.components import ASSETS, component, plotly_script, stylesheets
from tsdae_core.ui.shell import LIGHT, QUIET, Picker, Shell
from tsdae_core.ui.theme import THEME

TABS = {
    "Data": data.build,
    "Train": train.build,
    "Rebuild": rebuild.build,
    "Search": search.build,
    "Map": map_tab.build,
    "Compare": compare.build,
}

LAUNCH: dict[str, Any] = {
    "theme": THEME,
    "css_paths": stylesheets(),
    "head": plotly_script(),
    "footer_links": [],
    "run_history": False,
    "enable_monitoring": False,
    "favicon_path": ASSETS / "logo.svg",
}
"""Keyword arguments of `Blocks.launch` that belong to the page rather than to whoever starts it."""

TAB_INTO_URL = "() => document.dispatchEvent(new Event('tsdae-tab'))"


def build_app(workspace: Path, *, read_only: bool = False) -> gr.Blocks:
    """The whole page over the runs in `workspace`. Serve it with `build_app(...).launch(**LAUNCH)`."""
    with gr.Blocks(title="TSDAE Studio", fill_width=True, analytics_enabled=False) as app:
        choices = header.run_choices(list_runs(workspace))
        with gr.Row(elem_id="header"):
            gr.HTML(_brand(), elem_id="brand", apply_default_css=False)
            picker = Picker(
                choices,
                value=choices[0][1],
                label="Run",
                container=False,
                filterable=len(choices) > 12,
                elem_id="picker",
                min_width=200,
            )
            facts = component(
                "header",
                {},
                uses=["dom"],
                server_functions=[header.feed(workspace)],
                elem_id="facts",
                min_width=200,
            )
        draft = gr.BrowserState("", storage_key="tsdae-draft", secret="tsdae-draft")
        own = gr.BrowserState("", storage_key="tsdae-own", secret="tsdae-own")
        base = gr.State(TrainConfig.from_preset(next(iter(PRESETS))).base_model)
        with gr.Tabs(elem_id="tabs") as tabs:
            places = {name: gr.Tab(name, id=name.lower()) for name in TABS}
        shell = Shell(app, workspace, picker, tabs, read_only, draft, facts, base, own)
        for name, place in places.items():
            with place:
                TABS[name](shell)
        _keep_true(shell)
    return app


def _brand() -> str:
    logo = (ASSETS / "logo.svg").read_text(encoding="utf-8")
    return f'<div class="brand">{logo}<span>TSDAE Studio</span></div>'


def _keep_true(shell: Shell) -> None:
    """The run in the address, and the header's facts, at every load and choice, and when the list of runs changes.

    The header asks by itself how the run is doing: an event of Gradio's would walk through all components of the page each time.
    """

    def on_load(request: gr.Request) -> tuple[Any, ...]:
        tab = request.query_params.get("tab", "")
        known = tab in [name.lower() for name in TABS]
        return *header.see(shell, request.query_params.get("run", "")), gr.Tabs(
            selected=tab
        ) if known else gr.skip()

    def on_unknown(request: gr.Request) -> None:
        wanted = request.query_params.get("run", "")
        if wanted and wanted not in [run.name for run in list_runs(shell.workspace)]:
            gr.Warning("The run that this address names is not here (any more); another one is shown.")

    def on_pick(name: str) -> dict[str, Any]:
        return header.see(shell, name)[1]

    def on_changed(name: str) -> tuple[Any, ...]:
        return header.see(shell, name)

    shell.app.load(on_load, None, [shell.picker, shell.facts, shell.tabs], **LIGHT)
    shell.app.load(on_unknown, None, None, **QUIET)
    shell.picker.change(on_pick, shell.picker, shell.facts, **LIGHT)
    shell.tabs.change(None, None, None, js=TAB_INTO_URL, **QUIET)
    shell.facts.runs_changed(on_changed, shell.picker, [shell.picker, shell.facts], **LIGHT)
