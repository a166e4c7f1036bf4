"""What the map's component asks for: how far the map is, its points, and sentences on demand.

The browser calls these directly: runs and maps are only ever looked up, every argument is checked, and an error is an
answer ({"error": ...}), not an exception. A map is named by its job's name, an encoder by its place in the map.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tsdae_core.records import why
from tsdae_core.runs import Job, Run, find_run
from tsdae_core.ui.columns import LONGEST
from tsdae_core.ui.map_asks import asks
from tsdae_core.ui.map_points import point_asks
from tsdae_core.ui.map_saves import saving
from tsdae_core.ui.map_state import Choice, find_map, state_of, table, text_of
from tsdae_core.ui.warm import heavy

MOST_SELECTED = 2000
"""Sentences handed out at once."""

NEAREST = 10
CATEGORIES = 24


def feeds(workspace: Path, *, read_only: bool = False) -> list[Callable[[list[Any]], Any]]:
    """The server functions; from JavaScript `await server.card(run, map, place, point)`."""

    def state(asked: list[Any]) -> Any:
        return _safely(
            lambda run, *choice: state_of(workspace, run, Choice(*map(str, choice))), workspace, asked
        )

    def columns(asked: list[Any]) -> Any:
        return _safely(_columns, workspace, asked)

    def layout(asked: list[Any]) -> Any:
        return _safely(_layout, workspace, asked)

    def card(asked: list[Any]) -> Any:
        return _safely(_card, workspace, asked)

    def sentences(asked: list[Any]) -> Any:
        return _safely(_sentences, workspace, asked)

    def names(asked: list[Any]) -> Any:
        return _safely(_names, workspace, asked)

    points = point_asks(workspace, find_map, read_only=read_only)
    return [
        state,
        columns,
        layout,
        names,
        card,
        sentences,
        saving(workspace, find_map),
        *asks(workspace, find_map, packed),
        *points,
    ]


def _safely(act: Callable[..., Any], workspace: Path, asked: list[Any]) -> Any:
    given = asked if isinstance(asked, list) else [asked]  # a single argument arrives bare
    try:
        run = find_run(workspace, str(given[0]))
        return act(run, *given[1:])
    except (ValueError, IndexError, TypeError, OSError) as error:
        return {"error": why(error)}


def _columns(run: Run, key: Any) -> dict[str, Any]:
    """What the points can be coloured by: labels with their counts, and lengths in words."""
    job = find_map(run, key)
    rows, _ = _opened(job, 0, _edition(job, 0))
    drawn = table(run, job).take(rows)
    names, places, counts = _largest(np.array([str(label or "") for label in drawn["label"].to_pylist()]))
    words = np.array([len(text.split()) for text in drawn["sentence"].to_pylist()], dtype=np.float32)
    return {
        "labels": names,
        "counts": counts,
        "label": packed(places.astype(np.uint8)),
        "words": packed(words),
    }


def _largest(labels: np.ndarray, most: int = CATEGORIES) -> tuple[list[str], np.ndarray, list[int]]:
    """Label names, most frequent first, beyond `most` joined to "other"; each point's place among them; how many have it."""
    found, numbers = np.unique(labels, return_counts=True)
    order = [str(found[place]) for place in np.argsort(-numbers, kind="stable")]
    if order == [""]:
        return [], np.zeros(len(labels)), []
    shown = order if len(order) <= most else [*order[: most - 1], f"{len(order) - most + 1:,} others"]
    place_of = {name: min(place, len(shown) - 1) for place, name in enumerate(order)}
    places = np.array([place_of[str(label)] for label in labels])
    counts = np.bincount(places, minlength=len(shown)).tolist()
    return [name or "no label" for name in shown], places, counts


def _layout(run: Run, key: Any, place: int) -> dict[str, Any]:
    """Coordinates by one encoder as binary columns, and per point what is known of it."""
    heavy()
    from tsdae_core import maps  # noqa: PLC0415

    found = maps.read_map(find_map(run, key), int(place))
    if found is None:
        raise ValueError("this map has no picture yet")
    more = {name: packed(column) for name, column in found.more.items()}
    axes = {axis: packed(column) for axis, column in zip(maps.AXES, found.xy.T, strict=False)}
    return {"kind": found.kind, "names": found.names} | axes | more


def _names(run: Run, key: Any, place: int, ignore: str) -> dict[str, Any]:
    """The groups' names without some words; the groups stay as they are."""
    heavy()
    from tsdae_core import map_clusters, maps  # noqa: PLC0415

    job = find_map(run, key)
    found = maps.read_map(job, int(place))
    if found is None or "cluster" not in found.more:
        raise ValueError("this map has no groups yet")
    words = _counted(run, key, text_of(run, job).edition)
    texts = map_clusters.names_of(words, found.more["cluster"].astype(np.int16), ignore=str(ignore)[:LONGEST])
    return {"names": [one | {"text": text} for one, text in zip(found.names, texts, strict=True)]}


@lru_cache(maxsize=2)
def _counted(run: Run, key: str, edition: tuple[Path, int]) -> Any:
    """The words of a map's sentences, which are the same by every encoder."""
    from tsdae_core import map_clusters  # noqa: PLC0415

    job = find_map(run, key)
    rows, _ = _opened(job, 0, _edition(job, 0))
    return map_clusters.counted(table(run, job)["sentence"].take(rows).to_pylist())


def packed(column: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(column).tobytes()).decode("ascii")


def _card(run: Run, key: Any, place: int, point: int) -> dict[str, Any]:
    """One sentence with its label and its true nearest, by their numbers on the map."""
    job = find_map(run, key)
    rows, graph = _opened(job, int(place), _edition(job, int(place)))
    point, text, near = _checked(point, len(rows)), table(run, job), []
    if graph is not None:
        for other, score in zip(graph[0][point][:NEAREST], graph[1][point][:NEAREST], strict=True):
            near.append(
                _sentence(text, int(rows[other])) | {"point": int(other), "score": round(float(score), 4)}
            )
    return _sentence(text, int(rows[point])) | {"point": point, "near": near, "known": graph is not None}


def _sentences(run: Run, key: Any, points: list[int]) -> Any:
    """The sentences of some points, at most `MOST_SELECTED`."""
    job = find_map(run, key)
    rows, _ = _opened(job, 0, _edition(job, 0))
    text = table(run, job)
    return [_sentence(text, int(rows[_checked(point, len(rows))])) for point in points[:MOST_SELECTED]]


def _checked(point: Any, count: int) -> int:
    if not 0 <= int(point) < count:
        raise ValueError("there is no such point on this map")
    return int(point)


def _sentence(table: Any, row: int) -> dict[str, Any]:
    return {
        "sentence": table["sentence"][row].as_py(),
        "label": table["label"][row].as_py() or "",
        "line": table["line"][row].as_py(),
    }


def _edition(job: Job, place: int) -> str:
    """Changes when more of the map is known."""
    heavy()
    from tsdae_core import maps  # noqa: PLC0415

    return f"{maps.kind_of(job, place)}-{maps.has_graph(job, place)}"


@lru_cache(maxsize=8)
def _opened(job: Job, place: int, edition: str) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    heavy()
    from tsdae_core import maps  # noqa: PLC0415

    found = maps.read_map(job, place)
    if found is None:
        raise ValueError("this map has no picture yet")
    return found.rows, maps.read_graph(job, place)
