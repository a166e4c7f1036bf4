"""Reading tasks and making proxies: what is right is a task, what is wrong is one sentence."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import make_sentences
from tests.corpora import write
from tsdae_core.evaluate import proxies
from tsdae_core.evaluate.kinds import KINDS
from tsdae_core.evaluate.read import READERS, read_task, read_tasks
from tsdae_core.evaluate.systems import open_system
from tsdae_core.lexical import words

PAIRS = "A man plays a guitar.\tA man makes music.\t3.8\nA dog runs.\tThe bank is closed.\t0\n"


def one(kind: str, path: Path) -> Any:
    [task] = read_task(kind, path)
    return task


def test_every_kind_has_a_reader_and_two_lines_on_its_format() -> None:
    assert list(READERS) == list(KINDS)
    assert all(len(kind.text.split("\n")) == 2 for kind in KINDS.values())


def test_the_examples_of_the_formats_can_be_read(tmp_path: Path) -> None:
    for key in ("pairs", "paraphrases", "reranking"):
        assert one(key, write(tmp_path, f"{key}.tsv", KINDS[key].example + "\n")).run(
            open_system("bm25", tmp_path)
        )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.tsv", PAIRS),
        ("named.csv", 'id,score,sentence_B,sentence_A\n1,3.8,A man makes music.,A man plays a guitar.\n'
                      '2,0,The bank is closed.,A dog runs.\n'),
        ("lines.jsonl", '{"sentence1": "A man plays a guitar.", "sentence2": "A man makes music.", "score": 3.8}\n'
                        '{"sentence1": "A dog runs.", "sentence2": "The bank is closed.", "score": 0}\n'),
    ],
)  # fmt: skip
def test_pairs_come_from_columns_by_place_or_by_name(tmp_path: Path, name: str, content: str) -> None:
    task = one("pairs", write(tmp_path, name, content))
    assert task.left == ["A man plays a guitar.", "A dog runs."]
    assert task.right == ["A man makes music.", "The bank is closed."]
    assert task.gold.tolist() == [3.8, 0]


def test_paraphrases_without_a_label_are_left_out_and_counted(tmp_path: Path) -> None:
    task = one("paraphrases", write(tmp_path, "p.tsv", "a b\ta c\t1\nd e\tf g\t\nh i\tj k\t0\n"))
    assert task.gold.tolist() == [1, 0]
    assert "1 without a label left out" in task.note


def test_lists_are_the_same_from_a_table_and_from_json(tmp_path: Path) -> None:
    table = "q one\tgood\t1\nq one\tbad\t0\nq two\tfine\t1\nq two\tpoor\t0\nq three\tonly\t1\n"
    rows = [
        {"query": "q one", "positive": ["good"], "negative": ["bad"]},
        {"query": "q two", "positive": "fine", "negative": ["poor"]},
        {"query": "q three", "positive": ["only"], "negative": []},
    ]
    lines = "\n".join(json.dumps(row) for row in rows)
    first = one("reranking", write(tmp_path, "a.tsv", table))
    second = one("reranking", write(tmp_path, "a.jsonl", lines))
    assert first.queries == second.queries == ["q one", "q two"]
    assert "1 queries without" in first.note
    for task in (first, second):
        found = [
            dict(zip(c, r.tolist(), strict=True)) for c, r in zip(task.candidates, task.relevant, strict=True)
        ]
        assert found == [{"good": 1, "bad": 0}, {"fine": 1, "poor": 0}]


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "qrels").mkdir(parents=True)
    write(
        folder,
        "corpus.jsonl",
        '{"_id": "d1", "title": "Red", "text": "boats"}\n{"_id": "d2", "text": "trains"}\n',
    )
    write(folder, "queries.jsonl", '{"_id": "d1", "text": "boats?"}\n{"_id": "q2", "text": "trains"}\n')
    write(
        folder / "qrels",
        "test.tsv",
        "query-id\tcorpus-id\tscore\nd1\td1\t1\nq2\td2\t2\nq2\tgone\t1\nq2\td1\t0\n",
    )
    return folder


def test_retrieval_reads_beir_and_an_id_alone_does_not_make_a_document_the_query(beir: Path) -> None:
    task = one("retrieval", beir)
    assert task.documents == ["Red boats", "trains"]
    assert (task.queries, task.gains, task.lost) == (["boats?", "trains"], [{0: 1.0}, {1: 2.0}], [0, 1])
    assert task.banned == [-1, -1]
    assert "1 relevant ones are not among them" in task.note


def test_a_zip_file_is_read_as_its_folder(beir: Path, tmp_path: Path) -> None:
    archive = tmp_path / "notes.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(beir.rglob("*")):
            file.write(path, path.relative_to(tmp_path))
    assert one("retrieval", archive).documents == one("retrieval", beir).documents


def test_a_label_that_comes_once_and_a_repeated_sentence_are_left_out(tmp_path: Path) -> None:
    rows = "sentence,label\na b,x\nc d,x\ne f,y\ng h,y\ng h,y\ni j,z\n"
    task = one("labels", write(tmp_path, "l.csv", rows))
    assert (task.texts, task.labels) == (["a b", "c d", "e f", "g h"], ["x", "x", "y", "y"])
    assert "2 blank, repeated or alone" in task.note


@pytest.mark.parametrize(
    ("kind", "name", "content", "says"),
    [
        (
            "pairs",
            "x.tsv",
            "a b\tc d\t1\ne f\tg h\thigh\n",
            "line 2: a row must be two sentences and a number",
        ),
        ("pairs", "x.tsv", "a b\tc d\t1\ne f\tg h\t1\n", "at least two different scores"),
        ("pairs", "x.tsv", "a b\tc d\t1\te\ng h\ti j\t2\tk\n", "4 columns"),
        ("pairs", "x.tsv", "", "is empty"),
        ("paraphrases", "x.tsv", "a b\tc d\t1\ne f\tg h\t2\n", "line 2: a label must be 1 or 0; got '2'"),
        ("paraphrases", "x.tsv", "a b\tc d\t1\ne f\tg h\t1\n", "pairs labelled 1 and pairs labelled 0"),
        ("reranking", "x.tsv", "q\tc\t1\nr\td\t1\n", "no query with both"),
        ("reranking", "x.jsonl", '{"query": "q"}\n', "line 1: a line must be"),
        ("retrieval", "x.zip", "no zip", "no zip file"),
        ("retrieval", "x.tsv", "a\tb\tc\n", "no folder or zip file"),
        ("labels", "x.tsv", "a b\tx\nc d\ty\n", "at least two labels with two sentences"),
        ("useb", "x.tsv", "a", "no folder or zip file"),
        ("damaged", "x.txt", "too short\n", "it needs 10"),
        ("halves", "x.txt", "too short\n", "it needs 10"),
    ],
)
def test_a_malformed_file_is_one_sentence(
    tmp_path: Path, kind: str, name: str, content: str, says: str
) -> None:
    with pytest.raises(ValueError, match=says.replace("(", r"\(")):
        read_task(kind, write(tmp_path, name, content))


def test_what_is_wrong_with_a_retrieval_folder_is_one_sentence(beir: Path) -> None:
    write(beir / "qrels", "test.tsv", "d1\td1\t1\nnobody\td1\t1\n")
    with pytest.raises(ValueError, match=r"line 2: queries\.jsonl has no query 'nobody'"):
        read_task("retrieval", beir)
    write(beir / "qrels", "test.tsv", "d1\td1\n")
    with pytest.raises(ValueError, match="line 1: a line must be query id, document id and grade"):
        read_task("retrieval", beir)
    write(beir, "corpus.jsonl", '{"_id": "d1", "text": "x"}\n[1]\n')
    with pytest.raises(ValueError, match=r"corpus\.jsonl, line 2: a line must be one JSON object"):
        read_task("retrieval", beir)
    (beir / "queries.jsonl").unlink()
    (beir / "corpus.jsonl").unlink()
    with pytest.raises(ValueError, match=r"has no corpus\.jsonl"):
        read_task("retrieval", beir)


def test_a_task_without_a_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="written KIND:PATH"):
        read_tasks("stsb.tsv")


def test_a_damaged_sentence_has_lost_about_the_share_that_is_named() -> None:
    task = proxies.damaged(make_sentences(300), name="t", ratio=0.6)
    kept = sum(len(query.split()) for query in task.queries) / sum(
        len(text.split()) for text in task.documents
    )
    assert 0.3 < kept < 0.5
    for query, text in zip(task.queries, task.documents, strict=True):
        assert set(words(query)) <= set(words(text))
    assert task.note.startswith("A proxy")
    assert task.queries == proxies.damaged(make_sentences(300), name="t", ratio=0.6).queries


def test_halves_are_of_documents_where_there_are_some_else_of_sentences(tmp_path: Path) -> None:
    sentences = [f"Part {n} speaks of boats. " * 2 + f"End {n} speaks of trains." for n in range(12)]
    task = proxies.halves_file(write(tmp_path, "d.txt", "\n".join(sentences)))
    assert task.queries[3] == "Part 3 speaks of boats. Part 3 speaks of boats."
    assert task.documents[3] == "End 3 speaks of trains."
    long = proxies.halves_file(
        write(tmp_path, "s.txt", "\n".join(f"one two three four five six seven {n}" for n in range(12)))
    )
    assert (long.queries[3], long.documents[3]) == ("one two three four", "five six seven 3")
    assert "no documents" in long.note
