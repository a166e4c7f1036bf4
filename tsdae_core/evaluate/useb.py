"""The USEB toolkit's `data-eval` folder, scored by that toolkit's rules (github.com/UKPLab/useb, the TSDAE paper's benchmark).

Where they differ from a textbook: AskUbuntu uses titles, candidates come sorted by BM25 and ties keep that order, rows
without positives are skipped. CQADupStack takes a split's queries out of the pool and divides by the relevant documents
inside the first 100. SciDocs uses titles; relevant documents without one still count as missed. TwitterPara drops
middling votes for average precision, not for Spearman. Averages are over corpora, not over queries.

Legend: N candidates.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tsdae_core.evaluate.measure import Outcome, Part, average_precision, ndcg
from tsdae_core.evaluate.systems import Progress, System
from tsdae_core.evaluate.tasks import Task, pair_scores

TITLES = {
    "askubuntu": "AskUbuntu",
    "cqadupstack": "CQADupStack",
    "twitterpara": "TwitterPara",
    "scidocs": "SciDocs",
}
SPLITS = {"valid": "dev", "test": "test"}


def read_useb(path: Path, split: str) -> list[Task]:
    """The corpora that a `data-eval` folder holds, on the split "test" or "valid".

    Raises:
        ValueError: in one sentence, for a folder without any of the four, and for a malformed file.
    """
    if not path.is_dir():
        raise ValueError(f"{path} is no folder or zip file; give the USEB toolkit's folder data-eval")
    folders = [name for name in TITLES if (path / name).is_dir()]
    if not folders:
        raise ValueError(
            f"{path} holds none of {', '.join(TITLES)}; give the USEB toolkit's folder data-eval"
        )
    tasks: list[Task] = []
    for name in folders:
        try:
            tasks.append(_READERS[name](path / name, split))
        except FileNotFoundError as error:
            raise ValueError(
                f"{name} lacks {Path(str(error.filename)).name}; the USEB toolkit has it"
            ) from error
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, SyntaxError) as error:
            raise ValueError(
                f"{name} is not as the USEB toolkit has it: {type(error).__name__}, {error}"
            ) from error
    return tasks


def official_names(tasks: list[Task], outcomes: list[Outcome]) -> dict[str, float]:
    """Every metric in percent under the toolkit's own name, and the main ones under the names of their corpora."""
    found: dict[str, float] = {}
    for task, outcome in zip(tasks, outcomes, strict=True):
        found |= {metric: 100 * outcome.value(metric) for metric in outcome.metrics}
        found[getattr(task, "corpus", task.name)] = 100 * outcome.value()
    return found


@dataclass(frozen=True)
class AskUbuntu:
    """Re-ranking: query title, candidate titles as BM25 ranked them, relevant or not."""

    lists: list[tuple[str, list[str], np.ndarray]]
    note: str
    name: str = TITLES["askubuntu"]
    kind: str = "useb"
    corpus: str = "askubuntu"

    def run(self, system: System, *, progress: Progress | None = None) -> Outcome:
        every = list(dict.fromkeys(text for _, texts, _ in self.lists for text in texts))
        place = {text: row for row, text in enumerate(every)}
        index = system.index(every, progress=progress)
        rows = [np.array([place[text] for text in texts]) for _, texts, _ in self.lists]
        scored = index.some([query for query, _, _ in self.lists], rows)
        found: dict[str, list[float]] = {name: [] for name in ("map", "mrr", "p@1", "p@5")}
        for (_, _, relevant), scores in zip(self.lists, scored, strict=True):
            ranked = relevant[np.argsort(-scores, kind="stable")]  # (N,) ties keep BM25's order
            places = np.flatnonzero(ranked) + 1
            found["map"].append(float((np.arange(1, len(places) + 1) / places).mean()))
            found["mrr"].append(1.0 / places[0])
            found["p@1"].append(float(ranked[:1].mean()))
            found["p@5"].append(float(ranked[:5].mean()))
        return Outcome({f"{name}_askubuntu_title": (Part.mean(values),) for name, values in found.items()})


