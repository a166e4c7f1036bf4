"""What changed most: the sentences whose nearest neighbours differ most between two states of a run's encoder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
import numpy as np

from tsdae_core.runs import Run, find_run
from tsdae_core.ui.components import component
from tsdae_core.ui.indexes import comparing
from tsdae_core.ui.rebuild_models import has_model
from tsdae_core.ui.shell import FOLLOW, Shell

if TYPE_CHECKING:
    from tsdae_core.changes import Changes

PAGE = 20
"""Sentences handed out at once."""

FEW = 8
"""Hubs, and pairs of near-duplicates, that are shown."""


def build(shell: Shell) -> gr.HTML:
    """The component; pressing a sentence triggers its 'pick' with {sentence}."""
    view = component(
        "changes", {"run": ""}, uses=["dom"], server_functions=feeds(shell.workspace), elem_id="changes"
    )

    def on_run(shown: Any, name: str) -> Any:
        value = {"run": name or "", "states": states_of(shell.workspace, name)}
        return gr.skip() if value == shown else value

    gr.on(
        [shell.picker.change, shell.app.load, shell.tabs.select], on_run, [view, shell.picker], view, **FOLLOW
    )
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
    """The server function: from JavaScript `await server.compared(run, before, after, first)`."""

    def compared(asked: list[Any]) -> Any:
        try:
            name, before, after, first = asked
            run = find_run(workspace, str(name))
            known = [system for _, system in states_of(workspace, run.name)]
            if before not in known or after not in known:
                raise ValueError("this state of the encoder is not there; choose another one")
            return _compared(workspace, run, str(before), str(after), first=max(0, int(first)))
        except (ValueError, TypeError, OSError) as error:
            return {"error": str(error)}

    return [compared]


def _compared(workspace: Path, run: Run, before: str, after: str, *, first: int) -> dict[str, Any]:
    """How far the comparison is, or what it found and the sentences from place `first` on."""
    work = comparing(workspace, run, before, after)
    if not work.finished.wait(0.2):
        return {"phase": work.phase, "done": work.done, "total": work.total}
    drawn, found = work.result()
    table = run.corpus()
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
    stayed = np.rint(2 * k * found.jaccard / (1 + found.jaccard)).astype(
        int
    )  # (N,) how many of the k are the same
    return {
        "rows": listed,
        "first": first,
        "count": len(drawn),
        "sentences": table.num_rows,
        "nearest": k,
        "stayed": np.bincount(stayed, minlength=k + 1).tolist(),
        "jaccard": float(found.jaccard.mean()),
        "overlap": float(found.overlap.mean()),
        "labels": _by_label(labels.to_pylist(), drawn, stayed),
        "crowd": _crowd(found, told) if not first else None,
    }


def _crowd(found: Changes, told: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    """Sentences that are near to very many others, and pairs that lie on one another, before and after."""
    from tsdae_core.changes import ALIKE, hubs, twins  # noqa: PLC0415 (brings torch, which the page need not wait for)

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
            {"one": told(a)["sentence"], "other": told(b)["sentence"], "cosine": round(cosine, 3)}
            for a, b, cosine in pairs[1][:FEW]
        ],
    }


def _by_label(labels: list[str], drawn: np.ndarray, stayed: np.ndarray) -> list[dict[str, Any]]:
    """How many neighbours stayed on average among the sentences of each label, most changed first; up to twelve labels."""
    names = np.array([labels[row] or "" for row in drawn.tolist()], dtype=object)
    kinds, counts = np.unique(names.astype(str), return_counts=True)
    chosen = [str(kind) for kind in kinds[np.argsort(-counts)][:12] if kind]
    rows = [
        {"label": kind, "stayed": float(stayed[names == kind].mean()), "count": int((names == kind).sum())}
        for kind in chosen
    ]
    return sorted(rows, key=lambda row: row["stayed"])
