"""From KIND:PATH to tasks. What is wrong with a file is told in one sentence, with the line."""

from __future__ import annotations

import math
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tsdae_core.evaluate import beir, labels, proxies, useb
from tsdae_core.evaluate.kinds import KINDS, split_spec
from tsdae_core.evaluate.rows import columns, json_lines, short, truth
from tsdae_core.evaluate.tasks import Lists, Pairs, Task

FIRST = ("sentence1", "sentence_1", "sentence_a", "sent1", "text1", "s1", "question1")
SECOND = ("sentence2", "sentence_2", "sentence_b", "sent2", "text2", "s2", "question2")
SCORE = ("score", "label", "similarity", "relatedness_score", "is_duplicate", "gold")
QUERY, CANDIDATE = ("query", "question"), ("candidate", "document", "passage", "text")
RELEVANT = ("relevant", "label", "relevance", "score")
SENTENCE, LABEL = ("sentence", "text", "title", "question"), ("label", "category", "class", "intent", "topic")
MOST_UNPACKED = 4 * 2**30
"""Bytes that a zip file may grow to."""


def read_tasks(spec: str) -> list[Task]:
    """The tasks of "KIND:PATH": one, or for a USEB folder up to four.

    Raises:
        ValueError: in one sentence, for an unknown kind or a file that is not as `KINDS` says.
    """
    kind, path = split_spec(spec)
    return read_task(kind, Path(path))


def read_task(kind: str, path: Path, *, name: str = "") -> list[Task]:
    """As `read_tasks`; `name` is the table's column, the file's own name when empty."""
    if kind not in READERS:
        raise ValueError(f"there is no kind of task {kind!r}; the kinds are {', '.join(KINDS)}")
    if path.suffix == ".zip" and path.is_file():
        with tempfile.TemporaryDirectory() as folder:
            return READERS[kind](_unpacked(path, Path(folder)), name or path.stem)
    return READERS[kind](path, name or path.name.split(".")[0])


def _unpacked(path: Path, folder: Path) -> Path:
    """What a zip file holds; its only folder, when it holds nothing else."""
    try:
        with zipfile.ZipFile(path) as file:
            if sum(entry.file_size for entry in file.infolist()) > MOST_UNPACKED:
                raise ValueError(f"{path.name} unpacks to more than 4 GB; give the folder instead")
            file.extractall(folder)
    except (zipfile.BadZipFile, OSError, RuntimeError) as error:
        raise ValueError(f"{path.name} is no zip file that can be read: {error}") from error
    inside = [entry for entry in folder.iterdir() if entry.name != "__MACOSX" and entry.name[0] != "."]
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _pairs(path: Path, name: str) -> list[Task]:
    left, right, gold = [], [], []
    for line, (one, other, score) in columns(path, FIRST, SECOND, SCORE, kind="pairs"):
        try:
            number = float(score.replace(",", "."))
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or not one or not other:
            raise ValueError(
                f"{path.name}, line {line}: a row must be two sentences and a number; got {short(one)}, "
                f"{short(other)}, {short(score)}"
            )
        left.append(one)
        right.append(other)
        gold.append(number)
    if len(set(gold)) < 2:
        raise ValueError(
            f"{path.name} must have pairs with at least two different scores; it has {len(gold):,} pairs with "
            f"{len(set(gold))} (a first line with names does not count)"
        )
    return [Pairs(name, "pairs", left, right, np.array(gold), "spearman", f"{len(gold):,} pairs")]


def _paraphrases(path: Path, name: str) -> list[Task]:
    left, right, gold, skipped = [], [], [], 0
    for line, (one, other, label) in columns(path, FIRST, SECOND, ("label", *SCORE), kind="paraphrases"):
        if not label:
            skipped += 1
            continue
        left.append(one)
        right.append(other)
        gold.append(truth(label, path, line))
    if len(set(gold)) < 2:
        raise ValueError(
            f"{path.name} must have pairs labelled 1 and pairs labelled 0; it has only one of them"
        )
    note = f"{len(gold):,} pairs, {sum(gold):,} of them paraphrases"
    note += f"; {skipped:,} without a label left out" if skipped else ""
    return [Pairs(name, "paraphrases", left, right, np.array(gold), "ap", note)]


def _reranking(path: Path, name: str) -> list[Task]:
    found = _json_lists(path) if ".json" in path.name else _table_lists(path)
    whole = {query: rows for query, rows in found.items() if 0 < sum(rows.values()) < len(rows)}
    if not whole:
        raise ValueError(
            f"{path.name} has no query with both relevant and other candidates; it needs at least one"
        )
    note = f"{len(whole):,} queries, {sum(map(len, whole.values())):,} candidates"
    left_out = len(found) - len(whole)
    note += (
        f"; {left_out:,} queries without relevant or without other candidates left out" if left_out else ""
    )
    lists = [list(rows) for rows in whole.values()]
    relevant = [np.array(list(rows.values())) for rows in whole.values()]
    return [Lists(name, list(whole), lists, relevant, note=note)]


def _table_lists(path: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for line, (query, text, label) in columns(path, QUERY, CANDIDATE, RELEVANT, kind="reranking"):
        found.setdefault(query, {})[text] = truth(label, path, line)
    return found


def _json_lists(path: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for line, row in json_lines(path):
        query, positive, negative = (row.get(key) for key in ("query", "positive", "negative"))
        positive = [positive] if isinstance(positive, str) else positive
        if not isinstance(query, str) or not isinstance(positive, list) or not isinstance(negative, list):
            raise ValueError(
                f'{path.name}, line {line}: a line must be {{"query": text, "positive": [texts], "negative": [texts]}}'
            )
        rows = found.setdefault(query, {})
        rows |= dict.fromkeys(map(str, negative), 0) | dict.fromkeys(map(str, positive), 1)
    return found


def _labels(path: Path, name: str) -> list[Task]:
    rows = [cells for _, cells in columns(path, SENTENCE, LABEL, kind="labels")]
    return [labels.labelled(name, [text for text, _ in rows], [label for _, label in rows])]


READERS: dict[str, Callable[[Path, str], list[Task]]] = {
    "pairs": _pairs,
    "paraphrases": _paraphrases,
    "reranking": _reranking,
    "retrieval": lambda path, name: [beir.read_beir(path, name)],
    "labels": _labels,
    "useb": lambda path, name: useb.read_useb(path, "test"),
    "useb-valid": lambda path, name: useb.read_useb(path, "valid"),
    "damaged": lambda path, name: [proxies.damaged_file(path, name)],
    "halves": lambda path, name: [proxies.halves_file(path, name)],
}
