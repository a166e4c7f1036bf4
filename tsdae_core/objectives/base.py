"""What the training loop asks of an objective, and batches of whole sentences.

Legend: B sentences, T tokens of the longest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from tsdae_core.batches import Batch, Batcher, pad
from tsdae_core.model import TSDAE


class Objective(Protocol):
    """One way to train an encoder.

    Attributes:
        splits: a batch may be worked through in parts, or by several processes, and still mean the same.
        by_length: batches may be of sentences of similar length; not where a sentence's neighbours are what it learns from.
        by_chance: the loss needs dropout, also on held-out sentences.
    """

    splits: bool
    by_length: bool
    by_chance: bool

    def batch(
        self, indices: Sequence[int] | np.ndarray, *, epoch: int, mine: slice
    ) -> tuple[Batch | None, int]:
        """What one process works on, a function of nothing but the arguments.

        Args:
            indices: (B,) the whole batch.
            epoch: decides what is drawn at random.
            mine: this process's rows.

        Returns:
            the rows, None when there are none, and by what the losses of all processes, summed, are divided.
        """
        ...

    def loss(self, model: TSDAE, batch: Batch) -> Tensor:
        """The summed loss () of a batch, to be divided by what `batch` said."""
        ...


def whole_sentences(batcher: Batcher, indices: Sequence[int] | np.ndarray) -> Batch:
    """The sentences as they are, in both halves of the batch: ids (B, T) and mask (B, T)."""
    ids, mask = pad([batcher.cache.whole(int(index)) for index in indices], batcher.pad)
    rows = torch.as_tensor(np.asarray(indices, np.int64))
    return Batch(ids, mask, ids, mask, rows, torch.zeros_like(ids, dtype=torch.bool))


def rows_of(batch: Batch, mine: slice) -> Batch | None:
    """Some rows of a batch, or None when there are none."""
    rows = torch.arange(len(batch.indices))[mine]
    if len(rows) == len(batch.indices):
        return batch
    return batch.rows(rows) if len(rows) else None
