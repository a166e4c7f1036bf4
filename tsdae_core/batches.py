"""From sentences to batches: tokens cached once, damage on word spans of ids, batches of similar length.

Legend: B sentences, S tokens of the longest damaged one, T tokens of the longest whole one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tsdae_core.noise import damage, generator

NO_SPACES = re.compile(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Scripts that are written without spaces between words: there, damage works on tokens, not on words."""


@dataclass(frozen=True)
class TokenCache:
    """All sentences as token ids without special tokens, memory-mapped.

    Attributes:
        ids: (tokens,) int32.
        starts: (tokens,) bool, the token begins a word.
        offsets: (sentences + 1,) int64, where each sentence begins.
        prefix, suffix: the special tokens around a sentence, such as [CLS] and [SEP].
    """

    ids: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray
    prefix: list[int]
    suffix: list[int]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def words(self, index: int) -> list[list[int]]:
        """The sentence as words, each a list of token ids."""
        first, last = self.offsets[index], self.offsets[index + 1]
        ids = self.ids[first:last].tolist()
        cuts = [*np.flatnonzero(self.starts[first:last]).tolist(), len(ids)]
        return [ids[a:b] for a, b in itertools.pairwise(cuts)]

    def whole(self, index: int) -> list[int]:
        """The sentence's ids with its special tokens."""
        return self.prefix + self.ids[self.offsets[index] : self.offsets[index + 1]].tolist() + self.suffix

    def lengths(self) -> np.ndarray:
        """(sentences,) tokens of each sentence, special tokens included."""
        return np.diff(self.offsets) + len(self.prefix) + len(self.suffix)

    def vocabulary(self) -> np.ndarray:
        """The sorted distinct token ids that occur, special tokens included."""
        found = [np.array(self.prefix + self.suffix, dtype=np.int64)]
        for first in range(0, len(self.ids), 1 << 22):
            found.append(np.unique(self.ids[first : first + (1 << 22)]).astype(np.int64))
        return np.unique(np.concatenate(found))


def special_tokens(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The ids that the tokenizer puts before and after a sentence.

    Raises:
        ValueError: when it puts nothing behind the sentence: the decoder could never learn where to end.
    """
    encoded = tokenizer("a", return_special_tokens_mask=True)
    ids, mask = encoded["input_ids"], encoded["special_tokens_mask"]
    inner = [place for place, special in enumerate(mask) if not special]
    first, last = (inner[0], inner[-1] + 1) if inner else (1, 1)
    if not ids[:first] or not ids[last:]:
        raise ValueError(
            "this tokenizer puts no start token before and no end token behind a sentence, which a decoder needs; "
            "choose a BERT-like checkpoint such as bert-base-uncased"
        )
    return list(ids[:first]), list(ids[last:])


def build_cache(
    sentences: Sequence[str],
    tokenizer: Any,
    *,
    max_length: int,
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TokenCache:
    """Tokenise every sentence once.

    Args:
        sentences: the texts.
        tokenizer: a fast Hugging Face tokenizer.
        max_length: tokens kept per sentence, special tokens included.
        folder: where the arrays are written and mapped from; None keeps them in memory.
        progress: called with sentences done and sentences in all.

    Raises:
        ValueError: for a tokenizer without the word boundaries that damage needs.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            "this checkpoint has only a slow tokenizer, which does not tell where words begin; choose another"
        )
    prefix, suffix = special_tokens(tokenizer)
    room = max_length - len(prefix) - len(suffix)
    lengths, all_ids, all_starts = [], [], []
    for first in range(0, len(sentences), 2000):
        part = list(sentences[first : first + 2000])
        encoded = tokenizer(
            part, add_special_tokens=False, truncation=True, max_length=max(1, room), verbose=False
        )
        for text, encoding in zip(part, encoded.encodings, strict=True):
            lengths.append(len(encoding.ids))
            all_ids.append(np.array(encoding.ids, dtype=np.int32))
            all_starts.append(word_starts(text, encoding.word_ids, encoding.offsets))
        if progress:
            progress(min(first + 2000, len(sentences)), len(sentences))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = np.concatenate(all_ids) if all_ids else np.zeros(0, np.int32)
    starts = np.concatenate(all_starts) if all_starts else np.zeros(0, bool)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in (("ids", ids), ("starts", starts), ("offsets", offsets)):
            np.save(folder / f"{name}.npy", array)
        ids, starts, offsets = (
            np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("ids", "starts", "offsets")
        )
    return TokenCache(ids, starts, offsets, prefix, suffix)


def word_starts(text: str, word_ids: Sequence[int | None], spans: Sequence[tuple[int, int]]) -> np.ndarray:
    """(tokens,) bool: which tokens begin a word. In a script without spaces every token does."""
    ids = np.array([-1 if word is None else word for word in word_ids], dtype=np.int64)
    starts = np.ones(len(ids), dtype=bool)
    starts[1:] = ids[1:] != ids[:-1]
    if not text.isascii() and NO_SPACES.search(text):
        for place, (first, last) in enumerate(spans):
            if NO_SPACES.search(text[first:last]):
                starts[place] = True
    return starts


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
