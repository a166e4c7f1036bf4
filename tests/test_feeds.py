"""What the live chart and the probe table are told about a run."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run, create_run
from tsdae_core.ui.feeds import LOOKS, ROWS, feeds


@pytest.fixture
def run(tmp_path: Path) -> Run:
    corpus = pa.table({"sentence": ["a b"], "line": pa.array([1], pa.int64()), "label": [""]})
    return create_run(tmp_path, TrainConfig(), corpus, name="watched")


def write_steps(run: Run, steps: range) -> None:
    text = "".join(f'{{"step": {step}, "loss": {9 - step % 7}, "lr": 1e-5}}\n' for step in steps)
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write(text)


def test_only_rows_that_are_new_travel(run: Run):
    metrics, _ = feeds(run.path.parent)
    write_steps(run, range(1, 4))
    first = metrics(["watched", 0, ""])
    assert [row["step"] for row in first["rows"]] == [1, 2, 3]
    write_steps(run, range(4, 6))
    second = metrics(["watched", first["offset"], first["edition"]])
    assert [row["step"] for row in second["rows"]] == [4, 5]
    assert not second["reset"]
    assert metrics(["watched", second["offset"], second["edition"]])["rows"] == []


def test_a_run_that_was_cut_and_has_grown_again_is_told_from_the_start(run: Run):
    metrics, _ = feeds(run.path.parent)
    write_steps(run, range(1, 11))
    before = metrics(["watched", 0, ""])
    run.cut_after(5)
    write_steps(run, range(6, 31))
    after = metrics(["watched", before["offset"], before["edition"]])
    assert after["reset"]
    assert [row["step"] for row in after["rows"]] == list(range(1, 31))


def test_an_offset_behind_the_end_starts_over_even_without_an_edition(run: Run):
    metrics, _ = feeds(run.path.parent)
    write_steps(run, range(1, 4))
    answer = metrics(["watched", 10_000])
    assert answer["reset"]
    assert len(answer["rows"]) == 3


def test_a_long_run_is_thinned_evenly_and_keeps_looks_and_events(run: Run):
    metrics, _ = feeds(run.path.parent)
    write_steps(run, range(1, 200_001))
    run.append_metrics({"step": 200_000, "held_out": 2.0, "shuffled": 4.0})
    run.append_metrics({"step": 200_000, "event": "finished", "text": "done"})
    rows = metrics(["watched", 0, ""])["rows"]
    steps = [row["step"] for row in rows if "loss" in row]
    assert ROWS / 4 < len(rows) <= ROWS
    early, late = (sum(a < step <= a + 50_000 for step in steps) for a in (0, 150_000))
    assert 0.8 < early / late < 1.25
    assert {row["loss"] for row in rows if "loss" in row} >= {3, 9}
    assert rows[-2]["held_out"] == 2.0
    assert rows[-1]["event"] == "finished"


def test_what_a_look_says_of_the_vectors_travels_with_its_warning(run: Run):
    metrics, _ = feeds(run.path.parent)
    row = {"step": 5, "held_out": 4.0, "shuffled": 5.0, "written": 0.3, "written_shuffled": 0.04, "mrr": 0.8, "bits": 9.0,
           "effective_rank": 1.5, "mean_cosine": 0.9, "uniformity": -0.2, "warning": "The vectors fall together."}  # fmt: skip
    run.append_metrics(row | {"alignment": 0.1})
    assert metrics(["watched", 0, ""])["rows"] == [row]


def test_a_loss_that_is_not_a_number_arrives_as_nothing(run: Run):
    metrics, _ = feeds(run.path.parent)
    run.append_metrics({"step": 1, "loss": math.nan, "lr": math.inf})
    assert metrics(["watched", 0, ""])["rows"] == [{"step": 1, "loss": None, "lr": None}]


def test_many_looks_are_thinned_and_the_newest_stays(run: Run):
    _, samples = feeds(run.path.parent)
    for step in range(1, 3 * LOOKS):
        run.append_samples({"step": step, "sentences": []})
    steps = [row["step"] for row in samples(["watched", 0, ""])["rows"]]
    assert LOOKS / 3 < len(steps) <= LOOKS
    assert (steps[0], steps[-1]) == (1, 3 * LOOKS - 1)


@pytest.mark.parametrize("name", ["nobody", "../watched", "", "watched/../watched", 3, None, ["watched"]])
def test_only_the_name_of_a_run_is_answered(run: Run, name: object):
    for feed in feeds(run.path.parent):
        answer = feed([name, 0, ""])
        assert answer["rows"] == []
        assert answer["error"]


@pytest.mark.parametrize(
    "asked", ["watched", ["watched", -1, ""], ["watched", "0", ""], ["watched", 0, 5], {}, 7]
)
def test_a_request_of_another_shape_is_answered_without_an_exception(run: Run, asked: object):
    for feed in feeds(run.path.parent):
        assert feed(asked)["rows"] == []  # type: ignore[arg-type]
