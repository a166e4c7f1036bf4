"""The Train tab. Top: what to train on, what may go wrong, the start. Left: the settings. Right: ui/watch.py."""

from __future__ import annotations

from typing import Any

import gradio as gr

from tsdae_core import launch, preflight, recipes, run_queue
from tsdae_core.config import PRESETS, TrainConfig, checked
from tsdae_core.recipes import ONE
from tsdae_core.records import why
from tsdae_core.runs import Run, create_run, free_name, safe_name
from tsdae_core.supervision import has_pairs
from tsdae_core.ui import forms, several, watch
from tsdae_core.ui.components import component
from tsdae_core.ui.drafts import find_draft, first_found
from tsdae_core.ui.header import see
from tsdae_core.ui.shell import LIGHT, QUIET, Shell

FIRST = next(iter(PRESETS))
NO_TEXT = "Load a text on the Data tab first."
READ_ONLY = "This page is read-only: nothing can be started here."
LONGEST_PROBE = 1000
MOST_PROBES = 12


def build(shell: Shell) -> None:
    """The tab's components and what they do."""
    with gr.Row(elem_id="start-head"):
        about = component("findings", {}, uses=["dom"], elem_id="findings")
        with gr.Row(elem_classes=["buttons"]):
            measure = gr.Button("Measure", interactive=False, elem_id="measure", min_width=100)
            start = gr.Button(
                "Start training", variant="primary", interactive=False, elem_id="start", min_width=160
            )
    with gr.Row(elem_classes=["split"]):
        with gr.Column(scale=1, min_width=320, elem_classes=["side"]):
            preset = gr.Radio(
                [(f"{name}\n{one.text}", name) for name, one in PRESETS.items()],
                value=FIRST,
                label="Start from",
                elem_id="preset",
                elem_classes=["cards"],
            )
            recipe = several.recipe_choice()
            form = forms.build_form(FIRST)
            with gr.Accordion("Sentences to watch", open=False, elem_id="probes-fold"):
                probes = gr.Textbox(
                    label="Your own sentences, one per line",
                    info="They are rebuilt again and again while the run learns. Left empty, six held-out ones are taken.",
                    lines=3,
                    max_lines=MOST_PROBES,
                    elem_id="probes-text",
                )
            name = gr.Textbox(label="Name of the run", placeholder="named after the text", elem_id="run-name")
            varied = several.sweep_fold()
        with gr.Column(scale=3, min_width=320, elem_classes=["result"]):
            several.queue_view(shell)
            watch.build(shell)

    given = [shell.draft, preset, name, *form.inputs.values()]
    judged = [shell.draft, preset, recipe, name, *form.inputs.values()]
    seen = [about, start, measure, form.fold]

    def on_change(key: str, preset: str, recipe: str, name: str, *values: Any) -> tuple[Any, ...]:
        shown, button, fold = judge(shell, key, preset, recipe=recipe, name=name, values=form.values(values))
        return shown, button, button, fold

    def on_open(request: gr.Request, kept: str, *rest: Any) -> tuple[Any, ...]:
        return on_change(first_found(shell.workspace, request.query_params.get("draft"), kept), *rest)

    def on_preset(preset: str, base: str) -> list[Any]:
        return form.shown(forms.preset_with(preset, base))

    def on_objective(preset: str, objective: str) -> list[Any]:
        values = forms.brought(preset, objective)
        return [values.get(name, gr.skip()) for name in form.inputs]

    def on_measure(shown: Any, key: str, preset: str, name: str, *values: Any) -> dict[str, Any]:
        return (shown or {}) | {"estimate": measured(shell, key, form.values(values))}

    def on_start(key: str, preset: str, name: str, *rest: Any) -> tuple[Any, ...]:
        *values, probes, recipe = rest
        try:
            run = begin(shell, key, form.values(values), name=name, probes=probes, recipe=recipe)
        except (ValueError, OSError) as error:
            raise gr.Error(forms.plain(why(error)), print_exception=False) from error
        return *see(shell, run.name), gr.Tabs(selected="train")

    often = QUIET | {"trigger_mode": "always_last", "concurrency_limit": None}
    changes = [one.change for one in judged]
    shell.app.load(on_open, judged, seen, **QUIET)
    gr.on([shell.tabs.change, *changes], on_change, judged, seen, **often)
    several.wire_sweep(shell, varied, given=given, form=form, see=see)
    base = form.inputs["base_model"]
    gr.on(
        [shell.app.load, base.change],
        lambda name: gr.Dropdown(
            forms.base_choices() + forms.own_bases(shell.workspace), info=forms.about_base(name)
        ),
        base,
        base,
        **QUIET,
    )
    steps, first = form.inputs["max_steps"], form.inputs["decoder_warmup_steps"]
    gr.on([steps.blur, steps.submit], shorter_beginning, [steps, first], first, **QUIET)
    base.change(lambda name: name or "", base, shell.base, **QUIET)  # unqueued, a state tells nobody
    preset.input(on_preset, [preset, base], list(form.inputs.values()), **LIGHT)
    chosen = form.inputs["objective"]
    chosen.input(on_objective, [preset, chosen], list(form.inputs.values()), **LIGHT)
    measure.click(on_measure, [about, *given], about, api_visibility="private", show_progress="minimal")
    gr.on(
        [start.click, name.submit],
        on_start,
        [*given, probes, recipe],
        [shell.picker, shell.facts, shell.tabs],
        **QUIET,
    )


