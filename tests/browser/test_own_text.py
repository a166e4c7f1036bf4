"""Another file than the run's text in a real Chromium: chosen, refused in words, searched, and still there after a reload."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.explored import HOSTILE, as_finished
from tests.conftest import make_sentences
from tsdae_core.runs import Run
from tsdae_core.ui import build_app

pytestmark = pytest.mark.browser
NAME = "a & b.tsv"
ANSWERED = "document.querySelector('.near-foot')?.textContent"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    return as_finished(
        tmp_path_factory.mktemp("own"), tiny_model_folder, make_sentences(60), [""] * 60, name="done"
    )


@pytest.fixture(scope="module")
def address(run: Run, serve: Callable[..., str]) -> str:
    return serve(build_app(run.path.parent))


def upload(page: Any, button: str, file: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.locator(button).click()
    chooser.value.set_files(file)


def test_a_file_is_refused_in_words_another_is_searched_and_stays_through_a_reload(
    open_page: Callable[..., Any], address: str, tmp_path: Path
) -> None:
    page = open_page(f"{address}?run=done&tab=search")
    page.wait_for_selector(".near-try button")
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"\x00\x01 nothing")
    upload(page, "#search-in-file", bad)
    page.wait_for_selector("#search-in-told [role=alert]")
    assert "parquet" in page.locator("#search-in-told").inner_text()

    other = make_sentences(200, seed=3)[150:]
    rows = [f"{text}\t{'ab'[row % 2]}" for row, text in enumerate([HOSTILE, *other])]
    file = tmp_path / NAME
    file.write_text("\n".join(["sentence\tlabel", *rows]), encoding="utf-8")
    upload(page, "#search-in-file", file)
    page.wait_for_function("document.querySelector('#search-in-told').innerText.includes('51 kept')")
    page.wait_for_function(
        "texts => texts.includes(document.querySelector('.near-try button')?.innerText)",
        arg=[HOSTILE, *other],
    )
    query = page.locator("#query textarea, #query input").first
    query.fill(HOSTILE)
    query.press("Enter")
    page.wait_for_function(ANSWERED)
    assert page.locator(".near-trained .near-text").first.inner_text() == HOSTILE
    page.locator("#search-label input").click()
    page.get_by_role("option", name="a (26)").click()
    page.wait_for_function(f"{ANSWERED}.includes('Only sentences of the label')")

    page.reload()
    page.wait_for_function(ANSWERED)
    assert page.locator("#search-in input").input_value() == f"{NAME} (51 sentences)"
    assert page.locator(".near-trained .near-text").first.inner_text() == HOSTILE
    page.get_by_role("tab", name="What changed most").click()
    page.wait_for_selector(".diff-words")
    assert "51 sentences" in page.locator(".diff-summary").inner_text()
    page.locator(".diff-body > details summary").nth(0).click()
    page.wait_for_selector(".group-table")
    assert sorted(page.locator(".group-name").all_inner_texts()) == ["a", "b"]
    page.locator(".diff-body > details summary").nth(1).click()
    page.wait_for_selector(".moved-plot .main-svg")
    drawn = page.evaluate("document.querySelector('.moved-plot').data.map(one => [...one.x, ...one.y])")
    assert [line[:3] for line in drawn] == [[0, 10, 1]] * 2, "the base, and the result at step 10"
    assert "All 51 sentences" in page.locator(".diff-body > details").nth(1).inner_text()

    page.locator("#search-in input").click()
    page.get_by_role("option", name="the run's own text").click()
    page.wait_for_function("document.querySelector('.diff-summary')?.innerText.includes('60 sentences')")
    assert "in=" not in page.url


def test_a_link_to_a_file_that_is_gone_says_so(open_page: Callable[..., Any], address: str) -> None:
    page = open_page(f"{address}?run=done&tab=search&in={'0' * 16}")
    page.wait_for_selector("#search-in-told [role=alert]")
    assert "not there any more" in page.locator("#search-in-told").inner_text()
    page.wait_for_function("!window.location.href.includes('in=')")
    page.wait_for_selector(".near-try button")


def test_another_file_and_a_further_encoder_have_a_map_of_their_own(
    open_page: Callable[..., Any], address: str, tmp_path: Path, tiny_model_folder: Path
) -> None:
    page = open_page(f"{address}?run=done&tab=map")
    page.wait_for_selector("#map-go:not([disabled])")
    file = tmp_path / "mapped.txt"
    file.write_text("\n".join([HOSTILE, *make_sentences(200, seed=3)[150:]]), encoding="utf-8")
    upload(page, "#map-in-file", file)
    page.wait_for_function("document.querySelector('#map-in-told').innerText.includes('51 kept')")
    page.locator("#map-go").click()
    page.wait_for_selector(".map[data-kind=umap][data-which=trained]")
    assert page.locator(".map-count").inner_text() == "51 sentences"

    other = page.locator("#map-also input")
    other.fill(str(tiny_model_folder))
    other.press("Enter")
    page.wait_for_selector(".map .watch-empty")
    page.locator("#map-go").click()
    page.wait_for_selector(".map[data-kind=umap][data-which=also]")
    page.evaluate("document.querySelector('.map-plot').emit('plotly_click', {points: [{customdata: 0}]})")
    page.wait_for_selector(".map-card .map-near li")
    assert page.locator(".map-sentence").inner_text() == HOSTILE
    assert str(tiny_model_folder) in page.locator(".map-card").inner_text()

    page.locator("#map-in input").click()
    page.get_by_role("option", name="the run's own text").click()
    page.wait_for_selector(".map .watch-empty")
