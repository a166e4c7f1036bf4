"""Contrastive Tension: two encoders agree on the same sentence and disagree on different ones (Carlsson et al. 2021, ICLR).

Both start from the same weights. The second one is `TSDAE.encode`, the one that is exported, as in sentence-transformers.

Legend: B pairs, S and T tokens of their first and second sentences, H hidden size.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tsdae_core.batches import Batch, Batcher, pad
from tsdae_core.model import TSDAE, pool
from tsdae_core.noise import generator
from tsdae_core.objectives.base import rows_of


class ContrastiveTension:
    """See `Objective`; the sum is divided by the pairs (RMSprop does not mind a factor).

    A row's second sentence is the corpus's own at that index; its first is the same one in each `negatives + 1`th row, in
    the others one drawn from the whole corpus, so rows do not need each other.
    """

    splits, by_length, by_chance = True, False, False

    def __init__(self, batcher: Batcher, *, negatives: int):
        if len(batcher.cache) == 1:
            raise ValueError(
                "the objective ct needs at least two sentences, since it sets different ones apart"
            )
        self.batcher, self.negatives = batcher, negatives

    def batch(
        self, indices: Sequence[int] | np.ndarray, *, epoch: int, mine: slice
    ) -> tuple[Batch | None, int]:
        """See `Objective`. `noisy` holds the first sentences, `target` the second ones."""
        cache = self.batcher.cache
        seconds = [int(index) for index in indices]
        firsts = [
            second if place % (self.negatives + 1) == 0 else self._other(second, epoch)
            for place, second in enumerate(seconds)
        ]
        first, first_mask = pad([cache.whole(index) for index in firsts], self.batcher.pad)
        second, second_mask = pad([cache.whole(index) for index in seconds], self.batcher.pad)
        nothing = torch.zeros_like(second, dtype=torch.bool)
        pairs = Batch(first, first_mask, second, second_mask, torch.tensor(seconds), nothing)
        return rows_of(pairs, mine), len(seconds)

    def _other(self, index: int, epoch: int) -> int:
        """Any sentence of the corpus but this one."""
        drawn = int(generator(self.batcher.seed, epoch, index).integers(len(self.batcher.cache) - 1))
        return drawn + (drawn >= index)

    def loss(self, model: TSDAE, batch: Batch) -> Tensor:
        """Equation 1 of the paper: binary cross entropy on the dot product, 1 where both sentences are the same."""
        assert model.extra is not None  # `first_encoder`, put there before the first step
        firsts = model.extra(model.local(batch.noisy), batch.noisy_mask).float()  # (B, H)
        seconds = model.encode(batch.target, batch.target_mask).float()  # (B, H)
        same = same_sentence(batch).to(firsts.dtype)  # (B,)
        return F.binary_cross_entropy_with_logits((firsts * seconds).sum(1), same, reduction="sum")


def same_sentence(batch: Batch) -> Tensor:
    """(B,) whether both sentences of a pair have the same tokens."""
    width = min(batch.noisy.shape[1], batch.target.shape[1])
    equal = (batch.noisy[:, :width] == batch.target[:, :width]).all(1)
    return equal & (batch.noisy_mask.sum(1) == batch.target_mask.sum(1))


class FirstEncoder(nn.Module):
    """A copy of the encoder that learns beside it and is thrown away."""

    def __init__(self, body: nn.Module, pooling: str):
        super().__init__()
        self.body = body
        self.pooling = pooling

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Ids (B, S) of the loaded vocabulary and mask (B, S) to vectors (B, H)."""
        return pool(self.body(input_ids=ids, attention_mask=mask).last_hidden_state, mask, self.pooling)


def first_encoder(model: TSDAE) -> nn.Module:
    """The first encoder, equal to the second until the first step."""
    body = copy.deepcopy(model.transformer.base_model)
    body.get_input_embeddings()._forward_hooks.clear()
    return FirstEncoder(body, model.facts.pooling)
