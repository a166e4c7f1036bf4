"""Which encoders a map shows, and how they are called."""

from __future__ import annotations

from tsdae_core.runs import Run


def encoder_words(system: str) -> str:
    """How a progress line names an encoder."""
    if system.startswith("base:"):
        return "the base"
    return f"step {system.rpartition('@')[2]}" if "@" in system else "the trained encoder"


def film_systems(run: Run, *, most: int = 6) -> list[str]:
    """The encoders of a film: the base, at most `most` checkpoints evenly spaced, and the trained one; the last checkpoint is it."""
    steps = [one.step for one in run.checkpoints()][:-1]
    if len(steps) > most:
        steps = [steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most)]
    return [f"base:{run.name}", *(f"{run.name}@{step}" for step in steps), run.name]
