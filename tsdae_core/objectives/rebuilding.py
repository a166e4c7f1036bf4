"""TSDAE's own objective: rebuild a damaged sentence from its vector (arXiv 2104.06979, equation 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from tsdae_core.batches import Batch, Batcher
from tsdae_core.model import TSDAE


class Rebuilding:
    """See `Objective`; the sum is divided by the tokens that are scored."""

    splits, by_length, by_chance = True, True, False

    def __init__(self, batcher: Batcher):
        self.batcher = batcher
        self.lengths = batcher.cache.lengths()

    def batch(
        self, indices: Sequence[int] | np.ndarray, *, epoch: int, mine: slice
    ) -> tuple[Batch | None, int]:
        """See `Objective`. A process damages its own rows only: damage depends on the sentence, not on the batch."""
        scored = int((self.lengths[indices] - 1).sum())
        own = indices[mine]
        return (self.batcher.batch(own, epoch=epoch) if len(own) else None), scored

    def loss(self, model: TSDAE, batch: Batch) -> Tensor:
        """See `Objective`."""
        return model(batch)[0]
