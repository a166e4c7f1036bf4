"""The Map tab in a real Chromium, over a run that was really trained: saving, and what its button says."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.explored import HOSTILE, train
from tsdae_core.runs import Run
from tsdae_core.ui import build_app

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PLOT = "document.querySelector('.map-plot')"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    return train(tmp_path_factory.mktemp("map"), tiny_model_folder)


@pytest.fixture(scope="module")
def address(run: Run, serve: Callable[..., str]) -> str:
    return serve(build_app(run.path.parent))


def drawn(open_page: Callable[..., Any], address: str) -> Any:
    """The Map tab with the finished map of the trained encoder."""
    page = open_page(f"{address}?run=explored&tab=map")
    page.wait_for_selector("#map-go:not([disabled])")
    page.wait_for_timeout(300)
    if not page.locator(".map[data-kind=umap]").count():
        page.locator("#map-go").click()
    page.wait_for_selector(".map[data-kind=umap][data-which=trained]")
    return page


def test_the_map_is_saved_as_page_picture_drawing_and_table(
    open_page: Callable[..., Any], address: str, tmp_path: Path
) -> None:
    page = drawn(open_page, address)
    for kind, begins in {
        "html": b"<!doctype",
        "png": b"\x89PNG",
        "svg": b"<svg",
        "csv": b"\xef\xbb\xbf",
    }.items():
        with page.expect_download() as waiting:
            page.select_option(".map-save", kind)
        assert waiting.value.suggested_filename == f"map-explored.{kind}"
        waiting.value.save_as(tmp_path / f"map.{kind}")
        assert (tmp_path / f"map.{kind}").read_bytes().startswith(begins)
    with (tmp_path / "map.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["sentence"] == HOSTILE
    assert {"x_base", "y_trained_encoder", "change_trained_encoder"} <= set(rows[0])

    alone = open_page((tmp_path / "map.html").as_uri())
    alone.wait_for_selector("body[data-drawn]")
    alone.evaluate("document.querySelector('#plot').emit('plotly_click', {points: [{customdata: 0}]})")
    alone.wait_for_selector("#card li")
    assert alone.locator("#card p").first.inner_text() == HOSTILE
    assert alone.locator("#card li").count() == 10
    alone.locator("#find").fill("onerror")
    assert alone.locator("#count").inner_text().startswith("1 of 200")
    alone.get_by_role("button", name="Base").click()
    assert alone.locator("#layers button[aria-pressed=true]").inner_text() == "Base"


def test_a_button_that_cannot_work_says_why(
    open_page: Callable[..., Any], run: Run, serve: Callable[..., str], tmp_path: Path
) -> None:
    page = open_page(f"{serve(build_app(run.path.parent, read_only=True))}?run=explored&tab=map")
    page.wait_for_selector("#map-go[title*='read-only']")
    assert page.locator("#map-go").is_disabled()
    page = open_page(f"{serve(build_app(tmp_path))}?tab=map")
    page.wait_for_selector("#map-go[title*='Choose a run']")
    assert page.locator("#map-go").is_disabled()


def test_a_typed_sentence_is_placed_with_lines_to_its_neighbours(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    page.locator(".map-typed").fill(HOSTILE)
    page.locator(".map-typed").press("Enter")
    page.wait_for_selector(".map-near li")
    assert page.locator(".map-sentence").inner_text() == HOSTILE
    assert page.locator(".map-near .near-text").first.inner_text() == HOSTILE
    assert page.evaluate(f"{PLOT}.data.at(-2).x.filter(one => one !== null).length") == 20  # a line to each
    page.select_option(".map-colour >> nth=0", "query")
    page.wait_for_function(f"{PLOT}.data[1].marker.colorbar?.title.text.startsWith('similarity')")
    page.keyboard.press("Escape")
    assert not page.locator(".map-card").is_visible()


def test_plain_axes_show_similarity_to_two_phrases_and_lead_back(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    page.locator(".map-axes summary").click()
    page.locator(".map-phrase").nth(0).fill("<b>the red boat")
    page.locator(".map-phrase").nth(1).fill("a quiet child")
    page.locator(".map-axes").get_by_role("button", name="Show").click()
    page.wait_for_selector(".map[data-kind=axes][data-which=trained]")
    page.wait_for_function(f"{PLOT}.layout.xaxis.title.text === 'similar to: &lt;b&gt;the red boat'")
    across = page.evaluate(f"{PLOT}.data.slice(1, -2).flatMap(one => Array.from(one.x))")
    assert max(across) <= 1.0001
    page.get_by_role("button", name="Base", exact=True).click()
    page.wait_for_selector(".map[data-kind=axes][data-which=base]")
    page.get_by_role("button", name="Back to the map").click()
    page.wait_for_selector(".map[data-kind=umap]")


def test_the_loss_of_every_sentence_is_a_colour(open_page: Callable[..., Any], address: str) -> None:
    page = drawn(open_page, address)
    page.select_option(".map-colour >> nth=0", "loss")
    page.wait_for_function(f"{PLOT}.data[1].marker.colorbar?.title.text.startsWith('nats')")


def test_the_film_goes_from_the_base_over_the_checkpoints_to_the_result(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    page.get_by_role("button", name="Film").click()
    page.wait_for_function("document.querySelector('.map-film button')?.textContent === 'Play'")
    page.get_by_role("button", name="Play").click()
    page.wait_for_selector(".map[data-which=base]")
    page.wait_for_selector(".map[data-which=step-20]")
    page.wait_for_selector(".map[data-which=trained]")
    assert page.locator(".map-film-name").inner_text() == "Trained"


def press(page: Any, point: int) -> None:
    page.evaluate(f"{PLOT}.emit('plotly_click', {{points: [{{customdata: {point}}}]}})")
    page.wait_for_selector(".map-card .map-sentence")


def test_a_card_shows_the_damaged_and_the_rebuilt_form_and_keeps_doing_so(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    press(page, 0)
    assert page.locator(".map-rebuilt .tok").count() == 0, "it is made when asked for"
    page.locator(".map-rebuilt summary").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".map-rebuilt .tok-legend")
    assert page.locator(".map-rebuilt .tok-line").count() == 2
    assert "onerror" in page.locator(".map-rebuilt .tok-line").first.inner_text()
    damaged = page.locator(".map-rebuilt .tok-line").first.inner_html()
    page.get_by_role("button", name="Damage again").click()
    page.wait_for_function(
        "before => document.querySelector('.map-rebuilt .tok-line').innerHTML !== before", arg=damaged
    )
    page.locator(".map-hit").first.click()
    page.wait_for_function(
        "text => document.querySelector('.map-sentence').textContent !== text && document.querySelector('.map-rebuilt .tok-legend')",
        arg=HOSTILE,
    )


def test_a_selection_is_searched_and_becomes_a_text_to_train_on(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    page.locator(".modebar-btn[data-title='Box Select']").click()
    box = page.locator(".map-plot").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + box["height"] - 20, steps=5)
    page.mouse.up()
    page.wait_for_selector(".map-table tr")
    page.locator(".map-within-text").fill(HOSTILE)
    page.keyboard.press("Enter")
    page.wait_for_selector(".map-hits li")
    assert page.locator(".map-hits .near-text").first.inner_text() == HOSTILE
    assert page.evaluate(f"{PLOT}.data.at(-1).x.length") == 10, "the best are ringed"
    page.get_by_role("button", name="Show all selected").click()
    page.locator(".map-chip").first.click()  # one of the two labels is hidden
    page.get_by_role("button", name="Select what is shown").click()
    page.wait_for_function("document.querySelector('.map-chosen strong')?.textContent === '100 selected'")
    page.get_by_role("button", name="Train on these").click()
    page.wait_for_function("document.querySelector('#findings')?.innerText.includes('the map of explored')")
    assert "100 sentences" in page.locator("#findings").inner_text()
    assert page.get_by_role("tab", name="Train").get_attribute("aria-selected") == "true"
