"""The training loop, as a process of its own: `python -m tsdae_core.train RUN`.

It reads a run folder and writes into it; the page only looks at that folder. Several processes (accelerate) see the
same batches and each works on its rows of them, so a step means the same whatever their number.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from tqdm import tqdm

from tsdae_core import checkpoints, probes
from tsdae_core.batches import endless
from tsdae_core.devices import describe_device
from tsdae_core.plan import Plan
from tsdae_core.prepare import prepare
from tsdae_core.records import disk_is_full, sweep, why
from tsdae_core.runs import Run
from tsdae_core.steps import Steps, TrainingError, make_accelerator
from tsdae_core.stopping import Clock, Stop
from tsdae_core.storage import load, save


@dataclass
class Progress:
    """Where training stands; saved with every checkpoint."""

    step: int = 0
    seconds: float = 0.0
    best: float = math.inf
    best_step: int = 0
    looks_without_gain: int = 0
    pieces: int = 1
    first_rank: float = 0.0


def train(run: Run, accelerator: Accelerator, *, bar: bool = False) -> str:
    """Train `run` from its last checkpoint, or from its base model, to its end or until it is asked to stop.

    Returns:
        "finished" or "stopped".

    Raises:
        ValueError: for settings that cannot work here.
        TrainingError: when the loss is no longer a number or memory does not suffice.
    """
    config, main = run.config(), accelerator.is_main_process
    say = run.write_status if main else _nothing
    say(
        state="running",
        phase="Loading the model and preparing the text",
        device=describe_device(accelerator.device),
    )
    if main:
        for folder in (run.path, run.checkpoints_dir):
            sweep(folder)
    set_seed(config.seed)  # the same new weights in all processes
    last = checkpoints.newest(run)
    steps = prepare(run, config, accelerator, last=last)
    if accelerator.num_processes > 1:
        set_seed(config.seed, device_specific=True)  # but dropout of their own
    plan, model = Plan.of(config, len(steps.cache)), steps.model
    print(model.facts.loaded, flush=True)
    say(loaded=model.facts.loaded, precision=steps.precision, total=plan.total, sentences=len(steps.cache))
    progress = Progress()
    if last:
        progress = Progress(**checkpoints.resume(last, optimizer=steps.optimizer, learning=steps.learning()))
        steps.pieces = progress.pieces
        if main:
            run.cut_after(progress.step)
            run.append_metrics(
                {"step": progress.step, "event": "resumed", "text": f"Resumed at {progress.step:,}"}
            )
    elif main:
        _look(run, steps, progress, plan)
    stop = Stop(run, accelerator)
    clock = Clock(progress.seconds, progress.step)
    summed, counted, ending = torch.zeros((), device=accelerator.device), 0, "finished"
    order = endless(steps.order_by, config.batch_size, seed=config.seed, skip=progress.step)
    with tqdm(total=plan.total, initial=progress.step, disable=not (bar and main), unit="step") as shown_bar:
        while progress.step < plan.total:
            if stop.asked():
                ending = "stopped"
                break
            epoch, indices = next(order)
            rate, warming = plan.learning_rate(config, progress.step), progress.step < plan.warmup
            summed += steps.step(indices, epoch=epoch, rate=rate, only_new=warming)
            counted += 1
            progress.step += 1
            clock.sentences += len(indices)
            if steps.pieces != progress.pieces:
                progress.pieces = steps.pieces
                say(advice=f"Memory ran short: each batch is now worked through in {steps.pieces} parts.")
            if progress.step % plan.log_every == 0 or progress.step == plan.total:
                loss, summed, counted = float(summed) / counted, torch.zeros_like(summed), 0
                if not math.isfinite(loss):
                    raise TrainingError(
                        f"The loss is no longer a number at step {progress.step:,}.",
                        "Resume from the last checkpoint with a lower learning rate or precision fp32.",
                    )
                if main:
                    run.append_metrics({"step": progress.step, "loss": round(loss, 6), "lr": rate,
                                        "rate": round(clock.rate(), 2), "time": round(clock.seconds(), 2)})  # fmt: skip
                if clock.due():
                    phase = "Decoder first: only the new weights learn" if warming else "Training"
                    say(phase=phase, step=progress.step, loss=loss, rate=clock.rate(),
                        eta=clock.left(plan.total, progress.step))  # fmt: skip
                    shown_bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
            shown_bar.update(1)
            if main and progress.step == plan.warmup:
                run.append_metrics(
                    {"step": progress.step, "event": "decoder_warmup_end", "text": "Whole model learns"}
                )
            if progress.step % plan.probe_every == 0 or progress.step == plan.total:
                if main:
                    with clock.pause():
                        _look(run, steps, progress, plan)
                patience = config.early_stopping_patience
                if stop.agree(patience and progress.looks_without_gain >= patience):
                    break
            if progress.step % plan.checkpoint_every == 0 and progress.step < plan.total:
                progress.seconds = clock.seconds()
                with clock.pause():
                    _keep(run, steps, progress, main)
    progress.seconds = clock.seconds()
    _keep(run, steps, progress, main)
    if main:
        _finish(run, steps, progress, ending)
    accelerator.wait_for_everyone()
    return ending


def _look(run: Run, steps: Steps, progress: Progress, plan: Plan) -> None:
    """Measure on the held-out sentences, rebuild the probes, remember the best."""
    config = steps.config
    numbers: dict[str, Any] = {"step": progress.step}
    centred = config.centring if progress.step else 0.0  # the base is not
    with steps.autocast():
        numbers |= steps.looks.numbers(steps.model, centring=centred)
        if steps.model.decodes:
            seen = probes.look(
                steps.model, steps.shown, noise=config.noise, ratio=config.noise_ratio, seed=config.seed
            )
            row = {"step": progress.step, "held_out": numbers.get("held_out"), "sentences": seen}
            run.append_samples(row)
    each = {key: numbers.pop(key) for key in list(numbers) if isinstance(numbers[key], list)}
    numbers = {key: round(value, 6) for key, value in numbers.items()}
    progress.first_rank = progress.first_rank or numbers.get("effective_rank", 0.0)
    warning = probes.collapse(numbers, progress.first_rank)
    run.append_metrics(numbers | each | ({"warning": warning} if warning else {}))
    run.write_status(**{key: value for key, value in numbers.items() if key != "step"}, warning=warning)
    if numbers.get("held_out", math.inf) < progress.best:
        progress.best, progress.best_step, progress.looks_without_gain = numbers["held_out"], progress.step, 0
        if config.early_stopping_patience:
            with steps.to_save():
                save(steps.model, run.best_dir)
    elif progress.step > plan.warmup and "held_out" in numbers:
        progress.looks_without_gain += 1


def _keep(run: Run, steps: Steps, progress: Progress, main: bool) -> None:
    """Save a checkpoint unless there is one of this step."""
    saved = run.checkpoints()
    if main and not (saved and saved[-1].step == progress.step and saved[-1].optimizer_path.is_file()):
        run.write_status(phase="Saving a checkpoint", step=progress.step)
        with steps.to_save():
            checkpoints.write(
                run,
                steps.model,
                optimizer=steps.optimizer,
                learning=steps.learning(),
                progress=progress,
            )
        run.append_metrics({"step": progress.step, "event": "checkpoint", "text": "Checkpoint"})


def _finish(run: Run, steps: Steps, progress: Progress, ending: str) -> None:
    """Put the result in place: the best model by held-out loss when early stopping is on, else the last."""
    run.write_status(phase="Saving the encoder", step=progress.step)
    best = steps.config.early_stopping_patience and (run.best_dir / "encoder").is_dir()
    with steps.to_save():
        save(load(run.best_dir) if best else steps.model, run.path)
    text = (
        f"Kept the best model, of step {progress.best_step:,}" if best else f"Ended at step {progress.step:,}"
    )
    run.append_metrics({"step": progress.step, "event": ending, "text": text})
    run.clear_stop()
    run.write_status(state=ending, phase=text, step=progress.step, eta=0.0)


def _nothing(**changes: Any) -> None:
    """What the processes other than the main one say."""


def main(path: Path, *, bar: bool = False) -> int:
    """Train the run in `path`; record a failure in its status. Returns the exit code."""
    run = Run(path.resolve())
    is_main = int(os.environ.get("RANK", "0")) == 0
    ends = (signal.SIGTERM, signal.SIGINT)
    before = [
        signal.signal(number, _leave) for number in ends
    ]  # until there is something to save, see `Stop`
    try:
        ending = train(run, make_accelerator(run.config()), bar=bar)
        print(f"Training {ending}.", flush=True)
        return 0
    except _Left as left:
        if is_main and run.path.is_dir():
            run.write_status(state="stopped", phase="Ended before its first step; resume starts it")
        return left.code
    except BaseException as error:
        traceback.print_exc()
        if is_main and run.path.is_dir():
            advice = getattr(error, "advice", "") or _advice(error)
            run.write_status(state="failed", phase="Failed", error=why(error), advice=advice)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        for number, handler in zip(ends, before, strict=True):
            signal.signal(number, handler)


class _Left(BaseException):
    """SIGTERM or Ctrl+C came while there was nothing to save yet."""

    def __init__(self, code: int):
        super().__init__(code)
        self.code = code


def _leave(number: int, _: object) -> None:
    raise _Left(128 + number)


def _advice(error: BaseException) -> str:
    """What to do about a failure."""
    if disk_is_full(error):
        return "Make room, then resume: it goes on from the last checkpoint."
    if isinstance(error, KeyboardInterrupt):
        return "It was interrupted; resume goes on from the last checkpoint."
    return "The log has the details; resume goes on from the last checkpoint."


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
