"""The decoder as a glass box: how likely it finds each token, with which vector, and what else it might have written.

Legend: B sentences, T tokens, N scored tokens, H hidden size, V vocabulary.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tsdae_core.batches import Batch, pad
from tsdae_core.generation import choosable, special
from tsdae_core.model import TSDAE
from tsdae_core.pieces import pieces_of
from tsdae_core.token_cache import build_cache

LIKELIEST = 5
MEAN_OF = 200
"""Sentences whose vectors make a mean vector."""


@torch.inference_mode()
def whole_vectors(model: TSDAE, sentences: Sequence[str], *, batch_size: int = 32) -> Tensor:
    """The vectors (B, H) of undamaged sentences, on the CPU."""
    cache = build_cache(list(sentences), model.tokenizer, max_length=model.facts.max_length)
    prefix, suffix = special(model)
    rows = [
        prefix + [token for word in cache.words(place) for token in word] + suffix
        for place in range(len(cache))
    ]
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    vectors = torch.zeros(len(rows), model.hidden_size)
    for first in range(0, len(order), batch_size):
        places = order[first : first + batch_size]
        ids, mask = pad([rows[place] for place in places], model.tokenizer.pad_token_id)
        vectors[places] = model.encode(ids.to(model.device), mask.to(model.device)).float().cpu()
    return vectors


def mean_vector(model: TSDAE, sentences: Sequence[str], *, most: int = MEAN_OF) -> Tensor:
    """The mean (H,) of the vectors of at most `most` undamaged sentences, always the same ones, drawn by chance."""
    picked = random.Random(0).sample(list(sentences), min(most, len(sentences)))
    return whole_vectors(model, picked).mean(0)


@torch.inference_mode()
def costs(model: TSDAE, vectors: Tensor, sentences: Sequence[Sequence[int]]) -> list[list[float]]:
    """What each token costs the decoder, given the vector and the true tokens before it: bits, -log2 of its probability.

    Args:
        vectors: (B, H).
        sentences: B lists of token ids without special tokens.

    Returns:
        for each sentence a number per token, and one more for its end.
    """
    batch = _targets(model, sentences)
    bits = model.reconstruction_loss(vectors.to(model.device), batch, reduction="none") / math.log(2)  # (N,)
    lengths = (batch.target_mask.sum(1) - 1).tolist()
    rows, at = [], 0
    before = len(special(model)[0]) - 1  # start tokens after the first are scored too, but tell nothing
    for length, ids in zip(lengths, sentences, strict=True):
        rows.append(bits[at + before : at + before + len(ids) + 1].tolist())
        at += length
    return rows


@torch.inference_mode()
def explained(
    model: TSDAE, vectors: Tensor, written: Sequence[Sequence[int]], *, likeliest: int = LIKELIEST
) -> list[list[dict[str, Any]]]:
    """Of each written token its probability "p" and the likeliest ones in its place, "alt": [[text, probability], ...]."""
    prefix, _ = special(model)
    batch = _targets(model, written)
    states = model.decode(vectors.to(model.device), batch.target[:, :-1])  # (B, T, H)
    told: list[list[dict[str, Any]]] = []
    for row, ids in enumerate(written):
        first = len(prefix) - 1  # the state that the first written token was chosen from
        logs, tokens = choosable(model, states[row, first : first + len(ids)])  # (T, V), (V,)
        odds = logs.exp()
        best = odds.topk(min(likeliest, odds.shape[1]), dim=1)
        own = torch.tensor(list(ids), device=tokens.device)
        share = (odds * (tokens[None] == own[:, None])).sum(1)  # (T,)
        told.append(
            [
                {
                    "p": round(float(share[place]), 4),
                    "alt": [
                        [text, round(float(odd), 4)]
                        for text, odd in zip(
                            _texts(model, tokens[best.indices[place]].tolist()),
                            best.values[place],
                            strict=True,
                        )
                    ],
                }
                for place in range(len(ids))
            ]
        )
    return told


def _texts(model: TSDAE, ids: list[int]) -> list[str]:
    """Vocabulary entries one by one as people read them; the end of the sentence in words."""
    _, suffix = special(model)
    names = model.tokenizer.convert_ids_to_tokens(ids)
    return [
        "(end)" if token == suffix[0] else pieces_of([name])[0][0]
        for token, name in zip(ids, names, strict=True)
    ]


def _targets(model: TSDAE, sentences: Sequence[Sequence[int]]) -> Batch:
    """Whole sentences as a batch to be scored; the fields of damaged ones are filled with the same."""
    prefix, suffix = special(model)
    rows = [prefix + list(ids) + suffix for ids in sentences]
    ids, mask = pad(rows, model.tokenizer.pad_token_id)
    return Batch(ids, mask, ids, mask, torch.arange(len(rows)), torch.zeros_like(mask).bool()).to(
        model.device
    )
