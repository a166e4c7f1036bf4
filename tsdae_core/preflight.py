"""Before a long run: what will go wrong, what may disappoint, and how long it will take, measured by a few real steps."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

from tsdae_core import base_models, supervision
from tsdae_core.config import TrainConfig, describe
from tsdae_core.known_models import NEW_MODEL
from tsdae_core.launch import processes
from tsdae_core.methods import METHODS, without_decoder
from tsdae_core.plan import Plan
from tsdae_core.reading import unknown_share
from tsdae_core.runs import Run, create_run, read_json, write_json

FEWEST = 20
"""Sentences below which training makes no sense at all."""

MOST_UNKNOWN = 0.1
"""Share of tokens without a sign of their own above which a base is called unable to read the text."""

MEASURED_STEPS = 8


@dataclass(frozen=True)
class Finding:
    """One thing to know before the start: level "error" (cannot start), "warning" or "info"."""

    level: str
    text: str


@dataclass(frozen=True)
class Estimate:
    """What a run will take, from a few timed steps.

    Attributes:
        seconds_per_step, seconds_total: wall time, looks included in the total.
        rate: sentences per second.
        memory_bytes: peak of the measuring process, or of the GPU.
        disk_bytes: checkpoints and result.
        text: the same in words.
    """

    seconds_per_step: float
    seconds_total: float
    rate: float
    memory_bytes: int
    disk_bytes: int
    text: str


def check(config: TrainConfig, corpus: pa.Table) -> list[Finding]:
    """What can be said without loading a model; errors first."""
    errors, warnings, infos = [], [], []
    whole = corpus.num_rows
    try:
        corpus = supervision.fit(corpus, config.objective)
    except ValueError as error:
        errors.append(str(error))
    count = corpus.num_rows
    if config.objective == "supervised" and not errors:
        infos.append(supervision.about(corpus, whole))
    if count < FEWEST:
        errors.append(
            f"The text has {count:,} sentence{'' if count == 1 else 's'}; training needs at least {FEWEST}, and helps from about 1,000 on."
        )
    elif count < 1000:
        warnings.append(
            f"{count:,} sentences are few: the encoder will learn them by heart. About 1,000 to 100,000 is usual."
        )
    try:
        if base_models.new_size(config.base_model):
            infos.append(
                f"{config.base_model}: a new model and its tokenizer are made from your text. It knows nothing else, so it "
                "needs tens of thousands of sentences and many passes."
            )
        else:
            base_models.resolve(config.base_model)
            refusal = base_models.why_not(config.base_model) or base_models.out_of_reach(config.base_model)
            if refusal:
                errors.append(refusal)
            elif base_models.is_here(config.base_model):
                warnings += _about_base(config) + _about_signs(config, corpus)
            else:
                infos.append(
                    f"{config.base_model} is not on this machine; it is downloaded from the Hugging Face hub at the start."
                )
    except ValueError as error:
        errors.append(str(error))
    if count >= FEWEST:
        passes = Plan.of(config, count).total * config.batch_size / count
        if passes > 100:
            warnings.append(
                f"Each sentence is seen {passes:,.0f} times; watch the held-out loss, or switch on early stopping."
            )
        words = sorted(len(text.split()) for text in corpus["sentence"].slice(0, 2000).to_pylist())
        if words[len(words) // 2] < 4 and config.objective == "tsdae":
            warnings.append(
                "Half of the sentences have fewer than 4 words: little is left of them after the damage."
            )
        if count // 10 < config.held_out:
            infos.append(
                f"{count // 10:,} sentences are held out, a tenth of the text, instead of {config.held_out:,}."
            )
        warnings += _about_objective(config, count)
    if config.objective == "tsdae" and config.noise == "delete" and config.noise_ratio < 0.2:
        warnings.append(
            "Fewer than 20 % of the words are deleted: the decoder can copy, and the vector learns little."
        )
    return (
        [Finding("error", text) for text in errors]
        + [Finding("warning", text) for text in warnings]
        + [Finding("info", text) for text in infos]
    )


def _about_objective(config: TrainConfig, sentences: int) -> list[str]:
    """Warnings about settings that mean nothing to the chosen objective, and about what it needs."""
    method, usual, found = METHODS[config.objective], TrainConfig(), []
    idle = [
        f"'{describe(name).label}'"
        for name in method.ignores
        if getattr(config, name) != getattr(usual, name)
    ]
    if idle:
        does = "does" if len(idle) == 1 else "do"
        found.append(f"{method.name} does not use {' and '.join(idle)}; what is set there {does} nothing.")
    if without_decoder(config.objective):
        found.append(
            f"{method.name} has no decoder: nothing can be rebuilt, and damage is only used to measure the vectors."
        )
    if config.objective == "simcse":
        steps = Plan.of(config, sentences).total
        if steps < 100:
            found.append(
                f"SimCSE will take only {steps:,} steps: lower 'Batch size' or raise 'Epochs' for a text this small."
            )
    if config.objective in ("simcse", "supervised") and processes(config.devices) > 1:
        found.append(f"{method.name} works on one device; choose one under 'Devices'.")
    return found


def _about_base(config: TrainConfig) -> list[str]:
    """Warnings that need the base model's description, which lies on this machine."""
    facts = base_models.describe_base(config.base_model)
    found = []
    if facts.is_sentence_encoder and config.objective == "tsdae" and not config.decoder_warmup_steps:
        found.append(
            "The base is already a sentence encoder; trained from the first step with a random decoder it usually gets "
            "worse. The preset Tuned encoder lets the decoder learn first and holds the encoder near its base."
        )
    if config.anchor and not facts.is_sentence_encoder:
        found.append(
            "'Anchor' holds the encoder near its base, and this base is no sentence encoder yet; set it to 0."
        )
    if facts.is_sentence_encoder and facts.pooling and facts.pooling != config.pooling:
        found.append(
            f"The base was trained with {facts.pooling} pooling and this run uses {config.pooling}: it starts worse."
        )
    if config.layers > (facts.layers or config.layers):
        found.append(f"The base has {facts.layers} layers; keeping {config.layers} is not possible.")
    return found


