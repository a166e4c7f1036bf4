"""Halves of a batch at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tests.conftest import make_sentences
from tsdae_core.batches import Batch, Batcher
from tsdae_core.halves import FEWEST, Halves, OwnDropout
from tsdae_core.model import TSDAE
from tsdae_core.storage import from_base
from tsdae_core.token_cache import build_cache


@pytest.fixture
def two_threads() -> Iterator[None]:
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


@pytest.mark.parametrize("shape", [(3, 5), (64, 33)])
def test_own_dropout_keeps_the_share_and_the_mean_and_leaves_the_shared_generator_alone(shape: Any) -> None:
    before = torch.get_rng_state()
    ones = torch.ones(40, *shape)
    with OwnDropout(3):
        dropped = F.dropout(ones, 0.3)
        assert F.dropout(ones, 0.3, training=False) is ones
    assert torch.equal(before, torch.get_rng_state())
    kept = (dropped > 0).float().mean()
    assert abs(float(kept) - 0.7) < 5 * (0.21 / ones.numel()) ** 0.5
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.7], abs=1e-4)
    with OwnDropout(3):
        assert torch.equal(F.dropout(ones, 0.3), dropped)
    with OwnDropout(4):
        assert not torch.equal(F.dropout(ones, 0.3), dropped)


@pytest.mark.parametrize("kind", ["none", "bool", "float", "causal", "grouped"])
def test_own_attention_is_pytorchs_but_for_what_is_dropped(kind: str) -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 4, 6, 8) for _ in range(3))
    options: dict[str, Any] = {}
    if kind == "bool":
        options["attn_mask"] = torch.ones(2, 1, 6, 6, dtype=torch.bool).tril()
    if kind == "float":
        options["attn_mask"] = torch.randn(2, 1, 6, 6)
    if kind == "causal":
        options |= {"is_causal": True, "scale": 0.2}
    if kind == "grouped":
        key, value, options["enable_gqa"] = key[:, :2], value[:, :2], True
    wanted = F.scaled_dot_product_attention(query, key, value, **options)
    with OwnDropout(0):
        found = F.scaled_dot_product_attention(query, key, value, dropout_p=1e-9, **options)
        dropped = F.scaled_dot_product_attention(query, key, value, dropout_p=0.5, **options)
    torch.testing.assert_close(found, wanted)
    assert not torch.allclose(dropped, wanted)


def _batch(model: TSDAE, rows: int) -> Batch:
    cache = build_cache(make_sentences(rows), model.tokenizer, max_length=32)
    return Batcher(cache, 0, 4, "delete", 0.6, 1).batch(range(rows), epoch=0)


def _gradients(model: TSDAE, batch: Batch, halves: Halves) -> tuple[Tensor, dict[str, Tensor]]:
    def act(part: Batch) -> Tensor:
        loss = model(part)[0]
        (loss / batch.scored).backward()
        return loss.detach()

    model.zero_grad()
    loss = torch.stack(halves.work(act, batch)).sum()
    return loss, {
        name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None
    }


def test_two_halves_give_the_gradients_of_the_whole_and_the_same_again_with_the_same_seed(
    tiny_model_folder: Path, two_threads: None
) -> None:
    model = from_base(str(tiny_model_folder), pooling="mean", max_length=32)
    batch, halves = _batch(model, FEWEST + 5), Halves()
    model.eval()
    whole, wanted = _gradients(model, batch, _one_thread())
    loss, found = _gradients(model, batch, halves)
    torch.testing.assert_close(loss, whole)
    torch.testing.assert_close(found, wanted)
    model.train()
    runs = []
    for seed in (7, 7, 8):
        torch.manual_seed(seed)
        runs.append(_gradients(model, batch, halves))
    assert all(torch.equal(runs[0][1][name], runs[1][1][name]) for name in wanted), (
        "the same seed, the same bits"
    )
    assert not torch.equal(runs[0][0], runs[2][0])
    assert torch.get_num_threads() == 2


def _one_thread() -> Halves:
    torch.set_num_threads(1)
    try:
        return Halves()
    finally:
        torch.set_num_threads(2)


def test_an_error_in_one_half_is_raised_when_the_other_has_ended(
    tiny_model_folder: Path, two_threads: None
) -> None:
    model = from_base(str(tiny_model_folder), pooling="mean", max_length=32)
    batch, ended = _batch(model, FEWEST), []

    def act(part: Batch) -> Tensor:
        if 0 in part.indices:
            raise RuntimeError("can't allocate memory")
        ended.append(len(part.indices))
        return torch.zeros(())

    with pytest.raises(RuntimeError, match="allocate"):
        Halves().work(act, batch)
    assert ended == [FEWEST // 2]
    assert torch.get_num_threads() == 2
