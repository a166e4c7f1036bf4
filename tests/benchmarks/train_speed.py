"""Sentences per second of training, ours against sentence-transformers' own trainer and TSDAE loss.

    python -m tests.benchmarks.train_speed [--data FILE] [--batch-size 8] [--sentences 480] [--rounds 3]

Without --data: the documentation of the installed Python packages.

Every measurement is a process of its own; the variants take turns, so that a machine that drifts drifts for all. The
reference runs its documented recipe: its trainer, its data loader, words deleted by a transform at 0.6 (words split at
spaces instead of by NLTK, whose data needs a download, which spares it time), fp32. Ours runs the steps of the app.
Model loading and the first steps are not counted. "limit" is the share of the step's time that its matrix products would
take at the rate which this machine reaches on the largest of them by itself: PyTorch counts the products' floating-point operations.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tsdae_core.launch import WAITING

WARM = 4
VARIANTS = {
    "reference": {},
    "exact": {"precision": "fp32", "vocabulary": "full"},
    "fp32, corpus's tokens": {"precision": "fp32", "vocabulary": "corpus"},
    "default": {"precision": "auto", "vocabulary": "corpus"},
}


def reference(sentences: list[str], base: str, *, batch_size: int, max_length: int) -> float:
    """Sentences per second of SentenceTransformerTrainer with DenoisingAutoEncoderLoss."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import DenoisingAutoEncoderLoss
    from transformers import TrainerCallback

    def damage(batch: dict[str, list[str]]) -> dict[str, list[str]]:
        noisy = []
        for text in batch["text"]:
            words = text.split()
            noisy.append(
                " ".join([word for word in words if random.random() > 0.6] or [random.choice(words)])
            )
        return {"noisy": noisy, "text": batch["text"]}

    class Clock(TrainerCallback):
        started = ended = 0.0

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == WARM:
                self.started = time.monotonic()
            self.ended = time.monotonic()

    random.seed(0)
    model = SentenceTransformer(base, device=None)
    model.max_seq_length = max_length
    model[1].pooling_mode = "cls"
    del model[2:]
    data = Dataset.from_dict({"text": sentences})
    data.set_transform(damage, columns=["text"], output_all_columns=True)
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder, per_device_train_batch_size=batch_size, max_steps=len(sentences) // batch_size,
            learning_rate=3e-5, lr_scheduler_type="constant", weight_decay=0.0, save_strategy="no", report_to="none",
            logging_strategy="no", disable_tqdm=True,
        )  # fmt: skip
        loss = DenoisingAutoEncoderLoss(model, tie_encoder_decoder=True)
        SentenceTransformerTrainer(
            model=model, args=arguments, train_dataset=data, loss=loss, callbacks=[clock]
        ).train()
    steps = len(sentences) // batch_size
    return (steps - WARM) * batch_size / (clock.ended - clock.started)


