"""The main job in a real Chromium, with the app as the process a user starts and real training on a tiny model.

Upload, train, reload while it trains, come back in a new browser, kill the app and start it again: training goes on and
the page shows it. Then rebuild, search and map. No request leaves the machine.
"""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from tests.browser.serving import App
from tests.conftest import make_sentences
from tsdae_core.explore import load_encoder
from tsdae_core.runs import Run, list_runs

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
HOSTILE = "<img src=x onerror=window.hit=1> ${document.title} `code` and a few plain words"


def only_run(app: App) -> Run:
    [run] = list_runs(app.workspace)
    return run


def step_of(run: Run) -> int:
    rows = [row["step"] for row in run.metrics()[0] if "loss" in row]
    return rows[-1] if rows else 0


def go(page: Any, tab: str) -> None:
    page.get_by_role("tab", name=tab, exact=True).click()


def wait_for_steps(run: Run, more: int) -> None:
    first, deadline = step_of(run), time.monotonic() + 90
    while step_of(run) < first + more:
        assert run.state in ("starting", "running"), run.log_tail()
        assert time.monotonic() < deadline
        time.sleep(0.1)


def take_home(page: Any, run: Run, folder: Path) -> None:
    """The downloaded encoder gives the app's own vectors."""
    with page.expect_download() as taken:
        page.get_by_role("button", name="Download encoder").click()
    with zipfile.ZipFile(taken.value.path()) as packed:
        packed.extractall(folder)
    theirs = SentenceTransformer(str(folder / f"{run.name}-encoder"), device="cpu")
    texts = make_sentences(20)
    ours = load_encoder(run.name, run.path.parent).encode(texts)
    np.testing.assert_allclose(ours, theirs.encode(texts, normalize_embeddings=True), atol=1e-5)


def test_a_person_uploads_trains_comes_back_and_explores(
    app: App, open_page: Callable[..., Any], tiny_model_folder: Path, tmp_path: Path
) -> None:
    text = tmp_path / "my notes.txt"
    text.write_text("\n".join([*make_sentences(400), HOSTILE]), encoding="utf-8")
    page = open_page(app.url)

    page.set_input_files("#data-file input[type=file]", text)
    page.wait_for_selector("#data-damaged .tok-deleted")
    page.locator("#data-use").click()
    base = page.locator("#set-base_model input")
    base.fill(str(tiny_model_folder))
    base.press("Enter")
    steps = page.locator("#set-max_steps input")
    steps.fill("4000")
    steps.press("Tab")
    page.wait_for_function("!document.querySelector('#start').disabled")
    page.locator("#start").click()

    page.wait_for_function("document.title.includes('%')")
    page.wait_for_function("(document.querySelector('#chart .js-plotly-plot')?.data || []).length > 0")
    page.wait_for_selector("#probes .tok-deleted")
    run = only_run(app)
    assert f"run={run.name}" in page.url

    page.reload()
    page.wait_for_function("document.title.includes('%')")
    page.wait_for_selector("#chart .js-plotly-plot")
    page.context.close()

    wait_for_steps(run, 5)
    page = open_page(app.url)
    page.wait_for_function("document.title.includes('%')")

    app.kill()
    wait_for_steps(run, 20)
    app.start()
    page.wait_for_function("document.title.includes('%')")
    page.context.close()  # the old page comes back by itself, at a moment of its own choice
    page = open_page(f"{app.url}?run={run.name}&tab=train")
    page.wait_for_selector("#chart .js-plotly-plot")
    assert run.state == "running"

    page.get_by_role("button", name="Stop", exact=False).first.click()
    page.wait_for_function("/stopped/i.test(document.querySelector('#facts').innerText)")
    assert (run.encoder_dir / "model.safetensors").is_file()
    take_home(page, run, tmp_path)

    go(page, "Rebuild")
    page.locator("#rebuild-text textarea, #rebuild-text input").first.fill(
        "The cat paints the red boat at night."
    )
    page.locator("#rebuild-go").click()
    page.wait_for_selector("#rebuild-view .tok-deleted")
    page.locator("#rebuild-view .tok-words button").first.click()

    go(page, "Search")
    page.locator("#query textarea, #query input").first.fill("a dog likes the long letter")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelectorAll('#neighbours .near-hit').length >= 20")

    go(page, "Map")
    page.locator("#map-go").click()
    page.wait_for_selector(".map[data-kind=umap]")
    page.evaluate("document.querySelector('.map-plot').emit('plotly_click', {points: [{customdata: 3}]})")
    page.wait_for_function("document.querySelectorAll('.map-near li').length === 10")
