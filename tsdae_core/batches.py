"""From sentences to batches: tokens cached once, damage on word spans of ids, batches of similar length.

Legend: B sentences, S tokens of the longest damaged one, T tokens of the longest whole one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tsdae_core.noise import damage, generator
from tsdae_core.token_cache import NO_SPACES, TokenCache


@dataclass(frozen=True)
class Batch:
    """What one step needs.

    Attributes:
        noisy: (B, S) ids of the damaged sentences, padded; noisy_mask: (B, S) 1 where there is a token.
        target: (B, T) ids of the whole sentences, padded; target_mask: (B, T).
        indices: (B,) which sentences.
        hidden: (B, T) bool, tokens of the whole sentence that the damage took away.
    """

    noisy: Tensor
    noisy_mask: Tensor
    target: Tensor
    target_mask: Tensor
    indices: Tensor
    hidden: Tensor

    def to(self, device: torch.device | str) -> Batch:
        return Batch(*(part.to(device, non_blocking=True) for part in self.__dict__.values()))

    def split(self, pieces: int) -> list[Batch]:
        """The batch in at most `pieces` smaller ones, each cut to its own longest sentence."""
        rows = torch.arange(len(self.indices)).chunk(pieces)
        return [self.rows(row) for row in rows]

    def rows(self, rows: Tensor) -> Batch:
        """Some rows (by number), cut to their own longest sentence."""
        noisy_mask, target_mask = self.noisy_mask[rows], self.target_mask[rows]
        s, t = int(noisy_mask.sum(1).max()), int(target_mask.sum(1).max())
        return Batch(
            self.noisy[rows, :s],
            noisy_mask[:, :s],
            self.target[rows, :t],
            target_mask[:, :t],
            self.indices[rows],
            self.hidden[rows, :t],
        )

    @property
    def scored(self) -> int:
        """How many tokens are scored: every token of a whole sentence but its first."""
        return int(self.target_mask.sum()) - len(self.indices)


@dataclass(frozen=True)
class Batcher:
    """Makes batches; all it does is a function of its fields, the epoch and the sentence index."""

    cache: TokenCache
    pad: int
    mask: int
    noise: str
    ratio: float
    seed: int

    def batch(self, indices: Sequence[int] | np.ndarray, *, epoch: int) -> Batch:
        """The sentences at `indices` with the damage of `epoch`."""
        damaged = [self.damaged(int(index), epoch) for index in indices]
        target = [self.cache.whole(int(index)) for index in indices]
        noisy_ids, noisy_mask = pad([ids for ids, _ in damaged], self.pad)
        target_ids, target_mask = pad(target, self.pad)
        hidden, _ = pad([flags for _, flags in damaged], 0)
        rows = torch.as_tensor(np.asarray(indices, np.int64))
        return Batch(noisy_ids, noisy_mask, target_ids, target_mask, rows, hidden.bool())

    def damaged(self, index: int, epoch: int) -> tuple[list[int], list[int]]:
        """The damaged sentence's ids with its special tokens, and for each token of the whole one 1 if it is gone."""
        rng, words = generator(self.seed, epoch, index), self.cache.words(index)
        left = damage(range(len(words)), noise=self.noise, ratio=self.ratio, rng=rng, spare=self._spare)
        ids = [token for word in left for token in (words[word] if isinstance(word, int) else word)]
        seen = {word for word in left if isinstance(word, int)}
        gone = [int(place not in seen) for place, word in enumerate(words) for _ in word]
        prefix, suffix = self.cache.prefix, self.cache.suffix
        return prefix + ids + suffix, [0] * len(prefix) + gone + [0] * len(suffix)

    def _spare(self, rng: np.random.Generator) -> Any:
        """The mask, or a word drawn from the corpus by how often it occurs."""
        if self.noise == "mask":
            return [self.mask]
        token = int(rng.integers(len(self.cache.ids)))
        first = token
        while not self.cache.starts[first]:
            first -= 1
        last = token + 1
        while last < len(self.cache.ids) and not self.cache.starts[last]:
            last += 1
        return self.cache.ids[first:last].tolist()


def pad(rows: list[list[int]], value: int) -> tuple[Tensor, Tensor]:
    """Rows of ids as (B, longest) ids and mask, padded on the right."""
    longest = max(len(row) for row in rows)
    ids = np.full((len(rows), longest), value, dtype=np.int64)
    mask = np.zeros((len(rows), longest), dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        mask[place, : len(row)] = 1
    return torch.from_numpy(ids), torch.from_numpy(mask)


def epoch_batches(lengths: np.ndarray, batch_size: int, *, seed: int, epoch: int) -> list[np.ndarray]:
    """Every sentence once, in batches of similar length and random order.

    The shuffled sentences are cut into windows of 64 batches; inside a window they are sorted by length, so that a
    batch has hardly any padding, while which sentences meet still changes with every epoch.

    Args:
        lengths: (sentences,) tokens of each.
        batch_size: sentences per batch; the last batch of an epoch may be smaller.
        seed, epoch: decide the order.
    """
    rng = np.random.default_rng((seed, epoch))
    order = rng.permutation(len(lengths))
    window = 64 * batch_size
    batches: list[np.ndarray] = []
    for first in range(0, len(order), window):
        part = order[first : first + window]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[a : a + batch_size] for a in range(0, len(part), batch_size)]
    rng.shuffle(batches)  # type: ignore[arg-type]
    return batches


def endless(
    lengths: np.ndarray, batch_size: int, *, seed: int, skip: int = 0
) -> Iterator[tuple[int, np.ndarray]]:
    """(epoch, indices) for step after step; `skip` steps are passed over without making them."""
    per_epoch = -(-len(lengths) // batch_size)
    epoch, skip = divmod(skip, per_epoch)
    while True:
        for indices in epoch_batches(lengths, batch_size, seed=seed, epoch=epoch)[skip:]:
            yield epoch, indices
        epoch, skip = epoch + 1, 0


WORD = re.compile(r"\w+|[^\w\s]", re.UNICODE)


def damage_text(
    sentence: str, *, noise: str, ratio: float, seed: int, index: int = 0
) -> list[dict[str, Any]]:
    """A preview of the damage on plain text, without a tokenizer.

    Returns:
        one token {"t": text, "s": state, "g": glued to the one before} per word, in the order of the damaged
        sentence; words that the damage removes stay in their place with the state "deleted".
    """
    spans = [match.span() for match in WORD.finditer(sentence)]
    if NO_SPACES.search(sentence):
        spans = [piece for span in spans for piece in _characters(sentence, span)]
    places = list(range(len(spans)))

    def spare(rng: np.random.Generator) -> int:
        return -1 if noise == "mask" else -2 - int(rng.integers(max(1, len(places))))

    after = damage(places, noise=noise, ratio=ratio, rng=generator(seed, 0, index), spare=spare)
    if noise == "delete":
        shown = [(place, "kept" if place in set(after) else "deleted") for place in places]
    else:
        shown = [
            (place, "invented" if place < 0 or (noise == "swap" and place != at) else "kept")
            for at, place in enumerate(after)
        ]
    tokens = []
    for place, state in shown:
        at = place if place >= 0 else -2 - place
        text = "[MASK]" if place == -1 else sentence[slice(*spans[at])]
        glued = place > 0 and spans[place][0] == spans[place - 1][1]
        tokens.append({"t": text, "s": state, "g": bool(glued)})
    return tokens


def _characters(sentence: str, span: tuple[int, int]) -> list[tuple[int, int]]:
    first, last = span
    if NO_SPACES.search(sentence[first:last]):
        return [(at, at + 1) for at in range(first, last)]
    return [span]
