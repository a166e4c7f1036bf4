"""BERT-flow: the flow can be undone, its volume is what autograd says, its loss is the paper's, and it goes home with the encoder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from tests.conftest import make_sentences
from tests.test_train import losses, make_run
from tsdae_core import train
from tsdae_core.batches import Batcher
from tsdae_core.config import checked
from tsdae_core.flow import Flow
from tsdae_core.methods import METHODS
from tsdae_core.objectives.bert_flow import BertFlow, frozen_vectors
from tsdae_core.runs import Run
from tsdae_core.storage import from_base, load
from tsdae_core.token_cache import build_cache

ALL = slice(None)


def shaken(size: int, seed: int = 0) -> Flow:
    """A flow whose couplings do something, in double precision."""
    torch.manual_seed(seed)
    flow = Flow(size).double()
    for weight in flow.parameters():
        if weight.requires_grad:
            weight.data.add_(0.2 * torch.randn_like(weight))
    return flow


@pytest.mark.parametrize("size", [2, 6, 8, 24])
def test_a_flow_is_undone_by_its_inverse(size: int) -> None:
    flow, vectors = shaken(size), torch.randn(5, size, dtype=torch.double)
    flowed, _ = flow(vectors)
    assert not torch.allclose(flowed, vectors)
    torch.testing.assert_close(flow.inverse(flowed), vectors)


@pytest.mark.parametrize("size", [2, 6, 8])
def test_the_log_determinant_is_that_of_the_jacobian(size: int) -> None:
    flow = shaken(size)
    for vector in torch.randn(3, size, dtype=torch.double):
        jacobian = torch.autograd.functional.jacobian(lambda one: flow(one[None])[0][0], vector)
        expected = torch.linalg.slogdet(jacobian)[1]
        torch.testing.assert_close(flow(vector[None])[1], expected)


def test_an_odd_size_is_refused() -> None:
    with pytest.raises(ValueError, match="even size"):
        Flow(7)


def test_the_actnorms_give_the_first_vectors_mean_zero_and_deviation_one() -> None:
    flow = Flow(16)
    vectors = 3 + 5 * torch.randn(400, 16)
    flow.initialise(vectors)
    flowed, _ = flow(vectors)
    assert flowed.mean(0).abs().max() < 1e-4 and (flowed.std(0) - 1).abs().max() < 0.01
    assert flow.ready == 1


def test_the_couplings_have_actnorms_inside_that_the_first_vectors_set_as_well() -> None:
    """Glow's NN() is three layers; the first two have an actnorm before their ReLU (arXiv 1807.03039, its published code)."""
    torch.manual_seed(0)
    flow = Flow(16)
    vectors = 3 + 5 * torch.randn(400, 16)
    flow.initialise(vectors)
    step = flow.steps[0]
    kept = step.norm(vectors).flip(1)[:, :8]  # type: ignore[operator]
    first = step.first_norm(step.first(kept))  # type: ignore[operator]
    second = step.second_norm(step.second(first.relu()))  # type: ignore[operator]
    for hidden in (first, second):
        assert hidden.mean(0).abs().max() < 1e-4
        assert (hidden.std(0, unbiased=False) - 1).abs().max() < 0.01


def test_a_step_is_glows_actnorm_reversal_and_additive_coupling() -> None:
    """Written out with numpy from the published code: y = (x + b) exp(3 logs), reversed; y2 + (W3 h + b3) exp(3 logs3)."""
    flow = shaken(8)
    step, rng = flow.steps[0], np.random.default_rng(0)
    given = {name: weight.detach().numpy() for name, weight in step.named_parameters()}

    def actnorm(x: np.ndarray, name: str) -> np.ndarray:
        return (x + given[f"{name}.shift"]) * np.exp(3 * given[f"{name}.log_scale"])

    x = rng.normal(size=(5, 8))
    y = actnorm(x, "norm")[:, ::-1]
    hidden = np.maximum(actnorm(y[:, :4] @ given["first.weight"].T, "first_norm"), 0)
    hidden = np.maximum(actnorm(hidden @ given["second.weight"].T, "second_norm"), 0)
    moved = (hidden @ given["last.weight"].T + given["last.bias"]) * np.exp(3 * given["last_log_scale"])
    expected = np.concatenate([y[:, :4], y[:, 4:] + moved], axis=1)
    flowed, logdet = step(torch.tensor(x))
    np.testing.assert_allclose(flowed.detach().numpy(), expected)
    assert float(logdet.detach()) == pytest.approx(3 * given["norm.log_scale"].sum())
    assert set(given) == {  # and no weight that Glow has not
        "norm.shift", "norm.log_scale", "first.weight", "first_norm.shift", "first_norm.log_scale", "second.weight",
        "second_norm.shift", "second_norm.log_scale", "last.weight", "last.bias", "last_log_scale",
    }  # fmt: skip


