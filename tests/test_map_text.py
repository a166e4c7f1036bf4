"""The map of another file, and with a further encoder: a map of its own, whose questions are answered from that file."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest

from tests.conftest import make_sentences
from tests.drawn import HOSTILE, ask, with_decoder
from tsdae_core import maps
from tsdae_core.map_sheet import sheet_of
from tsdae_core.runs import ACTIVE, Job, Run
from tsdae_core.ui.drafts import Draft, find_draft, save_draft
from tsdae_core.ui.map_state import Choice, film_of, find_map, job_of, state_of, systems_of_run

WAIT = 300.0


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    return with_decoder(
        tmp_path_factory.mktemp("texts"), tiny_model_folder, count=40, name="own", steps=(10, 20)
    )


@pytest.fixture(scope="module")
def draft(run: Run) -> Draft:
    texts = [HOSTILE, *make_sentences(80)[50:]]
    table = pa.table({"sentence": texts, "line": list(range(1, 32)), "label": ["other"] * 31})
    return save_draft(run.path.parent, table, title="other.txt", report=[])


def drawn(run: Run, choice: Choice) -> Job:
    text = choice.text(run.path.parent, run)
    job = maps.start_map(run, systems_of_run(run, choice.also), run.path.parent, text=text)
    deadline = time.monotonic() + WAIT
    while job.state in ACTIVE and time.monotonic() < deadline:
        time.sleep(0.05)
    assert job.state == "finished", job.log_tail()
    return job


def test_a_map_of_another_file_answers_from_that_file_and_leaves_the_runs_own_map_alone(
    run: Run, draft: Draft
) -> None:
    workspace = run.path.parent
    choice = Choice("flat", draft.key)
    job = drawn(run, choice)
    said = state_of(workspace, run, choice)
    assert (said["map"], said["sentences"], said["stale"]) == (job.name, 31, False)
    assert state_of(workspace, run, Choice())["map"] == "", "the run's own text has no map yet"
    assert ask(run, "columns", job.name)["counts"] == [31]
    assert ask(run, "card", job.name, 1, 0)["sentence"] == HOSTILE
    assert [one["sentence"] for one in ask(run, "sentences", job.name, [5])] == [make_sentences(80)[54]]
    placed = ask(run, "place", job.name, 1, make_sentences(80)[60])
    assert placed["near"][0]["sentence"] == make_sentences(80)[60]
    within = ask(run, "within", job.name, 1, make_sentences(80)[60], [3, 11, 20])
    assert within["hits"][0]["sentence"] == make_sentences(80)[60]
    assert ask(run, "rebuilt", job.name, 1, 0)["source"] == HOSTILE
    assert len(ask(run, "layer", job.name, "loss", 1)["values"]) > 0
    assert sheet_of(run, job).sentences[0] == HOSTILE
    kept = find_draft(workspace, ask(run, "keep", job.name, [0, 1, 2])["draft"])
    assert kept is not None
    assert kept.table()["label"].to_pylist() == ["other"] * 3
    assert "of other.txt" in kept.report[0]


def test_a_further_encoder_is_a_third_picture_and_another_map(run: Run, tiny_model_folder: Path) -> None:
    workspace, also = run.path.parent, str(tiny_model_folder)
    choice = Choice("flat", "", also)
    job = drawn(run, choice)
    said = state_of(workspace, run, choice)
    assert [one["which"] for one in said["layouts"]] == ["base", "trained", "also"]
    assert said["layouts"][2]["title"] == also
    assert (said["map"], said["film"]) == (job.name, "")
    assert state_of(workspace, run, Choice())["map"] == "", "without it the run has no map yet"
    assert ask(run, "rebuilt", job.name, 2, 0)["by"] == "trained", "a decoder is the run's own"
    assert sheet_of(run, job).layers[2].title == also


def test_a_checkpoint_may_be_the_further_encoder(run: Run) -> None:
    choice = Choice("flat", "", "own@10")
    assert systems_of_run(run, "own@10") == ["base:own", "own", "own@10"]
    assert job_of(run.path.parent, run, choice) != job_of(run.path.parent, run, Choice())
    assert film_of(run.path.parent, run, Choice()) is not None
    assert systems_of_run(run, "own") == ["base:own", "own"]


def test_a_file_or_an_encoder_that_is_gone_is_told_in_one_sentence(run: Run) -> None:
    with pytest.raises(ValueError, match="not there any more"):
        state_of(run.path.parent, run, Choice("flat", "0123456789abcdef"))
    with pytest.raises(ValueError, match="no/such"):
        state_of(run.path.parent, run, Choice("flat", "", "no/such/encoder"))
    assert "error" in ask(run, "state", "flat", "../../etc/passwd", "")


def test_a_map_whose_file_was_forgotten_says_so(run: Run) -> None:
    table = pa.table({"sentence": make_sentences(8), "line": list(range(8)), "label": [""] * 8})
    draft = save_draft(run.path.parent, table, title="short.txt", report=[])
    job = drawn(run, Choice("flat", draft.key))
    draft.path.unlink()
    assert find_map(run, job.name) == job
    assert "not there any more" in ask(run, "card", job.name, 1, 0)["error"]
