"""Runs by the methods that TSDAE is compared with: they train, resume and are shown like TSDAE's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from tests.conftest import make_sentences
from tests.test_train import losses, make_run
from tsdae_core import train
from tsdae_core.methods import METHODS
from tsdae_core.model import TSDAE
from tsdae_core.rebuild import load_model
from tsdae_core.runs import Run
from tsdae_core.storage import load
from tsdae_core.ui.feeds import feeds
from tsdae_core.ui.rebuild import ready

OTHERS = ["mlm", "simcse", "ct"]

FAST = {
    "mlm": {"learning_rate": 3e-3, "mask_ratio": 0.3},
    "simcse": {"learning_rate": 3e-3, "batch_size": 16, "epochs": 0.0},
    "ct": {"learning_rate": 1e-3, "batch_size": 16},
}


def run_of(workspace: Path, base: Path, objective: str, **changes: Any) -> Run:
    method = METHODS[objective].defaults | FAST[objective]
    return make_run(workspace, base, make_sentences(120), **({"objective": objective} | method | changes))


@pytest.mark.parametrize("vocabulary", ["full", "corpus"])
@pytest.mark.parametrize("objective", OTHERS)
def test_each_objective_learns_and_leaves_an_encoder_that_sentence_transformers_loads(
    tmp_path: Path, tiny_model_folder: Path, objective: str, vocabulary: str
) -> None:
    run = run_of(tmp_path, tiny_model_folder, objective, max_steps=100, vocabulary=vocabulary)
    assert train.main(run.path) == 0, run.log_tail()
    curve, config = list(losses(run).values()), run.config()
    assert np.mean(curve[-10:]) < 0.9 * np.mean(curve[:5])
    looks = [row for row in run.metrics()[0] if "held_out" in row]
    assert looks[-1]["held_out"] < looks[0]["held_out"]
    assert {"mrr", "effective_rank", "uniformity"} <= looks[-1].keys()
    assert run.samples()[0] == []
    texts = make_sentences(5)
    theirs = SentenceTransformer(str(run.encoder_dir), device="cpu")
    pooling = json.loads((run.encoder_dir / "1_Pooling" / "config.json").read_text())
    assert pooling[f"pooling_mode_{'cls_token' if config.pooling == 'cls' else 'mean_tokens'}"]
    model = load(run.path)
    encoded = model.tokenizer(texts, return_tensors="pt", padding=True)
    with torch.no_grad():
        ours = model.encode(encoded["input_ids"], encoded["attention_mask"])
    np.testing.assert_allclose(theirs.encode(texts), ours.numpy(), atol=1e-4)
    assert METHODS[objective].name in (run.encoder_dir / "README.md").read_text()
    saved = {name for part in (run.encoder_dir, run.decoder_dir) for file in part.glob("*.safetensors")
             for name in load_file(file)}  # fmt: skip
    assert not any(name.startswith(("extra.", "bottleneck.")) for name in saved)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("objective", OTHERS)
def test_a_run_cut_off_and_resumed_ends_bit_by_bit_where_one_in_one_go_does(
    tmp_path: Path, tiny_model_folder: Path, objective: str, precision: str
) -> None:
    shared = {"max_steps": 16, "checkpoint_every": 8, "precision": precision}
    whole, broken = (run_of(tmp_path / name, tiny_model_folder, objective, **shared) for name in "ab")
    assert train.main(whole.path) == 0
    step, calls = train.Steps.step, []

    def until_11(self: Any, *args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) > 11:
            raise RuntimeError("cut off")
        return step(self, *args, **options)

    train.Steps.step = until_11  # type: ignore[method-assign]
    try:
        assert train.main(broken.path) == 1
    finally:
        train.Steps.step = step  # type: ignore[method-assign]
    assert broken.checkpoints()[-1].step == 8
    torch.manual_seed(999)
    assert train.main(broken.path) == 0
    assert losses(broken) == losses(whole)
    one, other = (load_file(run.encoder_dir / "model.safetensors") for run in (whole, broken))
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("objective", OTHERS)
def test_a_look_changes_neither_the_weights_nor_what_is_drawn_next(
    tmp_path: Path, tiny_model_folder: Path, objective: str
) -> None:
    often, seldom = (
        run_of(tmp_path / str(every), tiny_model_folder, objective, max_steps=10, probe_every=every)
        for every in (2, 10)
    )
    for run in (often, seldom):
        assert train.main(run.path) == 0
    assert losses(often) == losses(seldom)


def test_rebuilding_with_a_run_that_has_no_decoder_is_refused_in_one_sentence(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    run = run_of(tmp_path, tiny_model_folder, "mlm", max_steps=2)
    assert train.main(run.path) == 0
    with pytest.raises(ValueError, match="trained by MLM, which has no decoder"):
        load_model(run)


def test_simcse_says_why_a_batch_that_does_not_fit_cannot_be_cut(
    tmp_path: Path, tiny_model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(tmp_path, tiny_model_folder, "simcse", max_steps=2)

    def too_much(*_: object) -> None:
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(TSDAE, "encode", too_much)
    monkeypatch.setattr("tsdae_core.train._look", lambda *_: None)
    assert train.main(run.path) == 1
    assert "Memory does not suffice for a batch of" in run.status()["error"]
    assert "compares each sentence of a batch with all others" in run.status()["advice"]


def test_the_page_says_that_a_run_without_a_decoder_rebuilds_nothing(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    run = run_of(tmp_path, tiny_model_folder, "ct", max_steps=2)
    assert train.main(run.path) == 0
    metrics, samples = feeds(tmp_path)
    answer = samples([run.name, 0, ""])
    assert answer["rows"] == [] and "Contrastive Tension, which has no decoder" in answer["note"]
    assert metrics([run.name, 0, ""])["unit"] == "nats per pair"
    shown, button = ready(tmp_path, run.name)
    assert "no decoder" in shown["message"] and not button.interactive