def shorter_beginning(steps: Any, first: Any) -> Any:
    """A run with fewer steps than its preset has a shorter beginning, as with `TrainConfig.from_preset`."""
    if isinstance(steps, int | float) and isinstance(first, int | float) and first >= steps > 0:
        return int(steps) // 3
    return gr.skip()


def judge(
    shell: Shell, key: str, preset: str, *, name: str, values: dict[str, Any], recipe: str = ONE
) -> tuple[dict[str, Any], gr.Button, Any]:
    """What the settings mean for this text: findings, whether a start makes sense, the fold's title."""
    draft = find_draft(shell.workspace, key)
    table = draft.table() if draft else None
    what = "pairs" if table is not None and has_pairs(table) else "sentences"
    text = {"title": draft.title, "count": f"{table.num_rows:,} {what}"} if draft else None
    try:
        config = checked(values)
    except (ValueError, OSError) as error:
        return said([("error", forms.plain(why(error)))], text), gr.Button(interactive=False), gr.skip()
    fold = gr.Accordion(label=forms.fold_title(config))
    if draft is None:
        return said([("info", NO_TEXT)], None, off=NO_TEXT), gr.Button(interactive=False), fold
    stages = [config] if recipe == ONE else recipes.stages(recipe, config)
    every = [(one.level, forms.plain(one.text)) for stage in stages for one in preflight.check(stage, table)]
    if other := run_queue.in_the_way(shell.workspace, config.devices):
        every.append(("info", f"{other} is being trained; this run waits for it in the queue."))
    if recipe == ONE and (words := about_name(shell, name, draft.title)):
        every.append(("info", words))
    found = sorted(dict.fromkeys(every), key=lambda one: ("error", "warning", "info").index(one[0]))
    off = READ_ONLY if shell.read_only else ""
    command = forms.command_line(
        config,
        preset,
        draft.path,
        name=safe_name(name or ""),
        workspace=shell.workspace,
        pairs=what == "pairs",
        recipe="" if recipe == ONE else recipe,
    )
    shown = said([("info", off), *found] if off else found, text, command=command, off=off)
    return shown, gr.Button(interactive=not shown["off"]), fold


def stem_of(title: str) -> str:
    """What a run without a name is called after."""
    return title.split(".")[0]


def about_name(shell: Shell, name: str, title: str) -> str:
    """What the run will be called, when that is not what was typed; "" when it is, or when nothing was."""
    typed = (name or "").strip()
    if not typed:
        return ""
    called = free_name(shell.workspace, typed if safe_name(typed) else stem_of(title))
    if called == typed:
        return ""
    why = (
        f"there is a run {safe_name(typed)} already"
        if called != safe_name(typed) and safe_name(typed)
        else "names have letters from a to z, digits, dots, dashes and underscores, at most 60"
    )
    return f'The run will be called "{called}": {why}.'


def said(
    findings: list[tuple[str, str]], text: dict[str, str] | None, *, command: str = "", off: str = ""
) -> dict[str, Any]:
    """What the component `findings` draws; `off` is why the start is off, by itself the first error."""
    found = [{"level": level, "text": words} for level, words in findings]
    wrong = next((words for level, words in findings if level == "error"), "")
    return {"text": text, "findings": found, "command": command, "estimate": None, "off": off or wrong}


def measured(shell: Shell, key: str, values: dict[str, Any]) -> dict[str, Any]:
    """Time, memory and disk of the run, from a few real steps; or one sentence on why not."""
    draft = find_draft(shell.workspace, key)
    try:
        if draft is None or shell.read_only:
            raise ValueError(READ_ONLY if shell.read_only else NO_TEXT)
        return {"text": preflight.measure(checked(values), draft.table()).text}
    except (ValueError, OSError) as error:
        return {"error": forms.plain(why(error))}


def begin(
    shell: Shell, key: str, values: dict[str, Any], *, name: str, probes: str, recipe: str = ONE
) -> Run:
    """Make the run and start it, or let it wait for the one that is being trained; of a recipe both. Returns the first.

    Raises:
        ValueError: with one sentence when it cannot be started.
    """
    draft = find_draft(shell.workspace, key)
    if draft is None or shell.read_only:
        raise ValueError(READ_ONLY if shell.read_only else NO_TEXT)
    config: TrainConfig = checked(values)
    table = draft.table()
    for stage in [config] if recipe == ONE else recipes.stages(recipe, config):
        for finding in preflight.check(stage, table):
            if finding.level == "error":
                raise ValueError(finding.text)
    own = [line.strip()[:LONGEST_PROBE] for line in (probes or "").splitlines() if line.strip()]
    stem = stem_of(draft.title)
    called = name if safe_name(name or "") else stem
    if recipe != ONE:
        return recipes.create(
            shell.workspace,
            recipe,
            config,
            table,
            name=called,
            probes=own[:MOST_PROBES],
        )[0]
    run = create_run(shell.workspace, config, table, name=called, probes=own[:MOST_PROBES])
    if run_queue.in_the_way(shell.workspace, config.devices):
        run_queue.enqueue(shell.workspace, [run.name])
    else:
        launch.start(run)
    return run
