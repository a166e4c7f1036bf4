"""What a saved map holds: the drawn sentences and where each encoder puts them; from a finished job, or computed at once.

Legend: N points, k neighbours, D dimensions of the map.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tsdae_core import explore, maps
from tsdae_core.map_clusters import UNCLUSTERED, clusters, counted, named, names_of
from tsdae_core.map_layers import kept
from tsdae_core.map_layout import MapOptions, faithfulness, project, trust_of
from tsdae_core.map_systems import encoder_words
from tsdae_core.runs import Job, Run
from tsdae_core.vectors import GRAPH, neighbour_graph

NEAREST = 10
"""Neighbours of each point that are saved with it."""

Told = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done and how much there is."""


@dataclass(frozen=True)
class Layer:
    """The map by one encoder.

    Attributes:
        title: the encoder as people name it.
        xy: (N, D) in [-1, 1]; pictures and pages are drawn of the first two.
        groups: (N,) group of each point, -1 for none.
        names: the groups' names: dicts of text and, where they are written on the map, x, y and, in space, z; largest group
            first.
        near: (N, k) each point's true nearest others, by number; k may be 0.
        faithful: share of near points that are true neighbours, or None.
        more: further columns (N,) by name: "trust", "change", "similarity" to a typed sentence, and those of `map_layers` that were asked for.
        trustworthy: see `map_layout.trust_of`, or None.
    """

    title: str
    xy: np.ndarray
    groups: np.ndarray
    names: list[dict[str, Any]]
    near: np.ndarray
    faithful: float | None = None
    more: dict[str, np.ndarray] = field(default_factory=dict)
    trustworthy: float | None = None


@dataclass(frozen=True)
class Sheet:
    """What is saved: the drawn sentences, how many there are in all, and one or more layers of the same points."""

    title: str
    sentences: list[str]
    labels: list[str]
    lines: list[int]
    total: int
    layers: list[Layer]


def sheet_of(run: Run, job: Job) -> Sheet:
    """The finished map of a run. Raises `ValueError` when it has no UMAP yet."""
    layers, rows, total = [], np.arange(0), 0
    for place, system in enumerate(maps.systems_of(job)):
        found, graph = maps.read_map(job, place), maps.read_graph(job, place)
        if found is None or found.kind != "umap":
            continue
        more = found.more | kept(run, job, place, run.path.parent)
        groups = more.pop("cluster", np.full(len(found.rows), -1)).astype(np.int16)
        near = np.zeros((len(found.rows), 0), np.int32) if graph is None else graph[0][:, :NEAREST]
        words = encoder_words(system, run.name)
        title = words if words == system else words.removeprefix("the ").capitalize()
        trustworthy = maps.facts_of(job).get(f"trustworthy-{place}")
        layers.append(Layer(title, found.xy, groups, found.names, near, found.faithful, more, trustworthy))
        rows, total = found.rows, found.total
    if not layers:
        raise ValueError("this map is not finished yet; it can be saved once UMAP is done")
    return Sheet(run.name, *_columns(maps.table_of(job), rows), total, layers)


def renamed(sheet: Sheet, ignore: str) -> Sheet:
    """The same with names that leave out the words of `ignore`, see `map_clusters.ignored`."""
    words, layers = counted(sheet.sentences), []
    for layer in sheet.layers:
        texts = names_of(words, layer.groups, ignore=ignore)
        called = [one | {"text": text} for one, text in zip(layer.names, texts, strict=True)]
        layers.append(replace(layer, names=called))
    return replace(sheet, layers=layers)


def with_column(sheet: Sheet, place: int, name: str, values: np.ndarray) -> Sheet:
    """The same with one more column (N,) of the layer at `place`."""
    layers = list(sheet.layers)
    layers[place] = replace(layers[place], more=layers[place].more | {name: values})
    return replace(sheet, layers=layers)


def with_axes(sheet: Sheet, place: int, xy: np.ndarray, phrases: tuple[str, str]) -> Sheet:
    """The layer at `place` alone, on two plain axes instead of its map; its groups keep their names, which have no place there.

    Args:
        xy: (N, 2) cosines to the two phrases.
    """
    layer = sheet.layers[place]
    names = [{"text": one["text"]} for one in layer.names]
    seen = replace(layer, title=f"{layer.title}, {_axes_words(phrases)}", xy=xy, names=names)
    return replace(sheet, layers=[seen])


