"""The Compare tab: this run, its base, BM25 and any further encoder on a task of the user's, as a table and as bars."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from tsdae_core import launch, run_queue
from tsdae_core.evaluate.kinds import KINDS, PROXIES
from tsdae_core.records import why
from tsdae_core.runs import ACTIVE, Run, find_run, list_runs
from tsdae_core.sweeps import find_sweep
from tsdae_core.ui import forms
from tsdae_core.ui.compare_feeds import NO_RUN, SWEEP, choices, feeds, find_job, rows_of, shown_choices
from tsdae_core.ui.compare_files import ABOUT, ENDINGS, keep_systems
from tsdae_core.ui.components import component
from tsdae_core.ui.rebuild_models import has_model
from tsdae_core.ui.shell import QUIET, Shell
from tsdae_core.ui.warm import heavy

READ_ONLY = "This page is read-only: nothing can be started here."
OWN = [
    ("Its labels\nSentences of one label should lie together.", "labels"),
    (
        "A sentence finds its original (proxy)\n60 % of its words are deleted. Favours matching words.",
        "damaged",
    ),
    ("Two halves find each other (proxy)\nOf a document. They share a topic, no more.", "halves"),
    ("A file of mine\nPairs, lists, retrieval or labels, made by people.", "file"),
]
UPLOADS = [(kind.title, kind.key) for kind in KINDS.values() if kind.key not in PROXIES]


def build(shell: Shell) -> None:
    """The tab's components and their events."""
    with gr.Row(elem_classes="map-ask"):
        gr.Markdown("Is it better, and than what? Measured on your own data.", elem_classes="lead")
        go = gr.Button(
            "Evaluate",
            variant="primary",
            interactive=not shell.read_only,
            scale=0,
            min_width=130,
            elem_id="compare-go",
        )
    with gr.Row(elem_classes=["split"]):
        with gr.Column(scale=1, min_width=320, elem_classes=["side"]):
            which = gr.Dropdown(
                shown_choices(shell.workspace),
                value="",
                label="Show",
                info="A comparison of the run, or the table of a sweep",
                visible=False,
                elem_id="compare-show",
            )
            systems = gr.CheckboxGroup(
                choices(), value=["base", "run", "bm25"], label="Compare", elem_id="compare-systems"
            )
            further = gr.Dropdown(
                [],
                value=[],
                multiselect=True,
                allow_custom_value=True,
                label="Further encoders",
                info="Another run, RUN@STEP, a model folder or a hub name; LABEL=RUN,RUN is one row of several seeds; type it and press Enter",
                elem_id="compare-further",
            )
            with gr.Accordion("Systems from files", open=False, elem_id="compare-system-files"):
                gr.Markdown(ABOUT, elem_classes=["quiet"])
                vectors = gr.File(
                    show_label=False,
                    file_count="multiple",
                    file_types=ENDINGS,
                    height=116,
                    elem_id="compare-vectors",
                )
            task = gr.Radio(OWN, value="damaged", label="On", elem_id="compare-task", elem_classes=["cards"])
            with gr.Column(visible=False, elem_id="compare-file") as own:
                kind = gr.Dropdown(UPLOADS, value="pairs", label="Kind of task", elem_id="compare-kind")
                about = gr.Markdown(format_of("pairs"), elem_classes=["quiet", "compare-format"])
                file = gr.File(
                    show_label=False,
                    file_count="multiple",
                    file_types=list(KINDS["pairs"].upload),
                    height=116,
                    elem_id="compare-upload",
                )
            follow = gr.Button(
                "Measure every checkpoint", interactive=not shell.read_only, elem_id="compare-follow"
            )
            gr.Markdown(
                "On the task above: a curve over the steps, also while the run is trained. It chooses nothing; RUN@STEP names a checkpoint.",
                elem_classes=["quiet"],
            )
        with gr.Column(scale=3, min_width=320, elem_classes=["result"]):
            view = component(
                "compare",
                {"run": ""},
                uses=["dom", "compare_curve"],
                server_functions=feeds(shell.workspace),
                elem_id="compare",
            )

    def on_run(name: str) -> tuple[dict[str, Any], gr.Dropdown, gr.Dropdown]:
        tables = shown_choices(shell.workspace)
        show = gr.Dropdown(tables, value="", visible=len(tables) > 1)
        return {"run": name or ""}, gr.Dropdown(choices=others(shell.workspace, name)), show

    def on_show(name: str, which: str) -> dict[str, Any]:
        return {"run": which or name or ""}

    def on_tab(which: str) -> gr.Dropdown:
        tables = shown_choices(shell.workspace)
        known = which in [value for _, value in tables]
        return gr.Dropdown(tables, value=which if known else "", visible=len(tables) > 1)

    def on_task(which: str) -> gr.Column:
        return gr.Column(visible=which == "file")

    def on_kind(key: str) -> tuple[str, gr.File]:
        return format_of(key), gr.File(file_types=list(KINDS[key].upload), value=None)

    def on_go(name: str, *asked: Any) -> tuple[dict[str, Any], str]:
        return {
            "run": name or "",
            "message": start(shell, name, *asked),
            "asked": True,
        }, ""  # a sweep steps aside

    def on_follow(name: str, *asked: Any) -> tuple[dict[str, Any], str]:
        return {"run": name or "", "message": start_follow(shell, name, *asked), "followed": True}, ""

    def on_stop(name: str, which: str, event: gr.EventData) -> dict[str, Any]:
        shown = which or name or ""
        return {"run": shown, "message": stop(shell, shown, str(event._data.get("job", "")))}

    def on_table(which: str) -> dict[str, Any]:
        return {"run": which or "", "message": make_table(shell, which or ""), "asked": True}

    gr.on([shell.picker.change, shell.app.load], on_run, shell.picker, [view, further, which], **QUIET)
    shell.tabs.change(on_tab, which, which, **QUIET)
    which.input(on_show, [shell.picker, which], view, **QUIET)
    task.change(on_task, task, own, **QUIET)
    kind.change(on_kind, kind, [about, file], **QUIET)
    go.click(on_go, [shell.picker, systems, further, task, kind, file, vectors], [view, which], **QUIET)
    follow.click(on_follow, [shell.picker, task, kind, file], [view, which], **QUIET)
    view.compare_stop(on_stop, [shell.picker, which], view, **QUIET)
    view.compare_table(on_table, which, view, **QUIET)


