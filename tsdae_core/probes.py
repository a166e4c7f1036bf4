"""Looks at an encoder while it learns: label-free numbers on held-out sentences with fixed damage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tsdae_core.batches import Batch
from tsdae_core.model import TSDAE
from tsdae_core.rebuild import rebuild


@torch.inference_mode()
def held_out_losses(model: TSDAE, batches: Sequence[Batch], *, shuffled_batches: int = 4) -> dict[str, float]:
    """What the decoder says of held-out sentences with their own vectors and with other sentences' vectors.

    Args:
        model: switched to evaluation and back.
        batches: held-out sentences, always with the same damage.
        shuffled_batches: how many of the batches are also scored with the vectors of the batch handed on by one row.

    Returns:
        held_out: nats per token with the sentence's own vector; shuffled: with another sentence's; bits: what the
        vector saves per sentence, (shuffled - own) * tokens / ln 2, at 0 the decoder ignores the vector.
    """
    training = model.training
    model.eval()
    own = own_again = other = 0.0
    tokens = tokens_again = sentences_again = 0
    for place, batch in enumerate(batches):
        batch = batch.to(model.device)
        vectors = model.encode(batch.noisy, batch.noisy_mask)
        loss = float(model.reconstruction_loss(vectors, batch))
        own, tokens = own + loss, tokens + batch.scored
        if place < shuffled_batches and len(batch.indices) > 1:
            other += float(model.reconstruction_loss(vectors.roll(1, dims=0), batch))
            own_again, tokens_again = own_again + loss, tokens_again + batch.scored
            sentences_again += len(batch.indices)
    model.train(training)
    numbers = {"held_out": own / max(1, tokens)}
    if tokens_again:
        numbers["shuffled"] = other / tokens_again
        numbers["bits"] = (other - own_again) / sentences_again / 0.6931471805599453
    return numbers


def look(model: TSDAE, probes: Sequence[str], *, noise: str, ratio: float, seed: int) -> dict[str, Any]:
    """The probe sentences as the decoder rebuilds them now, and their mean shares recovered and kept."""
    shown = rebuild(model, probes, noise=noise, ratio=ratio, seed=seed)
    numbers: dict[str, Any] = {"sentences": shown}
    for share in ("recovered", "kept"):
        known = [one[share] for one in shown if one[share] is not None]
        if known:
            numbers[share] = sum(known) / len(known)
    return numbers


def choose_probes(sentences: Sequence[str], count: int = 6) -> list[str]:
    """Sentences that are good to watch: neither tiny nor long, as many beginnings as there are."""
    fitting = [text for text in sentences if 5 <= len(text.split()) <= 14] or list(sentences)
    varied: dict[str, str] = {}
    for text in fitting:
        varied.setdefault(text.split()[0].lower() if text.split() else text, text)
    return list(dict.fromkeys([*varied.values(), *fitting, *sentences]))[:count]
