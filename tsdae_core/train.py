"""The training loop, as a process of its own: `python -m tsdae_core.train RUN`.

It reads a run folder and writes into it; the page only looks at that folder. Several processes (accelerate) see the
same batches and each works on its rows of them, so a step means the same whatever their number.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
import traceback
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import Tensor, nn
from tqdm import tqdm

from tsdae_core import checkpoints, probes
from tsdae_core.batches import Batch, Batcher, TokenCache, build_cache, endless
from tsdae_core.config import TrainConfig
from tsdae_core.devices import check_devices, choose_precision, describe_device
from tsdae_core.model import TSDAE
from tsdae_core.runs import Run
from tsdae_core.storage import from_base, load, save


class TrainingError(RuntimeError):
    """Training cannot go on; the message says why, `advice` what to do."""

    def __init__(self, message: str, advice: str):
        super().__init__(message)
        self.advice = advice


@dataclass
class Progress:
    """Where training stands; saved with every checkpoint."""

    step: int = 0
    seconds: float = 0.0
    best: float = math.inf
    best_step: int = 0
    looks_without_gain: int = 0
    pieces: int = 1


@dataclass(frozen=True)
class Plan:
    """What follows from the settings and the size of the corpus."""

    total: int
    warmup: int
    probe_every: int
    checkpoint_every: int
    log_every: int

    @classmethod
    def of(cls, config: TrainConfig, sentences: int) -> Plan:
        """The plan for a corpus of `sentences` training sentences."""
        total = config.max_steps
        if config.epochs:
            total = min(total, max(1, math.ceil(config.epochs * math.ceil(sentences / config.batch_size))))
        return cls(
            total=total,
            warmup=min(config.decoder_warmup_steps, total - 1),
            probe_every=config.probe_every or max(1, round(total / 30)),
            checkpoint_every=config.checkpoint_every or max(1, math.ceil(total / 8)),
            log_every=max(1, total // 5000),
        )

    def learning_rate(self, config: TrainConfig, step: int) -> float:
        """The learning rate of step `step`, counted from 0."""
        if step < self.warmup:
            return config.new_learning_rate or config.learning_rate
        done = (step - self.warmup) / max(1, self.total - self.warmup)
        if done < config.warmup_ratio:
            return config.learning_rate * (done + 1 / max(1, self.total - self.warmup)) / config.warmup_ratio
        left = (1 - done) / (1 - config.warmup_ratio)
        shape = {"constant": 1.0, "linear": left, "cosine": 0.5 * (1 - math.cos(math.pi * left))}
        return config.learning_rate * shape[config.lr_schedule]


def split_corpus(sentences: list[str], config: TrainConfig) -> tuple[list[str], list[str]]:
    """Training and held-out sentences; which ones is decided by the seed alone."""
    count = min(config.held_out, len(sentences) // 10)
    chosen = set(np.random.default_rng(config.seed).permutation(len(sentences))[:count].tolist())
    train = [text for place, text in enumerate(sentences) if place not in chosen]
    return train, [sentences[place] for place in sorted(chosen)]


def train(run: Run, accelerator: Accelerator, *, bar: bool = False) -> str:
    """Train `run` from its last checkpoint, or from its base model, to its end or until it is asked to stop.

    Returns:
        "finished" or "stopped".

    Raises:
        ValueError: for settings that cannot work here.
        TrainingError: when the loss is no longer a number or memory does not suffice.
    """
    config = run.config()
    main, device = accelerator.is_main_process, accelerator.device
    say = run.write_status if main else _nothing
    say(state="running", phase="Loading the base model", device=describe_device(device), error="", advice="")
    set_seed(config.seed)
    sentences = run.corpus()["sentence"].to_pylist()
    train_texts, held_out_texts = split_corpus(sentences, config)
    plan = Plan.of(config, len(train_texts))
    last = checkpoints.newest(run)
    model = load(last.path) if last else from_base(
        config.base_model, pooling=config.pooling, max_length=config.max_length, tied=config.tied, layers=config.layers
    )  # fmt: skip
    precision = choose_precision(config.precision, device)
    say(phase="Preparing the text", loaded=model.facts.loaded, precision=precision, total=plan.total)
    print(model.facts.loaded, flush=True)
    shown = run.probes() or probes.choose_probes(held_out_texts or train_texts)
    cache = build_cache(train_texts, model.tokenizer, max_length=model.facts.max_length,
                        folder=run.cache_dir / f"tokens-{accelerator.process_index}")  # fmt: skip
    batcher = _batcher(cache, model, config)
    watched = build_cache(held_out_texts + shown, model.tokenizer, max_length=model.facts.max_length)
    looks = _held_out_batches(_batcher(watched, model, config), len(held_out_texts))
    if config.vocabulary == "corpus":
        model.restrict(_needed(cache, watched, model))
    model.to(device).train()
    anchor = checkpoints.anchor_encoder(model, config) if config.anchor else None
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
        fused=device.type in ("cpu", "cuda"),
    )
    progress = Progress()
    if last:
        progress = Progress(**checkpoints.resume(last, model, optimizer))
        if main:
            run.cut_after(progress.step)
            run.append_metrics(
                {"step": progress.step, "event": "resumed", "text": f"Resumed at step {progress.step:,}"}
            )
    autocast = torch.autocast(device.type, dtype=torch.bfloat16 if precision == "bf16" else torch.float16)
    scaler = torch.amp.GradScaler(device.type, enabled=precision == "fp16")
    new = [weight for name, weight in model.named_parameters() if model.is_new(name)]
    old = [weight for name, weight in model.named_parameters() if not model.is_new(name)]

    def look() -> None:
        with autocast if precision != "fp32" else nullcontext():
            numbers: dict[str, Any] = {"step": progress.step}
            numbers |= probes.held_out_losses(model, looks) if looks else {}
            seen = probes.look(model, shown, noise=config.noise, ratio=config.noise_ratio, seed=config.seed)
        sample = {
            "step": progress.step,
            "held_out": numbers.get("held_out"),
            "sentences": seen.pop("sentences"),
        }
        run.append_samples(sample)
        run.append_metrics(numbers | seen)
        say(held_out=numbers.get("held_out"), recovered=seen.get("recovered"))
        if looks and numbers["held_out"] < progress.best:
            progress.best, progress.best_step, progress.looks_without_gain = (
                numbers["held_out"],
                progress.step,
                0,
            )
            if config.early_stopping_patience:
                save(model, run.best_dir)
        elif progress.step > plan.warmup:
            progress.looks_without_gain += 1

    def keep() -> None:
        if main and (not run.checkpoints() or run.checkpoints()[-1].step != progress.step):
            say(phase="Saving a checkpoint")
            checkpoints.write(run, model, optimizer, progress)
            run.append_metrics({"step": progress.step, "event": "checkpoint", "text": "Checkpoint"})

    stop = _Stop(run, accelerator)
    ending = "finished"
    started, resumed_seconds, sentences_done, said_at = time.monotonic(), progress.seconds, 0, 0.0
    summed, counted = torch.zeros((), device=device), 0
    if main and progress.step == 0:
        look()
        started = time.monotonic()
    order = endless(cache.lengths(), config.batch_size, seed=config.seed, skip=progress.step)
    with tqdm(total=plan.total, initial=progress.step, disable=not (bar and main), unit="step") as shown_bar:
        for epoch, indices in order:
            if progress.step >= plan.total:
                break
            if stop.asked():
                ending = "stopped"
                break
            warming = progress.step < plan.warmup
            rate = plan.learning_rate(config, progress.step)
            for group in optimizer.param_groups:
                group["lr"] = rate
            for weight in old:
                weight.requires_grad_(not warming)
            mine = indices[accelerator.process_index :: accelerator.num_processes]
            scored = int((cache.lengths()[indices] - 1).sum())
            batch = batcher.batch(mine, epoch=epoch).to(device) if len(mine) else None
            while True:
                try:
                    loss = torch.zeros((), device=device)
                    for piece in batch.split(progress.pieces) if batch is not None else []:
                        with autocast if precision != "fp32" else nullcontext():
                            piece_loss = _loss(model, piece, scored, anchor, config, len(indices))
                        scaler.scale(piece_loss).backward()
                        loss = loss + piece_loss.detach()
                    break
                except (torch.OutOfMemoryError, RuntimeError) as error:
                    _halve(error, progress, len(mine), device)
                    optimizer.zero_grad()
                    say(
                        advice=f"Memory ran short: each batch is now worked through in {progress.pieces} parts."
                    )
            if accelerator.num_processes > 1:
                loss = _sum_over_processes(accelerator, new if warming else [*new, *old], loss)
            scaler.unscale_(optimizer)
            if config.max_grad_norm:
                nn.utils.clip_grad_norm_(new if warming else model.parameters(), config.max_grad_norm)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            progress.step += 1
            summed, counted, sentences_done = summed + loss, counted + 1, sentences_done + len(indices)
            progress.seconds = resumed_seconds + time.monotonic() - started
            if progress.step % plan.log_every == 0 or progress.step == plan.total:
                mean = float(summed) / counted
                summed, counted = torch.zeros((), device=device), 0
                if not math.isfinite(mean):
                    raise TrainingError(
                        f"The loss is no longer a number at step {progress.step:,}.",
                        "Resume from the last checkpoint with a lower learning rate or precision fp32.",
                    )
                speed = sentences_done / (time.monotonic() - started)
                if main:
                    run.append_metrics({"step": progress.step, "loss": round(mean, 5), "lr": rate,
                                        "rate": round(speed, 2), "time": round(progress.seconds, 2)})  # fmt: skip
                if time.monotonic() - said_at > 0.5:
                    said_at = time.monotonic()
                    left = (plan.total - progress.step) * config.batch_size / speed
                    phase = "Decoder first: only the new weights learn" if warming else "Training"
                    say(phase=phase, step=progress.step, loss=mean, rate=speed, eta=left)
                    shown_bar.set_postfix(loss=f"{mean:.3f}", refresh=False)
            shown_bar.update(1)
            if main and progress.step == plan.warmup:
                run.append_metrics(
                    {"step": progress.step, "event": "decoder_warmup_end", "text": "Whole model learns"}
                )
            if progress.step % plan.probe_every == 0 or progress.step == plan.total:
                if main:
                    look()
                if stop.agree(
                    config.early_stopping_patience
                    and progress.looks_without_gain >= config.early_stopping_patience
                ):
                    break
            if progress.step % plan.checkpoint_every == 0 and progress.step < plan.total:
                keep()
    keep()
    if main:
        _finish(run, model, config, progress, ending)
    accelerator.wait_for_everyone()
    return ending


def _loss(
    model: TSDAE, batch: Batch, scored: int, anchor: Any, config: TrainConfig, sentences: int
) -> Tensor:
    """The share of this part in the mean loss per token of the whole batch, plus the anchor."""
    summed, _ = model(batch)
    loss = summed / scored
    if anchor is not None:
        whole = model.encode(batch.target, batch.target_mask)
        with torch.no_grad():
            base = anchor(batch.target, batch.target_mask)
        loss = (
            loss
            + config.anchor
            * (1 - nn.functional.cosine_similarity(whole.float(), base.float())).sum()
            / sentences
        )
    return loss


def _batcher(cache: TokenCache, model: TSDAE, config: TrainConfig) -> Batcher:
    tokenizer = model.tokenizer
    if config.noise == "mask" and tokenizer.mask_token_id is None:
        raise ValueError(
            "this model's tokenizer has no mask token, which the noise 'mask' needs; choose another noise"
        )
    mask = tokenizer.mask_token_id or 0
    return Batcher(cache, tokenizer.pad_token_id, mask, config.noise, config.noise_ratio, config.seed)


def _held_out_batches(batcher: Batcher, count: int) -> list[Batch]:
    """Held-out sentences in batches of similar length with damage that never changes."""
    order = np.argsort(batcher.cache.lengths()[:count], kind="stable")
    return [batcher.batch(order[first : first + 32], epoch=0) for first in range(0, count, 32)]


def _needed(cache: TokenCache, watched: TokenCache, model: TSDAE) -> Tensor:
    """The tokens that can occur in this run. Ids up to the padding's stay, since some families count positions by it."""
    tokenizer = model.tokenizer
    low = np.arange(tokenizer.pad_token_id + 1) if tokenizer.pad_token_id < 1000 else [tokenizer.pad_token_id]
    ids = [cache.vocabulary(), watched.vocabulary(), low, [tokenizer.mask_token_id or 0]]
    return torch.from_numpy(np.unique(np.concatenate(ids)).astype(np.int64))


