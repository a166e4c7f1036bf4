"""The methods that TSDAE is compared with: their losses are those of the libraries and papers, and so are their settings."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import ContrastiveTensionLoss
from torch import Tensor
from transformers import AutoModelForMaskedLM

from tests.conftest import make_sentences
from tsdae_core import preflight
from tsdae_core.__main__ import build_parser
from tsdae_core.batches import Batcher
from tsdae_core.command_train import value_of
from tsdae_core.config import PRESETS, TrainConfig, checked, settings
from tsdae_core.halves import OwnDropout
from tsdae_core.methods import METHODS
from tsdae_core.model import TSDAE
from tsdae_core.objectives import extra_weights, make_objective
from tsdae_core.objectives import simcse as of_simcse
from tsdae_core.objectives.base import Objective
from tsdae_core.plan import Plan
from tsdae_core.storage import from_base
from tsdae_core.token_cache import build_cache
from tsdae_core.ui import forms

ALL = slice(None)


def made(base: Path, objective: str, *, count: int = 40, **changes: Any) -> tuple[TSDAE, Objective, Batcher]:
    """A model without dropout, its objective over `count` sentences, and the batcher beneath."""
    config = checked({"objective": objective, "base_model": str(base)} | changes)
    torch.manual_seed(1)
    model = from_base(str(base), pooling=config.pooling, objective=objective).eval()
    cache = build_cache(make_sentences(count), model.tokenizer, max_length=32)
    batcher = Batcher(cache, model.tokenizer.pad_token_id, model.tokenizer.mask_token_id, "delete", 0.6, 7)
    chosen = make_objective(config, model, batcher)
    model.extra = extra_weights(config, model)
    return model.eval(), chosen, batcher


def test_mlm_masks_fifteen_percent_as_bert_does_and_never_a_special_token(tiny_model_folder: Path) -> None:
    model, objective, _ = made(tiny_model_folder, "mlm", count=1200)
    chosen = masked = other = tokens = 0
    for epoch in range(3):
        batch, scored = objective.batch(np.arange(1200), epoch=epoch, mine=ALL)
        assert batch is not None and scored == int(batch.hidden.sum())
        special = torch.isin(batch.target, torch.tensor(model.tokenizer.all_special_ids))
        assert not (batch.hidden & special).any()
        assert torch.equal(batch.noisy[~batch.hidden], batch.target[~batch.hidden])
        seen, meant = batch.noisy[batch.hidden], batch.target[batch.hidden]
        masks = seen == model.tokenizer.mask_token_id
        chosen, tokens = chosen + len(seen), tokens + int((~special).sum())
        masked, other = masked + int(masks.sum()), other + int(((seen != meant) & ~masks).sum())
    assert chosen / tokens == pytest.approx(0.15, abs=0.01)
    assert masked / chosen == pytest.approx(0.8, abs=0.02)
    assert other / chosen == pytest.approx(0.1, abs=0.02)


def test_the_mlm_loss_is_that_of_transformers_own_model(tiny_model_folder: Path) -> None:
    model, objective, _ = made(tiny_model_folder, "mlm")
    batch, scored = objective.batch(np.arange(16), epoch=2, mine=ALL)
    assert batch is not None
    plain = AutoModelForMaskedLM.from_config(model.transformer.config).eval()
    plain.load_state_dict(model.transformer.state_dict())
    labels = batch.target.masked_fill(~batch.hidden, -100)
    theirs = plain(input_ids=batch.noisy, attention_mask=batch.target_mask, labels=labels).loss
    assert float((objective.loss(model, batch) / scored).detach()) == pytest.approx(
        float(theirs.detach()), rel=1e-5
    )


def test_mlm_draws_other_words_only_from_those_that_are_loaded(tiny_model_folder: Path) -> None:
    model, _, batcher = made(tiny_model_folder, "mlm", count=300)
    kept = torch.tensor(sorted({*batcher.cache.vocabulary().tolist(), 0, 1, 2, 3, 4}))
    model.restrict(kept)
    objective = make_objective(checked({"objective": "mlm", "mask_ratio": 0.9}), model, batcher)
    batch, scored = objective.batch(np.arange(300), epoch=0, mine=ALL)
    assert batch is not None
    assert torch.isin(batch.noisy, kept).all()
    assert torch.isfinite(objective.loss(model, batch))
    assert scored > 1000


def test_the_simcse_loss_is_equation_four_of_its_paper(tiny_model_folder: Path) -> None:
    model, objective, _ = made(tiny_model_folder, "simcse")
    batch, count = objective.batch(np.arange(6), epoch=0, mine=ALL)
    assert batch is not None and count == 6 and model.extra is not None
    model.train()
    torch.manual_seed(5)
    ours = float(objective.loss(model, batch).detach())
    torch.manual_seed(5)
    ids, mask = torch.cat([batch.target] * 2), torch.cat([batch.target_mask] * 2)
    states = model.transformer.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
    layer = model.extra[0]
    vectors = torch.tanh(states[:, 0] @ layer.weight.T + layer.bias)
    assert not torch.allclose(vectors[:6], vectors[6:]), "dropout makes two views"
    expected = 0.0
    for one in range(6):
        cosines = [
            torch.dot(vectors[one], vectors[6 + other]) / vectors[one].norm() / vectors[6 + other].norm()
            for other in range(6)
        ]
        exps = torch.stack(cosines).div(0.05).exp()
        expected -= float((exps[one] / exps.sum()).log().detach())
    assert ours == pytest.approx(expected, rel=1e-4)


def test_a_large_simcse_batch_learns_the_same_though_its_inner_states_are_not_kept(
    tiny_model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, objective, _ = made(tiny_model_folder, "simcse")
    batch, _ = objective.batch(np.arange(24), epoch=0, mine=ALL)
    assert batch is not None
    model.train()
    objective.pass_tokens = 5 * batch.target.shape[1]  # type: ignore[attr-defined]

    def gradients() -> tuple[float, dict[str, Tensor]]:
        torch.manual_seed(5)
        model.zero_grad()
        with OwnDropout(9):  # as in training, where another generator is in force
            loss = objective.loss(model, batch)
            loss.backward()
        weights = model.transformer.base_model.named_parameters()
        return float(loss.detach()), {name: one.grad for name, one in weights if one.grad is not None}

    again, kept = [], of_simcse.checkpoint
    monkeypatch.setattr(of_simcse, "checkpoint", lambda *given, **how: again.append(1) or kept(*given, **how))
    loss, grads = gradients()
    assert len(again) == 10, "48 rows, five at a time"
    monkeypatch.setattr(of_simcse, "checkpoint", lambda act, *given, **how: act(*given))
    plain_loss, plain = gradients()
    assert loss == pytest.approx(plain_loss, rel=1e-6)
    for name, one in grads.items():
        assert torch.allclose(one, plain[name], atol=1e-6), name


def test_the_ct_loss_is_that_of_sentence_transformers(tiny_model_folder: Path) -> None:
    model, objective, _ = made(tiny_model_folder, "ct")
    batch, count = objective.batch(np.arange(16), epoch=0, mine=ALL)
    assert batch is not None and count == 16
    second = SentenceTransformer(str(tiny_model_folder), device="cpu").eval()  # has mean pooling, as CT
    reference = ContrastiveTensionLoss(second)
    features = [
        {"input_ids": batch.noisy, "attention_mask": batch.noisy_mask},
        {"input_ids": batch.target, "attention_mask": batch.target_mask},
    ]
    labels = torch.tensor([float(place % 8 == 0) for place in range(16)])
    theirs = reference(features, labels)
    ours = objective.loss(model, batch)
    assert float(ours.detach()) == pytest.approx(float(theirs.detach()), rel=1e-4)
    ours.backward()
    theirs.backward()
    for mine, other in ((model.transformer.base_model, reference.model2), (model.extra, reference.model1)):
        name = "layer.1.output.dense.weight"
        [a] = [weight.grad for key, weight in mine.named_parameters() if key.endswith(name)]
        [b] = [weight.grad for key, weight in other.named_parameters() if key.endswith(name)]
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)


def test_one_pair_in_eight_is_of_the_same_sentence_and_the_rest_are_not(tiny_model_folder: Path) -> None:
    _, objective, batcher = made(tiny_model_folder, "ct")
    for epoch in range(20):
        batch, _ = objective.batch(np.arange(40), epoch=epoch, mine=ALL)
        assert batch is not None
        same = [
            row.tolist() == other.tolist()
            for row, other in zip(batch.noisy[:, :32], batch.target[:, : batch.noisy.shape[1]], strict=True)
        ]
        assert [place for place, one in enumerate(same) if one] == [0, 8, 16, 24, 32]
        assert batch.target.tolist()[3][: len(batcher.cache.whole(3))] == batcher.cache.whole(3)


@pytest.mark.parametrize("objective", ["tsdae", "mlm", "ct"])
def test_a_batch_in_parts_or_over_processes_costs_what_the_whole_one_costs(
    tiny_model_folder: Path, objective: str
) -> None:
    model, chosen, _ = made(tiny_model_folder, objective)
    indices = np.arange(13)
    whole, scored = chosen.batch(indices, epoch=1, mine=ALL)
    assert whole is not None
    expected = float(chosen.loss(model, whole).detach())
    parts = sum(float(chosen.loss(model, part).detach()) for part in whole.split(3))
    shares = [chosen.batch(indices, epoch=1, mine=slice(rank, None, 2)) for rank in (0, 1)]
    processes = sum(float(chosen.loss(model, part).detach()) for part, _ in shares if part)
    assert parts == pytest.approx(expected, rel=1e-4)
    assert processes == pytest.approx(expected, rel=1e-4)
    assert {count for _, count in shares} == {scored}
    assert chosen.batch(indices[:1], epoch=1, mine=slice(1, None, 2))[0] is None


def test_choosing_an_objective_brings_its_papers_settings_unless_they_are_given() -> None:
    mlm = checked({"objective": "mlm"})
    assert (mlm.learning_rate, mlm.pooling, mlm.batch_size, mlm.max_steps, mlm.mask_ratio) == (
        5e-5, "mean", 8, 100_000, 0.15,
    )  # fmt: skip
    simcse = TrainConfig(objective="simcse")
    assert (simcse.learning_rate, simcse.pooling, simcse.batch_size, simcse.epochs, simcse.temperature) == (
        5e-5, "cls", 512, 1.0, 0.05,
    )  # fmt: skip
    ct = TrainConfig.from_preset("CT (paper)")
    assert (ct.optimizer, ct.pooling, ct.negatives) == ("rmsprop", "mean", 7)
    plan = Plan.of(ct, 100_000)
    rates = [plan.learning_rate(ct, step) for step in (0, 499, 500, 1000, 1500, 2000, 40_000)]
    assert rates == pytest.approx([1e-5, 1e-5, 8e-6, 6e-6, 4e-6, 2e-6, 2e-6])
    assert checked({"objective": "mlm", "pooling": "cls"}).pooling == "cls"
    quick = TrainConfig.from_preset("Quick look", objective="ct", max_steps=50)
    assert (quick.optimizer, quick.learning_rate, quick.vocabulary, quick.max_steps) == (
        "rmsprop", 1e-5, "corpus", 50,
    )  # fmt: skip
    assert checked(quick.model_dump()) == quick
    assert TrainConfig.from_preset("Quick look", objective="simcse").epochs == 0.0, "a preset's length stays"
    assert TrainConfig.from_preset("Paper", objective="simcse").epochs == 1.0


def test_what_an_objective_does_not_use_is_told_before_the_start(tiny_model_folder: Path) -> None:
    table = pa.table({"sentence": make_sentences(1200), "line": range(1200), "label": [""] * 1200})
    config = checked({"objective": "simcse", "base_model": str(tiny_model_folder), "decoder_warmup_steps": 5,
                      "devices": "cpu*2"})  # fmt: skip
    said = " ".join(one.text for one in preflight.check(config, table))
    assert "SimCSE does not use 'Decoder first'" in said
    assert "no decoder" in said
    assert "one device" in said
    assert "only 3 steps" in said
    plain = [one.text for one in preflight.check(checked({"base_model": str(tiny_model_folder)}), table)]
    assert not any("does not use" in text or "no decoder" in text for text in plain)


@pytest.mark.parametrize("objective", list(METHODS))
def test_the_forms_values_for_an_objective_are_those_that_the_shell_command_gives(objective: str) -> None:
    for preset in PRESETS:
        shown = TrainConfig.from_preset(preset).model_dump() | forms.brought(preset, objective)
        config = checked(shown | {"objective": objective, "learning_rate": 1e-4})
        command = forms.command_line(config, preset, Path("a.txt"), name="", workspace=Path("w"))
        words = shlex.split(command)
        given = build_parser().parse_args(words[words.index("train") :])
        changes = {
            one.name: value_of(one.name, getattr(given, one.name))
            for one in settings()
            if getattr(given, one.name) is not None
        }
        assert TrainConfig.from_preset(preset, **changes) == config
    assert forms.fold_title(checked({"objective": objective})).endswith("as in the paper")
