"""SimCSE without labels: the same sentence twice under different dropout (Gao et al. 2021, arXiv 2104.08821, equation 4).

Legend: B sentences, T tokens, H hidden size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from torch import Tensor, nn

from tsdae_core.batches import Batch, Batcher
from tsdae_core.model import TSDAE
from tsdae_core.objectives.base import rows_of, whole_sentences


class SimCSE:
    """See `Objective`; the sum is divided by the sentences.

    Each sentence's second view must be told from those of all others in the batch, so a batch cannot be cut into parts.
    """

    splits, by_length, by_chance = False, False, True

    def __init__(self, batcher: Batcher, *, temperature: float):
        self.batcher = batcher
        # the model is only for its own forward; we hand it vectors
        self.ranking = MultipleNegativesRankingLoss(None, scale=1 / temperature)  # type: ignore[arg-type]

    def batch(
        self, indices: Sequence[int] | np.ndarray, *, epoch: int, mine: slice
    ) -> tuple[Batch | None, int]:
        """See `Objective`. Nothing is drawn here: the model's dropout makes the views."""
        return rows_of(whole_sentences(self.batcher, indices), mine), len(indices)

    def loss(self, model: TSDAE, batch: Batch) -> Tensor:
        """See `Objective`. Both views go through the encoder in one pass; dropout is drawn for each row."""
        ids, mask = batch.target.repeat(2, 1), batch.target_mask.repeat(2, 1)  # (2B, T)
        vectors = model.encode(ids, mask)  # (2B, H)
        if isinstance(model.extra, nn.Module):
            vectors = model.extra(vectors)
        first, second = vectors.float().chunk(2)  # (B, H) each
        mean = self.ranking.compute_loss_from_embeddings([first, second], torch.empty(0))
        return mean * len(first)


def head(model: TSDAE) -> nn.Module:
    """The layer above the vector that SimCSE has in training only: Linear(H, H) and tanh, initialised as BERT's are."""
    linear = nn.Linear(model.hidden_size, model.hidden_size)
    nn.init.normal_(linear.weight, std=getattr(model.transformer.config, "initializer_range", 0.02))
    nn.init.zeros_(linear.bias)
    return nn.Sequential(linear, nn.Tanh())