def _halve(error: RuntimeError, progress: Progress, rows: int, device: torch.device) -> None:
    """Work through each batch in twice as many parts, if memory is what ran out."""
    if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
        raise error
    if progress.pieces >= rows:
        raise TrainingError(
            "Memory does not suffice for a single sentence.",
            "Lower the longest sentence, keep fewer layers, or set 'Words scored' to corpus.",
        ) from error
    progress.pieces *= 2
    print(f"Out of memory: each batch is now worked through in {progress.pieces} parts.", flush=True)
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _sum_over_processes(accelerator: Accelerator, weights: list[nn.Parameter], loss: Tensor) -> Tensor:
    """Add up the gradients and the loss of all processes; each holds its rows' share of the batch's mean."""
    grads = [weight.grad if weight.grad is not None else torch.zeros_like(weight) for weight in weights]
    flat = torch.cat([loss.reshape(1).float(), *(grad.reshape(-1).float() for grad in grads)])
    flat = accelerator.reduce(flat, reduction="sum")
    place = 1
    for weight, grad in zip(weights, grads, strict=True):
        weight.grad = flat[place : place + grad.numel()].view_as(weight).to(weight.dtype)
        place += grad.numel()
    return flat[0]


class _Stop:
    """Whether somebody wants the run to end: a stop file or a SIGTERM; all processes agree on the step."""

    def __init__(self, run: Run, accelerator: Accelerator):
        self.run, self.accelerator, self.terminated = run, accelerator, False
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        self.terminated = True

    def asked(self) -> bool:
        return self.agree(self.terminated or (self.accelerator.is_main_process and self.run.stop_requested()))

    def agree(self, wanted: object) -> bool:
        """True on every process when it is on any."""
        if self.accelerator.num_processes == 1:
            return bool(wanted)
        flag = torch.tensor([1.0 if wanted else 0.0], device=self.accelerator.device)
        return bool(self.accelerator.reduce(flag, reduction="sum").item() > 0)


