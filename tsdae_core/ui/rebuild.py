"""The Rebuild tab: hide words of a sentence and see what the decoder makes of the vector of what is left."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import gradio as gr

from tsdae_core.config import describe
from tsdae_core.records import why
from tsdae_core.runs import find_run
from tsdae_core.ui import lab, own_text
from tsdae_core.ui.components import component
from tsdae_core.ui.rebuild_models import (
    LONGEST,
    NEWEST,
    can_rebuild,
    may_rebuild,
    model_choices,
    no_model,
    pick_sentence,
)
from tsdae_core.ui.shell import FOLLOW, Shell
from tsdae_core.ui.warm import heavy

WAYS = [("likeliest word each time", "greedy"), ("search with beams", "beams"), ("by chance", "chance")]
"""How the decoder writes."""


def build(shell: Shell) -> None:
    """The tab's components and what they do."""
    gr.Markdown(
        "Hide words of a sentence, squeeze what is left into one vector, and see what the decoder rebuilds from it alone."
    )
    with gr.Row():
        with gr.Column(scale=1, min_width=280):
            text = gr.Textbox(
                label="Sentence",
                max_lines=8,
                max_length=LONGEST,
                placeholder="Type a sentence and press Enter",
                elem_id="rebuild-text",
            )
            another = gr.Button("Another sentence of the corpus", size="sm", elem_id="rebuild-another")
            go = gr.Button("Rebuild", variant="primary", elem_id="rebuild-go")
            noise = gr.Dropdown(describe("noise").choices, value="delete", label=describe("noise").label)
            ratio = gr.Slider(
                0, 1, value=0.6, step=0.05, label="Words affected", info="Share of the words that is damaged"
            )
            reroll = gr.Button("Damage other words", size="sm", elem_id="rebuild-reroll")
            with gr.Accordion("Seed, way of writing and model", open=False, elem_id="rebuild-more"):
                seed = gr.Number(0, label="Seed", precision=0, minimum=0, info="Decides which words are hit")
                way = gr.Radio(WAYS, value="greedy", label="How the decoder writes", elem_id="rebuild-way")
                beams = gr.Slider(
                    2, 8, value=4, step=1, label="Beams", visible=False, info="More find a likelier sentence"
                )
                warmth = gr.Slider(
                    0.1,
                    2,
                    value=1,
                    step=0.1,
                    label="Temperature",
                    visible=False,
                    info="Above 1 bolder, below 1 more careful; the seed decides the draw",
                )
                step = gr.Dropdown([("newest", NEWEST)], value=NEWEST, label="Model", elem_id="rebuild-step")
        with gr.Column(scale=3, min_width=320), gr.Tabs(elem_id="rebuild-parts"):
            with gr.Tab("One sentence"):
                view = component(
                    "tokens",
                    say("Choose a run above, or start one."),
                    uses=["dom", "words"],
                    elem_id="rebuild-view",
                )
                functions = lab.feeds(shell.workspace)
                views = [_view("inside", functions)]
            with gr.Tab("Through training"):
                views.append(_view("through", functions))
            with gr.Tab("Between two sentences"):
                views.append(_view("between", functions))
            with gr.Tab("Many at once"):
                own = own_text.build(
                    shell, "rebuild-in", label="Sentences of", own="held-out sentences of the run"
                )
                views.append(_view("many", functions))
    choices = [noise, ratio, seed, way, beams, warmth, step]

    def on_run(shown: Any, name: str) -> tuple[Any, ...]:
        if name and (shown or {}).get("run") == name:  # the picker only learned a new state of the same run
            return (gr.skip(),) * 4
        sentence, models = pick_sentence(shell.workspace, name), model_choices(shell.workspace, name)
        return sentence, models, *ready(shell.workspace, name)

    def on_open(event: gr.SelectData, shown: Any, name: str, *rest: Any) -> tuple[Any, ...]:
        if event.value != "Rebuild":
            return (gr.skip(),) * 3
        result = gr.skip() if is_shown(shown) else on_rebuild(name, *rest)
        return result, model_choices(shell.workspace, name), ready(shell.workspace, name)[1]

    def on_another(name: str) -> str:
        return pick_sentence(shell.workspace, name)

    def on_rebuild(name: str, sentence: str, *values: Any) -> dict[str, Any]:
        return rebuilt(shell.workspace, name, sentence, *values)

    def on_choice(shown: Any, name: str, *rest: Any) -> Any:
        return on_rebuild(name, *rest) if is_shown(shown) else gr.skip()

    def on_word(event: gr.EventData, shown: Any, name: str, *values: Any) -> dict[str, Any]:
        sentence = shown["sentence"]["source"] if is_shown(shown) else ""
        return rebuilt(shell.workspace, name, sentence, *values, deleted=event._data.get("deleted"))

    def on_settings(shown: Any, key: str, name: str, text: str, *values: Any) -> list[Any]:
        told = settings_of(shown, name, text, *values)
        return [told | {"in": key}] * len(views)

    def on_way(way: str) -> tuple[gr.Slider, gr.Slider]:
        return gr.Slider(visible=way == "beams"), gr.Slider(visible=way == "chance")

    quiet = {"api_visibility": "private", "show_progress": "hidden"}
    asked = {"api_visibility": "private", "show_progress": "minimal", "trigger_mode": "always_last"}
    given = [shell.picker, text, *choices]
    gr.on(
        [shell.picker.change, shell.app.load], on_run, [view, shell.picker], [text, step, view, go], **FOLLOW
    )
    shell.tabs.select(on_open, [view, *given], [view, step, go], **quiet)
    another.click(on_another, shell.picker, text, **quiet).then(on_rebuild, given, view, **asked)
    reroll.click(lambda: random.randrange(10_000), None, seed, **quiet).then(on_rebuild, given, view, **asked)
    gr.on([go.click, text.submit], on_rebuild, given, view, **asked)
    gr.on(
        [noise.input, ratio.release, seed.submit, way.input, beams.release, warmth.release, step.input],
        on_choice,
        [view, *given],
        view,
        **asked,
    )
    step.focus(lambda name: model_choices(shell.workspace, name), shell.picker, step, **quiet)
    way.change(on_way, way, [beams, warmth], **quiet)
    gr.on(
        [view.change, text.change, shell.picker.change, *(one.change for one in [*choices, own.where])],
        on_settings,
        [view, own.where, *given],
        views,
        **quiet,
        trigger_mode="always_last",
    )
    view.toggle(on_word, [view, shell.picker, *choices], view, **asked)


