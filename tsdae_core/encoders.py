"""Any sentence encoder by its name: a run, one of its checkpoints, what it started from, a folder, a hub name.

Legend: N sentences, H vector size.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tsdae_core.base_models import is_here, out_of_reach, resolve
from tsdae_core.rebuild import newest_model
from tsdae_core.runs import Run, find_run, list_runs
from tsdae_core.scratch import base_of

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is."""

CHUNK = 4096
"""Texts that are tokenised together to be sorted by their tokens."""

MOST_TOKENS = 1024
"""Tokens of a pass on a processor: of all-MiniLM-L6-v2 its widest layer then takes 6 MB, which a cache still holds."""


@dataclass
class Encoder:
    """A loaded sentence encoder.

    Attributes:
        name: as the user wrote it.
        fingerprint: changes when the weights do; the key of everything cached.
        model: a SentenceTransformer.
    """

    name: str
    fingerprint: str
    model: Any
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def encode(
        self, texts: Sequence[str], *, progress: Progress | None = None, batch_size: int = 64
    ) -> np.ndarray:
        """Texts to unit vectors, float32 (N, H); what has the same number of tokens shares a pass.

        Args:
            texts: N sentences.
            progress: called with sentences done and sentences in all.
            batch_size: sentences per pass at most.
        """
        order = np.argsort([len(text) for text in texts], kind="stable")[::-1]
        size = int(self.model.get_embedding_dimension())
        vectors = np.zeros((len(texts), size), dtype=np.float32)
        with self.lock:
            for first in range(0, len(texts), CHUNK):
                rows = order[first : first + CHUNK]
                done = first
                for places in self._passes([texts[row] for row in rows], batch_size):
                    part = rows[places]
                    vectors[part] = self.model.encode(
                        [texts[row] for row in part],
                        batch_size=batch_size,
                        normalize_embeddings=True,
                        convert_to_numpy=True,
                        show_progress_bar=False,
                    )
                    done += len(part)
                    if progress:
                        progress(done, len(texts))
        return vectors

    def _passes(self, texts: list[str], batch_size: int) -> Iterator[np.ndarray]:
        """Places of a chunk's texts that go through the model together.

        On a processor that is time: sorted by characters, a quarter to a third of what is computed is padding, and more
        tokens at once than its cache holds are slower per token. A graphics card takes a chunk's batches as they come.
        """
        tokenizer: Any = getattr(self.model, "tokenizer", None)
        if self.model.device.type != "cpu" or not getattr(tokenizer, "is_fast", False):
            yield from np.array_split(np.arange(len(texts)), max(1, -(-len(texts) // (8 * batch_size))))
            return
        longest = int(self.model.get_max_seq_length() or MOST_TOKENS)
        found = tokenizer(texts, add_special_tokens=True, return_attention_mask=False)["input_ids"]
        yield from passes([min(len(ids), longest) for ids in found], batch_size)


def passes(lengths: Sequence[int], batch_size: int, *, tokens: int = MOST_TOKENS) -> Iterator[np.ndarray]:
    """Places of texts that go through a model together, the longest first.

    Args:
        lengths: tokens of each text.
        batch_size: texts at once at most.
        tokens: of them together at most, padding included; a longer text goes alone.

    >>> [places.tolist() for places in passes([1, 5, 2, 4], 2, tokens=9)]
    [[1], [3, 2], [0]]
    """
    order = np.argsort([-length for length in lengths], kind="stable")
    first = 0
    while first < len(order):
        longest = max(1, lengths[order[first]])
        count = max(1, min(batch_size, tokens // longest))
        yield order[first : first + count]
        first += count


_LOADED: OrderedDict[str, Encoder] = OrderedDict()
_LOADING = threading.Lock()
KEPT_LOADED = 4


def load_encoder(system: str, workspace: Path) -> Encoder:
    """An encoder by name; the last few stay loaded for as long as their files stay the same.

    Args:
        system: a run's name (its result or newest checkpoint), RUN@STEP (a checkpoint), base:RUN (what the run started
            from, with the run's pooling), a sentence-transformers folder, or a hub name.
        workspace: the folder of all runs.

    Raises:
        ValueError: when there is no such encoder.
    """
    source, pooling, layers, length = _source(system, workspace)
    print_of = fingerprint(system, workspace)
    with _LOADING:
        if print_of in _LOADED:
            _LOADED.move_to_end(print_of)
            return _LOADED[print_of]
        if not Path(source).is_dir() and (reason := out_of_reach(source)):
            raise ValueError(f"there is no run {system!r} in {workspace.name}, and {reason}")
        try:
            model = _load(source, pooling, layers, length)
        except OSError as error:
            raise ValueError(f"{system} cannot be loaded: {str(error).strip().splitlines()[0]}") from error
        encoder = Encoder(system, print_of, model)
        _LOADED[print_of] = encoder
        while len(_LOADED) > KEPT_LOADED:
            _LOADED.popitem(last=False)
        return encoder


def fingerprint(system: str, workspace: Path) -> str:
    """What changes when an encoder does, found without loading it. Raises `ValueError` when there is no such encoder."""
    source, pooling, layers, length = _source(system, workspace)
    return f"{_files_fingerprint(source)}-{pooling}-{layers}-{length}"


def run_of(system: str, workspace: Path) -> Run | None:
    """The run that a system's name speaks of (RUN, RUN@STEP, base:RUN, a run's folder), or None when it speaks of none."""
    names = {run.name: run for run in list_runs(workspace)}
    name = system.removeprefix("base:")
    found = names.get(name) or names.get(name.rpartition("@")[0])
    if found or not (Path(name) / "config.json").is_file() or not (Path(name) / "status.json").is_file():
        return found
    return Run(Path(name).resolve())


def _source(system: str, workspace: Path) -> tuple[str, str, int, int]:
    """Folder or hub name, and for a base model the pooling, layers and length that make it comparable (else "", 0, 0)."""
    names = {run.name for run in list_runs(workspace)}
    if system.startswith("base:"):
        run = find_run(workspace, system.removeprefix("base:"))
        config = run.config()
        return resolve(base_of(run)), config.pooling, config.layers, config.max_length
    name, _, step = system.rpartition("@")
    if name in names and step.isdigit():
        return str(_checkpoint(find_run(workspace, name), int(step))), "", 0, 0
    if system in names:
        return str(newest_model(find_run(workspace, system)) / "encoder"), "", 0, 0
    folder = Path(system)
    if (folder / "config.json").is_file() and (folder / "status.json").is_file():
        return str(newest_model(Run(folder.resolve())) / "encoder"), "", 0, 0
    return resolve(system), "", 0, 0


def _checkpoint(run: Run, step: int) -> Path:
    for checkpoint in run.checkpoints():
        if checkpoint.step == step:
            return checkpoint.encoder_dir
    had = ", ".join(str(checkpoint.step) for checkpoint in run.checkpoints()) or "none"
    raise ValueError(f"{run.name} has no checkpoint at step {step}; it has {had}")


def _files_fingerprint(source: str) -> str:
    """Of a folder its files' names, sizes and times, so that it may be moved; of a hub name the name."""
    folder = Path(source)
    if not folder.is_dir():
        return hashlib.sha256(source.encode()).hexdigest()[:16]
    files = sorted(
        [*folder.rglob("*.safetensors"), *folder.rglob("config.json"), *folder.rglob("modules.json")]
    )
    facts = [(str(file.relative_to(folder)), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _load(source: str, pooling: str, layers: int, length: int) -> Any:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if not pooling:
        return SentenceTransformer(
            source,
            device=device,
            trust_remote_code=False,
            local_files_only=is_here(source),  # else the hub is asked about files that are here already
            model_kwargs={"use_safetensors": True},
        ).eval()
    from tsdae_core import sources

    found = sources.find(source)
    sources.fetch_weights(found)
    transformer = Transformer(str(found.transformer), model_kwargs={"use_safetensors": True})
    if layers:
        _cut_layers(transformer, layers)
    limit = getattr(transformer.model.config, "max_position_embeddings", length) or length
    transformer.max_seq_length = min(length, limit)
    head = Pooling(transformer.get_embedding_dimension(), pooling_mode=pooling)
    return SentenceTransformer(modules=[transformer, head], device=device).eval()


def _cut_layers(transformer: Any, layers: int) -> None:
    """Keep the first layers, in whichever list the family holds them."""
    for module in transformer.model.modules():
        for name in ("layer", "layers"):
            found = getattr(module, name, None)
            if isinstance(found, torch.nn.ModuleList) and len(found) > layers:
                setattr(module, name, found[:layers])
                return
