"""The corpus as token ids on disk, tokenised once, with where its words begin."""

from __future__ import annotations

import hashlib
import io
import itertools
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

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
    sentences: Sequence[str] | pa.ChunkedArray,
    tokenizer: Any,
    *,
    max_length: int,
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TokenCache:
    """Tokenise every sentence once, a part at a time: what is held in memory does not grow with the corpus.

    Args:
        sentences: the texts.
        tokenizer: a fast Hugging Face tokenizer.
        max_length: tokens kept per sentence, special tokens included.
        folder: where the arrays are written and mapped from; None keeps them in memory. What an interrupted run
            with the same texts, tokenizer and length left there is taken as it is.
        progress: called with sentences done and sentences in all.

    Raises:
        ValueError: for a tokenizer without the word boundaries that damage needs.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            "this checkpoint has only a slow tokenizer, which does not tell where words begin; choose another"
        )
    prefix, suffix = special_tokens(tokenizer)
    room = max(1, max_length - len(prefix) - len(suffix))
    if folder is None:
        ids, starts, offsets = _tokenised(sentences, tokenizer, room, None, progress)
        return TokenCache(ids, starts, offsets, prefix, suffix)
    of = _fingerprint(sentences, tokenizer, room)
    told = folder / "of.txt"
    if not told.is_file() or told.read_text(encoding="utf-8") != of:
        told.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        _tokenised(sentences, tokenizer, room, folder, progress)
        told.write_text(of, encoding="utf-8")  # last: arrays without it are an interrupted run's
    ids, starts, offsets = (_mapped(folder / name, kind) for name, kind in _ARRAYS.items())
    return TokenCache(ids, starts, offsets, prefix, suffix)


_ARRAYS: dict[str, Any] = {"ids.i32": np.int32, "starts.bool": np.bool_, "offsets.i64": np.int64}
_PART = 2000
"""Sentences that are tokenised at once."""


def _tokenised(
    sentences: Sequence[str] | pa.ChunkedArray,
    tokenizer: Any,
    room: int,
    folder: Path | None,
    progress: Callable[[int, int], None] | None,
) -> list[np.ndarray]:
    """The three arrays of `_ARRAYS`, written to `folder` part by part if there is one."""
    with ExitStack() as open_files:
        files = [io.BytesIO() if folder is None else (folder / name).open("wb") for name in _ARRAYS]
        for file in files:
            open_files.enter_context(file)
        end = 0
        files[2].write(np.zeros(1, np.int64).tobytes())
        for first in range(0, len(sentences), _PART):
            part = _strings(sentences, first)
            encoded = tokenizer(
                part, add_special_tokens=False, truncation=True, max_length=room, verbose=False
            )
            ends = end + np.cumsum([len(encoding.ids) for encoding in encoded.encodings])
            for text, encoding in zip(part, encoded.encodings, strict=True):
                files[0].write(np.array(encoding.ids, np.int32).tobytes())
                files[1].write(word_starts(text, encoding.word_ids, encoding.offsets).tobytes())
            files[2].write(ends.astype(np.int64).tobytes())
            end = int(ends[-1])
            if progress:
                progress(first + len(part), len(sentences))
        if folder is not None:
            return []
        kinds = _ARRAYS.values()
        return [
            np.frombuffer(cast(io.BytesIO, file).getvalue(), kind)
            for file, kind in zip(files, kinds, strict=True)
        ]


def _mapped(path: Path, kind: Any) -> np.ndarray:
    """A file as an array that is read when it is needed (an empty file cannot be mapped)."""
    return np.memmap(path, kind, "r") if path.stat().st_size else np.zeros(0, kind)


def _strings(sentences: Sequence[str] | pa.ChunkedArray, first: int) -> list[str]:
    part = sentences[first : first + _PART]
    return part.to_pylist() if isinstance(part, pa.ChunkedArray) else list(part)


def _fingerprint(sentences: Sequence[str] | pa.ChunkedArray, tokenizer: Any, room: int) -> str:
    """Of all that decides the arrays."""
    digest = hashlib.blake2b(f"{room}\n{tokenizer.backend_tokenizer.to_str()}".encode(), digest_size=16)
    for first in range(0, len(sentences), _PART):
        for text in _strings(sentences, first):
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


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
