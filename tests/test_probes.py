"""The label-free numbers mean what they say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.conftest import make_sentences
from tsdae_core.batches import Batcher
from tsdae_core.generation import generate
from tsdae_core.model import TSDAE
from tsdae_core.probes import (
    HeldOut,
    collapse,
    held_out_batches,
    held_out_numbers,
    vector_numbers,
    written_numbers,
)
from tsdae_core.storage import from_base
from tsdae_core.token_cache import build_cache


def looked_at(model: TSDAE, sentences: list[str], *, ratio: float = 0.6) -> HeldOut:
    cache = build_cache(sentences, model.tokenizer, max_length=32)
    batcher = Batcher(cache, 0, model.tokenizer.mask_token_id, "delete", ratio, 0)
    return held_out_batches(batcher, len(sentences))


@pytest.fixture(scope="module")
def learnt(tiny_model_folder: Path) -> TSDAE:
    """A tiny model that has learnt 24 sentences nearly by heart."""
    torch.manual_seed(0)
    model = from_base(str(tiny_model_folder), pooling="mean")
    seen = looked_at(model, make_sentences(24), ratio=0.3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(200):
        for batch in seen.batches:
            loss, _ = model(batch)
            (loss / batch.scored).backward()
            optimizer.step()
            optimizer.zero_grad()
    return model.eval()


def test_a_decoder_that_learnt_writes_a_sentence_from_its_own_vector_and_not_from_another(
    learnt: TSDAE,
) -> None:
    numbers = held_out_numbers(learnt, looked_at(learnt, make_sentences(24), ratio=0.3))
    assert numbers["written"] > 0.8
    assert numbers["written"] > numbers["written_shuffled"] + 0.2
    assert numbers["recovered"] > numbers["recovered_shuffled"] + 0.2
    assert numbers["kept"] > numbers["kept_shuffled"] + 0.2
    assert numbers["held_out"] < numbers["shuffled"]
    assert numbers["held_out"] < numbers["mean_vector"]


def test_a_decoder_that_ignores_the_vector_finds_it_worth_no_bits(learnt: TSDAE) -> None:
    saved = {name: value.clone() for name, value in learnt.bottleneck.state_dict().items()}
    for layer in learnt.bottleneck:
        torch.nn.init.zeros_(layer.output.weight)
    numbers = held_out_numbers(learnt, looked_at(learnt, make_sentences(24)))
    learnt.bottleneck.load_state_dict(saved)
    assert numbers["bits"] == pytest.approx(0, abs=1e-4)
    assert numbers["bits_mean"] == pytest.approx(0, abs=1e-4)
    assert numbers["written"] == pytest.approx(numbers["written_shuffled"], abs=0.15)


def test_the_loss_of_a_look_is_the_mean_over_all_held_out_tokens(learnt: TSDAE) -> None:
    seen = looked_at(learnt, make_sentences(50))
    with torch.inference_mode():
        summed = sum(float(learnt(batch)[0]) for batch in seen.batches)
    assert held_out_numbers(learnt, seen)["held_out"] == pytest.approx(
        summed / sum(batch.scored for batch in seen.batches)
    )


def test_a_look_leaves_the_mode_of_the_model_and_the_dice_of_training_alone(learnt: TSDAE) -> None:
    learnt.train()
    torch.manual_seed(5)
    held_out_numbers(learnt, looked_at(learnt, make_sentences(20)))
    drawn = float(torch.rand(()))
    torch.manual_seed(5)
    assert drawn == float(torch.rand(()))
    assert learnt.training
    learnt.eval()


def test_nothing_held_out_gives_no_numbers(learnt: TSDAE) -> None:
    assert held_out_numbers(learnt, looked_at(learnt, [])) == {}


def test_a_single_held_out_sentence_has_no_other_vector_to_compare_with(learnt: TSDAE) -> None:
    numbers = held_out_numbers(learnt, looked_at(learnt, make_sentences(1)))
    assert "written_shuffled" not in numbers
    assert math.isfinite(numbers["held_out"])


def test_what_is_written_is_counted_per_token(learnt: TSDAE) -> None:
    seen = looked_at(learnt, make_sentences(24), ratio=0.3)
    assert seen.sample is not None
    numbers = written_numbers(learnt, seen.sample)
    gone = int(seen.sample.hidden.sum())
    tokens = seen.sample.scored - len(seen.sample.indices)  # without the end token
    both = numbers["recovered"] * gone + numbers["kept"] * (tokens - gone)
    assert numbers["written"] == pytest.approx(both / tokens)


def test_long_sentences_are_written_less_often_so_that_a_look_stays_cheap(learnt: TSDAE) -> None:
    short = looked_at(learnt, make_sentences(200)).sample
    long = looked_at(learnt, [" ".join(make_sentences(5, seed=n)) for n in range(200)]).sample
    assert short is not None
    assert long is not None
    assert 8 <= len(long.indices) < len(short.indices) <= 64


def test_sentences_written_together_are_those_written_alone(learnt: TSDAE) -> None:
    batch = looked_at(learnt, make_sentences(7)).batches[0]
    vectors = learnt.encode(batch.noisy, batch.noisy_mask)
    together = generate(learnt, vectors, max_tokens=12)
    assert together == [generate(learnt, vector[None], max_tokens=12)[0] for vector in vectors]
    assert len({len(one) for one in together}) > 1 or max(map(len, together)) < 12, "they end by themselves"


def test_vector_numbers_agree_with_their_formulas_in_numpy() -> None:
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(30, 8))
    damaged = whole + rng.normal(size=whole.shape)
    numbers = vector_numbers(torch.tensor(whole), torch.tensor(damaged))
    a = whole / np.linalg.norm(whole, axis=1, keepdims=True)
    b = damaged / np.linalg.norm(damaged, axis=1, keepdims=True)
    assert numbers["alignment"] == pytest.approx(((a - b) ** 2).sum(1).mean())
    distances = [((a[i] - a[j]) ** 2).sum() for i in range(30) for j in range(30) if i != j]
    assert numbers["uniformity"] == pytest.approx(math.log(np.mean(np.exp(-2 * np.array(distances)))))
    assert numbers["mean_cosine"] == pytest.approx(1 - np.mean(distances) / 2)
    ranks = [1 + sum(b[i] @ a[j] > b[i] @ a[i] for j in range(30)) for i in range(30)]
    assert numbers["mrr"] == pytest.approx(np.mean(1 / np.array(ranks)))
    assert numbers["recall_at_1"] == pytest.approx(np.mean(np.array(ranks) == 1))
    values = np.linalg.eigvalsh(np.cov(a.T, bias=True)).clip(0) ** 0.5
    share = values / values.sum()
    assert numbers["effective_rank"] == pytest.approx(math.exp(-(share * np.log(share)).sum()), rel=1e-4)


def test_vectors_that_fall_together_are_told_in_one_sentence() -> None:
    line = torch.linspace(-1, 1, 50)[:, None] * torch.eye(8)[0] + 5 * torch.eye(8)[1]
    fallen = vector_numbers(line, line)
    assert "collapsed" in collapse(fallen, 0.0)
    wide = vector_numbers(torch.randn(200, 64), torch.randn(200, 64))
    assert collapse(wide, wide["effective_rank"]) == ""
    assert "before training" in collapse(wide, 3 * wide["effective_rank"])
    assert collapse({}, 10.0) == ""
