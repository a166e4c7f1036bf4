"""SimCSE without labels: the same sentence twice under different dropout (Gao et al. 2021, arXiv 2104.08821, equation 4).

Legend: B sentences, T tokens, H hidden size.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import torch
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tsdae_core.batches import Batch, Batcher
from tsdae_core.halves import OwnDropout
from tsdae_core.model import TSDAE
from tsdae_core.objectives.base import rows_of, whole_sentences

PASS_TOKENS = 8192
"""Tokens whose inner states are kept at once; those of a larger batch are worked out again when gradients are."""


class SimCSE:
    """See `Objective`; the sum is divided by the sentences.

    Each sentence's second view must be told from those of all others in the batch, so a batch cannot be cut into parts. The
    paper's batch of 512 would take more than 20 GB: a large one goes through the encoder part by part, and only the vectors stay.
    """

    splits, by_length, by_chance = False, False, True

    def __init__(self, batcher: Batcher, *, temperature: float, pass_tokens: int = PASS_TOKENS):
        self.batcher = batcher
        self.pass_tokens = pass_tokens
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
        vectors = self._vectors(model, ids, mask)  # (2B, H)
        if isinstance(model.extra, nn.Module):
            vectors = model.extra(vectors)
        first, second = vectors.float().chunk(2)  # (B, H) each
        mean = self.ranking.compute_loss_from_embeddings([first, second], torch.empty(0))
        return mean * len(first)

    def _vectors(self, model: TSDAE, ids: Tensor, mask: Tensor) -> Tensor:
        """`model.encode` of (N, T), with no more inner states in memory than those of `pass_tokens` tokens."""
        rows = max(1, self.pass_tokens // ids.shape[1])
        if len(ids) <= rows:
            return model.encode(ids, mask)
        parts = zip(ids.split(rows), mask.split(rows), strict=True)
        made = []
        for ids_part, mask_part in parts:
            seed = int(torch.randint(2**62, ()))
            made.append(checkpoint(_encode, model, ids_part, mask_part, seed, use_reentrant=False))
        return torch.cat(made)


def _encode(model: TSDAE, ids: Tensor, mask: Tensor, seed: int) -> Tensor:
    """The same dropout each time: on a CPU it is drawn here (see `halves`), elsewhere PyTorch's checkpoint sees to it."""
    with OwnDropout(seed) if ids.device.type == "cpu" else nullcontext():
        return model.encode(ids, mask)


def head(model: TSDAE) -> nn.Module:
    """The layer above the vector that SimCSE has in training only: Linear(H, H) and tanh, initialised as BERT's are."""
    linear = nn.Linear(model.hidden_size, model.hidden_size)
    nn.init.normal_(linear.weight, std=getattr(model.transformer.config, "initializer_range", 0.02))
    nn.init.zeros_(linear.bias)
    return nn.Sequential(linear, nn.Tanh())
