"""How a base's tokenizer reads a text: token lengths, and what it has no token for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import make_sentences
from tsdae_core import preflight
from tsdae_core.config import BUNDLED_MODEL, TrainConfig
from tsdae_core.corpus import from_text
from tsdae_core.reading import token_lengths, unknown_share

THAI = [f"ประเทศไทยมีแม่น้ำ {number} สาย" for number in range(1200)]


@pytest.mark.parametrize("with_file", [True, False], ids=["tokenizer.json", "older files only"])
def test_token_lengths_count_special_tokens_and_nothing_is_cut(
    tiny_model_folder: Path, tmp_path: Path, with_file: bool
) -> None:
    folder = shutil.copytree(tiny_model_folder, tmp_path / "model")
    if not with_file:
        words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
        (folder / "tokenizer.json").unlink()
        (folder / "vocab.txt").write_text("\n".join(sorted(words, key=words.get)))
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    sentences = ["the cat sees the red boat", "the " * 200, "a dog"]
    assert token_lengths(sentences, str(folder)).tolist() == [8, 202, 4]
    assert token_lengths(from_text("\n".join(sentences)).table, str(folder)).tolist() == [8, 202, 4]


def test_token_lengths_of_many_sentences_are_those_of_a_sample_that_a_seed_draws(
    tiny_model_folder: Path,
) -> None:
    many = [f"the cat {'the ' * (n % 50)}" for n in range(500)]
    drawn = token_lengths(many, str(tiny_model_folder), sample=100, seed=1)
    assert drawn.shape == (100,)
    assert drawn.tolist() == token_lengths(many, str(tiny_model_folder), sample=100, seed=1).tolist()


def test_a_text_in_a_script_that_the_base_has_no_tokens_for_is_mostly_unknown() -> None:
    assert unknown_share(THAI, BUNDLED_MODEL) > 0.3
    assert unknown_share(make_sentences(100), BUNDLED_MODEL) == 0
    assert unknown_share([""], BUNDLED_MODEL) == 0


def test_a_base_that_cannot_read_the_text_is_a_warning_before_the_start() -> None:
    def warnings(lines: list[str]) -> list[str]:
        config = TrainConfig.from_preset("Quick look")
        found = preflight.check(config, from_text("\n".join(lines)).table)
        return [one.text for one in found if one.level == "warning" and "unknown token" in one.text]

    [text] = warnings(THAI)
    assert "Choose a base made for the language" in text
    assert not warnings(make_sentences(1200))
