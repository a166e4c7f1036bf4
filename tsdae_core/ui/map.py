"""The Map tab: UMAP of the corpus by the trained encoder or its base, drawn by a component that asks for what it needs."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from tsdae_core.runs import Job, Run, find_run
from tsdae_core.ui.components import component
from tsdae_core.ui.rebuild import has_model
from tsdae_core.ui.shell import QUIET, Shell

WHICH = {"Trained": "", "Untrained base": "base:"}
MOST_SELECTED = 500
NEAREST = 10


def build(shell: Shell) -> None:
    """The tab's components and their events."""
    gr.Markdown("See your text as a picture: sentences that the encoder finds alike lie together.")
    with gr.Row(elem_classes="map-ask"):
        which = gr.Radio(
            list(WHICH), value="Trained", show_label=False, container=False, scale=3, elem_id="map-which"
        )
        go = gr.Button("Draw map", variant="primary", scale=0, min_width=130, elem_id="map-go")
    view = component(
        "map", {"run": "", "which": "Trained"}, server_functions=feeds(shell.workspace), elem_id="map"
    )

    def on_choice(name: str, chosen: str) -> dict[str, Any]:
        return {"run": name or "", "which": chosen}

    def on_draw(name: str, chosen: str) -> dict[str, Any]:
        return {"run": name or "", "which": chosen, "message": start(shell.workspace, name, chosen)}

    gr.on(
        [shell.picker.change, shell.app.load, which.change], on_choice, [shell.picker, which], view, **QUIET
    )
    go.click(on_draw, [shell.picker, which], view, **QUIET)


def start(workspace: Path, name: str, chosen: str) -> str:
    """Start the map's job; "" or one sentence on why not."""
    from tsdae_core import maps  # noqa: PLC0415 (brings torch, which the page need not wait for)

    try:
        if not name:
            raise ValueError("Choose a run above, or start one on the Train tab.")
        run = find_run(workspace, name)
        if not WHICH[chosen] and not has_model(run):
            raise ValueError("This run has no encoder yet; the first comes with its first checkpoint.")
        maps.start_map(run, WHICH[chosen] + name, workspace)
    except (ValueError, KeyError) as error:
        return str(error)
    return ""


def feeds(workspace: Path) -> list[Callable[[list[Any]], Any]]:
    """What the component's JavaScript calls; names are only ever looked up, wrong arguments answer with an error."""

    def state(asked: list[Any]) -> Any:
        return _safely(_state, workspace, asked)

    def points(asked: list[Any]) -> Any:
        return _safely(_points, workspace, asked)

    def card(asked: list[Any]) -> Any:
        return _safely(_card, workspace, asked)

    def sentences(asked: list[Any]) -> Any:
        return _safely(_sentences, workspace, asked)

    return [state, points, card, sentences]


def _safely(act: Callable[..., Any], workspace: Path, asked: list[Any]) -> Any:
    try:
        run = find_run(workspace, str(asked[0]))
        if str(asked[1]) not in WHICH:
            raise ValueError("that is no map")
        return act(workspace, run, str(asked[1]), *asked[2:])
    except (ValueError, IndexError, TypeError, OSError) as error:
        return {"error": str(error)}


def _job(workspace: Path, run: Run, which: str) -> Job:
    from tsdae_core import maps  # noqa: PLC0415 (brings torch, which the page need not wait for)

    return maps.map_job(run, WHICH[which] + run.name, workspace)


def _state(workspace: Path, run: Run, which: str) -> dict[str, Any]:
    """How far the map is, and which edition of it can be fetched."""
    if not WHICH[which] and not has_model(run):
        return {"state": "none", "edition": ""}
    job = _job(workspace, run, which)
    said = job.status()
    edition = next((kind for kind in ("umap", "pca") if (job.path / f"{kind}.parquet").is_file()), "")
    return {key: said.get(key) for key in ("state", "phase", "step", "total", "error")} | {
        "edition": f"{job.name}-{edition}" if edition else ""
    }


def _points(workspace: Path, run: Run, which: str) -> dict[str, Any]:
    """Coordinates, labels and lengths as binary columns."""
    from tsdae_core import maps  # noqa: PLC0415

    found = maps.read_map(_job(workspace, run, which))
    if found is None:
        raise ValueError("there is no map yet")
    table = run.corpus()
    labels = np.array([str(label) if label is not None else "" for label in table["label"].to_pylist()])[
        found.rows
    ]
    names, places = _largest(labels)
    lengths = np.array([len(text.split()) for text in table["sentence"].to_pylist()], dtype=np.float32)[
        found.rows
    ]
    return {
        "kind": found.kind,
        "total": found.total,
        "faithful": found.faithful,
        "x": _packed(found.xy[:, 0]),
        "y": _packed(found.xy[:, 1]),
        "label": _packed(places.astype(np.uint8)),
        "labels": names,
        "length": _packed(lengths),
    }


def _largest(labels: np.ndarray, most: int = 24) -> tuple[list[str], np.ndarray]:
    """Label names, most frequent first, beyond `most` joined to "other"; and each point's place among them."""
    names, counts = np.unique(labels, return_counts=True)
    order = [str(names[place]) for place in np.argsort(-counts, kind="stable")]
    if order == [""]:
        return [], np.zeros(len(labels))
    shown = order if len(order) <= most else [*order[: most - 1], "other"]
    place_of = {name: min(place, len(shown) - 1) for place, name in enumerate(order)}
    return [name or "no label" for name in shown], np.array([place_of[str(label)] for label in labels])


def _packed(column: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(column).tobytes()).decode("ascii")


def _card(workspace: Path, run: Run, which: str, point: int) -> dict[str, Any]:
    """One sentence with its label and its true nearest, by their numbers on the map."""
    rows, graph = _opened(_job(workspace, run, which), run.cache_dir.stat().st_mtime_ns)
    table = run.corpus()
    near = []
    if graph is not None:
        for other, score in zip(graph[0][point][:NEAREST], graph[1][point][:NEAREST], strict=True):
            near.append(
                _sentence(table, int(rows[other])) | {"point": int(other), "score": round(float(score), 3)}
            )
    return _sentence(table, int(rows[int(point)])) | {"point": int(point), "near": near}


def _sentence(table: Any, row: int) -> dict[str, Any]:
    label = table["label"][row].as_py()
    return {
        "sentence": table["sentence"][row].as_py(),
        "label": label or "",
        "line": table["line"][row].as_py(),
    }


@lru_cache(maxsize=4)
def _opened(job: Job, changed: int) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    from tsdae_core import maps  # noqa: PLC0415

    found = maps.read_map(job)
    if found is None:
        raise ValueError("there is no map yet")
    return found.rows, maps.read_graph(job)


def _sentences(workspace: Path, run: Run, which: str, points: list[int]) -> list[dict[str, Any]]:
    """The sentences of some points, at most `MOST_SELECTED`."""
    rows, _ = _opened(_job(workspace, run, which), run.cache_dir.stat().st_mtime_ns)
    table = run.corpus()
    return [_sentence(table, int(rows[int(point)])) for point in points[:MOST_SELECTED]]
