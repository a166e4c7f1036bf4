"""Which encoders a map shows, and how they are called."""

from __future__ import annotations

from tsdae_core.runs import Run


def encoder_words(system: str, run: str) -> str:
    """How a progress line names an encoder on a map of `run`: an encoder from elsewhere by its own name."""
    if system == f"base:{run}":
        return "the base"
    if system.startswith(f"{run}@"):
        return f"step {system.rpartition('@')[2]}"
    return "the trained encoder" if system == run else system


def film_systems(run: Run, *, most: int = 6) -> list[str]:
    """The encoders of a film: the base, at most `most` checkpoints evenly spaced, and the trained one; the last checkpoint is it."""
    steps = [one.step for one in run.checkpoints()][:-1]
    if len(steps) > most:
        steps = [steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most)]
    return [f"base:{run.name}", *(f"{run.name}@{step}" for step in steps), run.name]
