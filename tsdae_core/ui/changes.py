"""What changed most: the sentences whose nearest neighbours differ most between two states of a run's encoder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
import numpy as np

from tsdae_core.records import why
from tsdae_core.runs import Run, find_run
from tsdae_core.ui import change_feeds
from tsdae_core.ui.components import component
from tsdae_core.ui.indexes import Opening, comparing
from tsdae_core.ui.own_text import Looked, looked_at
from tsdae_core.ui.rebuild_models import has_model
from tsdae_core.ui.shell import FOLLOW, Shell

if TYPE_CHECKING:
    from tsdae_core.changes import Changes

PAGE = 20
"""Sentences handed out at once."""

FEW = 8
"""Hubs, and pairs of near-duplicates, that are shown."""


def build(shell: Shell, where: gr.Dropdown) -> gr.HTML:
    """The component; `where` holds the key of the text. Pressing a sentence triggers its 'pick' with {sentence}."""
    view = component(
        "changes",
        {"run": ""},
        uses=["dom", "moved"],
        server_functions=feeds(shell.workspace),
        elem_id="changes",
    )

    def on_run(shown: Any, name: str, key: str) -> Any:
        value = {"run": name or "", "in": key, "states": states_of(shell.workspace, name)}
        return gr.skip() if value == shown else value

    told = [shell.picker.change, where.change, shell.app.load, shell.tabs.select]
    gr.on(told, on_run, [view, shell.picker, where], view, **FOLLOW)
    return view


def states_of(workspace: Path, name: str) -> list[tuple[str, str]]:
    """(title, system) of the base, every checkpoint and the trained encoder, in the order of training."""
    try:
        run = find_run(workspace, name)
    except ValueError:
        return []
    steps = [(f"step {one.step:,}", f"{name}@{one.step}") for one in run.checkpoints()]
    last = [("trained encoder", name)] if has_model(run) else []
    return [("untrained base", f"base:{name}"), *steps, *last]


def feeds(workspace: Path) -> list[Callable[[list[Any]], Any]]:
    """The server functions: from JavaScript `await server.compared(run, text, before, after, first)`,
    `grouped(run, text, before, after, by)` with "label" or "cluster", and `moved(run, text)`."""

    def safely(act: Callable[..., Any], asked: list[Any]) -> Any:
        try:
            name, key, *given = asked
            run = find_run(workspace, str(name))
            return act(run, looked_at(workspace, run, key), *given)
        except (ValueError, TypeError, OSError) as error:
            return {"error": why(error)}

    def known(run: Run, *systems: Any) -> None:
        there = [system for _, system in states_of(workspace, run.name)]
        if not set(systems) <= set(there):
            raise ValueError("this state of the encoder is not there; choose another one")

    def compare(run: Run, looked: Looked, before: Any, after: Any, first: Any) -> Any:
        known(run, before, after)
        work = comparing(workspace, run, before, after, looked=looked)
        return _compared(work, looked, first=max(0, int(first)))

    def group(run: Run, looked: Looked, before: Any, after: Any, by: Any) -> Any:
        known(run, before, after)
        return change_feeds.grouped(workspace, run, before, after, looked=looked, by=str(by))

    def compared(asked: list[Any]) -> Any:
        return safely(compare, asked)

    def grouped(asked: list[Any]) -> Any:
        return safely(group, asked)

    def moved(asked: list[Any]) -> Any:
        return safely(lambda run, looked: change_feeds.moved(workspace, run, looked), asked)

    return [compared, grouped, moved]


def _compared(work: Opening, looked: Looked, *, first: int) -> dict[str, Any]:
    """How far the comparison is, or what it found and the sentences from place `first` on."""
    from tsdae_core.change_groups import stayed  # noqa: PLC0415 (brings torch, which the page need not wait for)

    if not work.finished.wait(0.2):
        return work.far()
    drawn, found = work.result()
    table = looked.table()
    texts, labels = table["sentence"], table["label"]

    def told(row: int) -> dict[str, Any]:
        return {"sentence": texts[int(drawn[row])].as_py(), "label": labels[int(drawn[row])].as_py() or ""}

    order = found.most(first + PAGE)[first:]
    listed = []
    for row in order:
        near = {kind: [one | told(one["row"]) for one in ones] for kind, ones in found.of(row).items()}
        scores = {
            "jaccard": round(float(found.jaccard[row]), 3),
            "overlap": round(float(found.overlap[row]), 3),
        }
        listed.append({"row": row, **told(row), **scores, "near": near})
    k = found.before.shape[1]
    return {
        "rows": listed,
        "first": first,
        "count": len(drawn),
        "sentences": table.num_rows,
        "nearest": k,
        "stayed": np.bincount(stayed(found), minlength=k + 1).tolist(),
        "jaccard": float(found.jaccard.mean()),
        "overlap": float(found.overlap.mean()),
        "labelled": any(labels.unique().to_pylist()),
        "crowd": _crowd(found, told) if not first else None,
    }


def _crowd(found: Changes, told: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    """Sentences that are near to very many others, and pairs that lie on one another, before and after."""
    from tsdae_core.changes import ALIKE, hubs, twins, twins_in_either  # noqa: PLC0415 (brings torch, which the page need not wait for)

    asked = [hubs(found.before), hubs(found.after)]
    pairs = [
        twins(near, cosines) for near, cosines in zip((found.before, found.after), found.cosines, strict=True)
    ]
    top = np.argsort(-np.maximum(*asked), kind="stable")[:FEW].tolist()
    return {
        "alike": ALIKE,
        "hubs": [told(row) | {"before": int(asked[0][row]), "after": int(asked[1][row])} for row in top],
        "most": [int(counts.max()) for counts in asked],
        "pairs": [len(one) for one in pairs],
        "twins": [
            {"one": told(a)["sentence"], "other": told(b)["sentence"], "before": before, "after": after}
            for a, b, before, after in twins_in_either(found, pairs, most=FEW)
        ],
    }
