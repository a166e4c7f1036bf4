"""The settings as a form: one input per field of `TrainConfig`, with its label, limits and help; nothing is named twice."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.components import FormComponent

from tsdae_core import base_models
from tsdae_core.config import PRESETS, Setting, TrainConfig, checked, settings
from tsdae_core.export import has_encoder, run_of_encoder
from tsdae_core.methods import LENGTH, METHODS, OWN
from tsdae_core.records import why
from tsdae_core.runs import list_runs
from tsdae_core.supervision import SECOND

FOLD = "Advanced settings"


@dataclass(frozen=True)
class Form:
    """The inputs by the name of their setting, in the order of `TrainConfig`, and the fold around the advanced ones."""

    inputs: dict[str, FormComponent]
    fold: gr.Accordion

    def values(self, given: Sequence[Any]) -> dict[str, Any]:
        """Setting name -> value, from what a handler received for `inputs`."""
        return dict(zip(self.inputs, given, strict=True))

    def shown(self, config: TrainConfig) -> list[Any]:
        """The inputs' values for a config, in their order."""
        return [getattr(config, name) for name in self.inputs]


def build_form(preset: str) -> Form:
    """Make the inputs where the caller stands: the usual ones in the open, the others in a fold, by group."""
    config = TrainConfig.from_preset(preset)
    shown = [one for one in settings() if len(one.choices) != 1]  # a choice of one is none
    inputs: dict[str, FormComponent] = {}
    usual = [one for one in shown if not one.advanced]
    with gr.Row(elem_classes=["fields"]):
        inputs |= {one.name: make_input(one, getattr(config, one.name)) for one in usual}
    rest = [one for one in shown if one.advanced]
    with gr.Accordion(fold_title(config), open=False, elem_id="advanced") as fold:
        for group in dict.fromkeys(one.group for one in rest):
            gr.HTML(f"<h4>{group}</h4>", elem_classes=["fields-title"], apply_default_css=False)
            with gr.Row(elem_classes=["fields"]):
                members = [one for one in rest if one.group == group]
                inputs |= {one.name: make_input(one, getattr(config, one.name)) for one in members}
    return Form({one.name: inputs[one.name] for one in shown}, fold)


def make_input(one: Setting, value: Any) -> FormComponent:
    """The component that fits a setting. Limits are checked by `TrainConfig`, whose words are better."""
    common: dict[str, Any] = {"label": one.label, "info": one.help, "elem_id": f"set-{one.name}"}
    if one.name == "base_model":
        return gr.Dropdown(
            base_choices(),
            value=value,
            allow_custom_value=True,
            elem_classes=["wide"],
            min_width=240,
            **common,
        )
    common["min_width"] = 120
    if one.choices:
        return gr.Dropdown(one.choices, value=value, filterable=False, **common)
    if one.kind is bool:
        return gr.Checkbox(value=value, **common)
    if one.kind is float and one.step and one.max is not None and one.max <= 1:
        return gr.Slider(one.min, one.max, value=value, step=one.step, elem_classes=["wide"], **common)
    if one.kind in (int, float):
        return gr.Number(value, step=one.step or 1e-9, **common)  # a precision would round 1.5 steps silently
    return gr.Textbox(value, **common)


def base_choices(*, ask_hub: bool = False) -> list[tuple[str, str]]:
    """(label, name) of the known base models; those that would have to be downloaded say so."""
    models = base_models.known_models(ask_hub=ask_hub)
    return [(one.name if one.here else f"{one.name} (not on this machine)", one.name) for one in models]


def own_bases(workspace: Path) -> list[tuple[str, str]]:
    """(label, folder) of the encoders of this workspace's runs: training may go on from any of them, on another text too."""
    runs = [run for run in list_runs(workspace) if has_encoder(run)]
    return [(f"{run.name} (your run)", str(run.encoder_dir.resolve())) for run in runs]


