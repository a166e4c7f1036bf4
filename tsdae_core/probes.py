"""Looks at an encoder while it learns: label-free numbers on held-out sentences with fixed damage.

Legend: B sentences, T tokens of a whole one, N scored tokens, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tsdae_core.batches import Batch
from tsdae_core.model import TSDAE
from tsdae_core.rebuild import rebuild


@torch.inference_mode()
def held_out_numbers(
    model: TSDAE, batches: Sequence[Batch], *, shuffled_batches: int = 3
) -> dict[str, float]:
    """What the decoder says of held-out sentences with their own vectors and with other sentences' vectors.

    Args:
        model: switched to evaluation and back.
        batches: held-out sentences, always with the same damage.
        shuffled_batches: how many of the batches are also scored with the vectors handed on by one row.

    Returns:
        held_out: nats per token with the sentence's own vector. shuffled: with another sentence's. bits: what the
        vector saves per sentence, (shuffled - own) * tokens / ln 2; at 0 the decoder ignores the vector.
        rebuilt, rebuilt_shuffled: share of all tokens that the decoder ranks first, given the true words before them,
        with the own and with another sentence's vector. recovered, recovered_shuffled: the same for deleted tokens
        alone, the second being what guessing gives. kept: the same for tokens that the encoder saw.
    """
    training = model.training
    model.eval()
    own, other = _Sums(), _Sums()
    same = _Sums()  # the batches that are scored with other vectors, with their own
    for batch, shuffle in _spread(batches, shuffled_batches):
        batch = batch.to(model.device)
        vectors = model.encode(batch.noisy, batch.noisy_mask)
        seen = _score(model, vectors, batch)
        own.add(seen)
        if shuffle and len(batch.indices) > 1:
            same.add(seen)
            other.add(_score(model, vectors.roll(1, dims=0), batch))
    model.train(training)
    numbers = {"held_out": own.loss / max(1, own.tokens), "rebuilt": own.right / max(1, own.tokens)}
    if own.gone:
        numbers["recovered"] = own.gone_right / own.gone
    if own.tokens > own.gone:
        numbers["kept"] = own.kept_right / (own.tokens - own.gone)
    if other.tokens:
        numbers["shuffled"] = other.loss / other.tokens
        numbers["bits"] = (other.loss - same.loss) / other.sentences / math.log(2)
        numbers["rebuilt_shuffled"] = other.right / other.tokens
        if other.gone:
            numbers["recovered_shuffled"] = other.gone_right / other.gone
    return numbers


@dataclass
class _Sums:
    loss: float = 0.0
    tokens: int = 0
    gone: int = 0
    gone_right: int = 0
    kept_right: int = 0
    sentences: int = 0

    @property
    def right(self) -> int:
        return self.gone_right + self.kept_right

    def add(self, more: _Sums) -> None:
        for name, value in vars(more).items():
            setattr(self, name, getattr(self, name) + value)


def _spread(batches: Sequence[Batch], chosen: int) -> list[tuple[Batch, bool]]:
    """Every batch, with whether it is one of the `chosen` ones, which are spread over all lengths."""
    every = max(1, len(batches) // max(1, chosen))
    return [(batch, place % every == every // 2) for place, batch in enumerate(batches)]


def _score(model: TSDAE, vectors: Tensor, batch: Batch) -> _Sums:
    """Loss and right first ranks of every token of a batch, the end token left out of the ranks."""
    wanted = batch.target_mask[:, 1:].bool()  # (B, T-1)
    labels = model.local(batch.target[:, 1:][wanted])  # (N,)
    scores = model.scores(model.decode(vectors, batch.target[:, :-1])[wanted]).float()  # (N, V)
    right = scores.argmax(-1) == labels  # (N,)
    gone = batch.hidden[:, 1:][wanted]  # (N,)
    return _Sums(
        loss=float(torch.nn.functional.cross_entropy(scores, labels, reduction="sum")),
        tokens=len(labels),
        gone=int(gone.sum()),
        gone_right=int((right & gone).sum()),
        kept_right=int((right & ~gone).sum()),
        sentences=len(batch.indices),
    )


def look(model: TSDAE, probes: Sequence[str], *, noise: str, ratio: float, seed: int) -> list[dict[str, Any]]:
    """The probe sentences as the decoder rebuilds them now (see `rebuild.rebuild`)."""
    return rebuild(model, probes, noise=noise, ratio=ratio, seed=seed)


def choose_probes(sentences: Sequence[str], count: int = 6) -> list[str]:
    """Sentences that are good to watch: neither tiny nor long, as many beginnings as there are."""
    fitting = [text for text in sentences if 5 <= len(text.split()) <= 14] or list(sentences)
    varied: dict[str, str] = {}
    for text in fitting:
        varied.setdefault(text.split()[0].lower() if text.split() else text, text)
    return list(dict.fromkeys([*varied.values(), *fitting, *sentences]))[:count]
