"""The Search tab in a real Chromium, over a run that was really trained: columns, labels, links, and what changed most."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser.explored import HOSTILE, LABEL, STEPS, train
from tsdae_core.runs import Run
from tsdae_core.ui import build_app

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ANSWERED = "document.querySelector('.near-foot')?.textContent"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    return train(tmp_path_factory.mktemp("search"), tiny_model_folder)


@pytest.fixture(scope="module")
def address(run: Run, serve: Callable[..., str]) -> str:
    return serve(build_app(run.path.parent))


def titles(page: Any) -> list[str]:
    return [text.split("\n")[0] for text in page.locator(".near-column h3").all_inner_texts()]


def test_a_link_asks_its_query_and_words_label_and_a_checkpoint_join_the_columns(
    open_page: Callable[..., Any], address: str
) -> None:
    query = "<img src=x onerror=window.hit=1> code"
    page = open_page(f"{address}?run=explored&tab=search&q={quote(query)}")
    page.wait_for_function(ANSWERED)
    assert page.locator("#query textarea, #query input").first.input_value() == query
    assert titles(page) == ["Trained", "Untrained base", "Same words"]
    assert page.locator(".near-words .near-text").first.inner_text() == HOSTILE
    first = page.locator(".near-words .near-hit").first
    row = first.get_attribute("data-row")
    first.hover()
    assert page.locator(".near-linked").count() == page.locator(f".near-hit[data-row='{row}']").count()
    assert "trained: " in first.inner_text()

    page.locator("#search-label input").click()
    page.get_by_role("option", name=LABEL).click()
    page.wait_for_function(f"{ANSWERED}.includes('Only sentences of the label')")
    assert set(page.locator(".near-trained .near-label").all_inner_texts()) == {LABEL}

    page.locator("#search-also input").click()
    page.get_by_role("option", name=f"explored at step {STEPS[0]}").click()
    page.wait_for_function("document.querySelectorAll('.near-more .near-hit').length === 10")
    again = open_page(page.url)
    again.wait_for_function("document.querySelectorAll('.near-more .near-hit').length === 10")
    assert set(again.locator(".near-trained .near-label").all_inner_texts()) == {LABEL}
    assert again.locator("#search-also input").input_value() == f"explored at step {STEPS[0]}"
    assert again.locator("#query textarea, #query input").first.input_value() == query

    page.locator("#search-words input").uncheck()
    page.wait_for_function("!document.querySelector('.near-words')")
    assert titles(page) == ["Trained", "Untrained base", "Another encoder"]


def test_an_encoder_that_does_not_exist_fails_in_its_own_column(
    open_page: Callable[..., Any], address: str
) -> None:
    page = open_page(f"{address}?run=explored&tab=search&q=boat")
    page.wait_for_function(ANSWERED)
    other = page.locator("#search-also input")
    other.fill("/no/such/encoder")
    other.press("Enter")
    page.wait_for_selector(".near-more .near-error")
    assert "/no/such/encoder" in page.locator(".near-more .near-error").inner_text()
    assert page.locator(".near-trained .near-hit").count() == 10


def test_what_changed_most_lists_neighbours_and_leads_to_a_search(
    open_page: Callable[..., Any], address: str
) -> None:
    page = open_page(f"{address}?run=explored&tab=search")
    page.get_by_role("tab", name="What changed most").click()
    page.wait_for_selector(".diff-item")
    assert page.locator(".diff-item").count() == 20
    stayed = [int(text.split()[0]) for text in page.locator(".diff-stayed").all_inner_texts()]
    assert stayed == sorted(stayed)
    page.get_by_role("button", name="Show more").click()
    page.wait_for_function("document.querySelectorAll('.diff-item').length === 40")
    page.locator(".diff-item summary").first.click()
    page.wait_for_selector(".diff-item .diff-part h4")
    parts = page.locator(".diff-item").first.locator(".diff-part")
    counts = [int(text.split()[-1]) for text in parts.locator("h4").all_inner_texts()]
    assert counts[0] == counts[2] == 10 - counts[1]
    groups, training, crowd = (page.locator(".diff-body > details").nth(place) for place in range(3))
    groups.locator("summary").click()
    page.wait_for_selector(".group-table")
    assert page.locator(".group-name").all_inner_texts()[-1] in (LABEL, "plain")
    page.get_by_role("button", name="By cluster").click()
    page.wait_for_function(
        "document.querySelector('.group-box')?.parentElement.innerText.startsWith('Clusters as')"
    )
    sizes = page.locator(".group-table tr td:nth-child(2)").all_inner_texts()
    assert sum(map(int, sizes)) == 200
    training.locator("summary").click()
    page.wait_for_selector(".moved-plot .main-svg")
    steps = page.evaluate("document.querySelector('.moved-plot').data[0].x")
    assert steps == [0, *STEPS]
    crowd.locator("summary").click()
    popular = crowd.locator("table").first.locator("tr:has(td)")
    assert popular.count() == 8
    assert int(popular.first.locator("td").nth(1).inner_text()) >= 10

    page.locator(".diff-body .diff-words").wait_for()
    before = page.locator(".diff-words").inner_text()
    page.select_option(".diff select >> nth=0", label=f"step {STEPS[1]}")
    page.wait_for_function(
        "text => (document.querySelector('.diff-words')?.innerText ?? text) !== text", arg=before
    )

    page.locator(".diff-item summary").first.click()
    sentence = page.locator(".diff-gained .near-text, .diff-kept .near-text").first.inner_text()
    page.locator(".diff-gained .map-hit, .diff-kept .map-hit").first.click()
    page.wait_for_function(ANSWERED)
    assert page.locator("#query textarea, #query input").first.input_value() == sentence


def test_the_blind_test_takes_verdicts_by_press_and_key_and_saves_them(
    open_page: Callable[..., Any], address: str, tmp_path: Path
) -> None:
    page = open_page(f"{address}?run=explored&tab=search")
    page.get_by_role("tab", name="Blind test").click()
    page.wait_for_selector(".blind-list li")
    assert page.locator(".blind-list").count() == 2
    first = page.locator(".blind-sentence").inner_text()
    page.keyboard.press("ArrowRight")  # the keys work from the first sentence on
    page.wait_for_function("text => document.querySelector('.blind-sentence').innerText !== text", arg=first)
    page.get_by_role("button", name="The same").click()
    page.wait_for_function("document.querySelector('.blind-result summary').innerText.startsWith('2 judged')")
    page.reload()
    page.get_by_role("tab", name="Blind test").click()
    page.wait_for_function(
        "document.querySelector('.blind-result summary')?.innerText.startsWith('2 judged')"
    )
    page.locator(".blind-result summary").click()
    assert "1 were called the same" in page.locator(".blind-result").inner_text()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save the verdicts as CSV").click()
    waiting.value.save_as(tmp_path / "verdicts.csv")
    lines = (tmp_path / "verdicts.csv").read_text(encoding="utf-8-sig").splitlines()
    assert lines[0].startswith("sentence,choice,judge")
    assert len(lines) == 3
