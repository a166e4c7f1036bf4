"""What the colours of rebuilt tokens mean."""

from __future__ import annotations

import doctest
import random
import time
from difflib import SequenceMatcher

import pytest

from tsdae_core import alignment
from tsdae_core.alignment import align, kept_share, recovered_share, tokens_json


def words(text: str) -> list[str]:
    return text.split()


def test_a_perfect_reconstruction_has_only_kept_and_recovered_tokens():
    original = words("the quick brown fox jumps")
    assert align(original, {1, 4}, original) == ["kept", "recovered", "kept", "kept", "recovered"]


def test_positions_and_flags_of_deleted_tokens_mean_the_same():
    original, rebuilt = words("a b c d"), words("a x c d")
    assert align(original, {1, 2}, rebuilt) == align(original, [False, True, True, False], rebuilt)


def test_a_token_in_the_place_of_another_is_wrong_and_one_too_many_is_invented():
    assert align(words("the cat sleeps"), {1}, words("the dog sleeps")) == ["kept", "wrong", "kept"]
    assert align(words("the cat"), {1}, words("the cat again")) == ["kept", "recovered", "invented"]
    assert align(words("cat sleeps"), set(), words("well cat sleeps")) == ["invented", "kept", "kept"]


def test_a_missing_token_does_not_shift_the_rest():
    original = words("one two three four five")
    assert align(original, {3}, words("one three four five")) == ["kept", "kept", "recovered", "kept"]


def test_a_token_equal_to_a_seen_and_to_a_deleted_one_prefers_its_own_position():
    assert align(words("the cat the dog"), {2}, words("the cow"))[0] == "kept"
    assert align(words("the cat the dog"), {0}, words("the cow a b"))[0] == "recovered"


def test_a_repeated_token_is_not_counted_twice():
    assert align(["the", "cat"], {0}, ["the"] * 4).count("recovered") == 1


def test_where_position_decides_nothing_recovery_is_not_claimed():
    assert align(words("x a a"), {1}, words("a")) == ["kept"]


def test_tokens_are_compared_as_exact_strings():
    assert align(["Cat"], {0}, ["cat"]) == ["wrong"]


def test_nothing_original_and_nothing_rebuilt_are_answered():
    assert align([], set(), ["a"]) == ["invented"]
    assert align(["a"], {0}, []) == []
    assert align([], [], []) == []


def test_as_many_tokens_match_as_difflib_finds_and_no_state_claims_more_than_the_original_has():
    rng = random.Random(0)
    for _ in range(300):
        original = rng.choices("abcde", k=rng.randint(0, 12))
        rebuilt = rng.choices("abcde", k=rng.randint(0, 12))
        deleted = {place for place in range(len(original)) if rng.random() < 0.5}
        states = align(original, deleted, rebuilt)
        matched = sum(state in ("kept", "recovered") for state in states)
        found = SequenceMatcher(None, original, rebuilt, autojunk=False).get_matching_blocks()
        assert len(states) == len(rebuilt)
        assert matched >= sum(block.size for block in found)
        assert states.count("recovered") <= len(deleted)
        assert states.count("kept") <= len(original) - len(deleted)


def test_shares_count_what_came_back_of_the_deleted_and_of_the_seen():
    original, deleted = words("a b c d e"), {1, 2, 3, 4}
    states = align(original, deleted, words("a b x y e"))
    assert recovered_share(original, deleted, states) == 0.5
    assert kept_share(original, deleted, states) == 1.0


def test_a_share_of_nothing_is_none():
    assert recovered_share(["a"], set(), ["kept"]) is None
    assert kept_share(["a"], {0}, ["recovered"]) is None


def test_deletions_that_do_not_fit_the_sentence_are_refused():
    with pytest.raises(ValueError, match="outside a sentence of 2 tokens"):
        align(["a", "b"], {2}, ["a"])
    with pytest.raises(ValueError, match="one per token"):
        align(["a", "b"], [True], ["a"])


def test_tokens_for_the_page_carry_text_state_and_glue():
    assert tokens_json(["ab", "c"], ["kept", "wrong"], [False, True])[1] == {
        "t": "c",
        "s": "wrong",
        "g": True,
    }
    with pytest.raises(ValueError, match="one of each per token"):
        tokens_json(["a"], [], [False])


def test_a_long_sentence_takes_well_under_a_second():
    original = [str(number % 50) for number in range(256)]
    began = time.process_time()
    align(original, set(range(0, 256, 2)), original[::-1])
    assert time.process_time() - began < 1


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(alignment).attempted >= 4
    assert doctest.testmod(alignment).failed == 0
