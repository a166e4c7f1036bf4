"""The blind test: Wilson's interval, sides drawn by chance, verdicts that stay with the run, nothing that gives the encoder away."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.conftest import make_sentences
from tsdae_core import blind, explore
from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run, create_run
from tsdae_core.ui.blind import feeds
from tsdae_core.ui.own_text import read_own


@pytest.fixture
def run(tmp_path: Path, tiny_model_folder: Path) -> Run:
    """40 sentences; the result is the tiny model itself, its base the same with other pooling and one layer."""
    table = pa.table({"sentence": make_sentences(40), "line": range(40), "label": [""] * 40})
    config = TrainConfig(base_model=str(tiny_model_folder), pooling="cls", layers=1, max_length=32)
    run = create_run(tmp_path / "runs", config, table, name="done")
    shutil.copytree(tiny_model_folder, run.encoder_dir)
    run.decoder_dir.mkdir()
    return run


def test_wilsons_interval_is_the_known_one() -> None:
    assert blind.wilson(0, 0) == (0, 1)
    assert blind.wilson(8, 10) == pytest.approx((0.4901625, 0.9433178), abs=1e-6)
    assert blind.wilson(0, 10) == pytest.approx((0, 0.2775328), abs=1e-6)
    assert blind.wilson(10, 10) == pytest.approx((0.7224672, 1), abs=1e-6)


def test_the_same_counts_for_neither_and_a_few_verdicts_decide_nothing() -> None:
    said = [{"choice": choice} for choice in ["after"] * 6 + ["before"] * 4 + ["same"] * 9]
    stand = blind.tally(said)
    assert (stand.before, stand.after, stand.same, stand.share) == (4, 6, 9, 0.6)
    assert "Too few verdicts" in stand.words
    assert (
        "later encoder is preferred"
        in blind.tally([{"choice": "after"}] * 30 + [{"choice": "before"}] * 3).words
    )
    assert (
        "earlier encoder is preferred"
        in blind.tally([{"choice": "before"}] * 30 + [{"choice": "after"}] * 3).words
    )
    assert "No verdict" in blind.tally([]).words


def test_only_sentences_whose_lists_differ_are_asked_each_once_and_sides_change() -> None:
    random = np.random.default_rng(0)
    before = np.stack([random.permutation(50)[:5] for _ in range(60)])
    after = before[:, ::-1].copy()
    after[::2, 0] += 100
    asked: list[int] = []
    sides = []
    while (found := blind.ask(before, after, asked, seed=3, number=len(asked))) is not None:
        asked.append(found[0])
        sides.append(found[1])
    assert sorted(asked) == list(range(0, 60, 2))
    assert 5 < sum(sides) < 25
    assert blind.ask(before, after, [], seed=3, number=0) == (asked[0], sides[0])


def test_a_later_verdict_replaces_the_earlier_and_each_pair_has_its_own(run: Run) -> None:
    for choice in ("before", "after"):
        blind.judge(run, before="a", after="b", row=3, sentence="s", choice=choice, judge="me")
    blind.judge(run, before="a", after="b", row=3, sentence="s", choice="same", judge="you")
    blind.judge(run, before="a", after="c", row=3, sentence="s", choice="same", judge="me")
    assert [one["choice"] for one in blind.verdicts(run, "a", "b")] == ["after", "same"]
    with pytest.raises(ValueError, match="one of before, after, same"):
        blind.judge(run, before="a", after="b", row=3, sentence="s", choice="left")


def called(run: Run, function: str, *given: Any, read_only: bool = False, text: str = "") -> Any:
    act = {one.__name__: one for one in feeds(run.path.parent, read_only)}[function]
    deadline = time.monotonic() + 60
    while "phase" in (got := act([run.name, text, *given])):
        assert time.monotonic() < deadline
    return got


def test_verdicts_go_to_the_encoder_whose_list_it_was_and_nothing_tells_which(run: Run) -> None:
    question = called(run, "question", "me")
    assert "base" not in json.dumps({**question, "words": ""})
    assert question["sentence"] == make_sentences(40)[question["row"]]
    found = explore.search("done", run.corpus(), question["sentence"], k=6, workspace=run.path.parent)
    later = [hit["sentence"] for hit in found[1:]]
    side = "left" if question["left"] == later else "right"
    assert question[side] == later
    following = called(run, "verdict", "me", question["row"], side)
    assert (following["mine"], following["all"]) == (1, 1)
    assert following["row"] != question["row"]
    [row] = called(run, "verdicts")["rows"]
    assert row[:3] == [question["sentence"], "after", "me"]
    repeated = called(run, "verdict", "me", question["row"], "right")
    assert (repeated["mine"], repeated["row"]) == (1, following["row"]), "a second press changes nothing"


def test_a_read_only_page_takes_no_verdict(run: Run) -> None:
    question = called(run, "question", "me", read_only=True)
    assert "read-only" in called(run, "verdict", "me", question["row"], "left", read_only=True)["error"]
    assert called(run, "question", "me")["all"] == 0


def test_verdicts_on_another_file_stand_apart_and_come_back_with_the_same_sentences(
    run: Run, tmp_path: Path
) -> None:
    workspace = run.path.parent
    file = tmp_path / "other.txt"
    file.write_text("\n".join(make_sentences(60, seed=5)))
    first, again = (read_own(workspace, file).key for _ in range(2))
    question = called(run, "question", "me", text=first)
    assert question["sentence"] in file.read_text().splitlines()
    called(run, "verdict", "me", question["row"], "left", text=first)
    assert called(run, "question", "me", text=again)["mine"] == 1, "uploaded again, it is the same text"
    assert called(run, "question", "me")["mine"] == 0, "the run's own text has verdicts of its own"
    [row] = called(run, "verdicts", text=again)["rows"]
    assert row[0] == question["sentence"] and row[-1].startswith("other.txt#")
