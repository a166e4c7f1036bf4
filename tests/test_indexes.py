"""Work that takes a while is shared, can be cancelled, and begins anew when it is asked for again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tsdae_core.runs import Run
from tsdae_core.ui.indexes import Cancelled, Tell, cancel, shared


def endless(tell: Tell) -> Any:
    deadline = time.monotonic() + 60
    done = 0
    while time.monotonic() < deadline:
        done += 1
        tell("Embedding your text", done, 0)
    return "nobody cancelled it"


def test_cancelled_work_ends_with_one_sentence_and_can_be_asked_for_again(tmp_path: Path) -> None:
    run, other = Run(tmp_path / "mine"), Run(tmp_path / "other")
    mine = shared(("print", run.corpus_path, 1), endless, "Loading the encoder")
    theirs = shared(("print", other.corpus_path, 1), endless, "Loading the encoder")
    assert shared(("print", run.corpus_path, 1), endless, "Loading the encoder") is mine
    cancel(run.corpus_path)
    with pytest.raises(Cancelled, match="begins anew"):
        mine.result()
    assert not theirs.finished.is_set(), "another run's work goes on"
    again = shared(("print", run.corpus_path, 1), lambda tell: "vectors", "Loading the encoder")
    assert again is not mine
    assert again.result() == "vectors"
    cancel(other.corpus_path)
    with pytest.raises(Cancelled):
        theirs.result()


def test_work_that_is_done_is_not_undone_by_a_cancel(tmp_path: Path) -> None:
    run = Run(tmp_path / "mine")
    done = shared(("print", run.corpus_path, 2), lambda tell: "vectors", "Loading the encoder")
    assert done.result() == "vectors"
    cancel(run.corpus_path)
    assert shared(("print", run.corpus_path, 2), endless, "Loading the encoder").result() == "vectors"
