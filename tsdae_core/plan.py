"""What follows from the settings and the size of the corpus: how long, when to look, when to save. No torch."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run


@dataclass(frozen=True)
class Plan:
    """The course of a run in optimizer steps."""

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
            warmup=min(config.decoder_warmup_steps, total - 1) if config.objective == "tsdae" else 0,
            probe_every=config.probe_every or max(1, round(total / 18)),
            checkpoint_every=config.checkpoint_every or max(1, math.ceil(total / 8)),
            log_every=max(1, total // 5000),
        )

    def learning_rate(self, config: TrainConfig, step: int) -> float:
        """The learning rate of step `step`, counted from 0."""
        if step < self.warmup:
            return config.new_learning_rate or config.learning_rate
        length = max(1, self.total - self.warmup)
        done = (step - self.warmup) / length
        if done < config.warmup_ratio:
            return config.learning_rate * min(1.0, (done + 1 / length) / config.warmup_ratio)
        left = (1 - done) / (1 - config.warmup_ratio)
        if config.lr_schedule == "steps":
            return config.learning_rate * (1 - 0.2 * min(4, step // 500))
        shape = {"constant": 1.0, "linear": left, "cosine": 0.5 * (1 - math.cos(math.pi * left))}
        return config.learning_rate * shape[config.lr_schedule]


def held_out_rows(count: int, config: TrainConfig) -> list[int]:
    """Which of `count` sentences are held out, in order; decided by the seed alone."""
    wanted = min(config.held_out, count // 10)
    return sorted(np.random.default_rng(config.seed).permutation(count)[:wanted].tolist())


def split_corpus(sentences: pa.ChunkedArray, config: TrainConfig) -> tuple[pa.ChunkedArray, list[str]]:
    """Training and held-out sentences. The former stay where Arrow keeps them: there may be millions."""
    rows = held_out_rows(len(sentences), config)
    train = np.ones(len(sentences), dtype=bool)
    train[rows] = False
    return sentences.filter(pa.array(train)), sentences.take(pa.array(rows, pa.int64())).to_pylist()


def held_out_sentences(run: Run) -> list[str]:
    """The sentences that a run does not train on, or all of its text when none are held out."""
    column = run.corpus()["sentence"]
    rows = held_out_rows(len(column), run.config())
    return [str(text) for text in (column.take(pa.array(rows, pa.int64())) if rows else column).to_pylist()]
