"""More of the Compare tab in a real Chromium: every checkpoint measured, a sweep's table and curve, systems from files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import make_sentences
from tsdae_core import run_queue, sweeps, train
from tsdae_core.config import checked
from tsdae_core.corpus import from_pairs
from tsdae_core.evaluate.sweep import compute
from tsdae_core.runs import create_run, find_run
from tsdae_core.ui import build_app

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SHOTS = os.environ.get("TSDAE_SHOTS")
WAIT = 240_000


def shot(page: Any, name: str) -> None:
    """A picture, where TSDAE_SHOTS names a folder for it."""
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


@pytest.fixture(scope="module")
def address(
    tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path, serve: Callable[..., str]
) -> str:
    """A run with three checkpoints, and a sweep over three corpus sizes with its table."""
    workspace = tmp_path_factory.mktemp("more")
    corpus = from_pairs([(text, " ".join(text.split()[:2])) for text in make_sentences(400)], "made").table
    shared = {
        "base_model": str(tiny_model_folder),
        "devices": "cpu",
        "precision": "fp32",
        "pooling": "mean",
        "learning_rate": 5e-3,
    }
    run = create_run(
        workspace, checked(shared | {"max_steps": 6, "checkpoint_every": 2}), corpus, name="seen"
    )
    assert train.main(run.path) == 0
    monkey = pytest.MonkeyPatch()
    monkey.setattr(run_queue, "enqueue", lambda workspace, entries: None)
    sweep = sweeps.create_sweep(
        workspace,
        shared | {"max_steps": 2},
        {"corpus_size": [50, 120, 300], "seed": [1, 2]},
        corpus,
        name="sizes",
    )
    monkey.undo()
    for one in sweep.asked()["runs"]:
        assert train.main(find_run(workspace, one["run"]).path) == 0
    compute(sweep)
    return f"{serve(build_app(workspace))}?run=seen&tab=compare"


def test_every_checkpoint_is_measured_and_a_sweep_is_shown_as_table_and_curve(
    address: str, open_page: Callable[..., Any], tmp_path: Path
) -> None:
    page = open_page(address)
    page.wait_for_selector("#compare .compare[data-state]")
    page.locator("#compare-task input[value='labels']").check()
    page.locator("#compare-follow").click()
    page.get_by_text("Every checkpoint is measured.").wait_for(timeout=WAIT)
    page.wait_for_function("document.querySelectorAll('.compare-steps .scatterlayer .point').length === 4")
    assert page.locator(".compare-steps-title").inner_text() == "At every checkpoint: seen labels"

    texts = make_sentences(400)
    vectors = tmp_path / "service.npy"
    np.save(vectors, np.random.default_rng(0).normal(size=(400, 8)).astype(np.float32))
    vectors.with_suffix(".txt").write_text("\n".join(texts))
    words = tmp_path / "glove.txt"
    words.write_text(
        "\n".join(
            f"{word} {place} {len(word)} 1"
            for place, word in enumerate(["cat", "dog", "friend", "baker", "sees"])
        )
    )
    page.locator("#compare-system-files button").first.click()
    page.locator("#compare-vectors input").set_input_files([vectors, vectors.with_suffix(".txt"), words])
    page.locator("#compare-vectors").get_by_text("glove").wait_for()
    page.locator("#compare-systems").get_by_label("BM25").uncheck()
    page.locator("#compare-go").click()
    page.wait_for_selector(".compare-table", timeout=WAIT)
    assert page.locator(".compare-table tbody th").all_inner_texts() == [
        "Untrained base",
        "Trained (seen)",
        "service.npy",
        "glove.txt",
    ]
    shot(page, "compare-more")

    page.locator("#compare-show input").click()
    page.get_by_role("option", name="Sweep sizes").click()
    page.wait_for_function(
        "document.querySelectorAll('.compare-result > .compare-curve .scatterlayer .point').length >= 3"
    )
    assert page.locator(".compare-table tbody th").all_inner_texts() == [
        "Untrained base",
        "Sentences 50",
        "Sentences 120",
        "Sentences 300",
    ]
    assert "±" in page.locator(".compare-table tbody tr").nth(1).inner_text()
    which = page.locator(".compare-result > .compare-curve select")
    assert which.locator("option").all_inner_texts()[0] == "kNN accuracy"
    which.select_option("Same-label MAP")
    page.wait_for_function(
        "[...document.querySelectorAll('.compare-result > .compare-curve .ytitle')].some(one => one.textContent === 'Same-label MAP')"
    )
    page.get_by_role("button", name="Make the table again").wait_for()
    shot(page, "sweep-table")
    page.get_by_role("button", name="Dark").click()
    page.wait_for_timeout(500) if SHOTS else None
    shot(page, "sweep-table-dark")
