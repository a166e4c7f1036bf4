"""Any encoder's vectors of any sentences, cached, and exact nearest neighbours among them.

Legend: N sentences, Q queries, H vector size, k neighbours.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from tsdae_core.base_models import resolve
from tsdae_core.rebuild import newest_model
from tsdae_core.runs import Run, find_run, list_runs

Progress = Callable[[int, int], None]


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
        """Texts to unit vectors, float32 (N, H); similar lengths share a batch.

        Args:
            texts: N sentences.
            progress: called with sentences done and sentences in all.
            batch_size: sentences per batch.
        """
        order = np.argsort([len(text) for text in texts], kind="stable")[::-1]
        size = int(self.model.get_embedding_dimension())
        vectors = np.zeros((len(texts), size), dtype=np.float32)
        chunk = batch_size * 8
        with self.lock:
            for first in range(0, len(texts), chunk):
                rows = order[first : first + chunk]
                vectors[rows] = self.model.encode(
                    [texts[row] for row in rows],
                    batch_size=batch_size,
                    normalize_embeddings=True,
                    convert_to_numpy=True,
                    show_progress_bar=False,
                )
                if progress:
                    progress(min(first + chunk, len(texts)), len(texts))
        return vectors


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


def _source(system: str, workspace: Path) -> tuple[str, str, int, int]:
    """Folder or hub name, and for a base model the pooling, layers and length that make it comparable (else "", 0, 0)."""
    names = {run.name for run in list_runs(workspace)}
    if system.startswith("base:"):
        config = find_run(workspace, system.removeprefix("base:")).config()
        return resolve(config.base_model), config.pooling, config.layers, config.max_length
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
            source, device=device, trust_remote_code=False, model_kwargs={"use_safetensors": True}
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


def embed(
    encoder: Encoder, texts: Sequence[str], cache_dir: Path, *, progress: Progress | None = None
) -> np.ndarray:
    """The vectors of `texts`, unit length, float32 (N, H): read from `cache_dir` or computed and kept there."""
    path = _vectors_path(encoder.fingerprint, texts, cache_dir)
    if not path.is_file():
        cache_dir.mkdir(parents=True, exist_ok=True)
        vectors = encoder.encode(texts, progress=progress)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.npy")
        np.save(temporary, vectors)
        temporary.replace(path)
    return np.load(
        path, mmap_mode="c"
    )  # copy on write: torch takes it without a copy and the file stays as it is


def embedded(encoder: Encoder, texts: Sequence[str], cache_dir: Path) -> np.ndarray | None:
    """What `embed` would read, or None when it would have to compute."""
    path = _vectors_path(encoder.fingerprint, texts, cache_dir)
    return np.load(path, mmap_mode="c") if path.is_file() else None


def _vectors_path(print_of: str, texts: Sequence[str], cache_dir: Path) -> Path:
    digest = hashlib.sha256(print_of.encode())
    for text in texts:
        digest.update(text.encode("utf-8", "replace") + b"\0")
    return cache_dir / f"vectors-{digest.hexdigest()[:32]}.npy"


def neighbours(
    queries: np.ndarray, vectors: np.ndarray, k: int, *, block: int = 1024
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of `vectors` (N, H) to each of `queries` (Q, H) by cosine, exactly, best first.

    Args:
        queries, vectors: unit length.
        k: cut to N.
        block: queries at a time at most; fewer when N is large, so that scores take at most a quarter of a gigabyte.

    Returns:
        scores (Q, k) and row numbers (Q, k).
    """
    k = min(k, len(vectors))
    table = torch.from_numpy(np.require(vectors, np.float32, "W"))  # (N, H)
    block = max(1, min(block, 2**26 // max(1, len(vectors))))
    scores, rows = [], []
    for first in range(0, len(queries), block):
        part = torch.from_numpy(np.require(queries[first : first + block], np.float32, "W"))
        best = (part @ table.T).topk(k, dim=1)  # (block, k)
        scores.append(best.values.numpy())
        rows.append(best.indices.numpy())
    if not scores:
        return np.zeros((0, k), np.float32), np.zeros((0, k), np.int64)
    return np.concatenate(scores), np.concatenate(rows)


@dataclass(frozen=True)
class Index:
    """A corpus as one encoder sees it: sentences, their labels, their vectors (N, H)."""

    encoder: Encoder
    texts: list[str]
    labels: list[str]
    vectors: np.ndarray

    def scores(self, query: str) -> np.ndarray:
        """(N,) cosines of every sentence with `query`. Raises `ValueError` when it is blank."""
        if not query.strip():
            raise ValueError("the query is empty; type a sentence to search for")
        vector = torch.from_numpy(self.encoder.encode([query])[0])  # (H,)
        return (torch.from_numpy(np.require(self.vectors, np.float32, "W")) @ vector).numpy()

    def hits(self, scores: np.ndarray, k: int) -> list[dict[str, Any]]:
        """The k best by `scores` (N,): dicts of rank, row, score, sentence and label, best first."""
        best = torch.from_numpy(scores).topk(min(k, len(scores))).indices.tolist()
        return [
            {
                "rank": rank,
                "row": row,
                "score": round(float(scores[row]), 4),
                "sentence": self.texts[row],
                "label": self.labels[row],
            }
            for rank, row in enumerate(best, start=1)
        ]


def open_index(
    system: str,
    corpus: pa.Table,
    *,
    workspace: Path,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> Index:
    """Load an encoder and its vectors of `corpus`.

    Args:
        system: see `load_encoder`.
        corpus: columns sentence and label.
        workspace: the folder of all runs.
        cache_dir: where the vectors are kept; None keeps none.
        progress: of embedding the corpus; never called when the vectors are there.

    Raises:
        ValueError: for an unknown system.
    """
    encoder = load_encoder(system, workspace)
    texts = corpus["sentence"].to_pylist()
    if cache_dir:
        vectors = embed(encoder, texts, cache_dir, progress=progress)
    else:
        vectors = encoder.encode(texts, progress=progress)
    return Index(encoder, texts, corpus["label"].to_pylist(), vectors)


def ranks(scores: np.ndarray, rows: Sequence[int]) -> list[int]:
    """The place, from 1, that each of `rows` has when all scores (N,) are sorted, best first.

    >>> ranks(np.array([0.1, 0.9, 0.5]), [0, 1])
    [3, 1]
    """
    return [int((scores > scores[row]).sum()) + 1 for row in rows]


def search(
    system: str,
    corpus: pa.Table,
    query: str,
    *,
    k: int,
    workspace: Path,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """The k sentences of `corpus` nearest to `query`: dicts of rank, row, score, sentence and label, best first.

    Args:
        query: a sentence.
        k: how many.
        system, corpus, workspace, cache_dir, progress: see `open_index`.

    Raises:
        ValueError: for a blank query or an unknown system.
    """
    if not query.strip():
        raise ValueError("the query is empty; type a sentence to search for")
    index = open_index(system, corpus, workspace=workspace, cache_dir=cache_dir, progress=progress)
    return index.hits(index.scores(query), k)
