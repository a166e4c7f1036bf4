"""What the header and the Train tab say about a run: plain facts in words, read from its folder whenever the page asks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import gradio as gr

from tsdae_core.export import has_encoder, run_of_encoder
from tsdae_core.jobs import WORDS
from tsdae_core.preflight import in_words
from tsdae_core.runs import ACTIVE, Run, list_runs
from tsdae_core.ui.shell import Shell

NO_RUN = [("no run yet", "")]

RESUMABLE = ("new", "stopped", "failed", "crashed")
"""States from which a run can be started or go on."""


def see(shell: Shell, *wanted: str | None) -> tuple[gr.Dropdown, dict[str, Any]]:
    """The picker on the first wanted run that exists (else the newest), and the facts of that run."""
    choices, facts = _look(shell.workspace, *wanted)
    return gr.Dropdown(choices=choices, value=facts["run"]), facts


def feed(workspace: Path) -> Callable[[Any], dict[str, Any]]:
    """`look` for `component(..., server_functions=...)`: from JavaScript, `await server.look(run)` answers what `about` says of
    that run, or of the newest when it is gone."""

    def look(asked: Any) -> dict[str, Any]:
        name = asked[0] if isinstance(asked, list) and asked else asked
        return _look(workspace, str(name))[1]

    return look


def _look(workspace: Path, *wanted: str | None) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    runs = list_runs(workspace)
    choices, name = run_choices(runs), choose([run.name for run in runs], *wanted)
    run = next((run for run in runs if run.name == name), None)
    return choices, about(run, choices)


def run_choices(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """(label, name) of runs; one choice "" when there is none."""
    states = [(run.name, run.state) for run in runs]
    return [(f"{name} · {WORDS.get(state, state)}", name) for name, state in states] or NO_RUN


def choose(names: list[str], *wanted: str | None) -> str:
    """The first wanted name that exists, else the newest run's, else ""."""
    return next((name for name in wanted if name and name in names), names[0] if names else "")


def about(run: Run | None, choices: list[tuple[str, str]]) -> dict[str, Any]:
    """All that the header and the run bar show, ready to be drawn.

    Returns:
        state, word, active, resumable, phase, percent (None before the first step; 99 at most until the run has
        finished), texts for counts, rate, time left, device and base model, the encoder's folder, error and advice. `edition` changes when the
        list of runs or a state in it does.
    """
    edition = crc32(repr(choices).encode())
    if run is None:
        return {"run": "", "state": "", "word": "", "active": False, "edition": edition}
    said = run.status()
    state = str(said["state"])
    step, total = int(said.get("step") or 0), int(said.get("total") or 0)
    active = state in ACTIVE
    eta = max(0.0, said.get("eta") or 0.0)  # 0 after a resume, until the first steps are measured
    return {
        "run": run.name,
        "state": state,
        "word": WORDS.get(state, state),
        "active": active,
        "resumable": state in RESUMABLE,
        "edition": edition,
        "phase": _sentence(said.get("phase"))
        if state != "crashed"
        else f"Ended unexpectedly at step {step:,}",
        "percent": percent(state, step, total),
        "steps": f"step {step:,} of {total:,}" if total else "",
        "rate": f"{three(said['rate'])} sentences/s" if active and said.get("rate") else "",
        "left": f"{in_words(eta)} left" if state == "running" and eta else "",
        "device": device_words(said),
        "base": _base(run),
        "loaded": _sentence(said.get("loaded")),
        "encoder": str(run.encoder_dir.resolve()) if has_encoder(run) else "",
        "error": _sentence(said.get("error")),
        "advice": _sentence(said.get("advice")),
    }


def percent(state: str, step: int, total: int) -> int | None:
    """Whole percent done: 100 only when the run says that it has finished; None while nothing can be said.

    >>> percent("running", 1000, 1000), percent("finished", 1000, 1000), percent("starting", 0, 0)
    (99, 100, None)
    """
    if state == "finished":
        return 100
    return min(99, 100 * step // total) if total else None


def three(value: float) -> str:
    """Three significant digits, thousands separated.

    >>> three(63.24), three(0.5), three(12345.6)
    ('63.2', '0.500', '12,346')
    """
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    text = f"{value:#.3g}"
    return text.rstrip(".")


def device_words(said: dict[str, Any]) -> str:
    """Where and in which number format a run computes: "CPU, bf16"."""
    device = str(said.get("device") or "").replace("cpu", "CPU").replace("cuda", "GPU")
    device = re.sub(r"\b1 threads\b", "1 thread", device)
    return ", ".join(word for word in (device, str(said.get("precision") or "")) if word)


def _sentence(text: Any) -> str:
    """First letter in upper case, unless it belongs to a name such as all-MiniLM-L6-v2."""
    text = str(text or "").strip()
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.isalpha() else text


def _base(run: Run) -> str:
    try:
        name = run.config().base_model
    except ValueError:
        return ""
    before = run_of_encoder(Path(name))
    return f"{before.path.name} (run)" if before else name
