"""The anchor holds on to the untrained base's vectors, each computed once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.conftest import make_sentences
from tsdae_core.anchor import Anchor
from tsdae_core.batches import Batch, Batcher
from tsdae_core.config import TrainConfig
from tsdae_core.model import TSDAE
from tsdae_core.storage import from_base
from tsdae_core.token_cache import build_cache

SENTENCES = make_sentences(24)


@pytest.fixture
def model(tiny_model_folder: Path) -> TSDAE:
    return from_base(str(tiny_model_folder), pooling="mean", max_length=32).eval()


def anchored(model: TSDAE, base: Path, folder: Path) -> Anchor:
    config = TrainConfig(base_model=str(base), pooling="mean", max_length=32, anchor=1.0)
    return Anchor(model, config, str(base), folder, sentences=len(SENTENCES), dtype=torch.float32)


def batch_of(model: TSDAE, rows: list[int]) -> Batch:
    cache = build_cache(SENTENCES, model.tokenizer, max_length=32)
    return Batcher(cache, model.tokenizer.pad_token_id, 0, "delete", 0.6, 1).batch(rows, epoch=0)


def test_its_vectors_are_the_bases_whatever_the_model_has_become(
    model: TSDAE, tiny_model_folder: Path, tmp_path: Path
) -> None:
    batch = batch_of(model, [3, 0, 17])
    with torch.no_grad():
        wanted = model.encode(batch.target, batch.target_mask)
        for weight in model.parameters():
            weight.add_(0.1)
    anchor = anchored(model, tiny_model_folder, tmp_path)
    np.testing.assert_allclose(anchor.vectors(batch), wanted, atol=1e-5)


def test_each_sentence_is_computed_once_also_after_a_restart(
    model: TSDAE, tiny_model_folder: Path, tmp_path: Path
) -> None:
    def counting(anchor: Anchor) -> list[int]:
        seen: list[int] = []
        anchor.body.register_forward_hook(lambda _, __, output: seen.append(len(output.last_hidden_state)))
        return seen

    anchor = anchored(model, tiny_model_folder, tmp_path)
    seen = counting(anchor)
    first = anchor.vectors(batch_of(model, [1, 2, 3]))
    anchor.vectors(batch_of(model, [3, 2, 9]))
    assert seen == [3, 1]
    again = anchored(model, tiny_model_folder, tmp_path)
    seen = counting(again)
    assert torch.equal(again.vectors(batch_of(model, [3, 1, 2])), first[[2, 0, 1]])
    assert seen == []


def test_the_pull_is_nothing_while_the_encoder_is_its_base_and_grows_as_it_leaves(
    model: TSDAE, tiny_model_folder: Path, tmp_path: Path
) -> None:
    anchor, batch = anchored(model, tiny_model_folder, tmp_path), batch_of(model, list(range(8)))
    assert float(anchor.pull(model, batch)) == pytest.approx(0.0, abs=1e-4)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.05 * torch.randn_like(weight))
    pull = anchor.pull(model, batch)
    assert float(pull) > 0.01
    pull.backward()
    assert model.transformer.get_input_embeddings().weight.grad.abs().sum() > 0
