"""Metrics that can be computed again on a resample: each is the mean over parts, a part is a statistic over its units.

A unit is what a bootstrap draws: a query, a pair, a sentence. Metrics are shares from 0 to 1 here; tables show percent.

Legend: N units, R resamples.
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

    @property
    def resampled(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """From how often each unit was drawn (R, N) to the statistic of each resample (R,); None where a resample of the
        units tells nothing, as of a clustering, which is one choice made of all of them."""
        if self.statistic == "mean":
            return lambda counts: counts @ self.values / counts.sum(axis=1)
        made = {"spearman": resampled_spearman, "ap": resampled_average_precision}.get(self.statistic)
        return None if made is None else lambda counts: made(self.values, self.gold, counts)


def resampled_spearman(values: np.ndarray, gold: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(R,) Spearman correlations where unit n was drawn counts[r, n] times: Pearson's of the middle ranks."""
    total = counts.sum(axis=1, keepdims=True)  # (R, 1)

    def centred(numbers: np.ndarray) -> np.ndarray:
        ranks = _middle_ranks(numbers, counts)  # (R, N)
        return ranks - (counts * ranks).sum(axis=1, keepdims=True) / total

    one, other = centred(values), centred(gold)
    spread = np.sqrt((counts * one**2).sum(axis=1) * (counts * other**2).sum(axis=1))  # (R,)
    return (counts * one * other).sum(axis=1) / np.where(spread > 0, spread, 1.0)


def _middle_ranks(numbers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(R, N) ranks from 1, the drawn ones of equal value sharing their middle."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    drawn = np.add.reduceat(counts[:, order], starts, axis=1)  # (R, groups of equal value)
    middle = np.cumsum(drawn, axis=1) - drawn + (drawn + 1) / 2
    group = np.empty(len(numbers), dtype=int)
    group[order] = np.repeat(np.arange(len(starts)), np.diff([*starts, len(numbers)]))
    return middle[:, group]


def resampled_average_precision(values: np.ndarray, gold: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(R,) average precisions where unit n was drawn counts[r, n] times; equal values are one threshold."""
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    ends = np.flatnonzero(np.concatenate([ordered[1:] != ordered[:-1], [True]]))
    drawn = counts[:, order]
    right = np.cumsum(drawn * (gold[order] > 0), axis=1)[:, ends]  # (R, thresholds)
    every = np.cumsum(drawn, axis=1)[:, ends]
    steps = np.diff(right, axis=1, prepend=0)
    found = (steps * right / np.maximum(every, 1)).sum(axis=1)
    return found / np.maximum(right[:, -1], 1)


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
