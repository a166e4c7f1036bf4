"""More than one run, on the Train tab: two-stage recipes, the values of a sweep, and the queue that does one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.components import FormComponent

from tsdae_core import run_queue
from tsdae_core.config import TrainConfig, checked, describe
from tsdae_core.recipes import ONE, RECIPES
from tsdae_core.records import why
from tsdae_core.runs import Run, find_run, list_runs
from tsdae_core.sweeps import SIZE, Sweep, combinations, create_sweep, trainable, values_of
from tsdae_core.ui import forms
from tsdae_core.ui.components import component
from tsdae_core.ui.drafts import find_draft
from tsdae_core.ui.shell import LIGHT, QUIET, Shell

VARIED = {
    "noise_ratio": "0.3, 0.6, 0.9",
    "noise": "delete, swap, mask",
    "pooling": "cls, mean, max",
    "tied": "yes, no",
    "objective": "tsdae, mlm, ct, simcse",
    "base_model": "names, with commas between",
    SIZE: "128..65536 doubles; or 128, 1024, 8192",
    "seed": "1, 2, 3",
}
"""What a sweep can vary on the page (the shell takes any setting), with an example of its values."""

SIZE_LABEL = "Sentences to train on (corpus size)"
READ_ONLY = "This page is read-only: nothing can be started here."
NO_TEXT = "Load a text on the Data tab first."


def recipe_choice() -> gr.Radio:
    """One run, or a recipe of two."""
    every = [("One run\nWith the settings below.", ONE)]
    every += [(f"{one.title}\n{one.text}", key) for key, one in RECIPES.items()]
    return gr.Radio(every, value=ONE, label="Stages", elem_id="recipe", elem_classes=["cards"])


@dataclass(frozen=True)
class SweepFold:
    """The sweep's inputs by what they vary, the systems beside, what the values come to, and the button."""

    inputs: dict[str, FormComponent]
    beside: FormComponent
    count: gr.Markdown
    button: gr.Button


def sweep_fold() -> SweepFold:
    """The values of a sweep, what they come to, and the button that puts the runs into the queue."""
    inputs: dict[str, FormComponent] = {}
    with gr.Accordion("Several values (sweep)", open=False, elem_id="sweep"):
        gr.Markdown(
            "Values with commas between; every combination is a run, and all else is as set above. A tenth of the text is set "
            "aside for the table, which comes on the Compare tab.",
            elem_classes=["quiet"],
        )
        for name, example in VARIED.items():
            label = SIZE_LABEL if name == SIZE else describe(name).label
            inputs[name] = gr.Textbox(label=label, placeholder=example, elem_id=f"vary-{name}")
        beside = gr.Textbox(
            label="Beside them in the table",
            info="Runs or other encoders. For example a TSDAE run, while supervised runs vary their number of labelled sentences",
            placeholder="names, with commas between",
            elem_id="sweep-beside",
        )
        count = gr.Markdown("", elem_id="sweep-count", elem_classes=["quiet"])
        button = gr.Button("Queue these runs", interactive=False, elem_id="sweep-go")
    return SweepFold(inputs, beside, count, button)


def queue_view(shell: Shell) -> gr.HTML:
    """The queue as a list; empty and hidden while nothing waits."""
    view = component(
        "queue",
        {"read_only": shell.read_only},
        uses=["dom"],
        server_functions=[feed(shell.workspace)],
        elem_id="queue",
    )

    def on_act(shown: dict[str, Any], event: gr.EventData) -> dict[str, Any]:
        said = act(shell, str(event._data.get("deed", "")), str(event._data.get("name", "")))
        return {"read_only": shell.read_only, "message": said, "turn": int((shown or {}).get("turn", 0)) + 1}

    view.queue_act(on_act, view, view, **QUIET)
    return view


def feed(workspace: Path) -> Callable[[list[Any]], dict[str, Any]]:
    """What the list asks for: who waits, whether the queue goes on, and what it is at."""

    def queue(_: list[Any]) -> dict[str, Any]:
        job = run_queue.queue_job(workspace)
        waits = [{"name": entry, "title": _title(entry, one)} for entry, one in run_queue.waiting(workspace)]
        alive = job.process() is not None
        training = next((run.name for run in list_runs(workspace) if run.state in run_queue.AT_WORK), "")
        return {
            "waiting": waits,
            "going": alive and not job.stop_requested(),
            "pausing": alive and job.stop_requested(),
            "current": training,
        }

    return queue


def _title(entry: str, job: Any) -> str:
    if not isinstance(job, Run):
        return f"Table of the sweep {job.name}"
    base = run_queue.base_run(job)
    return f"{entry}, from the encoder of {base.name}" if base else entry


