"""Is the trained encoder better than its base? One plain sentence with its evidence, and no claim beyond that.

Labels take part in supervised training alone, and those of held-out sentences in none. Where a text has some, held-out sentences of one label should lie nearer together than
before; without labels nothing that is measured here tells better from worse, and that is what is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tsdae_core.runs import Run

NEIGHBOURS = 5
FEWEST = 30
"""Held-out sentences with a label that another one has; fewer say nothing."""

CLOSE = 0.02
"""A change whose whole interval lies within this much of zero is none."""

EVIDENCE = {
    "same_label": "nearest held-out sentences with the same label",
    "written": "words rebuilt from the vector",
    "held_out": "held-out loss",
    "mrr": "finds a sentence from its damaged form (MRR)",
    "bits": "bits saved by the vector, per sentence",
    "effective_rank": "directions used",
}


@dataclass(frozen=True)
class Verdict:
    """What can be said of a run.

    Attributes:
        word: "better", "unchanged", "worse" or "cannot tell".
        text: one sentence: by which measure, against the base.
        evidence: (what, before, after) of every number that both looks have.
    """

    word: str
    text: str
    evidence: list[tuple[str, float, float]]


def same_label_shares(vectors: np.ndarray, labels: Sequence[str]) -> list[float]:
    """How many of a sentence's nearest neighbours have its label, as a share of those that could have.

    Args:
        vectors: (N, H).
        labels: N; "" for none.

    Returns:
        the share for each sentence whose label another one has, in their order; [] when they are fewer than `FEWEST`.
    """
    names, gold = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)
    sizes = np.bincount(gold)
    usable = np.flatnonzero((sizes[gold] > 1) & (names[gold] != ""))
    if len(usable) < FEWEST or len(np.unique(gold[usable])) < 2:
        return []
    unit = vectors[usable] / np.linalg.norm(vectors[usable], axis=1, keepdims=True).clip(1e-12)
    near = unit @ unit.T  # (n, n)
    np.fill_diagonal(near, -np.inf)
    found = np.argsort(-near, axis=1, kind="stable")[:, :NEIGHBOURS]
    mine = gold[usable]
    hits = (mine[found] == mine[:, None]).sum(1)
    most = np.minimum(found.shape[1], sizes[mine] - 1)
    return [round(float(share), 4) for share in hits / most]


def is_base_still(run: Run) -> bool:
    """Whether training has not come to the encoder yet: at first only the decoder's new weights learn."""
    config, saved = run.config(), run.checkpoints()
    return config.objective == "tsdae" and bool(saved) and saved[-1].step <= config.decoder_warmup_steps


def verdict_of(run: Run) -> Verdict | None:
    """The verdict on what the run kept; None before two looks were made."""
    looks = [row for row in run.metrics()[0] if "held_out" in row]
    if len(looks) < 2 or looks[0].get("step") != 0:
        return None
    if is_base_still(run):
        return Verdict(
            "unchanged",
            f"The encoder is its base still: until step {run.config().decoder_warmup_steps:,} only the decoder's new weights learn "
            "('Decoder first'). Resume the run, and it changes from there on.",
            [],
        )
    last = looks[-1]
    if run.config().early_stopping_patience:
        last = min(looks[1:], key=lambda row: row["held_out"])
    return judge(looks[0], last)


def judge(before: dict[str, Any], after: dict[str, Any]) -> Verdict:
    """Compare two looks (rows of metrics) at the same held-out sentences."""
    evidence = [
        (name, float(before[key]), float(after[key]))
        for key, name in EVIDENCE.items()
        if key in before and key in after
    ]
    first, last = before.get("same_label_each") or [], after.get("same_label_each") or []
    if first and len(first) == len(last):
        return Verdict(*_by_labels(np.array(first), np.array(last)), evidence)
    if after.get("warning"):
        return Verdict("worse", str(after["warning"]), evidence)
    return Verdict(
        "cannot tell",
        "Whether its neighbours are better than the base's cannot be told: this text has no labels, or too few sentences "
        "with one, and rebuilding well is no proof of it. 'What changed most' and the blind test on the Search tab show it to your own eyes.",
        evidence,
    )


def _by_labels(first: np.ndarray, last: np.ndarray) -> tuple[str, str]:
    """The word and the sentence, from each sentence's share (n,) before and after: a paired bootstrap over sentences."""
    gains = last - first
    drawn = np.random.default_rng(0).integers(len(gains), size=(2000, len(gains)))
    low, high = np.quantile(gains[drawn].mean(1), [0.025, 0.975])
    if max(-low, high) < CLOSE:
        word = "unchanged"
    else:
        word = "better" if low > 0 else "worse" if high < 0 else "cannot tell"
    start = {
        "better": "Better than its base, by your labels",
        "worse": "Worse than its base, by your labels",
        "unchanged": "As good as its base, by your labels",
        "cannot tell": "Too close to its base to tell, by your labels",
    }[word]
    return word, (
        f"{start}: of the {NEIGHBOURS} sentences nearest to a held-out one, {100 * last.mean():.0f} % share its label, "
        f"{100 * first.mean():.0f} % before training (change {_signed(low)} to {_signed(high)} points, 95 % interval over "
        f"{len(gains):,} sentences)."
    )


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}".replace("-", "−")