def test_the_loss_is_the_change_of_variables_of_the_paper(tiny_model_folder: Path) -> None:
    torch.manual_seed(1)
    model = from_base(str(tiny_model_folder), pooling="mean", objective="bert_flow").train()
    cache = build_cache(make_sentences(40), model.tokenizer, max_length=32)
    objective = BertFlow(Batcher(cache, 0, 4, "delete", 0.6, 7), model)
    model.extra = shaken(32).float()
    batch, count = objective.batch(np.arange(6), epoch=0, mine=ALL)
    assert batch is not None and count == 6
    ours = float(objective.loss(model, batch).detach())
    theirs = SentenceTransformer(str(tiny_model_folder), device="cpu").eval()
    with torch.no_grad():
        features = {"input_ids": batch.target, "attention_mask": batch.target_mask}
        vectors = theirs(features)["sentence_embedding"]
    expected = 0.0
    for vector in vectors:
        flowed = model.extra(vector[None])[0][0]
        jacobian = torch.autograd.functional.jacobian(lambda one: model.extra(one[None])[0][0], vector)  # type: ignore[misc]
        density = torch.distributions.MultivariateNormal(torch.zeros(32), torch.eye(32)).log_prob(flowed)
        expected -= float((density + torch.linalg.slogdet(jacobian)[1]).detach()) / 32
    assert ours == pytest.approx(expected, rel=1e-4)
    assert torch.equal(frozen_vectors(model, batch), frozen_vectors(model, batch)), "no dropout"


def test_the_dense_layers_are_the_flow() -> None:
    flow, vectors = shaken(24).float(), torch.randn(7, 24)
    x = vectors
    for layer in flow.layers():
        x = x @ layer.weight.float().T + layer.bias.float()
        x = x.relu() if layer.relu else x
    torch.testing.assert_close(x, flow(vectors)[0], rtol=1e-4, atol=1e-4)


def run_of(workspace: Path, base: Path, **changes: object) -> Run:
    settings = (
        METHODS["bert_flow"].defaults | {"learning_rate": 1e-3, "epochs": 0.0, "batch_size": 16} | changes
    )
    return make_run(workspace, base, make_sentences(120), objective="bert_flow", **settings)


def test_training_fits_the_flow_leaves_the_encoder_alone_and_anyone_can_load_both(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    run = run_of(tmp_path, tiny_model_folder, max_steps=60, vocabulary="corpus")
    assert train.main(run.path) == 0, run.log_tail()
    looks = [row for row in run.metrics()[0] if "held_out" in row]
    assert looks[-1]["held_out"] < looks[1]["held_out"] < looks[0]["held_out"]
    before = load_file(tiny_model_folder / "model.safetensors")
    after = load_file(run.encoder_dir / "model.safetensors")
    assert all(torch.equal(after[name], before[name]) for name in after)
    texts = make_sentences(9)
    base = SentenceTransformer(str(tiny_model_folder), device="cpu").encode(texts, convert_to_tensor=True)
    theirs = SentenceTransformer(str(run.encoder_dir), device="cpu", trust_remote_code=False)
    model = load(run.path)
    assert isinstance(model.extra, Flow) and model.extra.ready == 1
    with torch.no_grad():
        expected = model.extra(base)[0].numpy()
    np.testing.assert_allclose(theirs.encode(texts), expected, atol=1e-3)
    assert {one["type"] for one in json.loads((run.encoder_dir / "modules.json").read_text())} == {
        "sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling", "sentence_transformers.models.Dense",
    }  # fmt: skip


def test_a_flow_that_was_cut_off_goes_on_where_it_was(tmp_path: Path, tiny_model_folder: Path) -> None:
    shared = {"max_steps": 12, "checkpoint_every": 6}
    whole, broken = (run_of(tmp_path / name, tiny_model_folder, **shared) for name in "ab")
    assert train.main(whole.path) == 0
    step, calls = train.Steps.step, []

    def until_8(self: object, *args: object, **options: object) -> object:
        calls.append(1)
        if len(calls) > 8:
            raise RuntimeError("cut off")
        return step(self, *args, **options)  # type: ignore[arg-type]

    train.Steps.step = until_8  # type: ignore[method-assign, assignment]
    try:
        assert train.main(broken.path) == 1
    finally:
        train.Steps.step = step  # type: ignore[method-assign]
    assert train.main(broken.path) == 0
    assert losses(broken) == losses(whole)
    one, other = (load_file(run.decoder_dir / "decoder.safetensors") for run in (whole, broken))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_early_stopping_keeps_the_best_flow(tmp_path: Path, tiny_model_folder: Path) -> None:
    run = run_of(tmp_path, tiny_model_folder, max_steps=12, probe_every=3, early_stopping_patience=2)
    assert train.main(run.path) == 0, run.log_tail()
    assert isinstance(load(run.path).extra, Flow)
    assert len(list(run.encoder_dir.glob("*_Dense"))) == 27


def test_bert_flow_has_the_papers_settings() -> None:
    config = checked({"objective": "bert_flow"})
    assert (config.learning_rate, config.weight_decay, config.pooling, config.epochs) == (
        1e-6,
        0.01,
        "mean",
        1.0,
    )
