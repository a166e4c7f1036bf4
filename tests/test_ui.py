"""The page without a browser: how it is started, what it loads, and what the Data tab shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from app import is_loopback, login
from tsdae_core.ui import build_app, texts
from tsdae_core.ui.drafts import save_draft

ROOT = Path(__file__).parent.parent


def start(given: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "app.py", *given]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    "given", [["--host", "0.0.0.0"], ["--host", "192.168.1.7"], ["--host", "::"], ["--share"]]
)
def test_a_page_open_to_others_needs_a_password(given: list[str], tmp_path: Path):
    refused = start([*given, "--workspace", str(tmp_path / "runs")])
    assert refused.returncode == 2 and "add --auth USER:PASSWORD" in refused.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_a_loopback_address_needs_none(host: str):
    assert is_loopback(host)


def test_a_password_may_hold_colons():
    assert login("ann:pass:word") == ("ann", "pass:word")
    assert login(None) is None


@pytest.mark.parametrize(
    "given",
    [["--port", "0"], ["--port", "x"], ["--auth", "ann"], ["--auth", ":x"], ["--bogus"], ["--workspace", "app.py"]],
)  # fmt: skip
def test_a_wrong_argument_gets_one_sentence_and_exit_code_two(given: list[str]):
    done = start(given)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_building_the_page_loads_no_torch(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from tsdae_core.ui import build_app\n"
        f"build_app(Path({str(tmp_path)!r}))\n"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_event_of_the_page_is_a_public_endpoint(tmp_path: Path):
    public = [
        name
        for function in build_app(tmp_path).fns.values()
        if function.api_visibility != "private" and (name := function.api_name) is not False
    ]
    assert public == []


def test_the_histogram_counts_every_sentence_and_says_the_share_cut_off():
    lengths = np.array([5] * 90 + [200] * 10)
    seen = texts.histogram(lengths, 128, total=100)
    assert sum(seen["counts"]) == 100
    assert "10 % are cut off at 128" in seen["text"]
    assert "no sentence is longer than 256" in texts.histogram(lengths, 256, total=100)["text"]


def test_a_few_giants_do_not_squeeze_the_histogram_into_one_bar():
    seen = texts.histogram(np.array([10] * 500 + [20] * 499 + [8000]), 128, total=5000)
    assert seen["more"] and seen["width"] <= 2
    assert "measured on 1,000 of 5,000" in seen["text"]


def test_the_damage_preview_deletes_about_the_share_asked_for():
    sentences = ["one two three four five six seven eight nine ten"] * 20
    seen = texts.damaged(sentences, noise="delete", ratio=0.6, seed=3)
    states = [token["s"] for tokens in seen["sentences"] for token in tokens]
    assert 0.5 < states.count("deleted") / len(states) < 0.7
    assert f"{states.count('deleted')} of 200 words" in seen["share"]
    assert seen != texts.damaged(sentences, noise="delete", ratio=0.6, seed=4)


def test_the_preview_is_spread_over_the_text_and_shows_labels_only_when_there_are_some(tmp_path: Path):
    def table(label: str) -> pa.Table:
        rows = range(1, 1001)
        sentences = [f"sentence {row}" for row in rows]
        return pa.table({"sentence": sentences, "line": pa.array(rows, pa.int64()), "label": [label] * 1000})

    plain = texts.preview(save_draft(tmp_path, table(""), title="t"))
    assert plain["headers"] == ["Line", "Sentence"]
    assert [row[0] for row in plain["data"][:3]] == ["1", "11", "21"] and len(plain["data"]) == texts.SHOWN
    assert texts.preview(save_draft(tmp_path, table("x"), title="t"))["headers"][-1] == "Label"
