"""The anchor: while an encoder learns to rebuild, its vectors of undamaged sentences stay near the base model's.

Kept near is the direction alone: `1 - cosine` of a sentence's vector to the one that the untrained base gives it. The base's
vectors do not change, so each is computed once and then read from disk.
"""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tsdae_core.batches import Batch
from tsdae_core.config import TrainConfig
from tsdae_core.model import TSDAE, pool
from tsdae_core.storage import from_base

PART = 2
"""Every how many-th sentence of a batch is held: the undamaged sentences cost a pass of their own."""


class Anchor:
    """The untrained base, and the vectors that it has given so far.

    They lie in `folder`, so that a resumed run reads what the interrupted one computed.
    """

    def __init__(
        self,
        model: TSDAE,
        config: TrainConfig,
        base_model: str,
        folder: Path,
        *,
        sentences: int,
        dtype: torch.dtype,
    ):
        base = from_base(
            base_model, pooling=config.pooling, max_length=config.max_length, layers=config.layers
        )
        self.body = (
            copy.deepcopy(base.transformer.base_model).to(model.device, dtype).eval().requires_grad_(False)
        )
        self.pooling = config.pooling
        folder.mkdir(parents=True, exist_ok=True)
        shape = (sentences, model.hidden_size)
        self._vectors = _on_disk(folder / "vectors.f32", np.float32, shape)  # (N, H)
        self._known = _on_disk(folder / "known.bool", np.bool_, shape[:1])  # (N,)

    def pull(self, model: TSDAE, batch: Batch) -> Tensor:
        """(): the sum of `1 - cosine` over a batch's sentences, estimated from every `PART`-th."""
        held = batch.rows(torch.arange(0, len(batch.indices), PART, device=batch.indices.device))
        own = model.encode(held.target, held.target_mask).float()  # (B / PART, H)
        away = 1 - F.cosine_similarity(own, self.vectors(held))
        return away.mean() * len(batch.indices)

    @torch.no_grad()
    def vectors(self, batch: Batch) -> Tensor:
        """The base's vectors (B, H) of a batch's undamaged sentences."""
        rows = batch.indices.cpu().numpy()
        new = np.flatnonzero(~self._known[rows])
        if len(new):
            part = batch.rows(torch.from_numpy(new).to(batch.indices.device))
            states = self.body(input_ids=part.target, attention_mask=part.target_mask).last_hidden_state
            self._vectors[rows[new]] = pool(states, part.target_mask, self.pooling).float().cpu().numpy()
            self._known[rows[new]] = (
                True  # after the vectors: a process that ends in between has lost nothing
            )
        return torch.from_numpy(self._vectors[rows]).to(batch.target.device)


def _on_disk(path: Path, kind: type, shape: tuple[int, ...]) -> np.ndarray:
    """A file as an array, zero at first; one of another size is begun anew."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    again = path.is_file() and path.stat().st_size == size
    return np.memmap(path, dtype=kind, mode="r+" if again else "w+", shape=shape)
