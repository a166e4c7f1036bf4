"""A normalising flow on sentence vectors: Glow (Kingma and Dhariwal 2018, arXiv 1807.03039) as BERT-flow simplifies it.

Li et al. 2020 (BERT-flow, arXiv 2011.05864, section 3.2) keep Glow's actnorm, before each step and inside the couplings'
networks, and take additive coupling instead of affine coupling and a fixed permutation instead of the 1x1 convolution; the
permutation is a reversal, as in their code. After each block half of the numbers are left alone (Glow's levels). So a flow is made of linear maps and of small networks with ReLU, and that is why
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


class ActNorm(nn.Module):
    """(x + shift) * scale, number by number; set by the first vectors (Glow, section 3.1), learnt from then on."""

    def __init__(self, n: int):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(n))
        self.log_scale = nn.Parameter(torch.zeros(n))

    @property
    def scale(self) -> Tensor:
        """(n,)"""
        return (self.log_scale * STEEP).exp()

    def forward(self, x: Tensor) -> Tensor:
        """(B, n) to (B, n)."""
        return (x + self.shift) * self.scale

    @torch.no_grad()
    def initialise(self, x: Tensor) -> Tensor:
        """Give these vectors (B, n) mean 0 and deviation 1; returns them so."""
        self.shift.copy_(-x.mean(0))
        self.log_scale.copy_(-(x.std(0, unbiased=False) + 1e-6).log() / STEEP)
        return self(x)  # type: ignore[no-any-return]


class Step(nn.Module):
    """Actnorm, reversal and additive coupling of n numbers. Invertible.

    The coupling's network is Glow's: two layers without bias, each with an actnorm before its ReLU, and a last one that begins
    at zero and has a scale of its own.
    """

    def __init__(self, n: int):
        super().__init__()
        self.norm = ActNorm(n)
        self.first, self.first_norm = nn.Linear(n // 2, WIDTH, bias=False), ActNorm(WIDTH)
        self.second, self.second_norm = nn.Linear(WIDTH, WIDTH, bias=False), ActNorm(WIDTH)
        self.last, self.last_log_scale = nn.Linear(WIDTH, n - n // 2), nn.Parameter(torch.zeros(n - n // 2))
        for linear in (self.first, self.second):
            nn.init.normal_(linear.weight, std=0.05)
        nn.init.zeros_(self.last.weight)  # a new step changes nothing but the scale and the order
        nn.init.zeros_(self.last.bias)

    @property
    def last_scale(self) -> Tensor:
        """(n - n/2,)"""
        return (self.last_log_scale * STEEP).exp()

    def moved(self, kept: Tensor) -> Tensor:
        """What the coupling adds to the second half (B, n - n/2), from the first (B, n/2)."""
        hidden = self.first_norm(self.first(kept)).relu()  # (B, W)
        hidden = self.second_norm(self.second(hidden)).relu()  # (B, W)
        return self.last(hidden) * self.last_scale  # type: ignore[no-any-return]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(B, n) to (B, n), and the log-determinant () of the Jacobian, the same for all rows."""
        x = self.norm(x).flip(1)
        kept, rest = x.tensor_split([x.shape[1] // 2], dim=1)
        return torch.cat([kept, rest + self.moved(kept)], dim=1), STEEP * self.norm.log_scale.sum()

    def inverse(self, z: Tensor) -> Tensor:
        """(B, n): what `forward` was given."""
        kept, rest = z.tensor_split([z.shape[1] // 2], dim=1)
        x = torch.cat([kept, rest - self.moved(kept)], dim=1).flip(1)
        return x / self.norm.scale - self.norm.shift

    @torch.no_grad()
    def initialise(self, x: Tensor) -> None:
        """Set the actnorms by these vectors (B, n), those inside the coupling after the one before it."""
        kept = self.norm.initialise(x).flip(1)[:, : x.shape[1] // 2]
        self.second_norm.initialise(self.second(self.first_norm.initialise(self.first(kept)).relu()))


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
            made += _dense(step, n, size=int(self.steps[0].norm.shift.numel()))  # type: ignore[arg-type, union-attr, operator]
        return made


def _dense(step: Step, n: int, *, size: int) -> list[Layer]:
    """One step as three layers: H -> 2H + W -> 2H + W -> H."""
    half, eye = n // 2, torch.eye(size)
    order = torch.cat([torch.arange(n).flip(0), torch.arange(n, size)])
    scale, shift = torch.ones(size), torch.zeros(size)
    scale[:n], shift[:n] = step.norm.scale.cpu(), step.norm.shift.cpu()
    linear, offset = torch.diag(scale)[order], (scale * shift)[order]  # (H, H), (H,): actnorm and reversal
    (first, bias), (second, added) = (
        _folded(*pair) for pair in ((step.first, step.first_norm), (step.second, step.second_norm))
    )
    into = torch.cat([linear, -linear, first @ linear[:half]])
    passed = torch.zeros(2 * size + WIDTH, 2 * size + WIDTH)
    passed[: 2 * size, : 2 * size] = torch.eye(2 * size)
    passed[2 * size :, 2 * size :] = second
    out, last = torch.cat([eye, -eye, torch.zeros(size, WIDTH)], dim=1), torch.zeros(size)
    out[half:n, 2 * size :] = (step.last.weight * step.last_scale[:, None]).cpu()
    last[half:n] = (step.last.bias * step.last_scale).cpu()
    return [
        Layer(into, torch.cat([offset, -offset, first @ offset[:half] + bias]), relu=True),
        Layer(passed, torch.cat([torch.zeros(2 * size), added]), relu=True),
        Layer(out, last, relu=False),
    ]


def _folded(linear: nn.Linear, norm: ActNorm) -> tuple[Tensor, Tensor]:
    """A layer and the actnorm behind it as one weight (W, ...) and one bias (W,)."""
    return (linear.weight * norm.scale[:, None]).cpu(), (norm.shift * norm.scale).cpu()
