"""Settings: the paper's values by default, one sentence for a wrong one."""

from __future__ import annotations

from typing import Any

import pytest

from tsdae_core.config import PRESETS, TrainConfig, checked, settings


def test_the_defaults_are_the_papers_recipe() -> None:
    config = TrainConfig()
    assert (config.max_steps, config.batch_size, config.learning_rate) == (100_000, 8, 3e-5)
    assert (config.noise, config.noise_ratio, config.pooling, config.tied) == ("delete", 0.6, "cls", True)
    assert (config.layers, config.vocabulary, config.decoder_warmup_steps, config.anchor) == (
        0,
        "full",
        0,
        0.0,
    )


def test_the_preset_paper_changes_nothing_but_base_model_and_precision() -> None:
    paper = TrainConfig.from_preset("Paper").model_dump()
    different = {name for name, value in TrainConfig().model_dump().items() if paper[name] != value}
    assert different == {"base_model", "precision"}


@pytest.mark.parametrize("preset", list(PRESETS))
def test_every_preset_is_valid_and_says_what_it_is_for(preset: str) -> None:
    assert TrainConfig.from_preset(preset)
    assert len(PRESETS[preset].text) > 20


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number, at least 1 and at most 4,096; got 0"),
        ({"noise_ratio": 1.5}, "noise_ratio must be at least 0 and at most 0.95; got 1.5"),
        ({"pooling": "last"}, "pooling must be one of cls, mean, max; got 'last'"),
        ({"max_steps": "many"}, "max_steps must be a whole number, at least 1"),
        ({"learning_rate": float("nan")}, "learning_rate must be at least 0"),
        ({"base_model": " "}, "base_model is empty"),
        (
            {"max_steps": 10, "decoder_warmup_steps": 10},
            "decoder_warmup_steps must be smaller than max_steps",
        ),
        ({"del_ratio": 0.6}, "there is no setting 'del_ratio'"),
    ],
)
def test_a_wrong_setting_is_one_sentence_with_what_is_allowed(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        checked(values)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_setting_has_a_label_and_a_help_that_fit_a_form() -> None:
    for one in settings():
        assert one.label, one.name
        assert one.label[0].isupper(), one.name
        assert one.help.endswith("."), one.name


def test_settings_cannot_be_changed_after_the_check() -> None:
    with pytest.raises(ValueError):
        TrainConfig().batch_size = 3  # type: ignore[misc]


def test_a_shorter_run_of_a_preset_has_a_shorter_beginning() -> None:
    config = TrainConfig.from_preset("Quick look", max_steps=60)
    assert config.decoder_warmup_steps == 20
    with pytest.raises(ValueError, match="decoder_warmup_steps"):
        TrainConfig.from_preset("Quick look", max_steps=60, decoder_warmup_steps=200)


def test_an_empty_setting_is_called_empty_and_limits_are_written_out() -> None:
    with pytest.raises(ValueError, match="at least 1 and at most 100,000,000; it is empty"):
        checked({"max_steps": None})