def about_base(name: str) -> str:
    """A word on a base model, and whether it is here or can be had. Asks the hub only for one that is not here."""
    name = (name or "").strip()
    word = base_models.KNOWN.get(name, "")
    try:
        if (run := run_of_encoder(Path(name))) is not None:
            method = METHODS[run.config().objective].name
            return f"What your run {run.name} made by {method}. An encoder that is good already is easily spoilt by many steps."
        if base_models.new_size(name):
            return word or base_models.KNOWN[base_models.NEW_MODEL]
        base_models.resolve(name)
        if refusal := base_models.why_not(name):
            return refusal
        if base_models.is_here(name):
            return word or "On this machine."
    except ValueError as error:
        return why(error)
    here = "Not on this machine; it is downloaded from the Hugging Face hub at the start."
    if not base_models.hub_reachable():
        here = "Not on this machine, and the Hugging Face hub cannot be reached."
    return f"{word} {here}".strip()


def changed(config: TrainConfig, base: TrainConfig | None = None) -> dict[str, Any]:
    """The settings that differ from `base`, or from the defaults."""
    base = base or TrainConfig()
    ours, theirs = config.model_dump(), base.model_dump()
    return {name: value for name, value in ours.items() if value != theirs[name]}


def fold_title(config: TrainConfig) -> str:
    """The fold's title with the number of advanced settings that differ from the paper's values."""
    differs = changed(config, checked({"objective": config.objective}))
    count = sum(one.advanced and one.name in differs for one in settings())
    if not count:
        return f"{FOLD}: as in the paper"
    return f"{FOLD}: {count} differ{'s' if count == 1 else ''} from the paper's"


def preset_with(preset: str, base_model: str) -> TrainConfig:
    """The preset, but with the base model that the user chose by hand, if it is none that a preset brings."""
    config = TrainConfig.from_preset(preset)
    brought = {TrainConfig.from_preset(name).base_model for name in PRESETS}
    own = base_model and base_model.strip() not in brought
    return checked(config.model_dump() | {"base_model": base_model.strip()}) if own else config


def brought(preset: str, objective: str) -> dict[str, Any]:
    """The settings that change with the objective, under a preset: the method's own, those that it ignores, and how long
    it trains if the preset does not say."""
    config = TrainConfig.from_preset(preset, objective=objective)
    ignored = [name for method in METHODS.values() for name in method.ignores]
    length = [] if "max_steps" in PRESETS[preset].changes else LENGTH
    return {name: getattr(config, name) for name in dict.fromkeys([*OWN, *ignored, *length])}


def command_line(
    config: TrainConfig,
    preset: str,
    corpus: Path,
    *,
    name: str,
    workspace: Path,
    pairs: bool = False,
    recipe: str = "",
) -> str:
    """The shell command that starts the same run, or both of a recipe; `pairs` says whether the corpus has pairs."""
    words = ["python", "-m", "tsdae_core", "train", str(corpus), "--preset", preset]
    words += ["--text-column", "sentence", "--label-column", "label"]
    words += ["--second-column", SECOND] if pairs else []
    words += ["--recipe", recipe] if recipe else []
    given = changed(config, TrainConfig.from_preset(preset, objective=config.objective))
    if config.objective != TrainConfig.from_preset(preset).objective:
        given = {"objective": config.objective} | given  # which brings settings of its own
    for key, value in given.items():
        words += [f"--{key.replace('_', '-')}", str(value)]
    words += ["--name", name] if name else []
    return shlex.join([*words, "--workspace", str(workspace)])


def plain(text: str) -> str:
    """An error's sentence with the labels of the form instead of the names of the settings.

    >>> plain("batch_size must be a whole number, at least 1 and at most 4096; got 0")
    "'Batch size' must be a whole number, at least 1 and at most 4096; got 0"
    """
    for one in settings():
        if "_" in one.name or text.startswith(f"{one.name} must"):
            text = re.sub(rf"(?<![-\w]){one.name}(?!\w)", f"'{one.label}'", text)
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.isalpha() else text  # a model's name stays as it is
