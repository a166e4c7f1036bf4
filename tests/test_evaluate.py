"""Opening systems, the command and the job: what is right is measured, what is wrong is one sentence."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer

from tests.conftest import make_sentences
from tests.corpora import write
from tests.test_evaluate_read import PAIRS, beir
from tsdae_core.__main__ import main
from tsdae_core.config import TrainConfig
from tsdae_core.evaluate import job, proxies
from tsdae_core.evaluate.run import evaluate
from tsdae_core.evaluate.systems import open_system
from tsdae_core.launch import wait
from tsdae_core.runs import Run, create_run

__all__ = ["beir"]


def test_an_encoder_is_loaded_and_its_scores_are_cosines(tiny_model_folder: Path, tmp_path: Path) -> None:
    texts = make_sentences(20)
    system = open_system(str(tiny_model_folder), tmp_path)
    model = SentenceTransformer(str(tiny_model_folder), device="cpu")
    np.testing.assert_allclose(system.vectors(texts), model.encode(texts), atol=1e-5)
    [scores] = system.index(texts).some([texts[0]], [np.arange(20)])
    unit = model.encode(texts, normalize_embeddings=True)
    np.testing.assert_allclose(scores, unit @ unit[0], atol=1e-5)


def test_averaged_word_vectors_are_the_mean_of_known_words(tmp_path: Path) -> None:
    table = write(tmp_path, "v.txt", "3 2\ncat 1 0\ndog 0 1\n. 4 4\n")
    system = open_system(f"glove:{table}", tmp_path)
    expected = [[0.5, 0.5], [5 / 3, 5 / 3], [0, 0]]
    np.testing.assert_allclose(system.vectors(["Cat, dog", "dog cat.", "fish"]), expected, rtol=1e-6)


def test_the_models_own_input_embeddings_are_averaged_without_special_tokens(
    tiny_model_folder: Path, tmp_path: Path
) -> None:
    system = open_system(f"words:{tiny_model_folder}", tmp_path)
    model = SentenceTransformer(str(tiny_model_folder), device="cpu")
    tokens = model.tokenizer("the cat sees", add_special_tokens=False)["input_ids"]
    assert len(tokens) == 3
    weights = model[0].model.get_input_embeddings().weight.detach().numpy()
    np.testing.assert_allclose(system.vectors(["the cat sees"])[0], weights[tokens].mean(axis=0), atol=1e-6)


def test_vectors_from_a_file_are_found_by_their_sentences(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(3, 4)).astype("f4")
    np.save(tmp_path / "v.npy", vectors)
    write(tmp_path, "v.txt", "one\ntwo\nthree\n")
    pq.write_table(
        pa.table({"sentence": ["one", "two", "three"], "vector": list(vectors)}), tmp_path / "v.parquet"
    )
    for name in ("v.npy", "v.parquet"):
        system = open_system(str(tmp_path / name), tmp_path)
        np.testing.assert_array_equal(system.vectors(["three", " one "]), vectors[[2, 0]])
        with pytest.raises(ValueError, match="no vector for 1 of the 2 texts of this task, such as 'four'"):
            system.vectors(["one", "four"])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nobody@5", "nobody@5"),
        ("glove:none.txt", "there is no file none.txt"),
        ("none.npy", "there is no file none.npy"),
        ("words:./none", "not a folder on this machine"),
    ],
)
def test_an_unknown_system_is_one_sentence(tmp_path: Path, monkeypatch: Any, name: str, says: str) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ValueError, match=says):
        open_system(name, tmp_path)


def test_word_vectors_of_another_width_are_told_with_the_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line 2: a line must be a word and 2 numbers"):
        open_system(f"glove:{write(tmp_path, 'v.txt', 'cat 1 0' + chr(10) + 'dog 1')}", tmp_path)


def test_the_command_prints_a_table_and_json(tiny_model_folder: Path, tmp_path: Path, capsys: Any) -> None:
    task = f"pairs:{write(tmp_path, 'p.tsv', PAIRS * 1 + 'a cat sees' + chr(9) + 'a dog sees' + chr(9) + '2' + chr(10))}"
    command = ["evaluate", "bm25", f"tiny={tiny_model_folder},{tiny_model_folder}", "--task", task]
    assert main([*command, "--workspace", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "p Spearman" in shown and "± 0.00" in shown
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["label"] for row in rows] == ["bm25", "tiny"]
    assert len(rows[1]["cells"][0]["seeds"]) == 2
    for kind, mark in (
        ("csv", "system,p Spearman"),
        ("markdown", "| System |"),
        ("latex", r"\begin{tabular}"),
    ):
        assert main([*command, "--format", kind]) == 0
        assert mark in capsys.readouterr().out


@pytest.mark.parametrize("asked", [["--task", "pairs:none.tsv"], ["--task", "songs:x"], []])
def test_wrong_input_is_one_sentence_and_exit_code_2(asked: list[str], capsys: Any) -> None:
    try:
        code = main(["evaluate", "bm25", *asked])
    except SystemExit as ended:  # argparse's own refusals
        code = int(ended.code or 0)
    told = capsys.readouterr()
    assert (code, told.out, told.err.count("\n")) == (2, "", 1)


@pytest.fixture
def run(tmp_path: Path, tiny_model_folder: Path) -> Run:
    """A run of 200 sentences with two labels that has no encoder yet."""
    sentences = make_sentences(200)
    labels = [sentence.split()[0] for sentence in sentences]
    table = pa.table({"sentence": sentences, "line": list(range(200)), "label": labels})
    return create_run(tmp_path / "work", TrainConfig(base_model=str(tiny_model_folder)), table, name="notes")


def test_an_evaluation_runs_detached_and_its_table_equals_the_one_made_here(run: Run) -> None:
    workspace = run.path.parent
    rows = [("Untrained base", ["base:notes"]), ("BM25", ["bm25"])]
    started = job.start_evaluation(workspace, run, rows, own="labels")
    assert wait(started, timeout=300) == "finished", started.log_tail()
    table = job.read_table(started)
    ours = evaluate(rows, [proxies.of_run(run, "labels")], workspace=workspace, every=True)
    assert table is not None
    for theirs, mine in zip(table.rows, ours.rows, strict=True):
        assert [cell.mean for cell in theirs.cells] == pytest.approx([cell.mean for cell in mine.cells])
    assert job.evaluations(workspace, "notes") == [started]
    assert job.evaluations(workspace, "other") == []


def test_a_system_that_cannot_answer_fails_the_job_with_one_sentence(run: Run) -> None:
    np.save(run.path / "v.npy", np.ones((1, 2)))
    write(run.path, "v.txt", "one\n")
    rows = [("vectors", [str(run.path / "v.npy")])]
    started = job.start_evaluation(run.path.parent, run, rows, own="damaged")
    assert wait(started, timeout=300) == "failed"
    assert "has no vector for" in started.status()["error"]
    assert job.read_table(started) is None


def test_a_task_that_cannot_be_read_starts_nothing(run: Run, tmp_path: Path) -> None:
    for kind, name, says in (
        ("pairs", "x.tsv", "is empty"),
        ("songs", "x.tsv", "what kind"),
        ("pairs", "", "Choose a file"),
    ):
        files = [write(tmp_path, name, "")] if name else []
        with pytest.raises(ValueError, match=says):
            job.start_evaluation(run.path.parent, run, [("BM25", ["bm25"])], kind=kind, files=files)
    assert job.evaluations(run.path.parent, "notes") == []
    assert not any((run.path.parent / ".evaluations").iterdir())


def test_the_three_files_of_a_retrieval_task_are_put_together(run: Run, beir: Path) -> None:
    files = [beir / "corpus.jsonl", beir / "queries.jsonl", beir / "qrels" / "test.tsv"]
    rows = [("BM25", ["bm25"])]
    started = job.start_evaluation(run.path.parent, run, rows, kind="retrieval", files=files)
    deadline = time.monotonic() + 300
    while job.read_table(started) is None:
        assert time.monotonic() < deadline, started.log_tail()
        time.sleep(0.1)
    table = job.read_table(started)
    assert table is not None and [column.metric for column in table.columns] == ["MAP@100", "nDCG@10"]
