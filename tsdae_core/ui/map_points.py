"""What can be done with chosen points of a map: damage one and rebuild it, search among many, keep them as a text to train on.

Like all that the browser calls directly, every argument is checked and an error is an answer.

Legend: N points.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tsdae_core.runs import Job, Run
from tsdae_core.ui.columns import LONGEST
from tsdae_core.ui.drafts import save_draft
from tsdae_core.ui.indexes import opening
from tsdae_core.ui.map_asks import Find, answering, drawn_rows, far
from tsdae_core.ui.map_state import table, text_of
from tsdae_core.ui.rebuild_models import NEWEST

MOST_HITS = 100
"""Ranked sentences handed out at once."""

FEWEST = 2
"""Chosen sentences that make a text."""

READ_ONLY = "This page is read-only: no text can be kept here."


def point_asks(
    workspace: Path, find_map: Find, *, read_only: bool = False
) -> list[Callable[[list[Any]], Any]]:
    """The server functions: `await server.rebuilt(run, map, place, what, seed)`, `within(run, map, place, text, points)` and
    `keep(run, map, points)`. What takes a while answers {phase, done, total} until it is there.
    """

    safely = answering(workspace, find_map)

    def on_within(run: Run, job: Job, place: int, text: str, points: list[int]) -> dict[str, Any]:
        from tsdae_core import maps  # noqa: PLC0415 (brings torch, which the page need not wait for)

        wanted = str(text).strip()[:LONGEST]
        if not wanted:
            raise ValueError("type what to search for among the selected sentences")
        chosen = _chosen(job, points)
        index = opening(workspace, run, maps.systems_of(job)[int(place)], looked=text_of(run, job))
        return far(index) or {"hits": ranked(index.result(), wanted, drawn_rows(job), chosen)}

    def on_keep(run: Run, job: Job, points: list[int]) -> dict[str, str]:
        if read_only:
            raise ValueError(READ_ONLY)
        return {"draft": keep(workspace, run, job, drawn_rows(job)[_chosen(job, points)])}

    def rebuilt(asked: list[Any]) -> Any:
        return safely(_rebuilt, asked)

    def within(asked: list[Any]) -> Any:
        return safely(on_within, asked)

    def kept(asked: list[Any]) -> Any:
        return safely(on_keep, asked)

    kept.__name__ = "keep"
    return [rebuilt, within, kept]


def _rebuilt(run: Run, job: Job, place: int, what: int | str, seed: int = 0) -> dict[str, Any]:
    """A point's sentence, or a typed one, damaged as the run damages and rebuilt by the decoder of the encoder shown.

    An encoder that is not the run's own, as the base, has no decoder; in its place the run's newest answers.

    Returns:
        a dict of `rebuild`, and `by`: "" for the decoder of the encoder shown, else whose it is.
    """
    from tsdae_core import maps, rebuild  # noqa: PLC0415

    system = maps.systems_of(job)[int(place)]
    own = system.startswith(f"{run.name}@")
    step = int(system.rpartition("@")[2]) if own else NEWEST
    if isinstance(what, str):
        text = what.strip()[:LONGEST]
    else:
        text = str(table(run, job)["sentence"][int(drawn_rows(job)[_chosen(job, [what])[0]])])
    config = run.config()
    model = rebuild.load_model(run, step=step or None)
    [one] = rebuild.rebuild(
        model, [text], noise=config.noise, ratio=config.noise_ratio, seed=max(0, int(seed))
    )
    return one | {"by": "" if own or system == run.name else "trained"}


def ranked(index: Any, text: str, rows: np.ndarray, points: np.ndarray) -> list[dict[str, Any]]:
    """Some points by their similarity to a text, the nearest first, at most `MOST_HITS`.

    Args:
        index: an `explore.Index` of the whole corpus.
        text: what is searched for; not blank.
        rows: (N,) which sentence of the corpus each point is.
        points: among which to search.

    Returns:
        dicts of point, score, sentence and label.
    """
    scores = index.scores(text)[rows[points]]  # one for each of `points`
    best = np.argsort(-scores, kind="stable")[:MOST_HITS]
    return [
        {
            "point": int(points[place]),
            "score": round(float(scores[place]), 4),
            "sentence": index.texts[int(rows[points[place]])],
            "label": index.labels[int(rows[points[place]])],
        }
        for place in best
    ]


def keep(workspace: Path, run: Run, job: Job, rows: np.ndarray) -> str:
    """Sentences of a map as a text of their own, with their labels and lines; returns the draft's key.

    Raises:
        ValueError: for fewer sentences than make a text.
    """
    if len(rows) < FEWEST:
        raise ValueError(f"at least {FEWEST} sentences make a text to train on; {len(rows)} is selected")
    everything = table(run, job)
    chosen = everything.take(np.sort(rows))
    of = text_of(run, job).title or run.name
    note = f"{chosen.num_rows:,} of the {everything.num_rows:,} sentences of {of}, chosen on its map."
    return save_draft(workspace, chosen, title=f"the map of {run.name}", report=[note]).key


def _chosen(job: Job, points: Any) -> np.ndarray:
    """Point numbers, each once. Raises `ValueError` for none, or for one that is not on the map."""
    found = np.unique(np.array([int(point) for point in points], dtype=np.int64))
    if not len(found):
        raise ValueError("no sentence is selected")
    if found[0] < 0 or found[-1] >= len(drawn_rows(job)):
        raise ValueError("there is no such point on this map")
    return found
