"""What is worked out on the map when somebody asks: where a typed sentence belongs, plain axes, and columns of
`map_layers`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tsdae_core.records import why
from tsdae_core.runs import Job, Run, find_run
from tsdae_core.ui.columns import LONGEST
from tsdae_core.ui.indexes import Opening, Tell, opening, shared
from tsdae_core.ui.map_state import text_of
from tsdae_core.ui.warm import heavy

NEAREST = 10
Find = Callable[[Run, Any], Job]
Pack = Callable[[np.ndarray], str]


def asks(workspace: Path, find_map: Find, packed: Pack) -> list[Callable[[list[Any]], Any]]:
    """The server functions: `await server.place(run, map, place, text, a, b)`, `axes(run, map, place, a, b)`,
    `layer(run, map, kind, place)` and `cancel(run, map, kind, place)` of a layer on its way.

    What takes a while answers {phase, done, total} until it is there; an error is an answer, too.
    """

    safely = answering(workspace, find_map)

    def on_place(run: Run, job: Job, place: int, text: str, a: str = "", b: str = "") -> dict[str, Any]:
        index = index_of(workspace, run, job, int(place))
        return far(index) or _placed(
            run, job, int(place), index.result(), str(text), (str(a), str(b)), packed
        )

    def on_axes(run: Run, job: Job, place: int, a: str, b: str) -> dict[str, Any]:
        index = index_of(workspace, run, job, int(place))
        if waiting := far(index):
            return waiting
        rows = drawn_rows(job)
        x, y = (index.result().scores(phrase(text))[rows] for text in (a, b))
        return {"x": packed(x), "y": packed(y)}

    def place(asked: list[Any]) -> Any:
        return safely(on_place, asked)

    def axes(asked: list[Any]) -> Any:
        return safely(on_axes, asked)

    def layer(asked: list[Any]) -> Any:
        return safely(
            lambda run, job, kind, place: _layer(workspace, run, job, str(kind), int(place), packed), asked
        )

    def cancel(asked: list[Any]) -> Any:
        return safely(
            lambda run, job, kind, place: _cancel(workspace, run, job, str(kind), int(place)), asked
        )

    return [place, axes, layer, cancel]


def answering(workspace: Path, find_map: Find) -> Callable[[Callable[..., Any], list[Any]], Any]:
    """Calls a function with the run and the map that a request names first, then the rest; an error is an answer."""

    def safely(act: Callable[..., Any], asked: list[Any]) -> Any:
        try:
            heavy()
            run = find_run(workspace, str(asked[0]))
            return act(run, find_map(run, asked[1]), *asked[2:])
        except (ValueError, IndexError, TypeError, OSError) as error:
            return {"error": why(error)}

    return safely


def far(work: Opening) -> dict[str, Any] | None:
    """How far something on its way is; None when it is there."""
    if work.finished.wait(0.3):
        return None
    return {"phase": work.phase, "done": work.done, "total": work.total}


def phrase(text: Any) -> str:
    """What was typed, cut to what is read. Raises `ValueError` when it is blank."""
    typed = str(text).strip()[:LONGEST]
    if not typed:
        raise ValueError("a phrase is missing; type one for each axis")
    return typed


def index_of(workspace: Path, run: Run, job: Job, place: int) -> Opening:
    """The vectors of the map's text by its encoder at `place`, there or on their way."""
    from tsdae_core import maps  # noqa: PLC0415 (brings torch, which the page need not wait for)

    return opening(workspace, run, maps.systems_of(job)[place], looked=text_of(run, job))


def drawn_rows(job: Job) -> np.ndarray:
    """Which sentence of the corpus each point is."""
    from tsdae_core import maps  # noqa: PLC0415

    found = maps.read_map(job)
    if found is None:
        raise ValueError("this map has no picture yet")
    return found.rows


def _placed(
    run: Run, job: Job, place: int, index: Any, text: str, phrases: tuple[str, str], packed: Pack
) -> dict[str, Any]:
    """Where a typed sentence belongs, its nearest on the map, and how similar every point is to it."""
    from tsdae_core import maps  # noqa: PLC0415
    from tsdae_core.map_layout import placed  # noqa: PLC0415

    text, rows, found = text.strip()[:LONGEST], drawn_rows(job), maps.read_map(job, place)
    if not text:
        raise ValueError("type a sentence to place on the map")
    if found is None:
        raise ValueError("this map has no picture yet")
    similar = index.scores(text)[rows]  # (N,)
    points = np.argsort(-similar, kind="stable")[:NEAREST]
    if all(phrases):
        vector, ends = (
            index.encoder.encode([text])[0],
            index.encoder.encode([phrase(one) for one in phrases]),
        )
        where = tuple(float(end @ vector) for end in ends)
    else:
        where = placed(points, similar[points], found.xy)
    near = [
        {
            "point": int(point),
            "score": round(float(similar[point]), 4),
            "sentence": index.texts[int(rows[point])],
            "label": index.labels[int(rows[point])],
        }
        for point in points
    ]
    place_of = dict(zip(maps.AXES, where, strict=False))
    return {"sentence": text, "near": near, "similar": packed(similar)} | place_of


def _layer(workspace: Path, run: Run, job: Job, kind: str, place: int, packed: Pack) -> dict[str, Any]:
    """A column of `map_layers`, worked out once and kept beside the map."""
    found = _working(workspace, run, job, kind, place)
    return far(found) or {"values": packed(found.result())}


def _working(workspace: Path, run: Run, job: Job, kind: str, place: int) -> Opening:
    from tsdae_core import map_layers  # noqa: PLC0415

    asked = map_layers.Asked(run, job, kind, place, workspace)

    def work(tell: Tell) -> Any:
        return map_layers.column(asked, tell)

    return shared(("layer", asked.path), work, "Loading the model")


def _cancel(workspace: Path, run: Run, job: Job, kind: str, place: int) -> dict[str, Any]:
    _working(workspace, run, job, kind, place).cancelled = True
    return {}
