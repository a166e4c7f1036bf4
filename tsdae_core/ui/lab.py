"""The Rebuild tab's other views: inside the decoder, through time, between two sentences, many at once.

Each is a component that asks for itself: `await server.inside(run, settings)` and so on. What takes long is worked out in the
background and asked for again until it is there. Runs are only looked up; an error is an answer ({"error": ...}).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tsdae_core.records import why
from tsdae_core.runs import Run, find_run
from tsdae_core.ui.indexes import Opening, Tell, opening, shared
from tsdae_core.ui.own_text import looked_at
from tsdae_core.ui.rebuild_models import LONGEST, can_rebuild, held_out, no_model, system_of
from tsdae_core.ui.warm import heavy

MOST = 2000
"""Sentences in the table of many."""


def feeds(workspace: Path) -> list[Callable[[list[Any]], Any]]:
    """The server functions; each takes a run's name and a dict of settings."""

    def inside(asked: list[Any]) -> Any:
        return _safely(_inside, workspace, asked)

    def through(asked: list[Any]) -> Any:
        return _safely(_through, workspace, asked)

    def between(asked: list[Any]) -> Any:
        return _safely(_between, workspace, asked)

    def many(asked: list[Any]) -> Any:
        return _safely(_many, workspace, asked)

    def pick(asked: list[Any]) -> Any:
        return _safely(lambda _, run, __: {"text": random.choice(held_out(run))[:LONGEST]}, workspace, asked)

    return [inside, through, between, many, pick]


def _safely(act: Callable[..., Any], workspace: Path, asked: list[Any]) -> Any:
    try:
        name, settings = asked
        if not name:
            raise ValueError("Choose a run above, or start one on the Train tab.")
        run = find_run(workspace, str(name))
        if not can_rebuild(run):
            raise ValueError(no_model(run))
        heavy()
        return act(workspace, run, settings)
    except (ValueError, TypeError, KeyError, OSError) as error:
        return {"error": why(error)}


def _damage(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that decide what happens to the words."""
    deleted = settings.get("deleted")
    return {
        "noise": str(settings["noise"]),
        "ratio": float(settings["ratio"]),
        "seed": int(settings["seed"] or 0),
    } | ({} if deleted is None else {"deleted": {int(word) for word in deleted}})


def _text(settings: dict[str, Any], key: str = "text") -> str:
    return str(settings.get(key) or "").strip()[:LONGEST]


def _far(work: Opening) -> dict[str, Any] | None:
    """How far a piece of work is, or None when it is done."""
    if work.finished.wait(0.3):
        return None
    return work.far()


def _edition(run: Run, step: int) -> tuple[Any, ...]:
    """What changes when the model at that step does."""
    from tsdae_core import rebuild  # noqa: PLC0415 (brings torch)

    folder = run.checkpoint(step).path if step else rebuild.newest_model(run)
    weights = folder / "decoder" / "decoder.safetensors"
    return (run.path, folder.name, weights.stat().st_mtime_ns if weights.is_file() else 0)


def _inside(workspace: Path, run: Run, settings: dict[str, Any]) -> dict[str, Any]:
    """One sentence by its own vector, the mean vector and another sentence's."""
    from tsdae_core import glass, inside, rebuild  # noqa: PLC0415

    step = int(settings.get("step") or 0)
    model = rebuild.load_model(run, step=step or None)

    def work(tell: Tell) -> Any:
        return glass.mean_vector(model, held_out(run))

    mean = shared(("mean", *_edition(run, step)), work, "The mean of many sentences")
    far = _far(mean)
    if far:
        return far
    other = _text(settings, "other") or random.choice(held_out(run))[:LONGEST]
    return inside.side_by_side(
        model, _text(settings, "shown"), mean=mean.result(), other=other, **_damage(settings)
    )


def _through(workspace: Path, run: Run, settings: dict[str, Any]) -> dict[str, Any]:
    """The sentence rebuilt at every checkpoint, as far as it is."""
    from tsdae_core import inside  # noqa: PLC0415

    text = _text(settings)
    by_hand = (
        settings.get("deleted") if text == settings.get("shown") else None
    )  # words of that sentence only
    damage = _damage(settings | {"deleted": by_hand})
    if not text:
        raise ValueError("Type a sentence first.")
    rows: list[dict[str, Any]] = []
    steps = [one.step for one in run.checkpoints()]
    if not steps:
        raise ValueError("This run kept no checkpoints.")

    def work(tell: Tell) -> Any:
        tell("Checkpoint", 0, len(steps))
        for shown in inside.through_time(run, text, **damage):
            rows.append(shown)
            tell("Checkpoint", len(rows), len(steps))
        return rows

    key = ("through", run.path, tuple(steps), text, repr(sorted(damage.items())))
    done = shared(key, work, "Loading the checkpoints")
    return _far(done) or {"rows": done.result()}


def _between(workspace: Path, run: Run, settings: dict[str, Any]) -> dict[str, Any]:
    """What is decoded on the way from one sentence to another, or from a sum of three, and the nearest sentences."""
    from tsdae_core import inside, rebuild  # noqa: PLC0415

    step = int(settings.get("step") or 0)
    index = opening(workspace, run, system_of(run, step))
    far = _far(index)
    if far:
        return far
    model, ready = rebuild.load_model(run, step=step or None), index.result()
    first, second, third = (_text(settings, key) for key in ("first", "second", "third"))
    if settings.get("path") == "sum":
        vectors, shares = inside.arithmetic(model, first, second, third), [0.0]
    else:
        stops = max(3, min(21, int(settings.get("stops") or 9)))
        shares, vectors = inside.between(model, first, second, path=str(settings.get("path")), stops=stops)
    told = inside.decoded(model, vectors, ready.texts, ready.vectors)
    return {"stops": [one | {"share": share} for one, share in zip(told, shares, strict=True)]}


def _many(workspace: Path, run: Run, settings: dict[str, Any]) -> dict[str, Any]:
    """The table over held-out sentences, or over sentences of another file, the worst first."""
    from tsdae_core import inside, rebuild  # noqa: PLC0415

    step = int(settings.get("step") or 0)
    count = max(1, min(MOST, int(settings.get("count") or 200)))
    damage = _damage(settings | {"deleted": None})
    looked = looked_at(workspace, run, settings.get("in"))

    def work(tell: Tell) -> Any:
        model = rebuild.load_model(run, step=step or None)
        texts = looked.table()["sentence"] if looked.title else held_out(run)
        picked = inside.drawn(len(texts), count)
        rows = inside.many(
            model,
            [str(texts[row]) for row in picked],
            told=lambda done, total: tell("Rebuilding", done, total),
            **damage,
        )
        return {"rows": rows, "means": inside.summary(rows), "of": len(texts), "title": looked.title}

    key = ("many", *_edition(run, step), *looked.edition, count, repr(sorted(damage.items())))
    done = shared(key, work, "Loading the model")
    return _far(done) or done.result()
