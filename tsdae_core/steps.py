"""One optimizer step and everything it needs: model, data, precision, memory that runs short, several processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from tsdae_core.anchor import Anchor
from tsdae_core.batches import Batch
from tsdae_core.centring import mean_vector
from tsdae_core.config import TrainConfig
from tsdae_core.devices import check_devices, keep_memory
from tsdae_core.halves import Halves
from tsdae_core.masters import Masters
from tsdae_core.model import TSDAE
from tsdae_core.objectives.base import Objective
from tsdae_core.objectives.looks import Looks
from tsdae_core.token_cache import TokenCache
from tsdae_core.vocabulary import few_rows


class TrainingError(RuntimeError):
    """Training cannot go on; the message says why, `advice` what to do."""

    def __init__(self, message: str, advice: str):
        super().__init__(message)
        self.advice = advice


def make_accelerator(config: TrainConfig) -> Accelerator:
    """The devices that the settings name. Raises `ValueError` when this machine lacks them."""
    check_devices(config.devices)
    first = config.devices.split(",")[0].strip()
    if first.startswith("cuda:") and "LOCAL_RANK" not in os.environ:
        torch.cuda.set_device(first)
    accelerator = Accelerator(cpu=first.startswith("cpu"), mixed_precision="no")
    if accelerator.device.type == "cpu":
        keep_memory()
    return accelerator


@dataclass
class Steps:
    """All that takes part in a step.

    Attributes:
        cache: the training sentences.
        objective: makes the batches and says what they cost.
        looks: the held-out sentences.
        shown: the probe sentences.
        masters: fp32 copies of the weights when the model computes in bf16.
        pieces: in how many parts a batch is worked through; grows when memory runs short.
        halves: two threads for a batch's two halves, on a processor.
    """

    config: TrainConfig
    accelerator: Accelerator
    model: TSDAE
    cache: TokenCache
    objective: Objective
    looks: Looks
    shown: list[str]
    optimizer: torch.optim.Optimizer
    precision: str
    masters: Masters | None
    anchor: Anchor | None
    pieces: int = 1
    halves: Halves | None = field(init=False)
    scaler: torch.amp.GradScaler = field(init=False)
    order_by: np.ndarray = field(init=False)
    _learning: dict[bool, dict[str, nn.Parameter]] = field(init=False)
    _old: list[nn.Parameter] = field(init=False)

    def __post_init__(self) -> None:
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.precision == "fp16")
        self.halves = Halves() if self.device.type == "cpu" else None
        lengths = self.cache.lengths()
        self.order_by = lengths if self.objective.by_length else np.zeros_like(lengths)
        named, is_new = dict(self.model.named_parameters()), self.model.is_new
        moved = self.masters.by_name if self.masters else named
        self._learning = {False: moved, True: {name: moved[name] for name in moved if is_new(name)}}
        self._old = [weight for name, weight in named.items() if not is_new(name)]

    @property
    def device(self) -> torch.device:
        return self.accelerator.device

    def autocast(self) -> AbstractContextManager[Any]:
        """The number format of the matrix products."""
        if self.precision != "fp16":  # in bf16 the weights themselves are
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.float16)

    @contextmanager
    def to_save(self) -> Iterator[None]:
        """Inside, the model's weights are in full precision, and it knows what to take off its vectors."""
        with self.masters.in_place() if self.masters else nullcontext():
            if share := self.model.facts.centring:
                self.model.taken_off = share * mean_vector(self.model, self.cache)
            yield

    def learning(self, *, only_new: bool = False) -> dict[str, nn.Parameter]:
        """What the optimizer moves, by name; `only_new`: those weights that the base checkpoint had not."""
        return self._learning[only_new]

    def step(self, indices: np.ndarray, *, epoch: int, rate: float, only_new: bool = False) -> Tensor:
        """One optimizer step on the sentences at `indices`, of which each process takes its share.

        Args:
            indices: (B,) of the whole batch.
            epoch: decides the damage.
            rate: learning rate.
            only_new: let only the new weights learn.

        Returns:
            (): the batch's mean loss (per token in TSDAE), without the anchor.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        for weight in self._old:
            weight.requires_grad_(not only_new)
        mine = slice(self.accelerator.process_index, None, self.accelerator.num_processes)
        batch, scored = self.objective.batch(indices, epoch=epoch, mine=mine)
        loss = self._backward(batch, scored, len(indices))
        if self.masters:
            self.masters.take_gradients()
        learning = list(self.learning(only_new=only_new).values())
        if self.accelerator.num_processes > 1:
            loss = sum_over_processes(self.accelerator, learning, loss)
        self.scaler.unscale_(self.optimizer)
        if self.config.max_grad_norm:
            nn.utils.clip_grad_norm_(learning, self.config.max_grad_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.masters:
            self.masters.hand_back()
        self.optimizer.zero_grad()
        return loss

    def _backward(self, batch: Batch | None, scored: int, sentences: int) -> Tensor:
        """Gradients of this process's rows; when memory runs short, again in smaller parts."""
        loss = torch.zeros((), device=self.device)
        if batch is None:
            return loss
        batch = batch.to(self.device)
        while True:
            try:
                for piece in batch.split(self.pieces):
                    with self._lookups(piece):
                        loss = loss + self._learn(piece, scored, sentences) / scored
                return loss
            except RuntimeError as error:
                self._halve(error, len(batch.indices))
                self.model.zero_grad()
                loss = torch.zeros((), device=self.device)

    def _learn(self, batch: Batch, scored: int, sentences: int) -> Tensor:
        """Add a batch's gradients to the weights'; its summed loss ()."""

        def part(batch: Batch) -> Tensor:
            with self.autocast():
                rebuilt, held = self._losses(batch, sentences)
            self.scaler.scale(rebuilt / scored + held).backward()
            return rebuilt.detach()

        if self.halves is None:
            return part(batch)
        return torch.stack(self.halves.work(part, batch, splits=self.objective.splits)).sum()

    def _lookups(self, batch: Batch) -> AbstractContextManager[None]:
        """On a CPU gradients as large as the vocabulary are what a small batch spends its time on."""
        model = self.model
        if self.device.type != "cpu" or model.decoder is not None:
            return nullcontext()
        ids = torch.cat([batch.noisy.flatten(), batch.target.flatten()])
        return few_rows(model.transformer.get_input_embeddings(), model.local(ids))

    def _losses(self, batch: Batch, sentences: int) -> tuple[Tensor, Tensor]:
        """The objective's summed loss, and this part's share of the anchor."""
        rebuilt = self.objective.loss(self.model, batch)
        if self.anchor is None:
            return rebuilt, torch.zeros((), device=self.device)
        return rebuilt, self.config.anchor * self.anchor.pull(self.model, batch) / sentences

    def _halve(self, error: RuntimeError, rows: int) -> None:
        """Work through each batch in twice as many parts, if memory is what ran out."""
        if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
            raise error
        if not self.objective.splits:
            raise TrainingError(
                f"Memory does not suffice for a batch of {rows:,} sentences.",
                "Lower the batch size or the longest sentence: this objective compares each sentence of a batch with all "
                "others, so a batch cannot be worked through in parts.",
            ) from error
        if self.pieces >= rows:
            raise TrainingError(
                "Memory does not suffice for a single sentence.",
                "Lower the longest sentence, keep fewer layers, or set 'Words scored' to corpus.",
            ) from error
        self.pieces *= 2
        print(f"Out of memory: each batch is now worked through in {self.pieces} parts.", flush=True)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def sum_over_processes(accelerator: Accelerator, weights: list[nn.Parameter], loss: Tensor) -> Tensor:
    """Add up the gradients and the loss of all processes; each holds its rows' share of the batch's mean."""
    grads = [weight.grad if weight.grad is not None else torch.zeros_like(weight) for weight in weights]
    flat = torch.cat([loss.reshape(1).float(), *(grad.reshape(-1).float() for grad in grads)])
    flat = accelerator.reduce(flat, reduction="sum")
    place = 1
    for weight, grad in zip(weights, grads, strict=True):
        weight.grad = flat[place : place + grad.numel()].view_as(weight).to(weight.dtype)
        place += grad.numel()
    return flat[0]
