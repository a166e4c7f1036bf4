"""A size instead of a base model: a new model and its tokenizer come from the run's own text."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from transformers import AutoTokenizer

from tests.conftest import make_sentences
from tsdae_core import encoders, preflight, train
from tsdae_core.base_models import known_models, new_size
from tsdae_core.config import TrainConfig
from tsdae_core.evaluate.systems import open_system
from tsdae_core.known_models import NEW_MODEL
from tsdae_core.runs import Run, create_run
from tsdae_core.scratch import base_of

SIZE = "2 layers, 64 wide"


def run_of(tmp_path: Path, name: str = "run", *, base_model: str = SIZE, steps: int = 30) -> Run:
    sentences = make_sentences(200)
    table = pa.table({"sentence": sentences, "line": range(200), "label": pa.nulls(200, pa.string())})
    config = TrainConfig(
        base_model=base_model, max_steps=steps, batch_size=16, learning_rate=2e-3, precision="fp32", devices="cpu", held_out=20
    )  # fmt: skip
    return create_run(tmp_path, config, table, name=name)


def test_a_run_from_nothing_learns_and_compares_with_its_untrained_self(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    assert train.main(run.path) == 0
    losses = [row["loss"] for row in run.metrics()[0] if "loss" in row]
    assert losses[-1] < 0.8 * losses[0]
    assert run.status()["loaded"].startswith(f"{SIZE}: bert, 2 layers, 64 wide")
    text = ["the cat sees the red boat in the garden."]
    trained, base = (encoders.load_encoder(name, tmp_path).encode(text) for name in ("run", "base:run"))
    assert trained.shape == base.shape == (1, 64)
    assert abs(float((trained * base).sum())) < 0.999


def test_the_tokenizer_knows_the_words_of_the_text(tmp_path: Path) -> None:
    folder = Path(base_of(run_of(tmp_path)))
    words = {word for text in make_sentences(200) for word in text.rstrip(".").split()}
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert [word for word in words if len(tokenizer.tokenize(word)) > 1] == []


def test_the_word_vectors_of_a_made_base_can_be_compared(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    vectors = open_system(f"words:{run.name}", tmp_path).vectors(["the cat sees the red boat."])
    assert vectors is not None
    assert vectors.shape == (1, 64)


def test_a_model_that_was_made_is_not_made_again(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    base_of(run)
    (run.base_dir / "mark").write_text("kept")
    base_of(run)
    assert (run.base_dir / "mark").read_text() == "kept"


def test_a_run_resumes_from_its_checkpoint_without_the_made_model(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    assert train.main(run.path) == 0
    shutil.rmtree(run.base_dir)
    assert train.main(run.path) == 0


@pytest.mark.parametrize(
    "size", ["0 layers, 64 wide", "4 layers, 100 wide", "4 layers, 4096 wide", "99 layers, 64 wide"]
)
def test_an_impossible_size_is_refused_in_one_sentence_before_the_start(tmp_path: Path, size: str) -> None:
    run = run_of(tmp_path, base_model=size)
    [error] = [one.text for one in preflight.check(run.config(), run.corpus()) if one.level == "error"]
    assert "1 to 48 layers" in error
    assert size in error


def test_a_size_is_offered_and_any_other_name_is_none(tmp_path: Path) -> None:
    assert NEW_MODEL in [one.name for one in known_models()]
    assert new_size(NEW_MODEL) == (4, 256)
    assert new_size("bert-base-uncased") is None
