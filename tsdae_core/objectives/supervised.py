"""Supervised training of a sentence encoder (SBERT: Reimers and Gurevych 2019, arXiv 1908.10084), with sentence-transformers' losses.

Scored pairs: mean squared error of the cosine (`CosineSimilarityLoss`). Pairs that belong together: each sentence is to find its
partner among those of the batch (`MultipleNegativesRankingLoss`, Henderson et al. 2017, arXiv 1705.00652, section 4.4). Labels:
every sentence comes with a partner of its label and is to find it among the partners of other labels, so the same loss without
the wrong negatives that others of its label would be (as Khosla et al. 2020, arXiv 2004.11362, choose theirs by label). Triplets of
the batch would do as well, but their loss is a mean over those that still cost something, so it may rise while an encoder gets
better, and early stopping goes by it.

Legend: B pairs, T tokens, H hidden size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import torch
from sentence_transformers.sentence_transformer.losses import (
    CosineSimilarityLoss,
    MultipleNegativesRankingLoss,
)
from torch import Tensor
from torch.nn import functional as F

from tsdae_core.batches import Batch, Batcher, pad
from tsdae_core.model import TSDAE
from tsdae_core.noise import generator
from tsdae_core.objectives.base import rows_of
from tsdae_core.supervision import Lessons
from tsdae_core.token_cache import TokenCache


class Supervised:
    """See `Objective`; the sum is divided by the pairs.

    A batch's `target` holds the sentences at its indices, `noisy` their partners. What competes inside a batch (positives,
    labels) cannot be cut into parts, and rows without a partner, or with one that is there already, are left out of it.

    Args:
        lessons: of the first sentences of the batcher's cache; those after them take no part.
        seconds: the partners' tokens, in the same order; None for labels.
    """

    by_chance = False

    def __init__(self, batcher: Batcher, lessons: Lessons, seconds: TokenCache | None, *, temperature: float):
        self.batcher, self.kind, self.seconds = batcher, lessons.kind, seconds
        self.splits = self.by_length = lessons.kind == "scores"
        self.targets = torch.from_numpy(lessons.targets).float()  # (N,)
        self.of_label: dict[float, list[int]] = defaultdict(list)
        for row, target in enumerate(lessons.targets.tolist()):
            self.of_label[target].append(row)
        # the model is only for their own forward; we hand them vectors
        self.by_score = CosineSimilarityLoss(None)  # type: ignore[arg-type]
        self.ranking = MultipleNegativesRankingLoss(None, scale=1 / temperature)  # type: ignore[arg-type]
        self.temperature = temperature

    def batch(
        self, indices: Sequence[int] | np.ndarray, *, epoch: int, mine: slice
    ) -> tuple[Batch | None, int]:
        """See `Objective`. What is drawn is a label's partner, by seed, epoch and sentence."""
        rows: list[int] = []
        firsts: list[list[int]] = []
        seconds: list[list[int]] = []
        taken: set[tuple[int, ...]] = set()
        for index in map(int, indices):
            one, partner = self.batcher.cache.whole(index), self._partner(index, epoch)
            if partner is None:
                continue
            if self.kind == "positives":  # the same sentence twice in a batch would be a wrong "other" one
                texts = {tuple(one), tuple(partner)}
                if texts & taken:
                    continue
                taken |= texts
            rows.append(index)
            firsts.append(one)
            seconds.append(partner)
        if not rows:
            return None, 1
        first, first_mask = pad(firsts, self.batcher.pad)
        other, other_mask = pad(seconds, self.batcher.pad)
        nothing = torch.zeros_like(first, dtype=torch.bool)
        pairs = Batch(other, other_mask, first, first_mask, torch.tensor(rows), nothing)
        return rows_of(pairs, mine), len(rows)

    def _partner(self, index: int, epoch: int) -> list[int] | None:
        """The other sentence's ids; None for a label that no other sentence has."""
        if self.seconds is not None:
            return self.seconds.whole(index)
        same = self.of_label[float(self.targets[index])]
        if len(same) < 2:
            return None
        drawn = int(generator(self.batcher.seed, epoch, index).integers(len(same) - 1))
        return self.batcher.cache.whole(same[drawn + (same[drawn] >= index)])

    def loss(self, model: TSDAE, batch: Batch) -> Tensor:
        """See `Objective`."""
        firsts = model.encode(batch.target, batch.target_mask).float()  # (B, H)
        seconds = model.encode(batch.noisy, batch.noisy_mask).float()  # (B, H)
        targets = self.targets[batch.indices.cpu()].to(firsts.device)  # (B,)
        if self.kind == "scores":
            mean = self.by_score.compute_loss_from_embeddings([firsts, seconds], targets)
        elif self.kind == "positives":
            mean = self.ranking.compute_loss_from_embeddings([firsts, seconds], targets)
        else:
            mean = ranking_by_label(firsts, seconds, targets, temperature=self.temperature)
        return mean * len(firsts)


def ranking_by_label(firsts: Tensor, seconds: Tensor, labels: Tensor, *, temperature: float) -> Tensor:
    """(): cross entropy of finding one's own partner by the cosine among the partners of other labels.

    Args:
        firsts, seconds: (B, H); a row's partner is the one of the same row and has its label.
        labels: (B,).
    """
    cosines = F.normalize(firsts, dim=1) @ F.normalize(seconds, dim=1).T / temperature  # (B, B)
    same = labels[:, None] == labels[None, :]
    same.fill_diagonal_(False)
    return F.cross_entropy(
        cosines.masked_fill(same, -torch.inf), torch.arange(len(firsts), device=firsts.device)
    )
