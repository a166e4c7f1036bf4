"""Finished runs for the tests of the tabs that look at one: really trained with a decoder and checkpoints, or as if."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa

from tests.conftest import make_sentences
from tsdae_core.__main__ import main
from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run, create_run, find_run

HOSTILE = "<img src=x onerror=window.hit=1> ${document.title.length} `code` <b>bold</b>"
LABEL = "<b onmouseover=window.hit=1>kind"
STEPS = (20, 40, 60)
"""Where its checkpoints are."""


def train(folder: Path, model: Path, count: int = 200) -> Run:
    """Train the tiny model on `count` sentences, the first one and one of the two labels hostile."""
    sentences = [HOSTILE, *make_sentences(count - 1)]
    rows = [f"{text}\t{LABEL if row % 2 == 0 else 'plain'}" for row, text in enumerate(sentences)]
    file = folder / "explored.tsv"
    file.write_text("\n".join(["sentence\tlabel", *rows]), encoding="utf-8")
    options = {
        "--workspace": folder / "work", "--name": "explored", "--base-model": model, "--max-steps": STEPS[-1],
        "--checkpoint-every": STEPS[0], "--batch_size": 16, "--precision": "fp32", "--devices": "cpu",
        "--max-length": 32, "--learning-rate": "3e-3", "--label-column": "label", "--text-column": "sentence",
    }  # fmt: skip
    assert main(["train", str(file), *(str(part) for pair in options.items() for part in pair)]) == 0
    return find_run(folder / "work", "explored")


def as_finished(folder: Path, model: Path, sentences: list[str], labels: list[str], *, name: str) -> Run:
    """A run that says it is finished; its result is the untrained tiny model itself."""
    lines = list(range(1, len(sentences) + 1))
    table = pa.table({"sentence": sentences, "line": lines, "label": labels})
    run = create_run(folder, TrainConfig(base_model=str(model), pooling="cls"), table, name=name)
    shutil.copytree(model, run.encoder_dir)
    run.decoder_dir.mkdir()
    run.write_status(state="finished", step=10, total=10)
    return run
