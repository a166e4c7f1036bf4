"""What the live chart and the probe table ask for: rows of a run since an offset, never more than a page can draw.

The browser calls these directly, so the name is only ever looked up, every argument is checked, and an error is an
answer, not an exception.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from tsdae_core.methods import METHODS, without_decoder
from tsdae_core.records import why
from tsdae_core.runs import ACTIVE, Run, find_run
from tsdae_core.verdict import verdict_of

PIECE = 4_000_000  # bytes read at a time: bounds the memory, however long the run
ROWS = 4000  # rows of metrics in one answer
LOOKS = 100  # looks at the probe sentences in one answer
LOOK_WORDS = 400_000  # tokens in one answer's looks: long probe sentences get fewer looks
KEYS = (
    "step", "loss", "lr", "held_out", "shuffled", "written", "written_shuffled", "recovered", "recovered_shuffled",
    "bits", "mrr", "effective_rank", "mean_cosine", "uniformity", "warning", "event", "text", "sentences",
)  # fmt: skip

Row = dict[str, Any]
Feed = Callable[[list[Any]], Row]


@dataclass(frozen=True)
class Thinner:
    """When rows are too many for a page, and how to leave out half of them so many times."""

    too_many: Callable[[list[Row]], bool]
    thin: Callable[[list[Row], int], list[Row]]


def feeds(workspace: Path) -> list[Feed]:
    """`metrics` and `samples` for `component(..., server_functions=...)`.

    From JavaScript: `await server.metrics(run, offset, edition)`; Gradio hands the arguments over as one list. Both
    answer {rows, offset, edition, reset, state, phase, step, total, unit, note}; `reset` is true when the rows start from the
    beginning although an offset was given, because the run was cut in between; `unit` is the loss's; `note` says why nothing
    is rebuilt by a method without a decoder; `verdict` is that of a run that has ended, see `verdict.Verdict`; a wrong name answers {rows: [], error}.
    """

    def metrics(asked: list[Any]) -> Row:
        return _answer(workspace, asked, Run.metrics, Thinner(lambda rows: len(rows) > ROWS, thin_metrics))

    def samples(asked: list[Any]) -> Row:
        return _answer(workspace, asked, Run.samples, Thinner(too_many_looks, thin_looks))

    return [metrics, samples]


def _answer(
    workspace: Path,
    asked: list[Any],
    read: Callable[..., tuple[list[Row], int]],
    thinner: Thinner,
) -> Row:
    try:
        name, offset, edition = _arguments(asked)
        run = find_run(workspace, name)
        objective = run.config().objective
    except ValueError as error:
        nothing = {"rows": [], "offset": 0, "edition": "", "reset": True}
        return nothing | {"state": "missing", "error": why(error)}
    now = run.edition()
    start = offset if edition in ("", now) else 0
    rows, end = read_all(partial(read, run, limit=PIECE), start, thinner)
    status = run.status()
    return {
        "rows": [{key: _finite(row[key]) for key in KEYS if key in row} for row in rows],
        "offset": end,
        "edition": now,
        "reset": offset > 0 and (start == 0 or end < offset),
        "state": status["state"],
        "unit": METHODS[objective].unit,
        "note": without_decoder(objective),
        "verdict": None if status["state"] in ACTIVE else _verdict(run.path, now, status.get("updated", 0.0)),
        **{key: status.get(key) for key in ("phase", "step", "total")},
    }


@lru_cache(maxsize=32)
def _verdict(path: Path, _edition: str, _updated: float) -> Row | None:
    """What can be said of a run that has ended; asked for again and again, read once."""
    said = verdict_of(Run(path))
    return asdict(said) if said else None


def _arguments(asked: list[Any]) -> tuple[str, int, str]:
    """Run name, offset and edition of a request. Raises `ValueError` for anything else."""
    given = asked if isinstance(asked, list) else [asked]
    name, offset, edition = [*given, *["", 0, ""][len(given) :]][:3]
    if not (isinstance(name, str) and isinstance(offset, int) and isinstance(edition, str) and offset >= 0):
        raise ValueError("ask with the name of a run, an offset of 0 or more and an edition")
    return name, offset, edition


def read_all(
    read: Callable[[int], tuple[list[Row], int]], offset: int, thinner: Thinner
) -> tuple[list[Row], int]:
    """Every row from `offset` on, thinned while it is read but equally from first to last, and the next offset."""
    rows: list[Row] = []
    level = 0  # how often what is in `rows` was thinned: later pieces are treated like earlier ones
    while True:
        piece, end = read(offset)
        if end == offset or not piece:
            return rows, end
        if end < offset:  # the file was cut while it was read
            rows, level = [], 0
        rows, offset = rows + thinner.thin(piece, level), end
        while thinner.too_many(rows):
            rows, level = thinner.thin(rows, 1), level + 1


def thin_metrics(rows: list[Row], times: int) -> list[Row]:
    """Half of the training rows, so many times, peaks and dips first; looks and events are left out when they are many."""
    training = [row for row in rows if _trains(row)]
    other = [row for row in rows if not _trains(row)]
    if times and len(other) > ROWS // 4:
        other = other[:-1:2] + other[-1:]
    return sorted(peaks(training, 2 ** (times + 1)) + other, key=lambda row: row.get("step") or 0)


def peaks(rows: list[Row], size: int) -> list[Row]:
    """Of every `size` training rows the one with the lowest and the one with the highest loss, in their order.

    >>> [row["loss"] for row in peaks([{"loss": loss} for loss in (5, 9, 1, 4, 3)], 4)]
    [9, 1, 3]
    """
    if size <= 2:
        return rows
    losses = np.array([row["loss"] or 0.0 for row in rows])  # (rows,)
    starts = range(0, len(rows), size)
    groups = [losses[start : start + size] for start in starts]
    kept = {
        start + place for start, group in zip(starts, groups, strict=True) for place in _lowest_highest(group)
    }
    return [rows[place] for place in sorted(kept)]


def _lowest_highest(losses: np.ndarray) -> tuple[int, int]:
    return int(losses.argmin()), int(losses.argmax())


def thin_looks(rows: list[Row], times: int) -> list[Row]:
    """Every second look at the probe sentences, so many times; the first and the last stay."""
    return rows[: -1 : 2**times] + rows[-1:]


def too_many_looks(rows: list[Row]) -> bool:
    return len(rows) > 2 and (len(rows) > LOOKS or sum(map(_words, rows)) > LOOK_WORDS)


def _words(row: Row) -> int:
    return sum(
        len(sentence.get(part, ()))
        for sentence in row.get("sentences", [])
        for part in ("original", "damaged", "rebuilt")
    )


def _trains(row: Row) -> bool:
    return "loss" in row and "event" not in row


def _finite(value: Any) -> Any:
    """JSON has no infinity: a loss that overflowed is a gap in the curve."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
