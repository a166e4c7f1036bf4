"""The README is true: its commands exist, its Python runs, its pictures are there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import make_sentences
from tsdae_core.__main__ import build_parser, main
from tsdae_core.evaluate.kinds import KINDS
from tsdae_core.runs import list_runs

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    line.split("-m tsdae_core ", 1)[1]
    for kind, block in BLOCKS
    for line in block.splitlines()
    if kind == "bash" and "-m tsdae_core " in line
]


def test_the_two_commands_stand_within_the_first_screen() -> None:
    first = "\n".join(README.splitlines()[:20])
    assert "pip install -r requirements.txt && .venv/bin/python app.py" in first
    assert "pip install -r tests/requirements.txt && .venv/bin/python -m pytest" in first


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_one_that_the_command_line_takes(command: str) -> None:
    assert build_parser().parse_args(shlex.split(command)).act


PYTHON = [block for kind, block in BLOCKS if kind == "python"]


def test_the_first_python_example_makes_a_run(tmp_path: Path) -> None:
    exec(PYTHON[0], {"workspace": tmp_path})
    [run] = list_runs(tmp_path)
    assert run.name == "mine"
    assert run.corpus().num_rows == 100


def test_the_other_python_examples_run_on_a_trained_run(tmp_path: Path, tiny_model_folder: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("\n".join(make_sentences(40)))
    options = [
        "--base-model",
        str(tiny_model_folder),
        "--max-steps",
        "2",
        "--devices",
        "cpu",
        "--precision",
        "fp32",
    ]
    assert main(["train", str(text), "--workspace", str(tmp_path / "work"), *options]) == 0
    assert len(PYTHON) > 1
    for block in PYTHON[1:]:
        known: dict[str, Any] = {"workspace": tmp_path / "work"}
        exec(block, known)
        assert len(known["hits"]) == 5
        assert [one["title"] for one in known["columns"]] == known["systems"]
        assert known["shown"]["source"].startswith("The meeting")
        assert set(known["bits"]) == {"own", "mean", "other"}
        assert [row["step"] for row in known["steps"]] == [1, 2]
        assert len(known["changed_most"]) == len(known["table"]) == 5
        assert "my notes" in known["page"]
        assert known["axes"].layers[0].xy.shape == (40, 2)


def test_the_table_of_tasks_has_every_kind_and_no_other() -> None:
    rows = re.findall(r"^\| (`[a-z].*?) \|", README, re.MULTILINE)
    assert set(re.findall(r"`([\w-]+)`", " ".join(rows))) == set(KINDS)


def test_every_picture_and_file_that_is_named_exists() -> None:
    named = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README) + re.findall(
        r"`(tests/[\w./]+\.py|assets/[\w./]+)`", README
    )
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_requirement_is_pinned_exactly() -> None:
    for name in ("requirements.txt", "tests/requirements.txt"):
        lines = [
            line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("-r")
        ]
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines), name
