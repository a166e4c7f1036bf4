"""Two halves of a batch at the same time, each by its own half of a processor's cores.

A training step is thousands of small operations, and to split each of them over the cores costs as much waiting as it saves.
Halves of a batch need nothing from each other until their gradients are added up. Each half draws its dropout
from a generator of its own, so that the same seed gives the same run; and as there are two, the sum of their gradients does
not depend on which comes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from tsdae_core.batches import Batch

FEWEST = 16
"""Sentences of a batch from which on halves are faster: below, adding up gradients costs what they save."""


class Halves:
    """Two threads that work for one step at a time."""

    def __init__(self) -> None:
        self.threads = torch.get_num_threads()
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="half") if self.threads > 1 else None

    def work(self, act: Callable[[Batch], Tensor], batch: Batch, *, splits: bool = True) -> list[Tensor]:
        """`act` on both halves of a batch at the same time, or on a small one as it is.

        What is drawn at random follows from the state of PyTorch's own generator.

        Args:
            act: what to do; it may add gradients to weights.
            batch: the sentences.
            splits: halves may be worked through by themselves.

        Raises:
            whatever `act` did, when all parts have ended.
        """
        seeds = torch.randint(2**62, (2,)).tolist()
        if self._pool is None or not splits or len(batch.indices) < FEWEST:
            with OwnDropout(seeds[0]):
                return [act(batch)]

        def one(part: Batch, seed: int) -> Tensor:
            torch.set_num_threads(max(1, self.threads // 2))
            with OwnDropout(seed):
                return act(part)

        try:
            futures = [
                self._pool.submit(one, part, seed) for part, seed in zip(batch.split(2), seeds, strict=True)
            ]
            wait(futures)
            return [future.result() for future in futures]
        finally:
            torch.set_num_threads(self.threads)  # a part of it belongs to the whole process


class OwnDropout(TorchFunctionMode):
    """Inside, on this thread, dropout draws from a generator of its own instead of the one that all threads share."""

    def __init__(self, seed: int):
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is F.dropout:
            return self._dropout(*args, **(kwargs or {}))
        if func is F.scaled_dot_product_attention and (kwargs or {}).get("dropout_p"):
            return self._attention(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _dropout(
        self, states: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Tensor:
        if not training or p == 0:
            return states
        # of the generator's 64 bits, 16 decide on each number: four times as quick as Tensor.bernoulli_
        size, lost = states.numel(), round(p * 2**16)
        bits = torch.empty(-(-size // 4), dtype=torch.int64).random_(
            -(2**63), None, generator=self._generator
        )
        stays = (bits.view(torch.int16)[:size] >= lost - 2**15).view(states.shape)
        keep = stays.to(states.dtype).div_(1 - lost / 2**16)
        return states.mul_(keep) if inplace else states * keep

    def _attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """What PyTorch's own function is defined as; query (B, heads, T, D), key and value (B, heads, S, D)."""
        if enable_gqa:
            key, value = (
                part.repeat_interleave(query.shape[1] // part.shape[1], dim=1) for part in (key, value)
            )
        scores = query @ key.transpose(-2, -1) * (scale or 1 / math.sqrt(query.shape[-1]))
        if is_causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        if attn_mask is not None:
            if attn_mask.dtype == torch.bool:
                scores = scores.masked_fill(~attn_mask, -torch.inf)
            else:
                scores = scores + attn_mask
        shares = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
        return self._dropout(shares, dropout_p) @ value