def ours(
    sentences: list[str], base: str, *, batch_size: int, max_length: int, **changes: Any
) -> tuple[float, float]:
    """Sentences per second of the app's own steps, and the share of their time that the matrix products need."""
    import pyarrow as pa

    from tsdae_core.batches import endless
    from tsdae_core.config import checked
    from tsdae_core.prepare import prepare
    from tsdae_core.runs import create_run
    from tsdae_core.steps import make_accelerator

    settings = {
        "base_model": base,
        "batch_size": batch_size,
        "max_length": max_length,
        "held_out": 0,
        **changes,
    }
    table = pa.table(
        {"sentence": sentences, "line": range(len(sentences)), "label": pa.nulls(len(sentences), pa.string())}
    )
    with tempfile.TemporaryDirectory() as folder:
        run = create_run(Path(folder), checked(settings), table, name="speed")
        config = run.config()
        steps = prepare(run, config, make_accelerator(config))
        order = endless(steps.order_by, batch_size, seed=config.seed)
        done, loss = 0, None
        for _ in range(WARM):
            epoch, indices = next(order)
            loss = steps.step(indices, epoch=epoch, rate=3e-5)
        float(loss)
        started = time.monotonic()
        for _ in range(len(sentences) // batch_size - WARM):
            epoch, indices = next(order)
            loss = steps.step(indices, epoch=epoch, rate=3e-5)
            done += len(indices)
        float(loss)
        rate = done / (time.monotonic() - started)
        from torch.utils.flop_counter import FlopCounterMode

        steps.halves = None  # operations are counted on this thread alone
        with FlopCounterMode(display=False) as counter:
            epoch, indices = next(order)
            steps.step(indices, epoch=epoch, rate=3e-5)
        tokens = int(steps.order_by[indices].sum())
        needed = counter.get_total_flops() / len(indices) / matrix_rate(steps.model, tokens)  # s per sentence
        return rate, needed * rate


def matrix_rate(model: Any, tokens: int) -> float:
    """Floating-point operations per second of the layer's largest product, (tokens, H) by (H, 4H), measured alone."""
    import torch

    weight = next(
        weight for name, weight in model.named_parameters() if "intermediate" in name and weight.dim() == 2
    )
    wide, hidden = weight.shape
    left = torch.randn(tokens, hidden, dtype=weight.dtype, device=weight.device)
    right = torch.randn(hidden, wide, dtype=weight.dtype, device=weight.device)
    best = float("inf")
    for _ in range(20):
        started = time.perf_counter()
        for _ in range(10):
            product = left @ right
        float(product[0, 0])
        best = min(best, (time.perf_counter() - started) / 10)
    return 2 * tokens * hidden * wide / best


def read(data: str) -> list[str]:
    """The sentences of a file, or of the documentation of the installed packages."""
    if not data:
        from tsdae_core.examples import load_example

        return list(load_example("documentation").table["sentence"].to_pylist())
    lines = Path(data).read_text(encoding="utf-8", errors="replace").splitlines()
    return list(dict.fromkeys(line.rsplit("\t", 1)[-1].strip() for line in lines if line.strip()))


def one(arguments: argparse.Namespace) -> None:
    """Measure one variant in this process and print it as JSON."""
    from tsdae_core.base_models import resolve

    texts = read(arguments.data)
    random.Random(0).shuffle(texts)
    sentences = texts[: arguments.sentences]
    shape = {"batch_size": arguments.batch_size, "max_length": arguments.max_length}
    base = resolve(arguments.base_model)
    if arguments.variant == "reference":
        rate, limit = reference(sentences, base, **shape), 0.0
    else:
        rate, limit = ours(sentences, base, **shape, **VARIANTS[arguments.variant])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"rate": rate, "peak": peak, "limit": limit}))


def main() -> None:
    from tsdae_core.config import BUNDLED_MODEL

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", default="", help="a text file, one sentence a line; of a tsv the last column counts"
    )
    parser.add_argument("--base-model", default=BUNDLED_MODEL)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--max-length", type=int, default=75)
    parser.add_argument("--sentences", type=int, default=480)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--variant", choices=list(VARIANTS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.variant:
        one(arguments)
        return
    rates: dict[str, list[float]] = {name: [] for name in VARIANTS}
    peaks: dict[str, list[float]] = {name: [] for name in VARIANTS}
    limits: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for number in range(arguments.rounds):
        for name in VARIANTS:
            command = [sys.executable, "-m", "tests.benchmarks.train_speed", *sys.argv[1:], "--variant", name]
            environment = {**({} if name == "reference" else WAITING), **os.environ}  # as the app starts it
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            if done.returncode:
                sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
            said = json.loads(done.stdout.splitlines()[-1])
            rates[name].append(said["rate"])
            peaks[name].append(said["peak"])
            limits[name].append(said["limit"])
            print(f"round {number + 1}: {name:24} {said['rate']:8.1f} sentences/s", file=sys.stderr)
    print(
        f"{arguments.base_model}, batch {arguments.batch_size}, {arguments.sentences} sentences, {arguments.rounds} rounds"
    )
    print(f"{'variant':24} {'sentences/s':>12} {'peak GB':>8} {'ratio':>7}  {'spread':11} limit")
    for name in VARIANTS:
        ratios = [a / b for a, b in zip(rates[name], rates["reference"], strict=True)]
        print(
            f"{name:24} {statistics.median(rates[name]):12.1f} {statistics.median(peaks[name]) / 2**30:8.2f} "
            f"{statistics.median(ratios):6.2f}x  {f'{min(ratios):.2f}-{max(ratios):.2f}':11} {statistics.median(limits[name]):.0%}"
        )


if __name__ == "__main__":
    main()