def _about_signs(config: TrainConfig, corpus: pa.Table) -> list[str]:
    """A warning when the base has no token for much of the text, so that different words look the same to it."""
    try:
        share = unknown_share(corpus, config.base_model)
    except Exception:  # whatever is wrong with a tokenizer's file is told when it is loaded
        return []
    if share < MOST_UNKNOWN:
        return []
    return [
        f"{config.base_model} cannot read {100 * share:.0f} % of this text: to its tokenizer that is one and the same "
        f"unknown token. Choose a base made for the language, or '{NEW_MODEL}', which learns its tokens from your text."
    ]


def measure(config: TrainConfig, corpus: pa.Table, *, timeout: float = 300.0) -> Estimate:
    """Time a few real steps in a process of their own.

    Raises:
        ValueError: when they fail, with the reason.
    """
    with tempfile.TemporaryDirectory(prefix="tsdae-measure-") as folder:
        corpus = supervision.fit(corpus, config.objective)
        some = np.random.default_rng(0).permutation(corpus.num_rows)[:4000]  # a file may be sorted by label
        sample = corpus.take(pa.array(np.sort(some)))
        run = create_run(Path(folder), config, sample, name="measure")
        write_json(run.path / "sentences.json", {"count": corpus.num_rows})
        command = [sys.executable, "-m", "tsdae_core.preflight", str(run.path)]
        root = str(Path(__file__).resolve().parent.parent)
        try:
            done = subprocess.run(
                command, cwd=root, capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise ValueError(
                f"a few steps took more than {timeout:.0f} seconds; choose a smaller model or batch"
            ) from error
        said = read_json(run.path / "estimate.json")
    if "error" in said or not said:
        raise ValueError(
            said.get("error") or f"the measurement failed: {done.stderr.strip().splitlines()[-1:]}"
        )
    return Estimate(**said)


def _measure_here(run: Run) -> Estimate:
    """The body of the measuring process."""
    import torch

    from tsdae_core import probes
    from tsdae_core.batches import epoch_batches
    from tsdae_core.prepare import prepare
    from tsdae_core.steps import make_accelerator

    config = run.config()
    count = int(read_json(run.path / "sentences.json")["count"])
    steps = prepare(run, config, make_accelerator(config))
    batches = epoch_batches(steps.order_by, config.batch_size, seed=config.seed, epoch=0)
    for indices in batches[:2]:
        steps.step(indices, epoch=0, rate=config.learning_rate)
    started = time.monotonic()
    chosen = (batches * MEASURED_STEPS)[2 : 2 + MEASURED_STEPS]
    for indices in chosen:
        float(steps.step(indices, epoch=0, rate=config.learning_rate))
    per_step = (time.monotonic() - started) / len(chosen)
    started = time.monotonic()
    with steps.autocast():
        steps.looks.numbers(steps.model)
        if steps.model.decodes:
            probes.look(
                steps.model, steps.shown, noise=config.noise, ratio=config.noise_ratio, seed=config.seed
            )
    per_look = time.monotonic() - started
    plan = Plan.of(config, count)
    looks = plan.total / plan.probe_every
    seconds = per_step * plan.total + per_look * looks
    on_gpu = steps.device.type == "cuda"
    memory = torch.cuda.max_memory_allocated() if on_gpu else _peak_memory()
    model_bytes = sum(weight.numel() * 4 for weight in steps.model.whole_state().values())
    saved = math.ceil(plan.total / plan.checkpoint_every) + 1
    disk = model_bytes * (saved + 2)
    rate = config.batch_size / per_step
    text = (
        f"About {in_words(seconds)} for {plan.total:,} steps at {rate:.3g} sentences per second; "
        f"{memory / 2**30:.2g} GB of {'GPU ' if on_gpu else ''}memory, {disk / 2**30:.2g} GB of disk"
    )
    return Estimate(per_step, seconds, rate, memory, disk, text)


def _peak_memory() -> int:
    """Peak resident bytes of this process."""
    try:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    except ImportError:  # Windows has no such module
        return int(psutil.Process().memory_info().peak_wset)


def in_words(seconds: float) -> str:
    """A duration as people say it: "3 min 20 s"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def main(path: Path) -> int:
    """Measure in this process and leave the result in the folder."""
    run = Run(path)
    said: dict[str, Any]
    try:
        said = asdict(_measure_here(run))
    except Exception as error:
        said = {"error": str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__}
    write_json(run.path / "estimate.json", said)
    return 1 if "error" in said else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
