"""Tasks: what a system is asked, and what the right answer is.

Legend: P pairs, Q queries, D documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tsdae_core.evaluate.measure import Outcome, Part, average_precision, ndcg, reciprocal_rank
from tsdae_core.evaluate.systems import Progress, System

DEEPEST = 100
"""Documents of a ranking that are looked at."""


class Task(Protocol):
    """What systems are measured on.

    Attributes:
        name: as the table's column is called.
        kind: a key of `KINDS`.
        note: one sentence on what was read, or left out.
    """

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def note(self) -> str: ...

    def run(self, system: System, *, progress: Progress | None = None) -> Outcome:
        """Measure one system. Raises `ValueError` when it cannot answer."""


@dataclass(frozen=True)
class Pairs:
    """How well the likeness of two sentences follows people's scores, or tells paraphrases from the rest.

    Attributes:
        left, right: P sentences each.
        gold: (P,) scores, or 0 and 1.
        statistic: "spearman" or "ap".
    """

    name: str
    kind: str
    left: list[str]
    right: list[str]
    gold: np.ndarray
    statistic: str
    note: str = ""

    def run(self, system: System, *, progress: Progress | None = None) -> Outcome:
        scores = pair_scores(system, self.left, self.right, progress=progress)
        name = {"spearman": "Spearman", "ap": "AP"}[self.statistic]
        return Outcome({name: (Part(self.statistic, scores, self.gold),)})


def pair_scores(
    system: System, left: Sequence[str], right: Sequence[str], *, progress: Progress | None = None
) -> np.ndarray:
    """(P,) how alike `left` and `right` are; a system that is not symmetric is asked both ways and averaged."""
    every = list(dict.fromkeys([*left, *right]))
    place = {text: row for row, text in enumerate(every)}
    index = system.index(every, progress=progress)
    there = index.some(left, [np.array([place[text]]) for text in right])
    back = index.some(right, [np.array([place[text]]) for text in left])
    return ((np.concatenate(there) + np.concatenate(back)) / 2).astype(np.float64)


@dataclass(frozen=True)
class Lists:
    """For each query its own candidates, the relevant ones to be ranked first.

    Attributes:
        queries: Q texts.
        candidates: per query its candidates.
        relevant: per query 0 or 1 for each candidate.
    """

    name: str
    queries: list[str]
    candidates: list[list[str]]
    relevant: list[np.ndarray]
    kind: str = "reranking"
    note: str = ""

    def run(self, system: System, *, progress: Progress | None = None) -> Outcome:
        every = list(dict.fromkeys(text for texts in self.candidates for text in texts))
        place = {text: row for row, text in enumerate(every)}
        index = system.index(every, progress=progress)
        rows = [np.array([place[text] for text in texts]) for texts in self.candidates]
        scored = index.some(self.queries, rows)
        lists = list(zip(self.relevant, scored, strict=True))
        return Outcome(
            {
                "MAP": (Part.mean([average_precision(relevant, scores) for relevant, scores in lists]),),
                "MRR": (Part.mean([reciprocal_rank(relevant, scores) for relevant, scores in lists]),),
            }
        )


@dataclass(frozen=True)
class Retrieval:
    """For each query the relevant documents among all of them.

    Attributes:
        queries: Q texts.
        documents: D texts.
        gains: per query the grade of each relevant document by its row; row -1 is one that is not among the documents.
        banned: per query the row of a document that is the query itself, or -1.
    """

    name: str
    queries: list[str]
    documents: list[str]
    gains: list[dict[int, float]]
    banned: list[int]
    kind: str = "retrieval"
    note: str = ""
    lost: list[int] = field(default_factory=list)

    def run(self, system: System, *, progress: Progress | None = None) -> Outcome:
        index = system.index(self.documents, progress=progress)
        scores, rows = index.top(self.queries, DEEPEST + 1)
        maps, gains = [], []
        for query, wanted in enumerate(self.gains):
            kept = rows[query] != self.banned[query]
            found, said = rows[query][kept][:DEEPEST], scores[query][kept][:DEEPEST].astype(np.float64)
            lost = self.lost[query] if self.lost else 0
            grades = np.array([wanted.get(int(row), 0.0) for row in found])
            maps.append(average_precision(grades > 0, said, total=len(wanted) + lost))
            gains.append(ndcg(grades, said, wanted=[*wanted.values(), *[1.0] * lost], k=10))
        return Outcome({"MAP@100": (Part.mean(maps),), "nDCG@10": (Part.mean(gains),)})


@dataclass(frozen=True)
class Twins:
    """Each query has exactly one right document: the one of the same row. The proxies are of this shape.

    Attributes:
        queries, documents: Q texts each.
    """

    name: str
    kind: str
    queries: list[str]
    documents: list[str]
    note: str = ""

    def run(self, system: System, *, progress: Progress | None = None) -> Outcome:
        index = system.index(self.documents, progress=progress)
        every = np.arange(len(self.documents))
        ranks = []
        for first in range(0, len(self.queries), 256):
            part = self.queries[first : first + 256]
            for row, scores in enumerate(index.some(part, [every] * len(part)), start=first):
                ranks.append(int((scores >= scores[row]).sum()))  # behind all that have the same score
        found = np.array(ranks)
        return Outcome({"MRR": (Part.mean(1.0 / found),), "R@1": (Part.mean(found == 1),)})
