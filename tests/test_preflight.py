"""What is said before a run starts: of the base model, of the text, of the settings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from tests.conftest import make_sentences
from tsdae_core import base_models, preflight
from tsdae_core.config import BUNDLED_MODEL, TrainConfig
from tsdae_core.ui import forms

MISSING = "somebody/some-model"


def table(count: int) -> pa.Table:
    return pa.table({"sentence": make_sentences(count), "line": list(range(count)), "label": [""] * count})


def about_base(name: str) -> list[tuple[str, str]]:
    """Findings that speak of the base model."""
    config = TrainConfig.from_preset("Quick look", base_model=name)
    return [(one.level, one.text) for one in preflight.check(config, table(1200)) if name in one.text]


def test_a_base_that_is_not_here_and_cannot_be_fetched_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    [(level, text)] = about_base(MISSING)
    assert level == "error"
    assert "cannot be reached" in text and "fetched" not in text and "downloaded" not in text
    assert "cannot be reached" in forms.about_base(MISSING)


def test_a_base_that_can_be_fetched_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in base_models.OFFLINE:
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setattr(base_models, "_answers", lambda *_: True)  # as if the network were there
    [(level, text)] = about_base(MISSING)
    assert level == "info" and "downloaded" in text


@pytest.mark.parametrize(
    "name", ["facebook/bart-base", "google-t5/t5-base", "t5-small", "openai-community/gpt2"]
)
def test_a_known_model_that_cannot_be_trained_is_refused_by_its_name_before_it_is_fetched(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    [(level, text)] = about_base(name)
    assert level == "error" and "cannot train" in text and "bert-base-uncased works" in text
    assert "cannot train" in forms.about_base(name)
    assert name not in base_models.KNOWN


def test_a_model_of_a_refused_family_on_this_machine_is_an_error(
    tiny_model_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for file in tiny_model_folder.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "t5"}))
    [(level, text)] = about_base(str(folder))
    assert level == "error" and "t5" in text
    assert "cannot train" in forms.about_base(str(folder))


def test_the_bundled_base_raises_no_doubt() -> None:
    assert about_base(BUNDLED_MODEL) == []
    assert forms.about_base(BUNDLED_MODEL).startswith("Comes with the app")


@pytest.mark.parametrize(
    ("count", "level", "said"), [(10, "error", "10 sentences"), (100, "warning", "100 sentences are few")]
)
def test_few_sentences_are_told(count: int, level: str, said: str) -> None:
    found = preflight.check(TrainConfig.from_preset("Quick look"), table(count))
    assert any(one.level == level and said in one.text for one in found)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (3600, "1 h 0 min"), (200_000, "2 d 7 h")],
)
def test_durations_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert preflight.in_words(seconds) == words


def test_holding_on_to_a_base_that_is_no_sentence_encoder_is_a_warning(
    tiny_model_folder: Path, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    shutil.copytree(tiny_model_folder, plain, ignore=shutil.ignore_patterns("modules.json", "1_Pooling"))

    def warned(base: Path) -> bool:
        config = TrainConfig(base_model=str(base), anchor=1.0, max_steps=10)
        return any("'Anchor'" in one.text for one in preflight.check(config, table(1200)))

    assert warned(plain)
    assert not warned(tiny_model_folder)
