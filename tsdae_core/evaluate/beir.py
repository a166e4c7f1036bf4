"""Retrieval tasks in the layout of BEIR: corpus.jsonl, queries.jsonl and qrels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from tsdae_core.evaluate.rows import json_lines, rule, short
from tsdae_core.evaluate.tasks import Retrieval


def read_beir(path: Path, name: str) -> Retrieval:
    """A folder as a task. Raises `ValueError` in one sentence for a file that is missing or malformed."""
    if not path.is_dir():
        raise ValueError(f"{path} is no folder or zip file; {rule('retrieval')}")
    documents = _texts(path / "corpus.jsonl", name)
    queries = _texts(path / "queries.jsonl", name)
    place = {key: row for row, key in enumerate(documents)}
    gains: dict[str, dict[int, float]] = {}
    lost: dict[str, int] = {}
    for line, query, document, grade in _qrels(path):
        if query not in queries:
            raise ValueError(f"the qrels of {name}, line {line}: queries.jsonl has no query {short(query)}")
        if grade > 0 and document in place:
            gains.setdefault(query, {})[place[document]] = grade
        elif grade > 0:
            lost[query] = lost.get(query, 0) + 1
    asked = [query for query in queries if query in gains or query in lost]
    if not asked or not gains:
        raise ValueError(
            f"the qrels of {name} name no relevant document that corpus.jsonl has; check the ids"
        )
    texts = [queries[query] for query in asked]
    banned = [
        place[query] if query in place and documents[query] == queries[query] else -1 for query in asked
    ]
    note = f"{len(asked):,} queries, {len(documents):,} documents"
    note += f"; {sum(lost.values()):,} relevant ones are not among them and count as missed" if lost else ""
    return Retrieval(
        name,
        texts,
        list(documents.values()),
        [gains.get(query, {}) for query in asked],
        banned,
        note=note,
        lost=[lost.get(query, 0) for query in asked],
    )


def _texts(path: Path, name: str) -> dict[str, str]:
    """Titles and texts by id."""
    if not path.is_file():
        raise ValueError(
            f"{name} has no {path.name}; a retrieval task is a folder or zip with corpus.jsonl, queries.jsonl and qrels.tsv"
        )
    found: dict[str, str] = {}
    for line, row in json_lines(path):
        key = row.get("_id", row.get("id"))
        if key is None or not isinstance(row.get("text", ""), str):
            raise ValueError(f'{path.name}, line {line}: a line must be {{"_id": ..., "text": ...}}')
        found[str(key)] = f"{row.get('title') or ''} {row.get('text') or ''}".strip()
    if not found:
        raise ValueError(f"{path.name} of {name} is empty; it must hold one JSON object per line")
    return found


def _qrels(folder: Path) -> Iterator[tuple[int, str, str, float]]:
    paths = [folder / "qrels" / "test.tsv", folder / "qrels.tsv", folder / "test.tsv"]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise ValueError(
            f"{folder.name} has neither qrels.tsv nor qrels/test.tsv; they name the relevant documents"
        )
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        cells = line.split("\t")
        if not line.strip() or (number == 1 and len(cells) > 2 and not _is_grade(cells[-1])):
            continue
        if len(cells) == 4:  # trec_eval's own layout has an unused second column
            cells = [cells[0], cells[2], cells[3]]
        if len(cells) != 3 or not _is_grade(cells[2]):
            raise ValueError(
                f"{path.name}, line {number}: a line must be query id, document id and grade with tabs between"
            )
        yield number, cells[0].strip(), cells[1].strip(), float(cells[2])


def _is_grade(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
