"""BERT-flow: the encoder stays as it is, and a flow above it learns to make its vectors standard normal (Li et al. 2020, arXiv 2011.05864).

With u a sentence's vector, z = f^-1(u) its flowed one and p_Z the standard normal (section 3.2):

    p_U(u) = p_Z(f^-1(u)) |det d f^-1(u) / du|
    maximise over the flow's weights  E_u [ log p_Z(f^-1(u)) + log |det d f^-1(u) / du| ]

What is exported gives z. The vectors here are the mean (or whatever is set) of the last layer's states.

Legend: B sentences, H hidden size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tsdae_core.batches import Batch, Batcher
from tsdae_core.flow import Flow
from tsdae_core.model import TSDAE
from tsdae_core.objectives.base import rows_of, whole_sentences

FIRST = 512
"""Sentences that the actnorms are set by, before the first step."""


class BertFlow:
    """See `Objective`; the sum is divided by the sentences, and is per number of the vector (nats per dimension)."""

    splits, by_length, by_chance = True, True, False

    def __init__(self, batcher: Batcher, model: TSDAE):
        self.batcher, self.model = batcher, model

    def batch(
        self, indices: Sequence[int] | np.ndarray, *, epoch: int, mine: slice
    ) -> tuple[Batch | None, int]:
        """See `Objective`. The first training batch sets the flow's actnorms, in all processes by the same sentences."""
        flow = self.model.extra
        if isinstance(flow, Flow) and not flow.ready:
            flow.initialise(self._some().to(flow.ready.device))
        return rows_of(whole_sentences(self.batcher, indices), mine), len(indices)

    def _some(self) -> Tensor:
        """Vectors (N, H) of sentences spread over the corpus."""
        count = len(self.batcher.cache)
        rows = np.unique(np.linspace(0, count - 1, min(FIRST, count)).astype(np.int64))
        parts = [whole_sentences(self.batcher, rows[at : at + 64]) for at in range(0, len(rows), 64)]
        return torch.cat([frozen_vectors(self.model, part.to(self.model.device)) for part in parts])

    def loss(self, model: TSDAE, batch: Batch) -> Tensor:
        """See `Objective`: the negative of the second equation."""
        assert isinstance(model.extra, Flow)  # put there before the first step
        flowed, logdet = model.extra(frozen_vectors(model, batch))  # (B, H), ()
        normal = -0.5 * (flowed.square() + math.log(2 * math.pi)).sum(1)  # (B,)
        return -(normal + logdet).sum() / flowed.shape[1]


@torch.no_grad()
def frozen_vectors(model: TSDAE, batch: Batch) -> Tensor:
    """The untouched encoder's vectors (B, H), float32, without dropout."""
    training = model.transformer.training
    model.transformer.eval()
    try:
        return model.encode(batch.target, batch.target_mask).float()
    finally:
        model.transformer.train(training)
