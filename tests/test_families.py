"""Every family trains as its own decoder, survives the disk, and equals the reference where that can run it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import DenoisingAutoEncoderLoss
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from torch import Tensor

from tests.conftest import make_sentences
from tests.family_models import CASES, make_checkpoint
from tsdae_core.batches import Batch, Batcher
from tsdae_core.config import BUNDLED_MODEL
from tsdae_core.families import FAMILIES
from tsdae_core.model import TSDAE
from tsdae_core.rebuild import rebuild
from tsdae_core.self_test import self_test
from tsdae_core.storage import from_base, load, save
from tsdae_core.token_cache import build_cache

SENTENCES = make_sentences(12)
REFERENCE = [
    "bert", "bert-untied-head", "roberta", "roberta-late-padding", "xlm-roberta", "camembert", "data2vec-text", "electra", "electra-narrow",
    "ernie", "roformer", "rembert", "big_bird", "roberta-prelayernorm", "xlm-roberta-xl",
]  # fmt: skip
"""Cases that sentence-transformers' loss can run (megatron-bert's cross-attention fails in transformers 5.24)."""


def make_batch(model: TSDAE, sentences: list[str], *, noise: str = "delete", epoch: int = 0) -> Batch:
    cache = build_cache(sentences, model.tokenizer, max_length=model.facts.max_length)
    batcher = Batcher(cache, model.tokenizer.pad_token_id, model.tokenizer.mask_token_id, noise, 0.6, 1)
    return batcher.batch(range(len(sentences)), epoch=epoch)


def train(model: TSDAE, steps: int = 25, *, noise: str = "delete") -> list[float]:
    """Losses per token; the batch is the same sentences with fresh damage in every step."""
    torch.manual_seed(0)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.1)
    losses = []
    for step in range(steps):
        batch = make_batch(model, SENTENCES, noise=noise, epoch=step)
        loss = model(batch)[0] / batch.scored
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    model.eval()
    return losses


def used_ids(model: TSDAE) -> Tensor:
    batch = make_batch(model, SENTENCES)
    return torch.unique(batch.target)


@dataclass
class Trained:
    base: Path
    model: TSDAE
    losses: list[float]
    saved: Path


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def get(case: str) -> Path:
        if case not in made:
            made[case] = make_checkpoint(tmp_path_factory.mktemp(case), *CASES[case])
        return made[case]

    return get


@pytest.fixture(scope="module")
def trained(
    checkpoint: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Trained]:
    """Each case trained once with the corpus vocabulary, and saved."""
    made: dict[str, Trained] = {}

    def get(case: str) -> Trained:
        if case not in made:
            torch.manual_seed(1)
            model = from_base(str(checkpoint(case)), max_length=48)
            model.restrict(used_ids(model))
            losses = train(model)
            saved = tmp_path_factory.mktemp(f"{case}-saved")
            save(model, saved)
            made[case] = Trained(checkpoint(case), model, losses, saved)
        return made[case]

    return get


every_case = pytest.mark.parametrize("case", CASES)


def test_a_model_whose_decoder_sees_words_to_come_is_refused(checkpoint: Callable[[str], Path]) -> None:
    model = from_base(str(checkpoint("bert")))
    model.family = replace(model.family, decode=lambda body, ids: body(input_ids=ids).last_hidden_state)
    with pytest.raises(ValueError, match="bert: the decoder sees words to come"):
        self_test(model)


def test_a_model_whose_decoder_does_not_see_the_vector_is_refused(checkpoint: Callable[[str], Path]) -> None:
    model = from_base(str(checkpoint("bert")))
    for layer in model.bottleneck:
        torch.nn.init.zeros_(layer.output.weight)
    with pytest.raises(ValueError, match="bert: the decoder does not see the vector"):
        self_test(model)


@pytest.mark.parametrize("where", ["vector", "encoder"])
def test_a_model_whose_encoder_gets_no_gradient_is_refused(
    where: str, checkpoint: Callable[[str], Path]
) -> None:
    model = from_base(str(checkpoint("bert")))
    if where == "encoder":  # the vector's gradient ends behind the embeddings
        model.transformer.base_model.encoder.layer[1].register_forward_pre_hook(
            lambda _, args: None if model._seen() is not None else (args[0].detach(), *args[1:])
        )
    else:
        model.family = replace(model.family, scores=lambda model, states: model.cls(states.detach()))
    with pytest.raises(ValueError, match="bert: the loss sends no gradient to the encoder"):
        self_test(model)
    assert all(weight.grad is None for weight in model.parameters())


def test_the_self_test_takes_a_moment_on_the_bundled_model() -> None:
    model = from_base(BUNDLED_MODEL)
    times = []
    for _ in range(3):
        started = time.process_time()
        self_test(model)
        times.append(time.process_time() - started)
    assert min(times) < 0.3


def test_every_family_that_is_offered_has_a_case() -> None:
    assert {model_type for model_type, _, _ in CASES.values()} == set(FAMILIES)


@every_case
def test_the_loss_falls(case: str, trained: Callable[[str], Trained]) -> None:
    losses = trained(case).losses
    assert np.mean(losses[-3:]) < 0.85 * losses[0]


@every_case
def test_a_token_changes_no_state_before_it_and_the_vector_changes_every_one(
    case: str, checkpoint: Callable[[str], Path]
) -> None:
    model = from_base(str(checkpoint(case)), max_length=60).eval()
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 50, (2, 50), generator=generator)
    other = ids.clone()
    other[:, 20] = 51
    vector = torch.randn(2, model.hidden_size, generator=generator)
    with torch.no_grad():
        before, after = model.decode(vector, ids), model.decode(vector, other)
        moved = model.decode(vector.flip(0), ids)
    torch.testing.assert_close(after[:, :20], before[:, :20], atol=1e-5, rtol=1e-5)
    assert (after[:, 20] - before[:, 20]).abs().amax(-1).min() > 1e-3
    assert (moved - before).abs().amax(-1).min() > 1e-3


@every_case
def test_the_self_test_passes_and_leaves_everything_as_it_was(
    case: str, trained: Callable[[str], Trained]
) -> None:
    model = trained(case).model
    batch = make_batch(model, SENTENCES[:2])
    model.train()
    model.zero_grad()
    next(iter(model.family.joins(model.transformer))).requires_grad_(False)
    model(batch)[0].backward()
    weights = {name: weight.detach().clone() for name, weight in model.state_dict().items()}
    grads = {name: None if w.grad is None else w.grad.clone() for name, w in model.named_parameters()}
    learning = {name: weight.requires_grad for name, weight in model.named_parameters()}
    random = torch.get_rng_state()
    self_test(model)
    assert model.training and model.transformer.training
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    for name, weight in model.named_parameters():
        assert weight.requires_grad == learning[name]
        assert (weight.grad is None) == (grads[name] is None)
        assert weight.grad is None or torch.equal(weight.grad, grads[name])
    next(iter(model.family.joins(model.transformer))).requires_grad_(True)
    model.zero_grad()
    model.eval()


@every_case
def test_the_corpus_vocabulary_gives_the_loss_of_the_full_one_with_the_others_left_out(
    case: str, checkpoint: Callable[[str], Path]
) -> None:
    model = from_base(str(checkpoint(case)), max_length=48).eval()
    batch = make_batch(model, SENTENCES)
    with torch.no_grad():
        vector = model.encode(batch.noisy, batch.noisy_mask)
        wanted = batch.target_mask[:, 1:].bool()
        full = model.scores(model.decode(vector, batch.target[:, :-1])[wanted])  # (N, V)
        before = model.whole_state()
        model.restrict(used_ids(model))
        kept = torch.tensor(model.facts.vocabulary)
        assert len(kept) < 0.7 * full.shape[1]
        labels = torch.searchsorted(kept, batch.target[:, 1:][wanted])
        expected = torch.nn.functional.cross_entropy(full[:, kept], labels, reduction="none")
        again = model.encode(batch.noisy, batch.noisy_mask)
        losses = model.reconstruction_loss(again, batch, reduction="none")
    torch.testing.assert_close(again, vector, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(losses, expected, atol=1e-5, rtol=1e-5)
    after = model.whole_state()
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)


@every_case
def test_rows_of_tokens_outside_the_corpus_are_saved_exactly_as_they_were(
    case: str, trained: Callable[[str], Trained]
) -> None:
    one = trained(case)
    before, after = (
        load_file(one.base / "model.safetensors"),
        load_file(one.saved / "encoder" / "model.safetensors"),
    )
    words = one.model.transformer.base_model.get_input_embeddings()
    name = next(n for n, m in one.model.transformer.base_model.named_modules() if m is words) + ".weight"
    old = next(value for key, value in before.items() if key.endswith(name))
    assert old.shape == after[name].shape
    changed = (after[name] != old).any(dim=1).nonzero().flatten().tolist()
    assert len(changed) > 10
    assert set(changed) <= set(one.model.facts.vocabulary)


@every_case
def test_a_saved_model_gives_equal_vectors_and_reconstructions_and_is_a_sentence_transformer(
    case: str, trained: Callable[[str], Trained]
) -> None:
    one = trained(case)
    again = load(one.saved)
    sentences = SENTENCES[:5]
    batch = make_batch(again, sentences)
    with torch.no_grad():
        vectors = one.model.encode(batch.target, batch.target_mask)
        loaded = again.encode(batch.target, batch.target_mask)
    torch.testing.assert_close(loaded, vectors, atol=1e-5, rtol=1e-5)
    theirs = SentenceTransformer(str(one.saved / "encoder"), device="cpu").encode(sentences)
    np.testing.assert_allclose(loaded.numpy(), theirs, atol=1e-5)
    written = [line["text"] for line in rebuild(again, sentences)]
    assert written == [line["text"] for line in rebuild(one.model, sentences)]
    kept = torch.tensor(one.model.facts.vocabulary)
    with torch.no_grad():
        states = one.model.decode(vectors, batch.target)
        torch.testing.assert_close(again.decode(vectors, batch.target), states, atol=1e-5, rtol=1e-5)
        scores = one.model.scores(states.flatten(0, 1))
        torch.testing.assert_close(again.scores(states.flatten(0, 1))[:, kept], scores, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("case", ["bert", "xlm-roberta", "distilbert", "albert", "electra", "modernbert"])
def test_a_tied_head_is_not_written_a_second_time(case: str, trained: Callable[[str], Trained]) -> None:
    one = trained(case)
    head = load_file(one.saved / "decoder" / "decoder.safetensors")
    words = one.model.transformer.get_input_embeddings().weight.shape[1]
    rows = len(one.model.tokenizer)
    assert head
    assert not any(weight.shape == (rows, words) for weight in head.values())


@every_case
def test_the_first_layers_alone_train_and_survive_the_disk(
    case: str, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    whole, cut = from_base(str(checkpoint(case))), from_base(str(checkpoint(case)), layers=1)
    assert 2 * len(cut.bottleneck) == len(whole.bottleneck)
    full, kept = whole.transformer.state_dict(), cut.transformer.state_dict()
    assert len(kept) < len(full) or case == "albert"
    assert all(torch.equal(value, full[name]) for name, value in kept.items())
    batch = make_batch(cut, SENTENCES[:3])
    cut.eval()
    save(cut, tmp_path)
    again = load(tmp_path)
    with torch.no_grad():
        torch.testing.assert_close(again(batch), cut(batch), atol=1e-4, rtol=1e-5)


@every_case
def test_bf16_gives_nearly_the_loss_and_gradients_of_fp32(
    case: str, checkpoint: Callable[[str], Path]
) -> None:
    model = from_base(str(checkpoint(case)), max_length=48).eval()
    batch = make_batch(model, SENTENCES)
    losses, gradients = [], []
    for reduced in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=reduced):
            loss = model(batch)[0] / batch.scored
        loss.backward()
        losses.append(float(loss.detach()))
        gradients.append(torch.cat([layer.value.weight.grad.flatten() for layer in model.bottleneck]))
        model.zero_grad()
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert torch.cosine_similarity(gradients[0], gradients[1], dim=0) > 0.95


@pytest.mark.parametrize("case", REFERENCE)
def test_evaluation_loss_and_gradients_equal_the_reference_with_equal_weights(
    case: str, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    model_type, tokenizer, extra = CASES[case]
    folder = checkpoint(case)
    if case == "big_bird":  # the reference cannot decode with sparse attention
        folder = make_checkpoint(tmp_path, model_type, tokenizer, extra | {"attention_type": "original_full"})
    torch.manual_seed(2)
    ours = from_base(str(folder), max_length=48).eval()
    student = SentenceTransformer(
        modules=[Transformer(str(folder)), Pooling(32, pooling_mode="cls")], device="cpu"
    )
    loss = DenoisingAutoEncoderLoss(student, tie_encoder_decoder=True).eval()
    if (
        case == "big_bird"
    ):  # transformers 5.24 hands the vector to its self-attention, which then sees nothing else
        for layer in loss.decoder.base_model.encoder.layer:
            layer.attention.register_forward_pre_hook(
                lambda _, args, named: (args, named | {"encoder_hidden_states": None}), with_kwargs=True
            )
    prefix = f"{ours.transformer.base_model_prefix}."
    head = {key: value for key, value in ours.transformer.state_dict().items() if not key.startswith(prefix)}
    assert not loss.decoder.load_state_dict(head, strict=False).unexpected_keys
    with torch.no_grad():
        for mine, their in zip(ours.bottleneck, loss.decoder.base_model.encoder.layer, strict=True):
            cross = their.crossattention
            parts = [(mine.value, cross.self.value), (mine.output, cross.output.dense)]
            if not ours.family.pre_norm:
                parts.append((mine.norm, cross.output.LayerNorm))
            for ours_part, theirs_part in parts:
                for weight in ours_part.parameters():
                    weight.add_(torch.randn_like(weight) * 0.1)
                theirs_part.load_state_dict(ours_part.state_dict())
    batch = make_batch(ours, SENTENCES)
    expected = loss(
        [
            {"input_ids": batch.noisy, "attention_mask": batch.noisy_mask},
            {"input_ids": batch.target, "attention_mask": batch.target_mask},
        ],
        None,
    )
    got = ours(batch)[0] / batch.scored
    assert float(got.detach()) == pytest.approx(float(expected.detach()), abs=1e-5)
    expected.backward()
    got.backward()
    reference = {name: weight.grad for name, weight in loss.decoder.named_parameters()}
    compared = 0
    for name, weight in ours.transformer.named_parameters():
        if weight.grad is not None:
            torch.testing.assert_close(weight.grad, reference[name], atol=1e-5, rtol=1e-4)
            compared += 1
    assert compared > 20
    for number, mine in enumerate(ours.bottleneck):
        cross = f"{prefix}encoder.layer.{number}.crossattention."
        for ours_part, name in ((mine.value, "self.value"), (mine.output, "output.dense")):
            torch.testing.assert_close(
                ours_part.weight.grad, reference[f"{cross}{name}.weight"], atol=1e-5, rtol=1e-4
            )


def test_modernberts_local_layers_see_no_further_back_than_their_window(
    checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    extra = {"local_attention": 4, "layer_types": ["sliding_attention"] * 2}
    model = from_base(str(make_checkpoint(tmp_path, "modernbert", "bytes-last", extra))).eval()
    ids = torch.randint(5, 50, (1, 20), generator=torch.Generator().manual_seed(0))
    other = ids.clone()
    other[0, 5] = 51
    with torch.no_grad():
        vector = torch.ones(1, 32)
        moved = (model.decode(vector, ids) - model.decode(vector, other))[0].abs().amax(-1) > 1e-6
    assert moved.nonzero().flatten().tolist() == [5, 6, 7, 8, 9], "two layers, each two places back"


def test_a_layer_that_runs_twice_has_a_bottleneck_for_each_run(checkpoint: Callable[[str], Path]) -> None:
    model = from_base(str(checkpoint("albert")), max_length=48).eval()
    assert len(model.bottleneck) == 2
    assert len(model.transformer.base_model.encoder.albert_layer_groups) == 1
    ids = torch.tensor([[2, 20, 21, 22]])
    with torch.no_grad():
        first = model.decode(torch.ones(1, 32), ids)
        for place in range(2):
            kept = model.bottleneck[place].output.weight.clone()
            model.bottleneck[place].output.weight.zero_()
            assert not torch.allclose(model.decode(torch.ones(1, 32), ids), first)
            model.bottleneck[place].output.weight.copy_(kept)


@pytest.mark.parametrize("noise", ["delete", "swap", "mask", "replace", "add"])
def test_every_noise_trains(noise: str, checkpoint: Callable[[str], Path]) -> None:
    losses = train(from_base(str(checkpoint("bert")), max_length=48), noise=noise)
    assert np.mean(losses[-3:]) < 0.85 * losses[0]


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
@pytest.mark.parametrize("case", ["bert", "modernbert"])
def test_an_untied_decoder_of_every_pooling_trains_and_survives_the_disk(
    case: str, pooling: str, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    model = from_base(str(checkpoint(case)), pooling=pooling, max_length=48, tied=False)
    model.restrict(used_ids(model))
    losses = train(model, 15)
    assert losses[-1] < 0.9 * losses[0]
    own = dict(model.transformer.named_parameters())
    apart = [not torch.equal(weight, own[name]) for name, weight in model.decoder.named_parameters()]
    assert sum(apart) > len(apart) / 2, "the decoder went its own way"
    save(model, tmp_path)
    assert [line["text"] for line in rebuild(load(tmp_path), SENTENCES)] == [
        line["text"] for line in rebuild(model, SENTENCES)
    ]
