"""Search and map in a real Chromium, over a finished run with hostile sentences and labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.explored import as_finished
from tests.conftest import make_sentences
from tsdae_core.runs import Run
from tsdae_core.ui import build_app

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=window.hit=1> ${document.title.length} `code` <b>bold</b>"
LABEL = "<b onmouseover=window.hit=1>kind"
PLOT = "document.querySelector('.map-plot')"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    """300 sentences, the first one and a label hostile; the result is the untrained tiny model itself."""
    sentences = [HOSTILE, *make_sentences(299)]
    labels = [LABEL if number % 2 == 0 else "plain" for number in range(300)]
    folder = tmp_path_factory.mktemp("explored")
    return as_finished(folder, tiny_model_folder, sentences, labels, name="explored")


@pytest.fixture(scope="module")
def address(run: Run, serve: Callable[..., str]) -> str:
    return serve(build_app(run.path.parent))


@pytest.fixture
def page(open_page: Callable[..., Any]) -> Any:
    return open_page(width=1300)


def draw(page: Any, address: str) -> None:
    page.goto(f"{address}?run=explored&tab=map")
    page.wait_for_selector("#map .map-plot")
    if not page.locator(".map[data-kind=umap]").count():
        page.locator("#map-go").click()
    page.wait_for_selector(".map[data-kind=umap][data-which=trained]")


def press(page: Any, point: int) -> None:
    page.evaluate(f"{PLOT}.emit('plotly_click', {{points: [{{customdata: {point}}}]}})")
    page.wait_for_selector(".map-card .map-sentence")


def test_a_query_lists_both_encoders_and_links_the_same_sentence(page: Any, address: str) -> None:
    page.goto(f"{address}?run=explored&tab=search")
    query = page.locator("#query textarea, #query input").first
    query.fill("<img src=x onerror=window.hit=1>")
    query.press("Enter")
    page.wait_for_function("document.querySelectorAll('#neighbours .near-move').length >= 20")
    assert page.locator(".near-column h3").all_inner_texts()[0].startswith("Trained")
    hostile = page.locator("#neighbours .near-text", has_text="onerror").first
    assert hostile.inner_text() == HOSTILE
    row = page.evaluate(
        "[...document.querySelectorAll('.near-column')].map(c => [...c.querySelectorAll('.near-hit')].map(h => h.dataset.row))"
    )
    both = next(one for one in row[0] if one in row[1])
    page.locator(f".near-hit[data-row='{both}']").first.hover()
    assert page.locator(".near-linked").count() >= 2

    picked = page.locator("#neighbours .near-text").nth(1).inner_text()
    page.locator("#neighbours .near-hit").nth(1).click()
    page.wait_for_function(
        "text => document.querySelector('#neighbours .near-text').textContent === text", arg=picked
    )
    assert query.input_value() == picked


def test_a_blank_query_says_what_to_do(page: Any, address: str) -> None:
    page.goto(f"{address}?run=explored&tab=search")
    page.wait_for_selector(".near-try button")
    page.locator("#search-go").click()
    assert "Type a sentence" in page.locator("#neighbours [role=alert]").inner_text()


def test_the_map_is_drawn_kept_and_shows_a_pressed_sentence_with_its_neighbours(
    page: Any, address: str
) -> None:
    draw(page, address)
    page.reload()
    page.wait_for_selector(".map[data-kind=umap][data-which=trained]")  # kept: nothing is pressed
    press(page, 0)
    assert page.locator(".map-sentence").inner_text() == HOSTILE
    assert page.locator(".map-near li").count() == 10
    assert page.evaluate(f"{PLOT}.data.at(-2).x.filter(one => one !== null).length") == 20  # a line to each
    page.locator(".map-hit").first.click()
    page.wait_for_function(
        "text => document.querySelector('.map-sentence').textContent !== text", arg=HOSTILE
    )
    page.keyboard.press("Escape")
    assert not page.locator(".map-card").is_visible()


def test_the_same_points_by_the_base_and_by_the_trained_encoder(page: Any, address: str) -> None:
    draw(page, address)
    ours = page.evaluate(f"Array.from({PLOT}.data[1].x)")
    page.get_by_role("button", name="Base", exact=True).click()
    page.wait_for_selector(".map[data-which=base]")
    theirs = page.evaluate(f"Array.from({PLOT}.data[1].x)")
    assert len(ours) == len(theirs) == 150
    assert ours != theirs


def test_zoom_stays_when_the_colour_changes_and_labels_can_be_hidden(page: Any, address: str) -> None:
    draw(page, address)
    assert page.locator(".map-chip-name").all_inner_texts() == [LABEL, "plain"]
    wide = span(page)
    page.locator(".map-plot").hover()
    for _ in range(10):
        page.mouse.wheel(0, -600)
    page.wait_for_function(
        f"wide => {PLOT}.layout.xaxis.range[1] - {PLOT}.layout.xaxis.range[0] < wide * 0.7", arg=wide
    )
    page.wait_for_timeout(500)  # the wheel's zoom comes to rest
    zoomed = span(page)
    page.locator(".map-chip").first.click()
    assert page.evaluate(f"{PLOT}.data[1].visible") is False
    page.select_option(".map-colour", "words")
    page.wait_for_function(f"{PLOT}.data[1].marker.showscale")
    assert span(page) == pytest.approx(zoomed, rel=0.15)  # the scale beside the map takes some of its width


def span(page: Any) -> float:
    """How much of the map is seen from left to right."""
    left, right = page.evaluate(f"{PLOT}.layout.xaxis.range")
    return float(right - left)


def test_selected_points_are_listed_and_saved(page: Any, address: str, tmp_path: Path) -> None:
    draw(page, address)
    page.evaluate(f"{PLOT}.emit('plotly_selected', {{points: [{{customdata: 0}}, {{customdata: 4}}]}})")
    page.wait_for_function("document.querySelectorAll('.map-chosen-all li').length === 2")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as CSV").click()
    waiting.value.save_as(tmp_path / "selected.csv")
    lines = (tmp_path / "selected.csv").read_text(encoding="utf-8-sig").splitlines()
    assert lines[:2] == ["sentence,label,line", f'"{HOSTILE}","{LABEL}","1"']
    assert len(lines) == 3


def test_plotly_offers_no_upload(page: Any, address: str) -> None:
    draw(page, address)
    titles = page.locator(".map .modebar-btn").evaluate_all("all => all.map(one => one.dataset.title)")
    assert "Lasso Select" in titles
    assert not [title for title in titles if "share" in title.lower() or "cloud" in title.lower()]


def test_a_window_that_becomes_narrow_keeps_the_map_and_the_search_form_inside(
    page: Any, address: str
) -> None:
    draw(page, address)
    page.set_viewport_size({"width": 400, "height": 900})
    right = "() => Math.max(...[...document.querySelectorAll('.map, .map *')].filter(one => !one.closest('svg')).map(one => one.getBoundingClientRect().right))"
    page.wait_for_function(f"({right})() <= 400")
    page.get_by_role("tab", name="Search", exact=True).click()
    page.wait_for_function("document.querySelector('#search-words').getBoundingClientRect().width >= 200")
