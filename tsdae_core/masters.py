"""Weights in full precision beside a model that computes in bf16.

Autocast keeps fp32 weights and casts every one of them in every layer of every pass, and every gradient back: thousands
of small operations a step. Here the model itself is bf16, and after each step takes over what fp32 copies of its weights
have learnt (master weights: Micikevicius et al. 2018, arXiv 1710.03740, section 3.1). Sums inside matrix products, norms,
softmax and the loss are fp32 in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


class Masters:
    """The fp32 copies of a model's weights; making it turns the model's own weights to `dtype`.

    Attributes:
        by_name: the copies under the weights' names; these are what the optimizer moves.
    """

    def __init__(self, model: nn.Module, dtype: torch.dtype):
        self.by_name: dict[str, nn.Parameter] = {}
        self._pairs: list[tuple[nn.Parameter, nn.Parameter]] = []
        for name, weight in model.named_parameters():
            master = nn.Parameter(weight.detach().float().clone())
            weight.data = weight.data.to(dtype)
            self.by_name[name] = master
            self._pairs.append((weight, master))

    def take_gradients(self) -> None:
        """The model's gradients become the masters', and are gone from the model."""
        for weight, master in self._pairs:
            master.grad = None if weight.grad is None else weight.grad.float()
            weight.grad = None

    @torch.no_grad()
    def hand_back(self) -> None:
        """The model takes over those masters that have just learnt."""
        learnt = [(weight, master) for weight, master in self._pairs if master.grad is not None]
        if learnt:
            weights, masters = zip(*learnt, strict=True)
            torch._foreach_copy_(list(weights), list(masters))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside, the model's weights are the masters themselves: to be saved."""
        own = [weight.data for weight, _ in self._pairs]
        for weight, master in self._pairs:
            weight.data = master.data
        try:
            yield
        finally:
            for (weight, _), data in zip(self._pairs, own, strict=True):
                weight.data = data
