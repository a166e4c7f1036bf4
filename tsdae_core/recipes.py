"""Two-stage recipes: one run on the text and one on its labels, the second from the encoder of the first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tsdae_core import run_queue, supervision
from tsdae_core.config import TrainConfig, checked
from tsdae_core.runs import Run, create_run, safe_name

ONE = "one"
"""The choice that is no recipe: a single run."""


@dataclass(frozen=True)
class Recipe:
    """A choice on the page and of the shell.

    Attributes:
        title: as the page calls it.
        text: what is done, and what is known about it.
    """

    title: str
    text: str


RECIPES: dict[str, Recipe] = {
    "target-labels": Recipe(
        "First the text, then its labels",
        "TSDAE on the text, then supervised on its labels or pairs. The paper's better order: 56.5 against 54.2 on average.",
    ),
    "labels-target": Recipe(
        "First the labels, then the text",
        "Supervised, then TSDAE on top of it. Few steps, held near the base: TSDAE on a tuned encoder often hurts, "
        "and general similarity is not its strength (66.0 on STS against CT's 73.9).",
    ),
}

SHARED = ("max_length", "precision", "devices", "seed", "held_out", "vocabulary")
"""Settings of the form that both stages take."""


def stages(recipe: str, config: TrainConfig) -> tuple[TrainConfig, TrainConfig]:
    """The settings of both runs, the second's base still that of the first.

    `config` is used for the stage that it is an objective of. The other one is as in its paper (supervised), or as the preset
    "Tuned encoder" (TSDAE). Raises `ValueError` for an unknown recipe.
    """
    if recipe not in RECIPES:
        raise ValueError(f"there is no recipe {recipe!r}; the recipes are {', '.join(RECIPES)}")
    shared: dict[str, Any] = {name: getattr(config, name) for name in SHARED} | {
        "base_model": config.base_model
    }
    if config.objective == "supervised":
        text, labels = TrainConfig.from_preset("Tuned encoder", **shared, pooling=config.pooling), config
    else:
        text = config
        labels = checked(shared | {"objective": "supervised", "pooling": config.pooling})
    first, second = (text, labels) if recipe == "target-labels" else (labels, text)
    if second.layers:  # the first stage has cut them already
        first, second = (
            checked(one.model_dump() | {"layers": n}) for one, n in ((first, second.layers), (second, 0))
        )
    return first, second


def create(
    workspace: Path,
    recipe: str,
    config: TrainConfig,
    corpus: pa.Table,
    *,
    name: str,
    probes: list[str] | None = None,
) -> list[Run]:
    """Make both runs and put them into the queue.

    Raises:
        ValueError: for an unknown recipe, or a text that has neither labels nor pairs; then nothing is made.
    """
    first, second = stages(recipe, config)
    supervision.fit(corpus, "supervised")
    runs: list[Run] = []
    for stage in (first, second):
        if runs:
            stage = checked(stage.model_dump() | {"base_model": str(runs[0].encoder_dir.resolve())})
        what = "labels" if stage.objective == "supervised" else "text"
        called = f"{safe_name(name)[:50] or 'recipe'}-{len(runs) + 1}-{what}"
        runs.append(create_run(workspace, stage, corpus, name=called, probes=probes))
    run_queue.enqueue(workspace, [run.name for run in runs])
    return runs
