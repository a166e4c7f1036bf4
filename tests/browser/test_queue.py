"""More than one run in a real browser: a recipe is one choice, a sweep is queued, and the queue is changed and worked through."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import make_sentences
from tsdae_core import launch, run_queue, sweeps
from tsdae_core.corpus import from_pairs
from tsdae_core.runs import list_runs
from tsdae_core.ui import build_app
from tsdae_core.ui.drafts import save_draft

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SHOTS = os.environ.get("TSDAE_SHOTS")


def shot(page: Any, name: str) -> None:
    """A picture, where TSDAE_SHOTS names a folder for it."""
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


@pytest.fixture(scope="module")
def place(
    tmp_path_factory: pytest.TempPathFactory, serve: Callable[..., str]
) -> Iterator[tuple[Path, str, str]]:
    """A workspace with a labelled text, the page over it, and the text's key."""
    workspace = tmp_path_factory.mktemp("queue")
    corpus = from_pairs([(text, " ".join(text.split()[:2])) for text in make_sentences(400)], "made")
    draft = save_draft(workspace, corpus.table, title="grammar.tsv")
    yield workspace, serve(build_app(workspace)), draft.key
    launch.kill(run_queue.queue_job(workspace))
    for run in list_runs(workspace):
        launch.kill(run)


def settle(page: Any, base: Path) -> None:
    """The tiny model and two steps."""
    page.locator("#set-base_model input").fill(str(base))
    page.keyboard.press("Enter")
    page.locator("#set-max_steps input").fill("2")
    page.keyboard.press("Tab")


def test_a_recipe_is_one_choice_and_a_sweep_is_queued_changed_and_worked_through(
    place: tuple[Path, str, str], open_page: Callable[..., Any], tiny_model_folder: Path
) -> None:
    workspace, address, key = place
    page = open_page(f"{address}?draft={key}&tab=train")
    page.get_by_text("Train on grammar.tsv").wait_for()
    page.locator("#preset").get_by_text("Paper", exact=False).first.click()
    page.locator("#recipe").get_by_text("First the text, then its labels").click()
    page.locator("#findings").get_by_text("labelled sentences").wait_for()
    settle(page, tiny_model_folder)
    page.locator("#findings summary").click()
    page.locator("#findings").get_by_text("--recipe target-labels").wait_for()
    shot(page, "recipe")
    page.locator("#sweep button").first.click()
    page.locator("#vary-noise_ratio input, #vary-noise_ratio textarea").fill("0.3, 1.6")
    page.locator("#sweep-count").get_by_text("at most 0.95").wait_for()
    page.locator("#vary-noise_ratio input, #vary-noise_ratio textarea").fill("0.3, 0.6")
    page.locator("#vary-seed input, #vary-seed textarea").fill("1, 2")
    page.locator("#sweep-count").get_by_text("4 runs, one after the other").wait_for()
    page.locator("#sweep-go").click()
    waiting = page.locator("#queue .queue-item")
    page.locator("#queue").get_by_text("Table of the sweep").wait_for()
    page.locator("#queue .queue-head button", has_text="Pause").click()
    page.locator("#queue .queue-head button", has_text="Go on").wait_for()
    shot(page, "queue")
    before = waiting.count()
    assert before >= 3
    last = waiting.nth(before - 2)
    name = last.locator(".queue-name").inner_text()
    last.get_by_role("button", name="One place earlier").click()
    page.wait_for_function(
        "([name, at]) => document.querySelectorAll('#queue .queue-name')[at]?.textContent === name",
        arg=[name, before - 3],
    )
    waiting.nth(before - 3).get_by_role("button", name="Take it off").click()
    page.wait_for_function(
        "(count) => document.querySelectorAll('#queue .queue-item').length === count", arg=before - 1
    )
    dark = open_page(f"{address}?tab=train", dark=True)
    dark.locator("#queue .queue-item").first.wait_for()
    shot(dark, "queue-dark")
    [sweep] = sweeps.list_sweeps(workspace)
    assert len(sweep.asked()["runs"]) == 4
    page.locator("#queue .queue-head button", has_text="Go on").click()
    page.locator("#queue .queue-head button", has_text="Pause").wait_for()
