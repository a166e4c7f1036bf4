"""Whether a model can be trained at all, whatever its family claims: three checks on one sentence."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn


def self_test(model: Any) -> None:
    """Make sure that a `TSDAE` model can be trained at all; its weights, gradients and modes stay as they are.

    Three checks in evaluation mode on one sentence of arbitrary tokens: another last token leaves the scores before
    it alone, another vector changes them, and the loss sends a gradient through the vector to the first layer.

    Raises:
        ValueError: when one fails, saying which.
    """
    ids, other = _two_sentences(model)
    training, first = model.training, model.family.joins(model.transformer)[0]
    weights = list(first.parameters())
    learning = [weight.requires_grad for weight in weights]
    model.eval()
    try:
        with torch.enable_grad():
            for weight in weights:
                weight.requires_grad_(True)
            vector = model.encode(ids, torch.ones_like(ids))  # (1, H)
            states = model.decode(vector, ids[:, :-1])[0]  # (T-1, H)
            losses = nn.functional.cross_entropy(model.scores(states).float(), model.local(ids)[0, 1:])
            reached: tuple[Tensor | None, ...] = ()
            if vector.requires_grad:
                (at_vector,) = torch.autograd.grad(losses, [vector], allow_unused=True, retain_graph=True)
                if at_vector is not None:
                    reached = torch.autograd.grad(vector, weights, at_vector, allow_unused=True)
        with torch.no_grad():
            same = model.scores(model.decode(vector.detach(), ids)[0])  # (T, V)
            last = model.scores(model.decode(vector.detach(), other)[0])
            seen = model.scores(model.decode(vector.detach().roll(1, dims=1), ids)[0])
    finally:
        model.train(training)
        for weight, was in zip(weights, learning, strict=True):
            weight.requires_grad_(was)
    kind = model.transformer.config.model_type
    noise = 1e-4 * float(same.abs().max())
    leaked = float((same - last)[:-1].abs().max())
    if not math.isfinite(leaked) or leaked > noise:
        raise ValueError(
            f"{kind}: the decoder sees words to come and could copy them, so this model cannot be trained"
        )
    heard = [float((same - last)[-1].abs().max()), float((same - seen).abs().max())]
    if not min(heard) > max(1e-7 * float(same.abs().max()), leaked):
        lost = "vector" if heard[1] <= heard[0] else "words before"
        raise ValueError(f"{kind}: the decoder does not see the {lost}, so this model cannot be trained")
    if not any(one is not None and bool(one.abs().max() > 0) for one in reached):
        raise ValueError(
            f"{kind}: the loss sends no gradient to the encoder, so this model cannot be trained"
        )


def _two_sentences(model: Any) -> tuple[Tensor, Tensor]:
    """(1, 7) ids that are loaded, and the same with another last one."""
    special = set(model.tokenizer.all_special_ids)
    rows = model.facts.vocabulary or range(model.transformer.get_input_embeddings().weight.shape[0])
    plain = [row for row in rows if row not in special] or list(rows)
    chosen = [plain[place * (len(plain) - 1) // 7] for place in range(8)]
    ids = torch.tensor([chosen[:7]], device=model.device)
    other = torch.tensor([[*chosen[:6], chosen[7]]], device=model.device)
    return ids, other
