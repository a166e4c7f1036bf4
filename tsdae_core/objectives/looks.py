"""Looks at the held-out sentences, whatever the objective: its own loss, and how the vectors lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tsdae_core import probes
from tsdae_core.batches import Batch, Batcher
from tsdae_core.config import TrainConfig
from tsdae_core.flow import Flow
from tsdae_core.model import TSDAE
from tsdae_core.objectives.base import Objective

ALL = slice(None)


@dataclass(frozen=True)
class Looks:
    """The held-out sentences as looks need them.

    Attributes:
        objective: over the held-out sentences.
        damaged: the sentences with damage that never changes.
        batches: what the objective makes of them, with what each summed loss is divided by; not for TSDAE, see `probes`.
        seed: decides the dropout of a loss that needs it, the same in every look.
    """

    objective: Objective
    damaged: probes.HeldOut
    batches: list[tuple[Batch, int]]
    seed: int

    @classmethod
    def of(cls, config: TrainConfig, objective: Objective, batcher: Batcher, labels: Sequence[str]) -> Looks:
        """The first sentences of the batcher, as many as there are labels ("" for none).

        Where sentences compete within a batch, all batches have the training's size, as far as there are enough.
        """
        count = len(labels)
        damaged = probes.held_out_batches(batcher, count, labels)
        if config.objective == "tsdae" or not count:
            return cls(objective, damaged, [], config.seed)
        size = min(count, 32 if objective.by_length else config.batch_size)
        order = (
            np.argsort(batcher.cache.lengths()[:count], kind="stable")
            if objective.by_length
            else np.arange(count)
        )
        ends = count - count % size if not objective.splits else count
        made = [objective.batch(order[at : at + size], epoch=0, mine=ALL) for at in range(0, ends, size)]
        return cls(objective, damaged, [(batch, scored) for batch, scored in made if batch], config.seed)

    def numbers(self, model: TSDAE, *, centring: float = 0.0) -> dict[str, Any]:
        """For TSDAE those of `probes.held_out_numbers`, else held_out (the objective's mean loss) and `vector_numbers`.

        `centring`: see `probes.HeldOut.same_label`.
        """
        if model.decodes:
            return probes.held_out_numbers(model, self.damaged, centring=centring)
        if not self.batches:
            return {}
        training = model.training
        try:
            return {"held_out": self._loss(model)} | _vectors(model.eval(), self.damaged, centring)
        finally:
            model.train(training)

    @torch.no_grad()
    def _loss(self, model: TSDAE) -> float:
        """The mean loss; the random state of training stays as it was."""
        model.train(self.objective.by_chance)
        devices = [model.device] if model.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(self.seed)
            summed = sum(
                float(self.objective.loss(model, batch.to(model.device))) for batch, _ in self.batches
            )
        return summed / sum(scored for _, scored in self.batches)


@torch.inference_mode()
def _vectors(model: TSDAE, seen: probes.HeldOut, centring: float) -> dict[str, Any]:
    batches = [batch.to(model.device) for batch in seen.batches]
    whole = torch.cat([_flowed(model, model.encode(batch.target, batch.target_mask)) for batch in batches])
    damaged = torch.cat([_flowed(model, model.encode(batch.noisy, batch.noisy_mask)) for batch in batches])
    return probes.vector_numbers(whole.float(), damaged.float()) | seen.same_label(whole, centring)


def _flowed(model: TSDAE, vectors: Tensor) -> Tensor:
    """The vectors (B, H) as the exported encoder would give them."""
    return model.extra(vectors.float())[0] if isinstance(model.extra, Flow) else vectors
