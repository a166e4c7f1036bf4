"""A normalising flow on sentence vectors: Glow (Kingma and Dhariwal 2018, arXiv 1807.03039) as BERT-flow simplifies it.

Li et al. 2020 (BERT-flow, arXiv 2011.05864, section 3.2) keep Glow's actnorm and take additive coupling instead of affine
coupling and a fixed permutation instead of the 1x1 convolution; here the permutation is a reversal. After each block half of
the numbers are left alone (Glow's levels). So a flow is made of linear maps and of small networks with ReLU, and that is why
`layers` can write it exactly as dense layers, which every sentence-transformers can load.

Legend: B sentences, H vector size, n numbers that a step works on, W width of a coupling's network.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

BLOCKS, DEPTH, WIDTH = 3, 3, 32
"""Levels, steps per level, and width of the couplings: BERT-flow's configuration l3_d3_w32."""

STEEP = 3.0
"""Log-scales are stored divided by this, as in Glow's code: they move faster for the same learning rate."""


@dataclass(frozen=True)
class Layer:
    """A dense layer: `activation(weight @ x + bias)`, the activation being ReLU or nothing."""

    weight: Tensor
    bias: Tensor
    relu: bool


class Step(nn.Module):
    """Actnorm, reversal and additive coupling of n numbers. Invertible."""

    def __init__(self, n: int):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(n))
        self.log_scale = nn.Parameter(torch.zeros(n))
        self.first, self.second = nn.Linear(n // 2, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.last = nn.Linear(WIDTH, n - n // 2)
        for linear in (self.first, self.second):
            nn.init.normal_(linear.weight, std=0.05)
            nn.init.zeros_(linear.bias)
        nn.init.zeros_(self.last.weight)  # a new step changes nothing but the scale and the order
        nn.init.zeros_(self.last.bias)

    @property
    def scale(self) -> Tensor:
        """(n,)"""
        return (self.log_scale * STEEP).exp()

    def moved(self, kept: Tensor) -> Tensor:
        """What the coupling adds to the second half (B, n - n/2), from the first (B, n/2)."""
        return self.last(torch.relu(self.second(torch.relu(self.first(kept)))))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(B, n) to (B, n), and the log-determinant () of the Jacobian, the same for all rows."""
        x = ((x + self.shift) * self.scale).flip(1)
        kept, rest = x.tensor_split([x.shape[1] // 2], dim=1)
        return torch.cat([kept, rest + self.moved(kept)], dim=1), STEEP * self.log_scale.sum()

    def inverse(self, z: Tensor) -> Tensor:
        """(B, n): what `forward` was given."""
        kept, rest = z.tensor_split([z.shape[1] // 2], dim=1)
        x = torch.cat([kept, rest - self.moved(kept)], dim=1).flip(1)
        return x / self.scale - self.shift

    @torch.no_grad()
    def initialise(self, x: Tensor) -> None:
        """Let the actnorm give these vectors (B, n) mean 0 and deviation 1 (Glow, section 3.1)."""
        self.shift.copy_(-x.mean(0))
        self.log_scale.copy_(-(x.std(0, unbiased=False) + 1e-6).log() / STEEP)


class Flow(nn.Module):
    """Sentence vectors (B, H) to vectors of the same size that are distributed more like a standard normal.

    Raises:
        ValueError: when H is odd, so that it cannot be halved.
    """

    def __init__(self, size: int):
        super().__init__()
        if size % 2:
            raise ValueError(f"a flow needs vectors of an even size; this model's have {size} numbers")
        sizes, n = [], size
        for _ in range(BLOCKS):
            sizes += [n] * DEPTH
            if n % 4:
                break
            n //= 2
        self.sizes = sizes
        self.steps = nn.ModuleList(Step(n) for n in sizes)
        self.ready = nn.Parameter(torch.zeros(()), requires_grad=False)
        """1 once the actnorms have seen data; a parameter, so that it is saved with the weights."""

    def forward(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """(B, H) to (B, H), and the log-determinant () of the Jacobian."""
        total = vectors.new_zeros(())
        for n, step in zip(self.sizes, self.steps, strict=True):
            moved, logdet = step(vectors[:, :n])
            vectors, total = torch.cat([moved, vectors[:, n:]], dim=1), total + logdet
        return vectors, total

    def inverse(self, vectors: Tensor) -> Tensor:
        """(B, H): what `forward` was given."""
        for n, step in zip(reversed(self.sizes), reversed(self.steps), strict=True):
            vectors = torch.cat([step.inverse(vectors[:, :n]), vectors[:, n:]], dim=1)  # type: ignore[operator]
        return vectors

    @torch.no_grad()
    def initialise(self, vectors: Tensor) -> None:
        """Set every actnorm by these vectors (B, H), one step after the other."""
        for n, step in zip(self.sizes, self.steps, strict=True):
            step.initialise(vectors[:, :n])  # type: ignore[operator]
            vectors = torch.cat([step(vectors[:, :n])[0], vectors[:, n:]], dim=1)
        self.ready.fill_(1)

    @torch.no_grad()
    def layers(self) -> list[Layer]:
        """The same map as dense layers, three for each step.

        A number that must pass a ReLU unharmed passes as two, its positive and its negative part.
        """
        made: list[Layer] = []
        for n, step in zip(self.sizes, self.steps, strict=True):
            made += _dense(step, n, size=int(self.steps[0].shift.numel()))  # type: ignore[arg-type, union-attr, operator]
        return made


def _dense(step: Step, n: int, *, size: int) -> list[Layer]:
    """One step as three layers: H -> 2H + W -> 2H + W -> H."""
    half, eye = n // 2, torch.eye(size)
    order = torch.cat([torch.arange(n).flip(0), torch.arange(n, size)])
    scale, shift = torch.ones(size), torch.zeros(size)
    scale[:n], shift[:n] = step.scale.cpu(), step.shift.cpu()
    linear, offset = torch.diag(scale)[order], (scale * shift)[order]  # (H, H), (H,): actnorm and reversal
    first, bias = step.first.weight.cpu(), step.first.bias.cpu()  # (W, n/2), (W,)
    into = torch.cat([linear, -linear, first @ linear[:half]])
    passed = torch.zeros(2 * size + WIDTH, 2 * size + WIDTH)
    passed[: 2 * size, : 2 * size] = torch.eye(2 * size)
    passed[2 * size :, 2 * size :] = step.second.weight.cpu()
    out, added = torch.cat([eye, -eye, torch.zeros(size, WIDTH)], dim=1), torch.zeros(size)
    out[half:n, 2 * size :] = step.last.weight.cpu()
    added[half:n] = step.last.bias.cpu()
    return [
        Layer(into, torch.cat([offset, -offset, first @ offset[:half] + bias]), relu=True),
        Layer(passed, torch.cat([torch.zeros(2 * size), step.second.bias.cpu()]), relu=True),
        Layer(out, added, relu=False),
    ]
