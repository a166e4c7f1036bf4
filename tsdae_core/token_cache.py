"""The corpus as token ids on disk, tokenised once, with where its words begin."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

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
