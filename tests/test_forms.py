"""The form: every setting once, with its label and limits; presets, and the shell command that stands for it."""

from __future__ import annotations

import shlex
from pathlib import Path

import gradio as gr
import pytest

from tests.test_ui import draft, quick
from tsdae_core.__main__ import build_parser
from tsdae_core.command_train import value_of
from tsdae_core.config import PRESETS, TrainConfig, checked, settings
from tsdae_core.ui import forms
from tsdae_core.ui.drafts import Draft

__all__ = ["draft"]


@pytest.mark.parametrize("preset", list(PRESETS))
def test_what_the_form_shows_of_a_preset_is_that_preset(preset: str) -> None:
    config = TrainConfig.from_preset(preset)
    with gr.Blocks():
        form = forms.build_form(preset)
    assert checked(form.values(form.shown(config))) == config
    assert [one.value for one in form.inputs.values()] == form.shown(config)


def test_every_setting_with_a_choice_is_in_the_form_with_its_label_and_help() -> None:
    with gr.Blocks():
        form = forms.build_form("Paper")
    wanted = {one.name: (one.label, one.help) for one in settings() if len(one.choices) != 1}
    assert {name: (made.label, made.info) for name, made in form.inputs.items()} == wanted


@pytest.mark.parametrize("preset", list(PRESETS))
def test_the_command_shown_starts_the_same_run(preset: str, draft: Draft, tmp_path: Path) -> None:
    config = checked(
        TrainConfig.from_preset(preset).model_dump()
        | {"learning_rate": 1.25e-5, "tied": False, "base_model": "./my model", "held_out": 7}
    )
    line = forms.command_line(config, preset, draft.path, name="my-run", workspace=tmp_path)
    words = shlex.split(line)
    assert words[:3] == ["python", "-m", "tsdae_core"]
    args = build_parser().parse_args(words[3:])
    given = {one.name: getattr(args, one.name) for one in settings() if getattr(args, one.name) is not None}
    again = TrainConfig.from_preset(
        args.preset, **{name: value_of(name, text) for name, text in given.items()}
    )
    assert again == config
    assert (args.corpus, args.name, args.workspace) == (draft.path, "my-run", tmp_path)


def test_a_broken_number_of_steps_is_not_rounded_but_told() -> None:
    with gr.Blocks():
        field = forms.make_input(next(one for one in settings() if one.name == "max_steps"), 700)
    assert field.preprocess(1.5) == 1.5 and field.preprocess(700) == 700
    with pytest.raises(ValueError, match="whole number"):
        checked(quick() | {"max_steps": field.preprocess(1.5)})


def test_the_fold_counts_the_advanced_settings_that_differ() -> None:
    assert forms.fold_title(TrainConfig()) == "Advanced settings: as in the paper"
    assert "1 differs" in forms.fold_title(TrainConfig(seed=1))
    assert "2 differ " in forms.fold_title(TrainConfig(seed=1, anchor=0.5))


def test_a_preset_keeps_the_base_model_chosen_by_hand() -> None:
    assert forms.preset_with("Paper", "roberta-base").base_model == "roberta-base"
    assert forms.preset_with("Paper", TrainConfig().base_model).base_model == "bert-base-uncased"


def test_errors_speak_of_the_labels_on_the_page() -> None:
    with pytest.raises(ValueError) as caught:
        checked(quick() | {"max_steps": 60, "decoder_warmup_steps": 250})
    assert forms.plain(str(caught.value)) == "'Decoder first' must be smaller than 'Steps' (60); got 250"
    assert forms.plain("bert-base-uncased is not here") == "bert-base-uncased is not here"