def _askubuntu(folder: Path, split: str) -> Task:
    rows = [line.split("\t") for line in _lines(folder / "text_tokenized.txt")]
    titles = {cells[0].strip(): cells[1].strip() for cells in rows}
    lists = []
    for line in _lines(folder / f"{SPLITS[split]}.txt"):
        query, gold, retrieved, weights = line.split("\t")
        wanted, names = set(gold.split()), retrieved.split()
        order = np.argsort([-float(weight) for weight in weights.split()], kind="stable")
        relevant = np.array([names[row] in wanted for row in order])
        if relevant.any():
            lists.append((titles[query.strip()], [titles[names[row]] for row in order], relevant))
    return AskUbuntu(lists, f"USEB, {len(lists):,} queries with candidates to re-rank")


@dataclass(frozen=True)
class CQADupStack:
    """Retrieval in twelve forums: per forum its queries, its pool, and the relevant rows and their number."""

    forums: dict[str, tuple[list[str], list[str], list[set[int]], list[int]]]
    note: str
    name: str = TITLES["cqadupstack"]
    kind: str = "useb"
    corpus: str = "cqadupstack"

    def run(self, system: System, *, progress: Progress | None = None) -> Outcome:
        maps, gains = {}, {}
        for forum, (queries, pool, relevant, totals) in self.forums.items():
            index = system.index(pool, progress=progress)
            scores, rows = index.top(queries, 100)
            precision, gain = [], []
            for said, found, wanted, total in zip(scores, rows, relevant, totals, strict=True):
                hits = np.array([row in wanted for row in found.tolist()], float)
                precision.append(average_precision(hits, said))
                gain.append(ndcg(hits, said, wanted=[1.0] * total, k=10))
            maps[f"map@100_cqadupstack_{forum}"] = (Part.mean(precision),)
            gains[f"ndcg@10_cqadupstack_{forum}"] = (Part.mean(gain),)
        averages = {
            "map@100_cqadupstack_avg": tuple(part for parts in maps.values() for part in parts),
            "ndcg@10_cqadupstack_avg": tuple(part for parts in gains.values() for part in parts),
        }
        return Outcome(averages | maps | gains)


def _cqadupstack(folder: Path, split: str) -> Task:
    corpus, splits = _json(folder / "corpus.json"), _json(folder / "retrieval_split.json")
    forums = {}
    for forum, texts in corpus.items():
        wanted = splits[split][forum]
        pool = {key: text.strip() for key, text in texts.items() if key not in wanted}
        place = {key: row for row, key in enumerate(pool)}
        relevant = [{place[key] for key in keys if key in place} for keys in wanted.values()]
        queries = [texts[key].strip() for key in wanted]
        forums[forum] = (queries, list(pool.values()), relevant, [len(keys) for keys in wanted.values()])
    count = sum(len(forum[0]) for forum in forums.values())
    return CQADupStack(forums, f"USEB, {count:,} queries in {len(forums)} forums")


@dataclass(frozen=True)
class TwitterPara:
    """Paraphrase pairs of two corpora: left, right, votes from 0 to 6 (0 to 5)."""

    corpora: dict[str, tuple[list[str], list[str], np.ndarray]]
    note: str
    name: str = TITLES["twitterpara"]
    kind: str = "useb"
    corpus: str = "twitterpara"

    def run(self, system: System, *, progress: Progress | None = None) -> Outcome:
        found: dict[str, tuple[Part, ...]] = {}
        for corpus, (left, right, votes) in self.corpora.items():
            scores = _likeness(system, left, right, progress)
            told = votes != 3
            found[f"ap_twitter_{corpus}"] = (Part("ap", scores[told], (votes > 3)[told]),)
            found[f"spearman_twitter_{corpus}"] = (Part("spearman", scores, votes.astype(float)),)
        averages = {
            f"{metric}_twitter_avg": tuple(
                part for name, parts in found.items() if name.startswith(metric) for part in parts
            )
            for metric in ("ap", "spearman")
        }
        return Outcome(averages | found)


def _likeness(system: System, left: list[str], right: list[str], progress: Progress | None) -> np.ndarray:
    """(P,) cosines in the toolkit's own float32 arithmetic, whose rounding decides between equal sentences."""
    ours, theirs = system.vectors(left, progress=progress), system.vectors(right, progress=progress)
    if ours is None or theirs is None:
        return pair_scores(system, left, right, progress=progress)
    return torch.cosine_similarity(torch.from_numpy(ours), torch.from_numpy(theirs), dim=-1).numpy()


