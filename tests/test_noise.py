"""Damage: the share that it names, counted; the same for the same seed; one home in the tree."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from tsdae_core.noise import NOISES, damage, generator

WORDS = [f"w{i}" for i in range(100)]


def spare(rng: np.random.Generator) -> str:
    return f"new{rng.integers(10)}"


@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.6, 0.9])
def test_deletion_removes_the_share_it_names(ratio: float) -> None:
    kept = sum(len(damage(WORDS, noise="delete", ratio=ratio, rng=generator(1, 0, i))) for i in range(300))
    assert 1 - kept / 30_000 == pytest.approx(ratio, abs=0.01)


@pytest.mark.parametrize("noise", ["mask", "replace"])
def test_mask_and_replace_change_the_share_they_name_and_keep_the_length(noise: str) -> None:
    changed = 0
    for index in range(300):
        after = damage(WORDS, noise=noise, ratio=0.6, rng=generator(1, 0, index), spare=spare)
        assert len(after) == len(WORDS)
        changed += sum(word.startswith("new") for word in after)
    assert changed / 30_000 == pytest.approx(0.6, abs=0.01)


def test_add_puts_in_the_share_it_names_and_keeps_every_word_in_order() -> None:
    added = 0
    for index in range(300):
        after = damage(WORDS, noise="add", ratio=0.6, rng=generator(1, 0, index), spare=spare)
        assert [word for word in after if not word.startswith("new")] == WORDS
        added += len(after) - len(WORDS)
    assert added / 30_000 == pytest.approx(0.6, abs=0.01)


def test_swap_keeps_every_word_and_moves_about_the_share_it_names() -> None:
    moved = 0
    for index in range(300):
        after = damage(WORDS, noise="swap", ratio=0.6, rng=generator(1, 0, index))
        assert sorted(after) == sorted(WORDS)
        moved += sum(a != b for a, b in zip(after, WORDS, strict=True))
    assert moved / 30_000 == pytest.approx(0.6, abs=0.02)


def test_deletion_and_mask_leave_at_least_one_word() -> None:
    for index in range(200):
        assert len(damage(["only"], noise="delete", ratio=0.95, rng=generator(1, 0, index))) == 1
        masked = damage(
            ["a", "b"], noise="mask", ratio=0.95, rng=generator(1, 0, index), spare=lambda _: "[MASK]"
        )
        assert masked != ["[MASK]", "[MASK]"]


@pytest.mark.parametrize("noise", list(NOISES))
def test_damage_is_a_function_of_seed_epoch_and_index_alone(noise: str) -> None:
    def once(*key: int) -> list[str]:
        return damage(WORDS, noise=noise, ratio=0.5, rng=generator(*key), spare=spare)

    assert once(1, 2, 3) == once(1, 2, 3)
    assert once(1, 2, 3) != once(1, 2, 4)
    assert once(1, 2, 3) != once(1, 3, 3)
    assert once(1, 2, 3) != once(2, 2, 3)


@pytest.mark.parametrize("noise", list(NOISES))
def test_no_words_stay_no_words(noise: str) -> None:
    assert damage([], noise=noise, ratio=0.6, rng=generator(0, 0, 0), spare=spare) == []


def test_an_unknown_noise_and_an_impossible_ratio_are_refused() -> None:
    with pytest.raises(ValueError, match="the noises are delete, swap, mask, replace, add"):
        damage(WORDS, noise="shuffle", ratio=0.6, rng=generator(0, 0, 0))
    with pytest.raises(ValueError, match=r"between 0 and 1; got 60"):
        damage(WORDS, noise="delete", ratio=60, rng=generator(0, 0, 0))


def test_only_one_module_of_the_tree_decides_at_random_which_words_to_damage() -> None:
    homes = []
    for path in (Path(__file__).parent.parent / "tsdae_core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and any(
                isinstance(part, ast.Name | ast.Attribute) and "ratio" in ast.unparse(part)
                for part in node.comparators
            ):
                left = ast.unparse(node.left)
                if "random" in left:
                    homes.append(path.name)
    assert set(homes) == {"noise.py"}
