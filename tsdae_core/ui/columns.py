"""The columns of a search: which systems answer, their hits as soon as each is ready, and how one hit stands in the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsdae_core.base_models import known_models
from tsdae_core.records import why
from tsdae_core.runs import Run, find_run, list_runs
from tsdae_core.ui.indexes import WORDS, Cancelled, opening
from tsdae_core.ui.own_text import RUNS_OWN, looked_at
from tsdae_core.ui.rebuild_models import has_model
from tsdae_core.ui.warm import heavy
from tsdae_core.verdict import is_base_still

HITS = 10
LONGEST = 2000
"""Characters of a query."""

WAIT = 0.3
"""Seconds between two looks at how far the embedding is."""

NO_RUN = "Choose a run above, or start one on the Train tab."


@dataclass(frozen=True)
class Column:
    """One system that answers: how it is called, what is said beside that, and its name for `open_index`."""

    title: str
    note: str
    system: str
    kind: str


def columns_of(run: Run, *, also: str = "", words: bool = True) -> list[Column]:
    """The trained encoder first, as soon as there is one; its base; words; and one more encoder if it is asked for."""
    note = (
        f"{run.name}, its base still: so far only the decoder has learnt" if is_base_still(run) else run.name
    )
    trained = [Column("Trained", note, run.name, "trained")] if has_model(run) else []
    base = Column("Untrained base", run.config().base_model, f"base:{run.name}", "base")
    lexical = [Column("Same words", "BM25", WORDS, "words")] if words else []
    more = [Column("Another encoder", also, also, "more")] if also else []
    return [*trained, base, *lexical, *more]


def other_encoders(workspace: Path, name: str) -> list[tuple[str, str]]:
    """What can be compared with beside a run's own: its checkpoints, other runs, base models on this machine."""
    choices = [("no other encoder", "")]
    runs = list_runs(workspace)
    for run in runs:
        if run.name == name:
            steps = [one.step for one in run.checkpoints()]
            choices += [(f"{name} at step {step:,}", f"{name}@{step}") for step in reversed(steps)]
    choices += [(run.name, run.name) for run in runs if run.name != name and has_model(run)]
    choices += [(f"{model.name}, untrained", model.name) for model in known_models() if model.here]
    return choices


def found(
    workspace: Path,
    name: str,
    text: str,
    *,
    label: str = "",
    also: str = "",
    words: bool = True,
    key: str = RUNS_OWN,
) -> Iterator[dict[str, Any]]:
    """How far the search is, the hits of each system as soon as they are known, or one sentence on why there are none.

    `key` names the text that is searched, see `own_text.looked_at`.
    """
    try:
        if not name:
            raise ValueError(NO_RUN)
        if not (text or "").strip():
            raise ValueError("Type a sentence to search for.")
        run, text = find_run(workspace, name), text[:LONGEST]
        looked = looked_at(workspace, run, key)
        chosen = columns_of(run, also=also, words=words)
    except ValueError as error:
        yield say(why(error), run=name or "", error=True, key=key)
        return
    shown: dict[str, Any] = {
        "columns": [],
        "run": name,
        "query": text,
        "label": label,
        "also": also,
        "in": key,
    }
    scores: list[Any] = []
    cancelled = False
    for column in chosen:
        part: dict[str, Any] = {"title": column.title, "note": column.note, "kind": column.kind, "hits": []}
        try:
            index = opening(workspace, run, column.system, looked=looked)
            while not index.finished.wait(WAIT):
                if cancelled and index.total and column.system != WORDS:
                    index.cancelled = (
                        True  # who did not want to wait for one embedding does not want the next
                    )
                progress = [index.phase, index.done, index.total, index.left]
                yield shown | {"waiting": column.title, "kind": column.kind, "progress": progress}
            ready = index.result()
            scored = ready.scores(text)
            scored = ready.within(scored, label) if label else scored
            scores.append(scored)
            part["hits"] = ready.hits(scored, HITS)
        except (ValueError, OSError) as error:
            scores.append(None)
            cancelled |= isinstance(error, Cancelled)
            part["error"] = why(error)
        shown["columns"] = [*shown["columns"], part]
    heavy()
    from tsdae_core import explore  # noqa: PLC0415 (brings torch, which the page need not wait for)

    explore.compare(shown["columns"], scores)
    yield shown | {"compared": True}


def say(
    message: str,
    *,
    run: str = "",
    error: bool = False,
    examples: list[str] | None = None,
    key: str = RUNS_OWN,
) -> dict[str, Any]:
    """The results' place with nothing but a sentence in it, and sentences to try."""
    told = {"columns": [], "message": message, "error": error, "run": run, "examples": examples or []}
    return told | {"in": key}
