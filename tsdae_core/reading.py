"""How a base model's tokenizer reads a text: tokens per sentence, and the share that it has no token for.

Only the tokenizer is loaded, never the model.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tsdae_core.base_models import is_here, new_size, resolve
from tsdae_core.model_files import cached, read_folder, transformer_path


def token_lengths(
    sentences: pa.Table | Sequence[str], base_model: str, *, sample: int = 20_000, seed: int = 0
) -> np.ndarray:
    """Tokens per sentence, special ones included, uncut.

    Args:
        sentences: texts, or a corpus's table.
        base_model: a folder, or the name of a base model on this machine.
        sample: at most so many sentences, drawn at random from `seed`.

    Returns:
        (min(n, sample),) int64, in the order of the sentences.

    Raises:
        ValueError: for a base that cannot be used.
        OSError: when its tokenizer cannot be read.
    """
    texts = _drawn(sentences, sample, seed)
    rust = _rust(base_model)
    if rust is None:
        slow = _slow(base_model)
        return np.array([len(slow(text)["input_ids"]) for text in texts], dtype=np.int64)
    parts = (rust.encode_batch(texts[start : start + 1000]) for start in range(0, len(texts), 1000))
    return np.array([len(one) for part in parts for one in part], dtype=np.int64)


def unknown_share(
    sentences: pa.Table | Sequence[str], base_model: str, *, sample: int = 300, seed: int = 0
) -> float:
    """The share, 0 to 1, of a text's characters that the base's tokenizer can only write as "unknown"; blanks do not count.

    0 as well when the base is not on this machine, or has no such token (byte-level tokenizers can write anything).
    """
    rust = _rust(base_model)
    unknown = _unknown_id(rust) if rust is not None else None
    if rust is None or unknown is None:
        return 0.0
    lost = whole = 0
    for one in rust.encode_batch(_drawn(sentences, sample, seed), add_special_tokens=False):
        lengths = [end - start for start, end in one.offsets]
        whole += sum(lengths)
        lost += sum(length for length, token in zip(lengths, one.ids, strict=True) if token == unknown)
    return lost / whole if whole else 0.0


def tokenizer_file(name: str) -> Path | None:
    """The `tokenizer.json` of a model on this machine; None when there is none, or it has only older files.

    Raises:
        ValueError: when `name` cannot be resolved.
    """
    if new_size(name) or not is_here(name):
        return None
    source = resolve(name)
    folder = Path(source)
    if not folder.is_dir():
        return cached(source, "tokenizer.json")
    found = folder / "tokenizer.json"
    inner = folder / transformer_path(read_folder(folder)) / "tokenizer.json"
    return next((file for file in (inner, found) if file.is_file()), None)


def _drawn(sentences: pa.Table | Sequence[str], sample: int, seed: int) -> list[str]:
    total = len(sentences)
    places = range(total) if total <= sample else sorted(random.Random(seed).sample(range(total), sample))
    if isinstance(sentences, pa.Table):
        return list(sentences["sentence"].take(pa.array(places, pa.int64())).to_pylist())
    return [sentences[place] for place in places]


def _rust(base_model: str) -> Any:
    """The tokenizer as the `tokenizers` library reads it, neither cutting nor padding; None without tokenizer.json."""
    file = tokenizer_file(base_model)
    return _opened(file, file.stat().st_mtime_ns) if file else None


@lru_cache(maxsize=4)
def _opened(file: Path, _changed: int) -> Any:
    from tokenizers import Tokenizer  # noqa: PLC0415  (not needed before there is a text)

    rust = Tokenizer.from_file(str(file))
    rust.no_truncation()
    rust.no_padding()
    return rust


def _unknown_id(rust: Any) -> int | None:
    """The id of the token for what is not in the vocabulary."""
    named = getattr(rust.model, "unk_token", None)
    if named is None and getattr(rust.model, "unk_id", None) is not None:
        return int(rust.model.unk_id)
    return None if named is None else rust.token_to_id(named)


def _slow(base_model: str) -> Any:
    from transformers import AutoTokenizer  # noqa: PLC0415  (slow to import, rarely needed)

    return AutoTokenizer.from_pretrained(resolve(base_model), trust_remote_code=False)
