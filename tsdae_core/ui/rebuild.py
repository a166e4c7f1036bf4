"""The Rebuild tab: hide words of a sentence and see what the decoder makes of the vector of what is left."""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path
from typing import Any

import gradio as gr

from tsdae_core.config import describe
from tsdae_core.plan import Plan, split_corpus
from tsdae_core.runs import ACTIVE, Run, find_run
from tsdae_core.ui.components import component
from tsdae_core.ui.shell import Shell
from tsdae_core.ui.warm import heavy

NEWEST = 0  # in the model field; no checkpoint has this step
LONGEST = 5000  # characters of a sentence


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
            with gr.Accordion("Seed, beams and model", open=False, elem_id="rebuild-more"):
                seed = gr.Number(0, label="Seed", precision=0, minimum=0, info="Decides which words are hit")
                beams = gr.Slider(
                    1,
                    8,
                    value=1,
                    step=1,
                    label="Beams",
                    info="1 writes greedily, more search for a likelier sentence",
                )
                step = gr.Dropdown([("newest", NEWEST)], value=NEWEST, label="Model", elem_id="rebuild-step")
        with gr.Column(scale=3, min_width=320):
            view = component(
                "tokens",
                say("Choose a run above, or start one."),
                uses=["dom", "words"],
                elem_id="rebuild-view",
            )
    choices = [noise, ratio, seed, beams, step]

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

    quiet = {"api_visibility": "private", "show_progress": "hidden"}
    asked = {"api_visibility": "private", "show_progress": "minimal", "trigger_mode": "always_last"}
    given = [shell.picker, text, *choices]
    gr.on(
        [shell.picker.change, shell.app.load], on_run, [view, shell.picker], [text, step, view, go], **quiet
    )
    shell.tabs.select(on_open, [view, *given], [view, step, go], **quiet)
    another.click(on_another, shell.picker, text, **quiet).then(on_rebuild, given, view, **asked)
    reroll.click(lambda: random.randrange(10_000), None, seed, **quiet).then(on_rebuild, given, view, **asked)
    gr.on([go.click, text.submit], on_rebuild, given, view, **asked)
    gr.on(
        [noise.input, ratio.release, seed.submit, beams.release, step.input],
        on_choice,
        [view, *given],
        view,
        **asked,
    )
    step.focus(lambda name: model_choices(shell.workspace, name), shell.picker, step, **quiet)
    view.toggle(on_word, [view, shell.picker, *choices], view, **asked)


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
    beams: float,
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
        if not has_model(run):
            raise ValueError(no_model(run))
        model = core.load_model(run, step=step or None)
        by_hand = None if deleted is None else [{int(word) for word in deleted}]
        [sentence] = core.rebuild(
            model,
            [(text or "").strip()[:LONGEST]],
            noise=noise,
            ratio=ratio,
            seed=int(seed or 0),
            num_beams=int(beams),
            deleted=by_hand,
        )
    except ValueError as error:
        return say(str(error), name)
    folder = core.newest_model(run) if not step else run.checkpoint(step).path
    which = "its final model" if folder == run.path else f"its checkpoint at step {folder.name[5:]}"
    return {"sentence": sentence, "message": "", "note": f"Rebuilt by {run.name}, {which}.", "run": name}


def has_model(run: Run) -> bool:
    return run.encoder_dir.is_dir() or bool(run.checkpoints())


def no_model(run: Run) -> str:
    """Why there is nothing to rebuild with, and when there will be."""
    said = run.status()
    if said["state"] not in (*ACTIVE, "new"):
        return f"{run.name} has no model: it ended before its first checkpoint. Its log says why."
    first = Plan.of(run.config(), len(_places(run)[0])).checkpoint_every
    if said["state"] == "new":
        return f"{run.name} has not been started. Its first checkpoint will come at step {first:,}."
    return (
        f"The first checkpoint comes at step {first:,}; the run is at step {said.get('step') or 0:,}. "
        "From then on a sentence can be rebuilt here."
    )


def ready(workspace: Path, name: str) -> tuple[dict[str, Any], gr.Button]:
    """The empty result and the button, which is off when there is no model and none will come by itself."""
    try:
        if not name:
            raise ValueError("Choose a run above, or start one on the Train tab.")
        run = find_run(workspace, name)
        if not has_model(run):
            return say(no_model(run), name), gr.Button(interactive=run.state in ACTIVE)
    except ValueError as error:
        return say(str(error)), gr.Button(interactive=False)
    message = "Press Rebuild, or type a sentence of your own and press Enter."
    return say(message, name), gr.Button(interactive=True)


def model_choices(workspace: Path, name: str) -> gr.Dropdown:
    """The run's models: the newest, which follows a run that goes on, and every checkpoint."""
    try:
        steps = [checkpoint.step for checkpoint in find_run(workspace, name).checkpoints()] if name else []
    except ValueError:
        steps = []
    return gr.Dropdown(choices=[("newest", NEWEST), *((f"step {step:,}", step) for step in reversed(steps))])


def pick_sentence(workspace: Path, name: str) -> str:
    """A random held-out sentence of the run's corpus, or any of it when none is held out; "" without a run."""
    try:
        run = find_run(workspace, name)
        train, held_out = _places(run)
        return str(run.corpus()["sentence"][random.choice(held_out or train)])
    except (ValueError, OSError, IndexError):
        return ""


def _places(run: Run) -> tuple[list[int], list[int]]:
    """Row numbers of the training and the held-out sentences; a corpus never changes, so they are found once."""
    return _split(run.corpus_path, run.config().model_dump_json())


@lru_cache(maxsize=4)
def _split(corpus: Path, settings: str) -> tuple[list[int], list[int]]:
    run = Run(corpus.parent)
    train, held_out = split_corpus(range(run.corpus().num_rows), run.config())  # type: ignore[arg-type]
    return train, held_out  # type: ignore[return-value]