def act(shell: Shell, deed: str, name: str) -> str:
    """Change the queue: up, down, remove, pause, resume. "" or one sentence on why not."""
    try:
        if shell.read_only:
            raise ValueError(READ_ONLY)
        if deed in ("up", "down"):
            run_queue.move(shell.workspace, name, by=-1 if deed == "up" else 1)
        elif deed == "remove":
            found = dict(run_queue.waiting(shell.workspace))
            if name in found:
                run_queue.halt(found[name])
        elif deed == "pause":
            run_queue.pause(shell.workspace)
        elif deed == "resume":
            run_queue.resume(shell.workspace)
    except (ValueError, OSError) as error:
        return why(error)
    return ""


def wanted(texts: Sequence[str | None], *, most: int = 0) -> dict[str, list[Any]]:
    """Setting -> values, from what the fields hold; `most` as for `values_of`. Raises `ValueError` for a wrong value."""
    return {
        name: values_of(name, text, most=most)
        for name, text in zip(VARIED, texts, strict=True)
        if (text or "").strip()
    }


def count_words(texts: Sequence[str | None], *, most: int = 0) -> tuple[str, bool]:
    """What the values come to, in words, and whether they make a sweep; `most` as for `values_of`."""
    try:
        vary, asked = wanted(texts, most=most), wanted(texts) if most else {}
        runs = len(combinations(vary)) if vary else 0
    except (ValueError, OSError) as error:
        return plain(why(error)), False
    if not runs:
        return "", False
    said = f"{runs:,} run{'s' if runs > 1 else ''}, one after the other, then a table."
    if asked.get(SIZE, []) != vary.get(SIZE, []) and most:
        said += f" The text has {most:,} sentences to train on, so the sizes end with {max(vary[SIZE]):,}."
    return said, True


def plain(text: str) -> str:
    """An error's sentence with the labels of the fields."""
    return forms.plain(text.replace(SIZE, f"'{SIZE_LABEL}'"))


def told(text: str, *, wrong: bool = False) -> gr.Markdown:
    """A word below the sweep's values; what is wrong stands out."""
    return gr.Markdown(text, elem_classes=["sweep-wrong" if wrong else "quiet"])


def _most(shell: Shell, key: str | None) -> int:
    """How many sentences of the loaded text a sweep can train on; 0 without a text."""
    draft = find_draft(shell.workspace, key)
    return trainable(draft.count()) if draft else 0


def start_sweep(
    shell: Shell,
    key: str,
    preset: str,
    *,
    values: dict[str, Any],
    texts: Sequence[str | None],
    name: str,
    beside: str = "",
) -> Sweep:
    """Queue a sweep of the loaded text. Raises `ValueError` with one sentence when it cannot be."""
    draft = find_draft(shell.workspace, key)
    if draft is None or shell.read_only:
        raise ValueError(READ_ONLY if shell.read_only else NO_TEXT)
    config: TrainConfig = checked(values)
    usual = TrainConfig.from_preset(preset, objective=config.objective)
    changes = {"objective": config.objective} | forms.changed(config, usual)
    stem = name or f"{draft.title.split('.')[0]}-sweep"
    others = list(dict.fromkeys(part.strip() for part in (beside or "").split(",") if part.strip()))
    table = draft.table()
    vary = wanted(texts, most=trainable(table.num_rows))
    return create_sweep(shell.workspace, changes, vary, table, name=stem, preset=preset, beside=others)


def wire_sweep(
    shell: Shell,
    fold: SweepFold,
    *,
    given: list[Any],
    form: forms.Form,
    see: Callable[..., tuple[Any, ...]],
) -> None:
    """Connect the sweep's fields; `given` are the draft, the preset, the run's name and the form's inputs."""

    def on_values(key: str, *texts: str) -> tuple[gr.Markdown, gr.Button]:
        said, good = count_words(texts, most=_most(shell, key))
        return told(said, wrong=bool(said) and not good), gr.Button(interactive=good and not shell.read_only)

    def on_queue(beside: str, *rest: Any) -> tuple[Any, ...]:
        texts, (key, preset, name, *values) = rest[: len(VARIED)], rest[len(VARIED) :]
        try:
            sweep = start_sweep(
                shell, key, preset, values=form.values(values), texts=texts, name=name, beside=beside
            )
        except (ValueError, OSError) as error:
            return gr.skip(), gr.skip(), told(plain(why(error)), wrong=True)
        first = find_run(shell.workspace, sweep.asked()["runs"][0]["run"])
        return *see(shell, first.name), told(f"The sweep {sweep.name} is in the queue.")

    fields = list(fold.inputs.values())
    gr.on([one.change for one in fields], on_values, [given[0], *fields], [fold.count, fold.button], **LIGHT)
    shown = [shell.picker, shell.facts, fold.count]
    fold.button.click(on_queue, [fold.beside, *fields, *given], shown, **QUIET)
