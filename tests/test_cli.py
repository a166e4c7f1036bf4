"""The command line: the whole job without the page, and one sentence with exit code 2 for wrong input."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sentence_transformers import SentenceTransformer

from tests.conftest import make_sentences
from tsdae_core.__main__ import main
from tsdae_core.config import TrainConfig
from tsdae_core.runs import create_run, find_run
from tsdae_core.ui import forms, header


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> tuple[Path, Path]:
    """A workspace with a trained run named "cli", and the text file it was trained on."""
    folder = tmp_path_factory.mktemp("cli")
    text = folder / "notes.txt.gz"
    text.write_bytes(gzip.compress("\r\n".join(make_sentences(120)).encode("utf-16")))
    workspace = folder / "work"
    options = {
        "--workspace": workspace, "--name": "cli", "--base-model": tiny_model_folder, "--max-steps": 20,
        "--batch_size": 8, "--precision": "fp32", "--devices": "cpu", "--max-length": 32, "--vocabulary": "corpus",
        "--learning-rate": "1e-3",
    }  # fmt: skip
    code = main(["train", str(text), *(str(part) for pair in options.items() for part in pair)])
    assert code == 0
    return workspace, text


def test_a_reader_that_has_seen_enough_gets_no_traceback(tmp_path: Path) -> None:
    for number in range(3):
        table = pa.table({"sentence": ["a b"], "line": [1], "label": [""]})
        create_run(tmp_path, TrainConfig(), table, name=f"run-{number}")
    command = [sys.executable, "-m", "tsdae_core", "runs", "--workspace", str(tmp_path)]
    told = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert told.stdout and told.stderr
    told.stdout.close()  # as `head` does
    assert told.stderr.read() == ""
    told.stderr.close()
    assert told.wait(timeout=60) == 1


def test_training_leaves_a_run_that_is_listed(trained: tuple[Path, Path], capsys: Any) -> None:
    workspace, _ = trained
    assert main(["runs", "--workspace", str(workspace), "--json"]) == 0
    [run] = json.loads(capsys.readouterr().out)
    assert (run["name"], run["state"], run["step"], run["total"]) == ("cli", "finished", 20, 20)
    assert main(["runs", "--workspace", str(workspace)]) == 0
    assert "cli" in capsys.readouterr().out


def test_embedding_equals_the_exported_encoder(trained: tuple[Path, Path], tmp_path: Path) -> None:
    workspace, text = trained
    output = tmp_path / "vectors.npy"
    assert main(["embed", "cli", str(text), str(output), "--workspace", str(workspace)]) == 0
    assert main(["export", "cli", str(tmp_path / "taken"), "--workspace", str(workspace)]) == 0
    theirs = SentenceTransformer(str(tmp_path / "taken"), device="cpu").encode(
        make_sentences(120), normalize_embeddings=True
    )
    np.testing.assert_allclose(np.load(output), theirs, atol=1e-5)


def test_reconstructing_prints_original_damaged_and_rebuilt(trained: tuple[Path, Path], capsys: Any) -> None:
    workspace, _ = trained
    command = ["reconstruct", "cli", "--sentence", "The cat sees a dog.", "--workspace", str(workspace)]
    assert main(command) == 0
    assert "rebuilt" in capsys.readouterr().out
    assert main([*command, "--json", "--num-beams", "3"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert row["source"] == "The cat sees a dog."


def test_searching_lists_the_nearest_sentences_best_first(trained: tuple[Path, Path], capsys: Any) -> None:
    workspace, text = trained
    query = make_sentences(120)[7]
    command = ["search", "cli", str(text), query, "-k", "4", "--json", "--workspace", str(workspace)]
    assert main(command) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["sentence"] == query
    assert rows[0]["score"] == pytest.approx(1.0, abs=1e-3)
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train"], "give a corpus"),
        (["train", "nowhere.txt"], "nowhere.txt"),
        (["train", "{text}", "--max-steps", "none"], "max_steps must be a whole number"),
        (
            ["train", "{text}", "--noise-ratio", "60"],
            "noise_ratio must be at least 0 and at most 0.95; got 60",
        ),
        (["train", "{text}", "--base-model", "no/such/model"], "no/such/model"),
        (["train", "{text}", "--base-model", "{base}", "--devices", "cuda:9"], "cuda:9"),
        (["train", "{text}", "--text-column", "body"], "body"),
        (["train", "{text}", "--colour", "red"], "unrecognized arguments"),
        (["train", "--resume", "ghost"], "there is no run 'ghost'"),
        (["reconstruct", "ghost", "--sentence", "a"], "there is no run 'ghost'"),
        (["search", "ghost/none", "{text}", "a"], "ghost/none"),
        (["search", "cli", "{text}", "a", "-k", "0"], "at least 1"),
        (["search", "cli", "{text}", "a", "-k", "-3"], "at least 1"),
        (["reconstruct", "cli", "--sentence", "a", "--num-beams", "0"], "at least 1"),
        (["embed", "cli", "{text}", "out.txt"], ".npy or .parquet"),
        (["embed", "cli", "{text}", "{folder}/none/out.npy"], "make it first"),
        (["map", "cli", "{folder}/none/out.html"], "make it first"),
        (["export", "cli", "{folder}/none/out"], "make it first"),
        (["export", "cli", "{folder}"], "already there"),
        (["dance"], "invalid choice"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_two(
    trained: tuple[Path, Path],
    tiny_model_folder: Path,
    arguments: list[str],
    sentence: str,
    capsys: Any,
    monkeypatch: Any,
) -> None:
    workspace, text = trained
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    filled = [
        part.format(text=text, base=tiny_model_folder, folder=workspace) if "{" in part else part
        for part in arguments
    ]
    if arguments[0] != "dance":
        filled += ["--workspace", str(workspace)]
    try:
        code = main(filled)
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr().err
    assert code == 2, said
    assert sentence in said
    assert "Traceback" not in said
    assert len(said.strip().splitlines()[-1]) < 700


@pytest.mark.parametrize(("given", "labelled"), [([], True), (["--label-column", ""], False)])
def test_a_column_of_labels_is_found_as_on_the_page_unless_it_is_unwanted(
    tmp_path: Path, tiny_model_folder: Path, given: list[str], labelled: bool
) -> None:
    text = tmp_path / "pets.tsv"
    rows = [f"{sentence}\t{'ab'[n % 2]}" for n, sentence in enumerate(make_sentences(60))]
    text.write_text("\n".join(["sentence\ttopic", *rows]))
    options = [
        "--base-model",
        str(tiny_model_folder),
        "--max-steps",
        "1",
        "--devices",
        "cpu",
        "--precision",
        "fp32",
    ]
    assert main(["train", str(text), "--workspace", str(tmp_path / "work"), *options, *given]) == 0
    labels = find_run(tmp_path / "work", "pets").corpus()["label"].to_pylist()
    assert set(filter(None, labels)) == ({"a", "b"} if labelled else set())


def test_training_goes_on_from_the_encoder_of_another_run(trained: tuple[Path, Path]) -> None:
    workspace, text = trained
    [(label, folder)] = forms.own_bases(workspace)
    assert label == "cli (your run)" and "cli made by TSDAE" in forms.about_base(folder)
    options = ["--base-model", folder, "--max-steps", "1", "--devices", "cpu", "--precision", "fp32"]
    assert (
        main(["train", str(text), "--name", "second", "--workspace", str(workspace.parent / "two"), *options])
        == 0
    )
    second = find_run(workspace.parent / "two", "second")
    assert header.about(second, [])["base"] == "cli (run)"