def _axes_words(phrases: tuple[str, str]) -> str:
    across, up = (phrase if len(phrase) <= 40 else f"{phrase[:39]}…" for phrase in phrases)
    return f'to the right the nearer to "{across}", upwards to "{up}"'


def draw(
    system: str,
    table: pa.Table,
    *,
    workspace: Path,
    title: str,
    cache_dir: Path | None = None,
    options: MapOptions = maps.DEFAULTS,
    told: Told = lambda phase, done, total: None,
) -> Sheet:
    """Compute the map of any corpus by one encoder, here and now.

    Args:
        system: see `encoders.load_encoder`.
        table: columns sentence, line and label.
        workspace: the folder of all runs.
        title: what the map is called.
        cache_dir: where vectors are kept; None keeps none.
        options: parameters of UMAP.
        told: progress.

    Raises:
        ValueError: for an unknown system, or fewer than three sentences.
    """
    if table.num_rows < maps.FEWEST:
        raise ValueError(f"a map needs at least three sentences, and this corpus has {table.num_rows}")
    sentences, labels, lines = _columns(table, maps.sample(table.num_rows, options.seed))
    _, vectors = _embedded(system, sentences, workspace, cache_dir, told)
    points, scores = neighbour_graph(vectors, GRAPH, progress=lambda *far: told("Nearest neighbours", *far))
    xy = project(vectors, points, scores, options=options, on_epoch=lambda *far: told("UMAP, epoch", *far))
    groups, trust = clusters(xy), faithfulness(xy, points)
    layer = Layer(
        system,
        xy,
        groups,
        named(sentences, xy, groups),
        points[:, :NEAREST],
        float(trust.mean()),
        {"trust": trust},
        trust_of(vectors, xy),
    )
    return Sheet(title, sentences, labels, lines, table.num_rows, [layer])


def on_axes(
    system: str,
    table: pa.Table,
    phrases: tuple[str, str],
    *,
    workspace: Path,
    title: str,
    cache_dir: Path | None = None,
    options: MapOptions = maps.DEFAULTS,
    told: Told = lambda phase, done, total: None,
) -> Sheet:
    """Any corpus on two plain axes: x and y are the cosines of each sentence to two phrases; there are no groups.

    Args:
        phrases: what x and y are similar to.
        options: the seed decides which sentences are drawn when there are too many; the rest is UMAP's.
        system, table, workspace, title, cache_dir, told: see `draw`.

    Raises:
        ValueError: for an unknown system, or a blank phrase.
    """
    if not all(phrase.strip() for phrase in phrases):
        raise ValueError("a phrase is missing; type one for each axis")
    sentences, labels, lines = _columns(table, maps.sample(table.num_rows, options.seed))
    encoder, vectors = _embedded(system, sentences, workspace, cache_dir, told)
    xy = vectors @ encoder.encode(phrases).T  # (N, 2)
    count = len(sentences)
    layer = Layer(
        _axes_words(phrases),
        xy,
        np.full(count, UNCLUSTERED, np.int16),
        [],
        np.zeros((count, 0), np.int32),
    )
    return Sheet(title, sentences, labels, lines, table.num_rows, [layer])


def _embedded(
    system: str, sentences: list[str], workspace: Path, cache_dir: Path | None, told: Told
) -> tuple[explore.Encoder, np.ndarray]:
    """The encoder, and the sentences' unit vectors (N, H) by it."""
    told("Loading the encoder", 0, 0)
    encoder = explore.load_encoder(system, workspace)

    def embedding(done: int, total: int) -> None:
        told("Embedding", done, total)

    if cache_dir:
        return encoder, np.asarray(explore.embed(encoder, sentences, cache_dir, progress=embedding))
    return encoder, encoder.encode(sentences, progress=embedding)


def _columns(table: pa.Table, rows: np.ndarray) -> tuple[list[str], list[str], list[int]]:
    taken = table.take(rows)
    labels = [str(label or "") for label in taken["label"].to_pylist()]
    return taken["sentence"].to_pylist(), labels, taken["line"].to_pylist()
