"""The model: exactness against the reference, restricted vocabulary, poolings, round trips."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import DenoisingAutoEncoderLoss

from tests.conftest import make_sentences
from tsdae_core.batches import Batch, Batcher, pad
from tsdae_core.bottleneck import Bottleneck
from tsdae_core.model import TSDAE, pool
from tsdae_core.storage import from_base, load, save
from tsdae_core.token_cache import build_cache


def make_batch(model: TSDAE, sentences: list[str], *, noise: str = "delete") -> Batch:
    cache = build_cache(sentences, model.tokenizer, max_length=32)
    batcher = Batcher(cache, model.tokenizer.pad_token_id, model.tokenizer.mask_token_id, noise, 0.6, 1)
    return batcher.batch(range(len(sentences)), epoch=0)


@pytest.fixture
def model(tiny_model_folder: Path) -> TSDAE:
    torch.manual_seed(1)
    return from_base(str(tiny_model_folder), pooling="cls", max_length=32)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_evaluation_loss_and_gradients_equal_the_reference_with_equal_weights(
    tiny_model_folder: Path, pooling: str
) -> None:
    torch.manual_seed(2)
    ours = from_base(str(tiny_model_folder), pooling=pooling, max_length=32).eval()
    student = SentenceTransformer(str(tiny_model_folder), device="cpu")
    student[1].pooling_mode = pooling
    loss = DenoisingAutoEncoderLoss(student, tie_encoder_decoder=True).eval()
    theirs = loss.decoder
    with torch.no_grad():
        for mine, their in zip(ours.bottleneck, theirs.bert.encoder.layer, strict=True):
            cross = their.crossattention
            for ours_part, theirs_part in (
                (mine.value, cross.self.value),
                (mine.output, cross.output.dense),
                (mine.norm, cross.output.LayerNorm),
            ):
                ours_part.weight.add_(torch.randn_like(ours_part.weight) * 0.1)
                ours_part.bias.add_(torch.randn_like(ours_part.bias) * 0.1)
                theirs_part.load_state_dict(ours_part.state_dict())
        theirs.cls.predictions.transform.load_state_dict(
            ours.transformer.cls.predictions.transform.state_dict()
        )
    batch = make_batch(ours, make_sentences(7))
    expected = loss(
        [
            {"input_ids": batch.noisy, "attention_mask": batch.noisy_mask},
            {"input_ids": batch.target, "attention_mask": batch.target_mask},
        ],
        None,
    )
    summed, _ = ours(batch)
    got = summed / batch.scored
    assert float(got) == pytest.approx(float(expected), abs=1e-5)
    expected.backward()
    got.backward()
    reference = {name.removeprefix("bert."): weight.grad for name, weight in theirs.named_parameters()}
    compared = 0
    for name, weight in ours.transformer.named_parameters():
        theirs_grad = reference.get(name.removeprefix("bert."))
        if theirs_grad is not None and weight.grad is not None:
            torch.testing.assert_close(weight.grad, theirs_grad, atol=1e-5, rtol=0)
            compared += 1
    for number, mine in enumerate(ours.bottleneck):
        torch.testing.assert_close(
            mine.value.weight.grad,
            reference[f"encoder.layer.{number}.crossattention.self.value.weight"],
            atol=1e-5,
            rtol=0,
        )
        compared += 1
    assert compared > 30


def test_each_head_of_the_bottleneck_is_dropped_on_its_own_and_the_mean_stays() -> None:
    torch.manual_seed(0)
    layer = Bottleneck(8, 4, eps=1e-12, attention_dropout=0.25, hidden_dropout=0.0).train()
    layer.norm = torch.nn.Identity()
    vector, states = torch.randn(1, 8), torch.zeros(1, 20_000, 8)
    drawn = layer(states, vector)[0]
    layer.eval()
    expected = layer(states[:, :1], vector)[0, 0]
    torch.testing.assert_close(drawn.mean(0), expected, atol=0.02, rtol=0)
    assert len(drawn.round(decimals=4).unique(dim=0)) == 2**4, "each of the 4 heads is in or out"


def test_changing_the_last_token_leaves_earlier_states_alone(model: TSDAE) -> None:
    model.eval()
    ids = torch.tensor([[2, 60, 61, 62, 63]])
    other = ids.clone()
    other[0, -1] = 70
    vector = torch.randn(1, model.hidden_size)
    with torch.no_grad():
        a, b = model.decode(vector, ids), model.decode(vector, other)
    torch.testing.assert_close(a[:, :-1], b[:, :-1])
    assert not torch.allclose(a[:, -1], b[:, -1])


def test_the_decoder_sees_the_vector_and_the_encoder_does_not(model: TSDAE) -> None:
    model.eval()
    ids = torch.tensor([[2, 60, 61, 3]])
    mask = torch.ones_like(ids)
    with torch.no_grad():
        before = model.encode(ids, mask)
        a = model.decode(torch.zeros(1, model.hidden_size), ids)
        b = model.decode(torch.randn(1, model.hidden_size), ids)
        after = model.encode(ids, mask)
    assert not torch.allclose(a, b)
    assert torch.equal(before, after)


def test_the_gradient_reaches_every_encoder_weight_through_the_vector_alone(tiny_model_folder: Path) -> None:
    model = from_base(str(tiny_model_folder), max_length=32, tied=False).eval()
    batch = make_batch(model, make_sentences(4))
    model(batch)[0].backward()
    body = model.transformer.base_model
    silent = [name for name, weight in body.encoder.named_parameters() if weight.grad is None]
    assert silent == []


def test_padding_changes_neither_vectors_nor_the_loss_of_a_sentence(model: TSDAE) -> None:
    model.eval()
    sentences = ["a dog.", "the old baker carries two green apples before lunch."]
    batch = make_batch(model, sentences)
    with torch.no_grad():
        vectors = model.encode(batch.noisy, batch.noisy_mask)
        together = model.reconstruction_loss(vectors, batch, reduction="sentence")
        alone = [model.reconstruction_loss(vectors[i : i + 1], part) for i, part in enumerate(batch.split(2))]
    torch.testing.assert_close(together, torch.stack(alone), atol=1e-4, rtol=0)


def test_pooling_reads_real_tokens_only_even_when_padded_on_the_left() -> None:
    states = torch.tensor([[[9.0], [1.0], [3.0]], [[2.0], [4.0], [99.0]]])
    mask = torch.tensor([[0, 1, 1], [1, 1, 0]])
    assert pool(states, mask, "cls").flatten().tolist() == [1.0, 2.0]
    assert pool(states, mask, "mean").flatten().tolist() == [2.0, 3.0]
    assert pool(states, mask, "max").flatten().tolist() == [3.0, 4.0]


@pytest.mark.parametrize("tied", [True, False])
def test_a_restricted_vocabulary_scores_as_the_full_one_with_the_others_left_out(
    tiny_model_folder: Path, tied: bool
) -> None:
    torch.manual_seed(3)
    model = from_base(str(tiny_model_folder), max_length=32, tied=tied).eval()
    batch = make_batch(model, make_sentences(6))
    used = torch.unique(torch.cat([batch.noisy.flatten(), batch.target.flatten()]))
    with torch.no_grad():
        vector = model.encode(batch.noisy, batch.noisy_mask)
        states = model.decode(vector, batch.target[:, :-1])[batch.target_mask[:, 1:].bool()]
        full = model.scores(states)[:, used]
        before = {name: value.clone() for name, value in model.whole_state().items()}
        model.restrict(used)
        again = model.encode(batch.noisy, batch.noisy_mask)
        small = model.scores(model.decode(again, batch.target[:, :-1])[batch.target_mask[:, 1:].bool()])
    torch.testing.assert_close(again, vector)
    torch.testing.assert_close(small, full)
    after = model.whole_state()
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_training_with_the_corpus_vocabulary_leaves_all_other_rows_exactly_as_they_were(model: TSDAE) -> None:
    batch = make_batch(model, make_sentences(6))
    used = torch.unique(torch.cat([batch.noisy.flatten(), batch.target.flatten()]))
    before = model.whole_state()["transformer.bert.embeddings.word_embeddings.weight"].clone()
    model.restrict(used)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    for _ in range(3):
        model(batch)[0].backward()
        optimizer.step()
        optimizer.zero_grad()
    after = model.whole_state()["transformer.bert.embeddings.word_embeddings.weight"]
    changed = (after != before).any(dim=1).nonzero().flatten().tolist()
    assert set(changed) <= set(used.tolist())
    assert len(changed) > 5


@pytest.mark.parametrize(
    ("pooling", "tied", "restricted"), [("cls", True, False), ("mean", True, True), ("max", False, True)]
)
def test_a_saved_model_gives_equal_vectors_and_losses_and_loads_as_a_sentence_transformer(
    tiny_model_folder: Path, tmp_path: Path, pooling: str, tied: bool, restricted: bool
) -> None:
    torch.manual_seed(4)
    model = from_base(str(tiny_model_folder), pooling=pooling, max_length=32, tied=tied)
    batch = make_batch(model, make_sentences(5))
    if restricted:
        model.restrict(
            torch.unique(torch.cat([torch.arange(5), batch.noisy.flatten(), batch.target.flatten()]))
        )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model(batch)[0].backward()
    optimizer.step()
    model.eval()
    save(model, tmp_path / "saved")
    again = load(tmp_path / "saved")
    with torch.no_grad():
        vector = model.encode(batch.noisy, batch.noisy_mask)
        torch.testing.assert_close(again.encode(batch.noisy, batch.noisy_mask), vector, atol=1e-6, rtol=0)
    texts = make_sentences(5)
    ids, mask = pad([again.tokenizer(text)["input_ids"] for text in texts], again.tokenizer.pad_token_id)
    with torch.no_grad():
        ours = again.encode(ids, mask).numpy()
    theirs = SentenceTransformer(str(tmp_path / "saved" / "encoder"), device="cpu").encode(texts)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert not list((tmp_path / "saved").rglob("*.bin"))


def test_what_was_loaded_and_what_is_new_is_one_line(model: TSDAE) -> None:
    assert "2 bottleneck layers new" in model.facts.loaded
    assert "masked-LM head new: this checkpoint has none" in model.facts.loaded
    assert "\n" not in model.facts.loaded


def test_an_unknown_pooling_is_refused_with_the_choices(tiny_model_folder: Path) -> None:
    with pytest.raises(ValueError, match=r"pooling must be one of cls, mean, max; got 'last'"):
        from_base(str(tiny_model_folder), pooling="last")


def test_threads_that_use_one_model_at_the_same_time_do_not_see_each_others_vectors(
    tiny_model_folder: Path,
) -> None:
    model = from_base(str(tiny_model_folder), pooling="mean").eval()
    ids = model.tokenizer(["the cat sees the red boat in the garden."], return_tensors="pt")["input_ids"]
    vectors = [torch.randn(1, model.hidden_size) for _ in range(4)]

    @torch.inference_mode()
    def work(vector: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return model.decode(vector, ids), model.encode(ids, torch.ones_like(ids))

    alone = [work(vector) for vector in vectors]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, vectors * 50))
    for place, (states, encoded) in enumerate(together):
        assert torch.allclose(states, alone[place % 4][0], atol=1e-5)
        assert torch.allclose(encoded, alone[place % 4][1], atol=1e-5)
