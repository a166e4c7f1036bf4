"""Sentences rebuilt from vectors: what is shown is what the model saw and said."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.conftest import make_sentences
from tsdae_core.generation import generate
from tsdae_core.model import TSDAE
from tsdae_core.pieces import pieces_of
from tsdae_core.rebuild import rebuild
from tsdae_core.sampling import sample
from tsdae_core.storage import from_base, load, save
from tsdae_core.token_cache import special_tokens


@pytest.fixture
def model(tiny_model_folder: Path) -> TSDAE:
    torch.manual_seed(5)
    return from_base(str(tiny_model_folder), max_length=32).eval()


def text_of(tokens: list[dict]) -> str:
    return "".join(
        ("" if token["g"] or not place else " ") + token["t"] for place, token in enumerate(tokens)
    )


def test_the_original_is_shown_as_typed_and_the_damaged_one_holds_its_kept_words(model: TSDAE) -> None:
    source = "The cat doesn't paint, my friend (at night)!"
    [shown] = rebuild(model, [source], seed=3)
    assert text_of(shown["original"]) == source
    kept = [token["t"] for token in shown["original"] if token["s"] == "kept"]
    assert [token["t"] for token in shown["damaged"]] == kept
    assert 0 < len(kept) < len(shown["original"])


def test_a_word_left_out_by_hand_is_the_one_that_is_missing(model: TSDAE) -> None:
    [shown] = rebuild(model, ["the cat sees a dog"], deleted=[{1, 2}])
    assert [token["t"] for token in shown["damaged"]] == ["the", "a", "dog"]
    assert [token["s"] for token in shown["original"]] == ["kept", "deleted", "deleted", "kept", "kept"]


def test_no_space_stands_before_a_word_whose_neighbour_was_deleted(model: TSDAE) -> None:
    [shown] = rebuild(model, ["the cat."], deleted=[{1}])
    assert text_of(shown["damaged"]) == "the ."


def test_the_same_seed_damages_alike_and_another_differently(model: TSDAE) -> None:
    sentences = make_sentences(8)
    first, again, other = (
        [one["damaged"] for one in rebuild(model, sentences, seed=seed)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("noise", ["swap", "mask", "replace", "add"])
def test_words_that_the_noise_put_in_are_marked(model: TSDAE, noise: str) -> None:
    [shown] = rebuild(
        model, ["the old baker carries two green apples before lunch"], noise=noise, ratio=0.9, seed=1
    )
    states = {token["s"] for token in shown["damaged"]}
    assert ("invented" in states) == (noise != "swap")


@pytest.mark.parametrize("text", ["", "   "])
def test_a_sentence_without_words_is_refused(model: TSDAE, text: str) -> None:
    with pytest.raises(ValueError, match="type at least one word"):
        rebuild(model, [text])


def test_one_beam_writes_the_likeliest_token_every_time(model: TSDAE) -> None:
    torch.manual_seed(0)
    vector = torch.randn(1, model.hidden_size) * 3
    prefix, suffix = special_tokens(model.tokenizer)
    ids = list(prefix)
    for _ in range(6):
        with torch.no_grad():
            token = int(model.scores(model.decode(vector, torch.tensor([ids]))[0, -1:]).argmax())
        if token == suffix[0]:
            break
        ids.append(token)
    assert generate(model, vector, max_tokens=6) == [ids[len(prefix) :]]


def test_writing_ends_where_the_models_positions_do(tiny_model_folder: Path) -> None:
    """A sentence as long as the model can take, and some tokens more asked for: it failed in the middle of a training."""
    torch.manual_seed(5)
    model = from_base(str(tiny_model_folder), max_length=64).eval()
    vectors = torch.randn(3, model.hidden_size) * 3
    for written in (
        generate(model, vectors, max_tokens=80),
        generate(model, vectors, num_beams=2, max_tokens=80),
        sample(model, vectors, max_tokens=80),
    ):
        assert max(len(ids) for ids in written) <= 63
    assert any(
        len(ids) == 63 for ids in generate(model, torch.randn(60, model.hidden_size) * 3, max_tokens=80)
    )


def test_many_beams_write_one_sentence_per_vector_without_special_tokens(model: TSDAE) -> None:
    torch.manual_seed(0)
    _, suffix = special_tokens(model.tokenizer)
    written = generate(model, torch.randn(5, model.hidden_size) * 3, num_beams=4, max_tokens=6)
    assert len(written) == 5
    assert all(len(ids) <= 6 and suffix[0] not in ids for ids in written)


def test_a_model_trained_on_its_corpus_tokens_tells_the_same_loss_and_text_after_it_is_loaded(
    model: TSDAE, tmp_path: Path
) -> None:
    sentences = make_sentences(30)
    ids = {token for text in sentences for token in model.tokenizer(text)["input_ids"]}
    model.restrict(torch.tensor(sorted(ids | {0, 4})))
    before = rebuild(model, sentences[:5])
    save(model, tmp_path / "saved")
    after = rebuild(load(tmp_path / "saved"), sentences[:5])
    assert [one["loss"] for one in after] == pytest.approx([one["loss"] for one in before], abs=1e-3)
    assert [one["text"] for one in after] == [one["text"] for one in before]
    [unknown] = rebuild(load(tmp_path / "saved"), ["zebra zigzag"])
    assert unknown["loss"] < 100, "a word outside the corpus has a finite loss"


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["don", "'", "t", "stop", "##ping", "!"], "don' t stopping!"),
        (["ĠThe", "Ġcat", "s", "."], "The cats."),
        (["▁The", "▁cat", "s"], "The cats"),
        (["Ġna", "Ã¯", "ve"], "naïve"),
    ],
)
def test_vocabulary_entries_read_as_text(tokens: list[str], text: str) -> None:
    pieces = pieces_of(tokens)
    assert (
        "".join(("" if glued or not place else " ") + piece for place, (piece, glued) in enumerate(pieces))
        == text
    )
