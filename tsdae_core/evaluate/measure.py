"""Metrics that can be computed again on a resample: each is the mean over parts, a part is a statistic over its units.

A unit is what a bootstrap draws: a query, a pair, a sentence. Metrics are shares from 0 to 1 here; tables show percent.

Legend: N units.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, dcg_score, v_measure_score


def _spearman(values: np.ndarray, gold: np.ndarray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant input: undefined, and 0 here, for it tells nothing
        found = float(spearmanr(gold, values).statistic)
    return 0.0 if np.isnan(found) else found


def _average_precision(values: np.ndarray, gold: np.ndarray) -> float:
    return float(average_precision_score(gold, values)) if gold.any() else 0.0


def _v_measure(values: np.ndarray, gold: np.ndarray) -> float:
    return float(v_measure_score(gold, values))


STATISTICS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "mean": lambda values, gold: float(values.mean()),
    "spearman": _spearman,
    "ap": _average_precision,
    "v_measure": _v_measure,
}


@dataclass(frozen=True)
class Part:
    """A statistic over units.

    Attributes:
        statistic: a key of `STATISTICS`.
        values: (N,) what the system said: of "mean" each unit's own result, else its scores or groups.
        gold: (N,) what it should have said; of "mean" anything.
    """

    statistic: str
    values: np.ndarray
    gold: np.ndarray

    @classmethod
    def mean(cls, values: Sequence[float] | np.ndarray) -> Part:
        """The average of each unit's own result."""
        found = np.asarray(values, dtype=np.float64)
        return cls("mean", found, found)

    def value(self, rows: np.ndarray | None = None) -> float:
        """The statistic over all units, or over a resample of them by row number."""
        values, gold = (self.values, self.gold) if rows is None else (self.values[rows], self.gold[rows])
        return STATISTICS[self.statistic](values, gold)


@dataclass(frozen=True)
class Outcome:
    """One system on one task.

    Attributes:
        metrics: by name the parts whose statistics are averaged; the first one is the main metric.
        seconds: how long it took.
    """

    metrics: dict[str, tuple[Part, ...]]
    seconds: float = 0.0

    @property
    def main(self) -> str:
        return next(iter(self.metrics))

    def value(self, metric: str = "") -> float:
        """The metric as a share; the main one when none is named."""
        return float(np.mean([part.value() for part in self.metrics[metric or self.main]]))


def average_precision(relevant: np.ndarray, scores: np.ndarray, *, total: int = 0) -> float:
    """Average precision of one ranking; tied candidates share the place of the last of them.

    Args:
        relevant: (N,) 0 or 1.
        scores: (N,) higher is better.
        total: relevant ones there are, also outside the ranking; 0: those in it.
    """
    found = int(relevant.sum())
    if not found:
        return 0.0
    return float(average_precision_score(relevant, scores)) * found / (total or found)


def reciprocal_rank(relevant: np.ndarray, scores: np.ndarray) -> float:
    """1 / the place of the best relevant candidate, behind all that have the same score; 0 when there is none."""
    if not relevant.any():
        return 0.0
    best = scores[relevant > 0].max()
    return 1.0 / (int((scores > best).sum()) + int(((scores == best) & (relevant == 0)).sum()) + 1)


def ndcg(gains: np.ndarray, scores: np.ndarray, *, wanted: Sequence[float], k: int | None = None) -> float:
    """Normalised discounted cumulative gain of one ranking, with linear gains as trec_eval has them.

    Args:
        gains: (N,) of the ranked.
        scores: (N,) higher is better; the ranked that are tied share their places.
        wanted: gains of all relevant ones, also of those that are not ranked.
        k: places that count; None for all.
    """
    best = np.asarray(wanted, float)
    if not best.any():
        return 0.0
    return _dcg(np.asarray(gains, float), np.asarray(scores, float), k) / _dcg(best, best, k)


def _dcg(gains: np.ndarray, scores: np.ndarray, k: int | None) -> float:
    behind = (
        scores.min(initial=0.0) - 1.0
    )  # one more that gains nothing, for scikit-learn refuses a list of one
    return float(dcg_score(np.append(gains, 0.0)[None], np.append(scores, behind)[None], k=k))
