"""What is worked out for every point of a map when somebody asks: what rebuilding it costs, how much that fell while
training, and how little damage moves its vector. Kept with the run, under the fingerprints of the models that it came from.

Legend: N points, H vector size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tsdae_core import explore, inside, maps, rebuild
from tsdae_core.batches import damage_text
from tsdae_core.runs import Job, Run

Told = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done and how much there is."""

KINDS = ("loss", "drop", "steady")
COPIES = inside.COPIES


@dataclass(frozen=True)
class Asked:
    """One such column of one map.

    Attributes:
        kind: "loss": nats per token that the trained decoder needs to rebuild a sentence from the vector of its damaged self.
            "drop": the same by the first checkpoint that is kept, less that by the trained model; the base has no decoder,
            so it cannot be the start. "steady": mean cosine between a sentence's vector and those of its damaged copies, by
            the encoder at `place`.
        place: which encoder of the map; it matters for "steady" alone.
    """

    run: Run
    job: Job
    kind: str
    place: int
    workspace: Path

    @property
    def models(self) -> list[str]:
        """The encoders that it comes from. Raises `ValueError` for a kind that there is not, or one that this run has not."""
        if self.kind not in KINDS:
            raise ValueError(f"the layer must be one of {', '.join(KINDS)}; got {self.kind!r}")
        if self.kind == "steady":
            return [maps.systems_of(self.job)[self.place]]
        if self.kind == "loss":
            return [self.run.name]
        if not has_drop(self.run):
            raise ValueError("the loss before and after needs two checkpoints; this run has not got them yet")
        return [f"{self.run.name}@{self.run.checkpoints()[0].step}", self.run.name]

    @property
    def path(self) -> Path:
        """Where it is kept, whether it is there or not: one place for all maps of the same sentences.

        Raises:
            ValueError: as `models` does, or when nothing is drawn yet.
        """
        facts: list[Any] = [explore.fingerprint(model, self.workspace) for model in self.models]
        text = maps.text_of(self.job)  # one of its own never changes, but is touched
        facts += [text.name] if text else [self.run.corpus_path.stat().st_mtime_ns]
        key = hashlib.sha256(repr(facts).encode() + self.drawn().tobytes()).hexdigest()[:16]
        return self.run.cache_dir / "layers" / f"{self.kind}-{key}.npy"

    def drawn(self) -> np.ndarray:
        """(N,) rows of the text that the map shows. Raises `ValueError` when nothing is drawn yet."""
        found = maps.read_map(self.job, self.place)
        if found is None:
            raise ValueError("this map has no picture yet")
        return found.rows.astype(np.int64)


def has_drop(run: Run) -> bool:
    """Whether there are two states of the decoder to compare."""
    return len(run.checkpoints()) > 1


def column(asked: Asked, told: Told = lambda phase, done, total: None) -> np.ndarray:
    """(N,) float32 of that layer: read, or computed and kept; nan for a blank sentence.

    Raises:
        ValueError: as `Asked.models` does, or when the run has no decoder.
    """
    path = asked.path
    if path.is_file():
        return np.load(path)  # type: ignore[no-any-return]
    texts = maps.table_of(asked.job)["sentence"].take(asked.drawn()).to_pylist()
    values = _steady(asked, texts, told) if asked.kind == "steady" else _losses(asked, texts, told)
    path.parent.mkdir(parents=True, exist_ok=True)
    maps.save_array(path, values)
    return values


def kept(run: Run, job: Job, place: int, workspace: Path) -> dict[str, np.ndarray]:
    """Those columns of the encoder at `place` that were computed already, by kind; an encoder that is not the run's own has no loss."""
    system = maps.systems_of(job)[place]
    decodes = system == run.name or system.startswith(f"{run.name}@")
    columns: dict[str, np.ndarray] = {}
    for kind in KINDS:
        if not decodes and kind != "steady":
            continue
        try:
            path = Asked(run, job, kind, place, workspace).path
        except ValueError:  # a checkpoint or an encoder that is gone
            continue
        if path.is_file():
            columns[kind] = np.load(path)
    return columns


def _losses(asked: Asked, texts: Sequence[str], told: Told) -> np.ndarray:
    config, run = asked.run.config(), asked.run
    steps = [int(name.rpartition("@")[2]) if "@" in name else None for name in asked.models]
    columns = []
    for step in steps:
        phase = f"Rebuilding every sentence{f' as at step {step:,}' if step else ''}"

        def tell(done: int, total: int, phase: str = phase) -> None:
            told(phase, done, total)

        model = rebuild.load_model(run, step=step)
        columns.append(inside.losses(model, texts, noise=config.noise, ratio=config.noise_ratio, told=tell))
    return columns[0] if len(columns) == 1 else columns[0] - columns[1]


def _steady(asked: Asked, texts: Sequence[str], told: Told) -> np.ndarray:
    config = asked.run.config()
    encoder = explore.load_encoder(asked.models[0], asked.workspace)
    return steadiness(
        encoder, texts, noise=config.noise, ratio=config.noise_ratio,
        told=lambda done, total: told("Embedding damaged copies", done, total),
    )  # fmt: skip


def steadiness(
    encoder: explore.Encoder,
    texts: Sequence[str],
    *,
    noise: str,
    ratio: float,
    seed: int = 0,
    copies: int = COPIES,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> np.ndarray:
    """(N,) float32: mean cosine between each text's vector and those of its damaged copies; 1 when damage moves nothing.

    Any encoder has it, a decoder is not needed: the damage is done to the text.

    Args:
        encoder: gives unit vectors (N, H).
        texts: N sentences.
        noise, ratio, seed: the damage; each copy has its own.
        copies: damaged copies of each text.
        told: called with embedded texts and texts to embed in all.
    """
    total = len(texts) * (copies + 1)
    mask = getattr(getattr(encoder.model, "tokenizer", None), "mask_token", None) or "[MASK]"

    def embedded(batch: Sequence[str], before: int) -> np.ndarray:
        return encoder.encode(batch, progress=lambda done, _: told(before + done, total))  # (N, H)

    own = embedded(texts, 0)
    cosines = np.zeros(len(texts), np.float32)
    for copy in range(copies):
        damaged = [
            _damaged(text, noise=noise, ratio=ratio, seed=seed + copy, index=place).replace("[MASK]", mask)
            for place, text in enumerate(texts)
        ]
        cosines += (own * embedded(damaged, (copy + 1) * len(texts))).sum(1)
    return cosines / copies


def _damaged(text: str, *, noise: str, ratio: float, seed: int, index: int) -> str:
    """What is left of a text, or what the noise made of it; the text itself where there is no word to damage."""
    tokens = damage_text(text, noise=noise, ratio=ratio, seed=seed, index=index) if text.strip() else []
    words = [("" if token["g"] else " ") + token["t"] for token in tokens if token["s"] != "deleted"]
    return "".join(words).strip() or text
