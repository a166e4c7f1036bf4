"""Labelled sentences: do sentences of the same label lie together, and can a simple rule tell the labels from vectors?

Legend: N sentences, H vector size.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from tsdae_core.evaluate.measure import Outcome, Part
from tsdae_core.evaluate.systems import Index, Progress, System, unit

MOST = 4000
"""Sentences that are measured; more are sampled, the same ones for every system."""

MOST_QUERIES = 1000
"""Sentences whose whole ranking is looked at, for same-label MAP."""

NEAREST = 10
FOLDS = 5


@dataclass(frozen=True)
class Labelled:
    """Sentences and one label each.

    Attributes:
        texts: N sentences, all different.
        labels: N labels; each at least twice.
    """

    name: str
    texts: list[str]
    labels: list[str]
    kind: str = "labels"
    note: str = ""

    def run(self, system: System, *, progress: Progress | None = None) -> Outcome:
        gold = np.unique(self.labels, return_inverse=True)[1]
        index = system.index(self.texts, progress=progress)
        metrics: dict[str, tuple[Part, ...]] = {
            "kNN accuracy": (Part.mean(nearest_right(index, self.texts, gold)),)
        }
        vectors = system.vectors(self.texts)
        if vectors is not None:
            vectors = unit(vectors)
            metrics["Linear probe"] = (Part.mean(probe_right(vectors, gold)),)
            metrics["V-measure"] = (Part("v_measure", groups(vectors, int(gold.max()) + 1), gold),)
        return Outcome(metrics | {"Same-label MAP": (Part.mean(same_label(index, self.texts, gold)),)})


def nearest_right(index: Index, texts: Sequence[str], gold: np.ndarray) -> np.ndarray:
    """(N,) 1.0 where most of a sentence's ten nearest others have its label; a draw goes to the nearer ones."""
    _, rows = index.top(texts, NEAREST + 1)
    right = np.zeros(len(texts))
    for own, near in enumerate(rows):
        voices = gold[near[near != own][:NEAREST]]
        counts = np.bincount(voices)
        tied = set(np.flatnonzero(counts == counts.max()).tolist())
        right[own] = next(label for label in voices if label in tied) == gold[own]
    return right


def probe_right(vectors: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """(N,) 1.0 where a logistic regression that did not see a sentence tells its label; five folds, always the same."""
    folds = StratifiedKFold(min(FOLDS, int(np.bincount(gold).min())), shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 200 rounds are enough for a probe
        said = cross_val_predict(LogisticRegression(C=10.0, max_iter=200), vectors, gold, cv=folds)
    return (said == gold).astype(np.float64)


def groups(vectors: np.ndarray, count: int) -> np.ndarray:
    """(N,) the k-means group of each sentence, with as many groups as labels."""
    return KMeans(count, n_init=3, random_state=0).fit_predict(vectors)


def same_label(index: Index, texts: Sequence[str], gold: np.ndarray) -> np.ndarray:
    """Per sentence (at most `MOST_QUERIES`, evenly spread) the average precision of finding all others of its label."""
    asked = np.unique(np.linspace(0, len(texts) - 1, min(MOST_QUERIES, len(texts))).astype(int))
    every = np.arange(len(texts))
    found = []
    for first in range(0, len(asked), 128):
        part = asked[first : first + 128]
        for own, scores in zip(
            part, index.some([texts[row] for row in part], [every] * len(part)), strict=True
        ):
            others = every != own
            found.append(average_precision_score(gold[others] == gold[own], scores[others]))
    return np.array(found)


def labelled(name: str, texts: Sequence[str], labels: Sequence[str]) -> Labelled:
    """A task from sentences and labels: blanks, repeats and labels that come once are left out, and it says so.

    Raises:
        ValueError: when fewer than two labels with two sentences each are left.
    """
    pairs = {text: label for text, label in zip(texts, labels, strict=True) if text and label}
    counts = Counter(pairs.values())
    kept = [(text, label) for text, label in pairs.items() if counts[label] > 1]
    if len({label for _, label in kept}) < 2:
        raise ValueError(
            f"{name} must have at least two labels with two sentences each; it has {len(counts)} label{'' if len(counts) == 1 else 's'}"
        )
    total = len(kept)
    if total > MOST:
        kept = [kept[row] for row in np.sort(np.random.default_rng(0).choice(total, MOST, replace=False))]
        counts = Counter(label for _, label in kept)
        kept = [(text, label) for text, label in kept if counts[label] > 1]
    note = f"{len(kept):,} sentences with {len({label for _, label in kept}):,} labels"
    if total > MOST:
        note += f", a sample of {total:,}"
    elif total < len(texts):
        note += f"; {len(texts) - total:,} blank, repeated or alone with their label left out"
    return Labelled(name, [text for text, _ in kept], [label for _, label in kept], note=note)