def _view(name: str, functions: list[Any]) -> gr.HTML:
    """A view that asks for itself, of the run and the settings that it is told."""
    return component(
        name, {"run": ""}, uses=["dom", "words", "lab"], server_functions=functions, elem_id=f"rebuild-{name}"
    )


def settings_of(shown: Any, name: str, text: str, *values: Any) -> dict[str, Any]:
    """What the other views work with: the run, the sentence typed and the one that is shown, and how it is damaged."""
    noise, ratio, seed, _, _, _, step = values
    here = is_shown(shown) and shown.get("run") == name
    return {
        "run": name or "",
        "text": (text or "").strip(),
        "shown": shown["sentence"]["source"] if here else "",
        "deleted": shown.get("by_hand") if here else None,
        "noise": noise,
        "ratio": ratio,
        "seed": seed or 0,
        "step": step or 0,
    }


def say(message: str, run: str = "") -> dict[str, Any]:
    """The result's place with nothing but a sentence in it."""
    return {"sentence": None, "message": message, "note": "", "run": run}


def is_shown(value: Any) -> bool:
    """Whether the result's place holds a rebuilt sentence."""
    return isinstance(value, dict) and isinstance(value.get("sentence"), dict)


def rebuilt(
    workspace: Path,
    name: str,
    text: str,
    noise: str,
    ratio: float,
    seed: float | None,
    way: str,
    beams: float,
    warmth: float,
    step: int | None,
    *,
    deleted: list[int] | None = None,
) -> dict[str, Any]:
    """The sentence rebuilt by a run's model, or one sentence on why not."""
    heavy()
    from tsdae_core import rebuild as core  # noqa: PLC0415 (brings torch, which the page need not wait for)

    try:
        if not name:
            raise ValueError("Choose a run above, or start one.")
        run = find_run(workspace, name)
        if not can_rebuild(run):
            raise ValueError(no_model(run))
        model = core.load_model(run, step=step or None)
        by_hand = None if deleted is None else [{int(word) for word in deleted}]
        [sentence] = core.rebuild(
            model,
            [(text or "").strip()[:LONGEST]],
            noise=noise,
            ratio=ratio,
            seed=int(seed or 0),
            num_beams=int(beams) if way == "beams" else 1,
            temperature=float(warmth) if way == "chance" else 0.0,
            deleted=by_hand,
            explain=True,
        )
    except (ValueError, OSError) as error:
        return say(why(error), name)
    read = model.facts.max_length
    cut = len(model.tokenizer(text.strip(), truncation=False)["input_ids"]) > read
    folder = core.newest_model(run) if not step else run.checkpoint(step).path
    which = "its final model" if folder == run.path else f"its checkpoint at step {folder.name[5:]}"
    note = f"Rebuilt by {run.name}, {which}."
    if cut:
        note += f" Only the first {read:,} tokens of the sentence were read, as this run was trained for; the rest is left out."
    return {"sentence": sentence, "message": "", "note": note, "run": name, "by_hand": deleted}


def ready(workspace: Path, name: str) -> tuple[dict[str, Any], gr.Button]:
    """The empty result and the button, which is off when there is no model and none will come by itself."""
    try:
        if not name:
            raise ValueError("Choose a run above, or start one on the Train tab.")
        run = find_run(workspace, name)
        if not can_rebuild(run):
            return say(no_model(run), name), gr.Button(interactive=may_rebuild(run))
    except (ValueError, OSError) as error:
        return say(why(error)), gr.Button(interactive=False)
    message = "Press Rebuild, or type a sentence of your own and press Enter."
    return say(message, name), gr.Button(interactive=True)
