"""The header in a real browser: how the run gets on and which runs there are, without an event that walks through the whole page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run, create_run
from tsdae_core.ui import build_app

pytestmark = pytest.mark.browser
EVENTS = ("/queue/join", "/run/predict")


def made(workspace: Path, name: str) -> Run:
    """A run that says that it is being trained."""
    corpus = pa.table({"sentence": ["a b"], "line": pa.array([1], pa.int64()), "label": [""]})
    run = create_run(workspace, TrainConfig(), corpus, name=name)
    run.append_metrics({"step": 10, "loss": 5.0, "lr": 1e-5})
    run.write_process(os.getpid(), ["this test"])
    run.write_status(state="running", phase="Training", step=10, total=100)
    return run


def header_says(page: Any, words: str) -> None:
    page.wait_for_function("words => document.querySelector('#facts')?.innerText.includes(words)", arg=words)


def test_a_run_that_gets_on_is_shown_without_an_event_of_the_page(
    tmp_path: Path, serve: Callable[..., str], open_page: Callable[..., Any]
) -> None:
    run = made(tmp_path, "going")
    page = open_page(f"{serve(build_app(tmp_path))}?run=going&tab=train")
    header_says(page, "10 %")
    page.wait_for_selector("#chart .main-svg", state="attached")
    for _ in range(3):  # what the page asks when it is opened is over then
        page.wait_for_event("requestfinished", lambda sent: "component_server" in sent.url)
    events: list[str] = []
    page.on("request", lambda sent: events.append(sent.url) if sent.url.endswith(EVENTS) else None)
    for step in (20, 30, 40):
        run.write_status(step=step)
        header_says(page, f"{step} %")
        page.wait_for_function("percent => document.title.startsWith(percent)", arg=f"{step} %")
    assert events == []
    assert page.locator("#runbar .bar-percent").inner_text() == "40 %"


def test_runs_that_come_end_and_go_are_noticed_and_a_choice_stays(
    tmp_path: Path, serve: Callable[..., str], open_page: Callable[..., Any]
) -> None:
    first = made(tmp_path, "first")
    page = open_page(f"{serve(build_app(tmp_path))}?run=first&tab=train")
    header_says(page, "10 %")
    made(tmp_path, "second")
    picker = page.locator("#picker input")
    picker.click()
    page.get_by_role("option", name="second", exact=False).wait_for()
    page.keyboard.press("Escape")
    picker.blur()
    assert "run=first" in page.url
    first.write_status(state="finished", step=100)
    page.wait_for_function("document.querySelector('#picker input')?.value.includes('first · finished')")
    shutil.rmtree(first.path)
    page.wait_for_function("location.search.includes('run=second')")
    page.wait_for_function("document.querySelector('#picker input')?.value.includes('second')")
