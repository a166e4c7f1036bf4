"""Token cache and batches: words from spans, every sentence once an epoch, little padding."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.conftest import make_sentences, make_tokenizer
from tsdae_core.batches import Batcher, damage_text, endless, epoch_batches
from tsdae_core.token_cache import build_cache, special_tokens, word_starts


def test_the_cache_gives_back_every_sentence_and_its_words() -> None:
    tokenizer = make_tokenizer()
    sentences = ["The cat paints.", "a dog xyzzy likes", "two green apples, before lunch!"]
    cache = build_cache(sentences, tokenizer, max_length=32)
    for place, text in enumerate(sentences):
        assert cache.whole(place) == tokenizer(text)["input_ids"]
        assert [token for word in cache.words(place) for token in word] == cache.whole(place)[1:-1]
    assert len(cache.words(1)) == 4, "a word of many pieces is one word"
    assert cache.lengths().tolist() == [len(cache.whole(place)) for place in range(3)]


def test_a_cache_on_disk_is_mapped_and_equal_to_the_one_in_memory(tmp_path: Path) -> None:
    sentences = make_sentences(50)
    memory = build_cache(sentences, make_tokenizer(), max_length=32)
    disk = build_cache(sentences, make_tokenizer(), max_length=32, folder=tmp_path)
    assert isinstance(disk.ids, np.memmap)
    np.testing.assert_array_equal(memory.ids, disk.ids)
    assert memory.words(7) == disk.words(7)


def test_a_cache_is_made_once_and_anew_when_a_text_the_length_or_an_interruption_asks_for_it(
    tmp_path: Path,
) -> None:
    sentences, made = make_sentences(50), []

    def cache(texts: list[str], *, max_length: int = 32) -> list[int]:
        column = pa.chunked_array([texts[:20], texts[20:]])
        made.clear()
        found = build_cache(
            column,
            make_tokenizer(),
            max_length=max_length,
            folder=tmp_path,
            progress=lambda *at: made.append(at),
        )
        assert [found.whole(n) for n in range(50)] == [
            build_cache(texts, make_tokenizer(), max_length=max_length).whole(n) for n in range(50)
        ]
        return made

    assert cache(sentences) == [(50, 50)]
    assert cache(sentences) == []
    changed = [*sentences[:49], "two green apples"]
    assert cache(changed) and cache(changed, max_length=8)
    (tmp_path / "of.txt").unlink()
    (tmp_path / "ids.i32").write_bytes(b"1234")
    assert cache(changed) == [(50, 50)]


def test_a_sentence_is_cut_at_max_length_with_its_special_tokens() -> None:
    cache = build_cache(["cat " * 100], make_tokenizer(), max_length=12)
    assert len(cache.whole(0)) == 12
    assert cache.whole(0)[-1] == cache.suffix[0]


def test_scripts_without_spaces_fall_back_to_tokens() -> None:
    text = "ภาษาไทย ok"
    starts = word_starts(text, [0, 0, 0, 1, 1], [(0, 2), (2, 4), (4, 7), (8, 9), (9, 10)])
    assert starts.tolist() == [True, True, True, True, False]


def test_deletion_on_ids_deletes_whole_words_and_the_share_it_names() -> None:
    sentences = make_sentences(400)
    cache = build_cache(sentences, make_tokenizer(), max_length=32)
    batcher = Batcher(cache, 0, 4, "delete", 0.6, 1)
    kept = total = 0
    for index in range(400):
        words = [tuple(word) for word in cache.words(index)]
        after = batcher.damaged(index, 0)[0][1:-1]
        rest = list(after)
        for word in words:
            if tuple(rest[: len(word)]) == word:
                rest = rest[len(word) :]
                kept += 1
        assert rest == [], "what is left is a sequence of whole words"
        total += len(words)
    assert 1 - kept / total == pytest.approx(0.6, abs=0.02)


def test_every_sentence_comes_once_an_epoch_in_an_order_of_its_own() -> None:
    lengths = np.random.default_rng(0).integers(3, 40, size=1003)
    first, second = (epoch_batches(lengths, 8, seed=1, epoch=epoch) for epoch in (0, 1))
    assert sorted(np.concatenate(first).tolist()) == list(range(1003))
    assert sorted(np.concatenate(second).tolist()) == list(range(1003))
    assert [batch.tolist() for batch in first] != [batch.tolist() for batch in second]
    assert sorted(map(len, first))[0] == 1003 % 8


def test_batches_of_similar_length_have_under_two_percent_padding() -> None:
    lengths = np.clip(np.random.default_rng(0).lognormal(3.2, 0.6, size=20_000), 4, 75).astype(int)
    batches = epoch_batches(lengths, 8, seed=1, epoch=0)
    padded = sum(lengths[batch].max() * len(batch) for batch in batches)
    assert 1 - lengths.sum() / padded < 0.02


def test_going_on_at_a_step_gives_the_batches_that_would_have_come() -> None:
    lengths = np.random.default_rng(0).integers(3, 40, size=100)
    straight = [(epoch, rows.tolist()) for epoch, rows in islice(endless(lengths, 8, seed=3), 40)]
    resumed = [(epoch, rows.tolist()) for epoch, rows in islice(endless(lengths, 8, seed=3, skip=17), 23)]
    assert straight[17:] == resumed


def test_a_batch_split_into_parts_scores_the_same_tokens() -> None:
    cache = build_cache(make_sentences(9), make_tokenizer(), max_length=32)
    batch = Batcher(cache, 0, 4, "delete", 0.6, 1).batch(range(9), epoch=0)
    parts = batch.split(4)
    assert sum(part.scored for part in parts) == batch.scored
    assert [row for part in parts for row in part.indices.tolist()] == list(range(9))


def test_a_tokenizer_without_an_end_token_is_refused() -> None:
    class Endless:
        def __call__(self, text: str, **_: object) -> dict[str, list[int]]:
            return {"input_ids": [5], "special_tokens_mask": [0]}

    with pytest.raises(ValueError, match="no end token"):
        special_tokens(Endless())


@pytest.mark.parametrize("noise", ["delete", "swap", "mask", "replace", "add"])
def test_the_preview_on_text_shows_every_word_and_marks_the_damage(noise: str) -> None:
    tokens = damage_text("The quick, brown fox jumps over it.", noise=noise, ratio=0.5, seed=3)
    states = {token["s"] for token in tokens}
    assert states <= {"kept", "deleted", "invented"}
    if noise == "delete":
        text = "".join(("" if token["g"] else " ") + token["t"] for token in tokens).strip()
        assert text == "The quick, brown fox jumps over it."
        assert "deleted" in states


def test_the_preview_damages_characters_where_words_have_no_spaces() -> None:
    assert len(damage_text("句子编码器", noise="delete", ratio=0.5, seed=1)) == 5
