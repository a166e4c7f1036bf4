"""The Train tab in a real Chromium: nothing hides anything, in light and dark, on a desk and on a phone."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image

from tests.conftest import make_sentences
from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run, create_run
from tsdae_core.ui import build_app
from tsdae_core.ui.drafts import save_draft

pytestmark = pytest.mark.browser
SIZES = pytest.mark.parametrize("width", [1400, 400])
COVERED = """() => [...document.querySelectorAll('.side input, .side textarea, .side button, #start-head button')]
  .filter((one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && one.offsetWidth > 4)
  .filter((one) => {
    one.scrollIntoView({ block: "nearest" });
    const box = one.getBoundingClientRect();
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return !(top && (one.contains(top) || one.closest(".block, label")?.contains(top)));
  })
  .map((one) => one.outerHTML.slice(0, 120))"""


def table(count: int) -> pa.Table:
    sentences = make_sentences(count)
    lines = pa.array(range(1, count + 1), pa.int64())
    return pa.table({"sentence": sentences, "line": lines, "label": [""] * count})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = create_run(tmp_path_factory.mktemp("train-tab"), TrainConfig(), table(40), name="shown")
    words = [{"t": "boat", "s": "kept", "g": False}]
    one = {"original": words, "damaged": words, "rebuilt": words, "text": "boat", "source": "boat"}
    for step in range(1, 30):
        run.append_metrics({"step": step, "loss": 5.0 - step / 10, "lr": 1e-5})
        run.append_samples(
            {"step": step, "sentences": [one | {"loss": 1.0, "recovered": 0.5, "exact": False}]}
        )
    run.write_process(os.getpid(), ["this test"])
    run.write_status(state="running", phase="Training", step=29, total=100)
    return run


@pytest.fixture(scope="module")
def workspace(run: Run) -> Path:
    return run.path.parent


@pytest.fixture(scope="module")
def address(workspace: Path, serve: Callable[..., str]) -> str:
    draft = save_draft(workspace, table(900), title="a text with a long name " * 4 + ".txt")
    return f"{serve(build_app(workspace))}?run=shown&tab=train&draft={draft.key}"


def ready(page: Any) -> None:
    page.wait_for_function("document.querySelector('#start') && !document.querySelector('#start').disabled")
    page.wait_for_selector("#chart .main-svg")
    page.wait_for_selector("#probes tbody .tok-line")


@SIZES
def test_no_input_of_the_form_is_covered_and_the_page_is_no_wider_than_the_screen(
    open_page: Callable[..., Any], address: str, width: int
) -> None:
    page = open_page(address, width=width, height=900)
    ready(page)
    page.locator("#advanced button").first.click()
    page.wait_for_selector("#set-seed input", state="visible")
    assert page.evaluate(COVERED) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@SIZES
@pytest.mark.parametrize("dark", [False, True])
def test_the_tracks_of_the_sliders_can_be_seen(
    open_page: Callable[..., Any], address: str, width: int, dark: bool
) -> None:
    page = open_page(address, width=width, height=900, dark=dark)
    ready(page)
    for slider in ("#chart input[type=range]", "#probes input[type=range]"):
        seen = page.locator(slider)
        seen.scroll_into_view_if_needed()
        picture = Image.open(io.BytesIO(seen.screenshot())).convert("L")
        middle = [
            picture.getpixel((round(picture.width * share), picture.height // 2)) for share in (0.3, 0.9)
        ]
        ground = picture.getpixel((round(picture.width * 0.9), 1))
        assert min(abs(one - ground) for one in middle) >= 20, slider


def test_a_page_without_a_run_in_its_address_shows_the_newest_run_everywhere(
    open_page: Callable[..., Any], workspace: Path, address: str
) -> None:
    newest = create_run(workspace, TrainConfig(), table(40), name="newest")  # after the page was built
    newest.append_metrics({"step": 7, "loss": 3.0, "lr": 1e-5})
    newest.write_status(created=9e9)
    page = open_page(f"{address.split('?')[0]}?tab=train")
    page.wait_for_function("document.querySelector('#chart .watch-plot')?.data?.[0]?.x.at(-1) === 7")
    page.wait_for_function("location.search.includes('run=newest')")
    newest.write_status(created=1.0)


def test_an_error_turns_the_start_off_and_its_hover_says_why(
    open_page: Callable[..., Any], address: str
) -> None:
    page = open_page(address)
    ready(page)
    batch = page.locator("#set-batch_size input")
    batch.fill("0")
    batch.press("Tab")
    page.wait_for_function("document.querySelector('#start').disabled")
    for button in ("#start", "#measure"):
        assert page.locator(button).get_attribute("title").startswith("'Batch size' must be")
    assert "'Batch size' must be" in page.inner_text("#findings")
    assert "Train on" in page.inner_text("#findings")