def _twitterpara(folder: Path, split: str) -> Task:
    def parsed(path: Path, places: tuple[int, int, int]) -> tuple[list[str], list[str], np.ndarray]:
        rows = [line.strip().split("\t") for line in _lines(path)]
        left, right, votes = ([cells[place] for cells in rows] for place in places)
        return (
            [text.strip() for text in left],
            [text.strip() for text in right],
            np.array([_vote(text) for text in votes]),
        )

    corpora = {
        "twitterurl": parsed(folder / "Twitter_URL_Corpus_test.txt", (0, 1, 2)),
        "pit": parsed(folder / "test.data", (2, 3, 4)),
    }
    count = sum(len(left) for left, _, _ in corpora.values())
    note = f"USEB, {count:,} pairs of two corpora" + (
        "; there is no validation split" if split == "valid" else ""
    )
    return TwitterPara(corpora, note)


def _vote(text: str) -> int:
    """ "(4, 6)" or "4": how many voted for a paraphrase."""
    found = ast.literal_eval(text.strip())
    return int(found[0] if isinstance(found, tuple) else found)


@dataclass(frozen=True)
class SciDocs:
    """Re-ranking in four relations: per relation its queries, candidates, gains, and the relevant ones without a title."""

    relations: dict[str, list[tuple[str, list[str], np.ndarray, int]]]
    note: str
    name: str = TITLES["scidocs"]
    kind: str = "useb"
    corpus: str = "scidocs"

    def run(self, system: System, *, progress: Progress | None = None) -> Outcome:
        every = list(
            dict.fromkeys(text for lists in self.relations.values() for row in lists for text in row[1])
        )
        place = {text: row for row, text in enumerate(every)}
        index = system.index(every, progress=progress)
        vectors = system.vectors(every)
        found: dict[str, tuple[Part, ...]] = {}
        for relation, lists in self.relations.items():
            rows = [np.array([place[text] for text in texts]) for _, texts, _, _ in lists]
            queries = [query for query, _, _, _ in lists]
            scored = {"cosine": index.some(queries, rows)}
            asked = None if vectors is None else system.vectors(queries)
            if vectors is not None and asked is not None:
                scored["euclidean"] = [
                    -np.linalg.norm(vectors[row] - query, axis=1)
                    for query, row in zip(asked, rows, strict=True)
                ]
            for distance, scores in scored.items():
                precision, gain = [], []
                for (_, _, relevant, lost), said in zip(lists, scores, strict=True):
                    total = int(relevant.sum()) + lost
                    precision.append(average_precision(relevant, said, total=total))
                    gain.append(ndcg(relevant, said, wanted=np.ones(total).tolist()))
                found[f"map_scidocs_{relation}_{distance}"] = (Part.mean(precision),)
                found[f"ndcg_scidocs_{relation}_{distance}"] = (Part.mean(gain),)
        averages = {
            f"{metric}_scidocs_{distance}_avg": tuple(
                part
                for name, parts in found.items()
                if name.startswith(metric) and name.endswith(distance)
                for part in parts
            )
            for distance in ("cosine", "euclidean")
            for metric in ("map", "ndcg")
            if distance == "cosine" or vectors is not None
        }
        return Outcome(averages | found)


def _scidocs(folder: Path, split: str) -> Task:
    data = _json(folder / "data.json")
    titles = {key: (paper["title"] or "").strip() for key, paper in data["corpus"].items()}
    relations = {}
    for relation, qrels in data[split].items():
        lists = []
        for query, grades in qrels.items():
            known = [key for key in grades if titles.get(key)]
            if not titles.get(query) or not known:
                continue
            lost = sum(grade > 0 for key, grade in grades.items() if key not in set(known))
            relevant = np.array([float(grades[key] > 0) for key in known])
            lists.append((titles[query], [titles[key] for key in known], relevant, lost))
        relations[relation] = lists
    count = sum(map(len, relations.values()))
    return SciDocs(relations, f"USEB, {count:,} queries in {len(relations)} relations between papers")


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def _json(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


_READERS: dict[str, Callable[[Path, str], Task]] = {
    "askubuntu": _askubuntu,
    "cqadupstack": _cqadupstack,
    "twitterpara": _twitterpara,
    "scidocs": _scidocs,
}