def _finish(run: Run, model: TSDAE, config: TrainConfig, progress: Progress, ending: str) -> None:
    """Put the result in place: the best model by held-out loss when early stopping is on, else the last."""
    run.write_status(phase="Saving the encoder", step=progress.step)
    best = config.early_stopping_patience and (run.best_dir / "encoder").is_dir()
    save(load(run.best_dir) if best else model, run.path)
    text = (
        f"Kept the best model, of step {progress.best_step:,}" if best else f"Ended at step {progress.step:,}"
    )
    run.append_metrics({"step": progress.step, "event": ending, "text": text})
    run.clear_stop()
    run.write_status(state=ending, phase=text, step=progress.step, eta=0.0)


def _nothing(**changes: Any) -> None:
    """What the processes other than the main one say."""


def _accelerator(config: TrainConfig) -> Accelerator:
    check_devices(config.devices)
    first = config.devices.split(",")[0].strip()
    if first.startswith("cuda:") and "LOCAL_RANK" not in os.environ:
        torch.cuda.set_device(first)
    return Accelerator(cpu=first.startswith("cpu"), mixed_precision="no")


def main(path: Path, *, bar: bool = False) -> int:
    """Train the run in `path`; record a failure in its status. Returns the exit code."""
    run = Run(path.resolve())
    is_main = int(os.environ.get("RANK", "0")) == 0
    try:
        ending = train(run, _accelerator(run.config()), bar=bar)
        print(f"Training {ending}.", flush=True)
        return 0
    except BaseException as error:
        traceback.print_exc()
        if is_main and run.path.is_dir():
            first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
            advice = getattr(error, "advice", "") or _advice(error)
            run.write_status(state="failed", phase="Failed", error=first_line, advice=advice)
        return 130 if isinstance(error, KeyboardInterrupt) else 1


def _advice(error: BaseException) -> str:
    """What to do about a failure."""
    if isinstance(error, OSError) and error.errno == 28:
        return "The disk is full: make room, then resume from the last checkpoint."
    if isinstance(error, KeyboardInterrupt):
        return "It was interrupted; resume goes on from the last checkpoint."
    return "The log below has the details; resume goes on from the last checkpoint."


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
