"""Which models and sentences of a run can be used to rebuild: shared by the tabs that do so."""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path

import gradio as gr

from tsdae_core.methods import without_decoder
from tsdae_core.plan import Plan, held_out_rows, held_out_sentences
from tsdae_core.runs import ACTIVE, Run, find_run

NEWEST = 0  # in the model field; no checkpoint has this step
LONGEST = 5000  # characters of a sentence


def has_model(run: Run) -> bool:
    return run.encoder_dir.is_dir() or bool(run.checkpoints())


def can_rebuild(run: Run) -> bool:
    """Whether there is a model with a decoder."""
    return has_model(run) and not without_decoder(run.config().objective)


def may_rebuild(run: Run) -> bool:
    """Whether there will be such a model by itself."""
    return run.state in ACTIVE and not without_decoder(run.config().objective)


def no_model(run: Run) -> str:
    """Why there is nothing to rebuild with, and when there will be."""
    if reason := without_decoder(run.config().objective):
        return reason
    said = run.status()
    if said["state"] not in (*ACTIVE, "new"):
        return f"{run.name} has no model: it ended before its first checkpoint. Its log says why."
    first = Plan.of(run.config(), len(_places(run)[0])).checkpoint_every
    if said["state"] == "new":
        return f"{run.name} has not been started. Its first checkpoint will come at step {first:,}."
    return (
        f"The first checkpoint comes at step {first:,}; the run is at step {said.get('step') or 0:,}. "
        "From then on a sentence can be rebuilt here."
    )


def system_of(run: Run, step: int) -> str:
    """The name of the run's encoder at a step for `load_encoder`; `NEWEST` is the result or the newest checkpoint."""
    return f"{run.name}@{step}" if step else run.name


def model_choices(workspace: Path, name: str) -> gr.Dropdown:
    """The run's models: the newest, which follows a run that goes on, and every checkpoint."""
    try:
        steps = [checkpoint.step for checkpoint in find_run(workspace, name).checkpoints()] if name else []
    except ValueError:
        steps = []
    return gr.Dropdown(choices=[("newest", NEWEST), *((f"step {step:,}", step) for step in reversed(steps))])


def pick_sentence(workspace: Path, name: str) -> str:
    """A random held-out sentence of the run's corpus, or any of it when none is held out; "" without a run."""
    try:
        run = find_run(workspace, name)
        train, held_out = _places(run)
        return str(run.corpus()["sentence"][random.choice(held_out or train)])
    except (ValueError, OSError, IndexError):
        return ""


def _places(run: Run) -> tuple[list[int], list[int]]:
    """Row numbers of the training and the held-out sentences; a corpus never changes, so they are found once."""
    return _split(run.corpus_path, run.config().model_dump_json())


@lru_cache(maxsize=4)
def _split(corpus: Path, settings: str) -> tuple[list[int], list[int]]:
    run = Run(corpus.parent)
    count = run.corpus().num_rows
    held_out = held_out_rows(count, run.config())
    return sorted(set(range(count)) - set(held_out)), held_out


def held_out(run: Run) -> list[str]:
    """The run's held-out sentences, or all of its corpus when none are held out."""
    return _held_out(run.corpus_path, run.config().model_dump_json())


@lru_cache(maxsize=2)
def _held_out(corpus: Path, settings: str) -> list[str]:
    return held_out_sentences(Run(corpus.parent))
