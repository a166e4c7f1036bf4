"""What the Data tab shows of a loaded text: rows, token lengths, the damage; plain values, ready to be drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from tsdae_core.base_models import is_here
from tsdae_core.config import BUNDLED_MODEL
from tsdae_core.reading import token_lengths
from tsdae_core.records import why
from tsdae_core.supervision import SECOND, has_pairs
from tsdae_core.ui.drafts import Draft
from tsdae_core.ui.warm import heavy

SHOWN = 100
"""Rows of the preview, spread over the whole text."""

DAMAGED = 5
"""Sentences of the noise preview."""

BINS = 64
"""Bars of the histogram at most."""

LONGEST = 600
"""Characters of a sentence that a preview shows."""


def spread(count: int, wanted: int) -> list[int]:
    """Up to `wanted` places, spread evenly over `count`.

    >>> spread(10, 5), spread(3, 5)
    ([0, 2, 4, 6, 8], [0, 1, 2])
    """
    return [place * count // wanted for place in range(wanted)] if count > wanted else list(range(count))


def sentence(text: str) -> str:
    """First letter in upper case, unless it belongs to a name such as notes.txt; a full stop at the end."""
    text = text.strip()
    begin = text[:1].upper() + text[1:] if text.split(" ", 1)[0].isalpha() else text
    return begin + ("" if text.endswith((".", "!", "?")) else ".")


def report(draft: Draft) -> dict[str, Any]:
    """The value of the `report` component."""
    table = draft.table()
    what = "pairs" if has_pairs(table) else "sentences"
    return {"title": draft.title, "count": f"{table.num_rows:,} {what}", "lines": draft.report}


def preview(draft: Draft) -> dict[str, Any]:
    """The value of the preview: rows spread over the text; a pair's second sentence and labels only when it has any."""
    table = draft.table()
    rows = table.take(spread(table.num_rows, SHOWN)).to_pylist()
    shown = {"Sentence": "sentence", "Second sentence": SECOND, "Label": "label"}
    there = {title: name for title, name in shown.items() if any(row.get(name) for row in rows)}
    return {
        "headers": ["Line", *there],
        "data": [[f"{row['line']:,}", *(short(row[name]) for name in there.values())] for row in rows],
    }


def widths(headers: Sequence[str]) -> list[str]:
    """The widths of the preview's columns: sentences share what the line and the label leave.

    >>> widths(["Line", "Sentence", "Label"])
    ['8%', '70%', '22%']
    """
    fixed = {"Line": 8, "Label": 22}
    left = 100 - sum(fixed.get(name, 0) for name in headers)
    each = left // sum(name not in fixed for name in headers)
    return [f"{fixed.get(name, each)}%" for name in headers]


def short(text: str | None) -> str:
    """A sentence or a label as a preview shows it."""
    text = text or ""
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def damage_of(draft: Draft | None, noise: str, ratio: float, seed: int) -> dict[str, Any]:
    """A few sentences of the text damaged, differently for another seed."""
    if draft is None:
        return {}
    column = draft.table()["sentence"]
    places = spread(len(column), DAMAGED)
    return damaged([column[place].as_py() for place in places], noise=noise, ratio=ratio, seed=int(seed))


def damaged(sentences: Sequence[str], *, noise: str, ratio: float, seed: int) -> dict[str, Any]:
    """The value of the `noise` component: the sentences damaged, and the share that the damage took.

    The share is counted on what is shown, so it differs from `ratio` by chance.
    """
    heavy()
    from tsdae_core.batches import damage_text  # noqa: PLC0415 (brings torch, which the page need not wait for)

    shown = [
        damage_text(short(text), noise=noise, ratio=ratio, seed=seed, index=place)
        for place, text in enumerate(sentences)
    ]
    states = [token["s"] for tokens in shown for token in tokens]
    gone, put_in = states.count("deleted"), states.count("invented")
    if noise == "delete":
        text = f"{gone:,} of {len(states):,} words deleted here ({gone / max(1, len(states)):.0%})"
    else:
        text = f"{put_in:,} of {len(states):,} words put in or moved here"
    return {"sentences": shown, "share": text.replace("%", " %"), "message": ""}


def lengths_of(draft: Draft | None, limit: int, base: str = BUNDLED_MODEL) -> dict[str, Any]:
    """The value of the `lengths` component for a loaded text, in tokens of the base model if it is on this machine."""
    if draft is None:
        return {}
    name = base.strip() if is_here(base.strip()) else BUNDLED_MODEL
    try:
        seen = histogram(_token_lengths(draft.path, name), limit, draft.table().num_rows)
    except (ValueError, OSError) as error:
        return {"text": sentence(why(error))}
    short_name = Path(name).name if Path(name).is_absolute() else name
    missing = "" if name == base.strip() or not base.strip() else f"; {base.strip()} is not on this machine"
    return seen | {"note": f"Counted with the tokenizer of {short_name}{missing}."}


@lru_cache(maxsize=8)
def _token_lengths(path: Path, base: str) -> np.ndarray:
    """A draft never changes, so it is measured once for each base model."""
    heavy()
    return token_lengths(pq.read_table(path, columns=["sentence"]), base)


def histogram(lengths: np.ndarray, limit: int, total: int) -> dict[str, Any]:
    """The value of the `lengths` component.

    Args:
        lengths: (n,) tokens of n sentences, special tokens included.
        limit: tokens kept per sentence.
        total: sentences of the whole text; `lengths` may be a sample of them.
    """
    if not len(lengths):
        return {}
    longest = int(lengths.max())
    usual = int(np.quantile(lengths, 0.995))
    top = min(longest, max(usual, min(limit, 2 * usual)))  # a few giants would squeeze the rest into one bar
    width = max(1, math.ceil(top / BINS))
    bins = math.ceil(top / width)
    places = np.minimum((lengths - 1) // width, bins - 1)
    cut = int((lengths > limit).sum())
    return {
        "counts": np.bincount(np.maximum(places, 0), minlength=bins).tolist(),
        "width": width,
        "limit": limit,
        "more": longest > bins * width,
        "text": _lengths_text(lengths, cut=cut, limit=limit, total=total),
    }


def _lengths_text(lengths: np.ndarray, *, cut: int, limit: int, total: int) -> str:
    median, longest = int(np.median(lengths)), int(lengths.max())
    sampled = f" (measured on {len(lengths):,} of {total:,})" if len(lengths) < total else ""
    share = 100 * cut / len(lengths)
    said = f"no sentence is longer than {limit:,}" if not cut else f"{share:.3g} % are cut off at {limit:,}"
    return f"Half of the sentences have up to {median:,} tokens, the longest {longest:,}; {said}{sampled}."