def format_of(key: str) -> str:
    """A kind's format and its first lines, as Markdown."""
    kind = KINDS[key]
    lines = kind.example.replace("\t", "  ⇥  ")
    return f"{' '.join(kind.text.split())} Measured: {kind.measures}.\n\n```text\n{lines}\n```"


def others(workspace: Path, name: str) -> list[str]:
    """Names to offer as further encoders: the other runs that have one."""
    return [run.name for run in list_runs(workspace) if run.name != name and has_model(run)]


def tried(shell: Shell, act: Callable[[], object]) -> str:
    """Do what a button asks for; "" or one sentence on why not."""
    try:
        if shell.read_only:
            raise ValueError(READ_ONLY)
        act()
    except ValueError as error:
        return forms.plain(why(error))
    return ""


def _run(shell: Shell, name: str) -> Run:
    if not name:
        raise ValueError(NO_RUN)
    return find_run(shell.workspace, name)


def start(
    shell: Shell,
    name: str,
    systems: list[str],
    further: list[str] | None,
    task: str,
    kind: str,
    files: list[str] | None,
    vectors: list[str] | None = None,
) -> str:
    """Start the evaluation; "" or one sentence on why not. `vectors` are uploaded systems."""

    def act() -> None:
        run = _run(shell, name)
        heavy()
        from tsdae_core.evaluate import job  # noqa: PLC0415 (brings torch, which the page need not wait for)

        if any(one.state in ACTIVE for one in job.evaluations(shell.workspace, name)[:1]):
            raise ValueError(f"An evaluation of {name} is going on; stop it first, or wait for it.")
        uploaded = keep_systems(shell.workspace, [Path(path) for path in vectors or []])
        rows = rows_of(shell.workspace, run, systems, further or [], uploaded=uploaded)
        own, paths = "" if task == "file" else task, [Path(path) for path in files or []]
        job.start_evaluation(shell.workspace, run, rows, own=own, kind=kind, files=paths)

    return tried(shell, act)


def start_follow(shell: Shell, name: str, task: str, kind: str, files: list[str] | None) -> str:
    """Measure the chosen task at every checkpoint; "" or one sentence on why not."""

    def act() -> None:
        run = _run(shell, name)
        heavy()
        from tsdae_core.evaluate import follow  # noqa: PLC0415 (brings torch, which the page need not wait for)

        own, paths = "" if task == "file" else task, [Path(path) for path in files or []]
        follow.start_following(shell.workspace, run, own=own, kind=kind, files=paths)

    return tried(shell, act)


def stop(shell: Shell, shown: str, key: str) -> str:
    """End the process of an evaluation, a curve or a sweep's table. "" or one sentence on why not."""

    def act() -> None:
        job = find_job(shell.workspace, shown, key)
        launch.kill(job)
        job.write_status(state="stopped", phase="Stopped")

    return tried(shell, act)


def make_table(shell: Shell, shown: str) -> str:
    """Let the queue make a sweep's table, once more if there is one. "" or one sentence on why not."""

    def act() -> None:
        sweep = find_sweep(shell.workspace, shown.removeprefix(SWEEP))
        if sweep.state in ACTIVE:
            raise ValueError(f"The table of {sweep.name} is on its way already.")
        run_queue.enqueue(shell.workspace, [f"{run_queue.SWEEPS}/{sweep.name}"])

    return tried(shell, act)
