"""The Rebuild tab in a real Chromium, over a run that was really trained: the glass box and the other views."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.explored import HOSTILE, STEPS, train
from tsdae_core.runs import Run
from tsdae_core.ui import build_app

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    return train(tmp_path_factory.mktemp("rebuild"), tiny_model_folder)


@pytest.fixture(scope="module")
def address(run: Run, serve: Callable[..., str]) -> str:
    return serve(build_app(run.path.parent))


def rebuilt(open_page: Callable[..., Any], address: str, text: str) -> Any:
    """The tab with `text` rebuilt."""
    page = open_page(f"{address}?run=explored&tab=rebuild")
    page.wait_for_function("document.querySelector('#rebuild-text textarea')?.value")
    page.locator("#rebuild-text textarea").fill(text)
    page.locator("#rebuild-text textarea").press("Enter")
    page.wait_for_selector("#rebuild-view .tok-words button")
    return page


def test_the_glass_box_shows_three_vectors_token_by_token_and_follows_a_deleted_word(
    open_page: Callable[..., Any], address: str
) -> None:
    page = rebuilt(open_page, address, HOSTILE)
    original = page.locator("#rebuild-view .tok-line").first.inner_text()
    assert original == HOSTILE[: len(original)], "32 tokens fit"
    hover = page.locator("#rebuild-view .watch-section >> nth=2").locator(".tok").first.get_attribute("title")
    assert hover.startswith("probability")
    assert len(hover.splitlines()) == 7
    page.locator("#rebuild-view .tok[tabindex='0']").focus()
    assert page.locator(".tok-told").inner_text().split(": ")[1].startswith("probability")
    if page.locator("#rebuild-view .tok[tabindex]").count() > 1:
        told = page.locator(".tok-told").inner_text()
        page.keyboard.press("ArrowRight")
        assert page.locator(".tok-told").inner_text() != told
    page.locator(".inside summary").click()
    page.wait_for_selector(".inside-token")
    assert page.locator(".inside-body tr").count() == 3
    shown = page.locator(".inside-token .tok").all_inner_texts()
    assert "".join(shown) == original.replace(" ", "")
    deleted = page.locator(".inside-token .tok-deleted").count()
    page.locator("#rebuild-view .tok-words button.tok-kept").first.click()
    page.wait_for_function(
        "count => document.querySelectorAll('.inside-token .tok-deleted').length > count", arg=deleted
    )
    before = page.locator(".inside-body bdi").inner_text()
    page.get_by_role("button", name="Another one").click()
    page.wait_for_function(
        "text => document.querySelector('.inside-body bdi').textContent !== text", arg=before
    )


def test_words_that_are_pressed_before_the_answer_comes_are_all_left_out(
    open_page: Callable[..., Any], address: str
) -> None:
    page = rebuilt(open_page, address, "the old baker carries the long letter near the river")
    page.wait_for_function("!document.querySelector('#rebuild-view .watch-busy')")
    before = page.locator("#rebuild-view .tok-words .tok-deleted").evaluate_all(
        "all => all.map(one => +one.dataset.word)"
    )
    away = [word for word in range(10) if word not in before][:3]
    for word in away:
        page.locator(f"#rebuild-view .tok-words button[data-word='{word}']").click(no_wait_after=True)
        page.wait_for_timeout(60)
    page.wait_for_function("!document.querySelector('#rebuild-view .watch-busy')")
    page.wait_for_timeout(1500)  # no late answer changes it
    after = page.locator("#rebuild-view .tok-words .tok-deleted").evaluate_all(
        "all => all.map(one => +one.dataset.word)"
    )
    assert sorted(after) == sorted([*before, *away])
    shown = page.locator("#rebuild-view .watch-section >> nth=1").inner_text().split("\n")[-1]
    assert len(shown.split()) == 10 - len(after)


def test_words_of_a_script_from_right_to_left_stand_in_its_order(
    open_page: Callable[..., Any], address: str
) -> None:
    one, two, smile = "\u05d0\u05d1", "\u05d2\u05d3", "\U0001f62d"
    for written, seen in (
        (f"the cat {one} {two} sees", ["the", "cat", two, one, "sees"]),
        (f"the {one} {two} {smile} sees", ["the", two, one, smile, "sees"]),
        (f"{one} {two} {smile} help me", ["help", "me", smile, two, one]),
        (f"{one} {smile} {two} cat", ["cat", two, smile, one]),
    ):
        page = rebuilt(open_page, address, written)
        left = page.locator("#rebuild-view .tok-words button").evaluate_all(
            "all => all.map(one => [one.textContent, one.getBoundingClientRect().left])"
        )
        assert [word for word, _ in sorted(left, key=lambda word: word[1])] == seen


def test_a_word_without_end_stays_inside_the_glass_box(open_page: Callable[..., Any], address: str) -> None:
    page = rebuilt(open_page, address, f"the cat sees {'x' * 1500} at night")
    page.locator(".inside summary").click()
    page.wait_for_selector(".inside-token")
    assert page.evaluate(
        "Math.max(...[...document.querySelectorAll('.inside-token *')].map(one => one.getBoundingClientRect().right))"
        " <= document.querySelector('.inside-strip').getBoundingClientRect().right + 1"
    )


def test_the_decoder_writes_by_chance_and_the_seed_decides(
    open_page: Callable[..., Any], address: str
) -> None:
    page = rebuilt(open_page, address, "the cat sees a dog at night")
    greedy = page.locator("#rebuild-view .watch-section >> nth=2").inner_text()
    page.locator("#rebuild-more button").first.click()
    page.get_by_label("by chance").check()
    page.wait_for_function(
        "text => document.querySelectorAll('#rebuild-view .watch-section')[2]?.innerText !== text", arg=greedy
    )
    assert page.get_by_label("Temperature").first.is_visible()


def test_every_checkpoint_rebuilds_the_sentence(open_page: Callable[..., Any], address: str) -> None:
    page = rebuilt(open_page, address, "the old baker carries the red boat")
    page.get_by_role("tab", name="Through training").click()
    page.get_by_role("button", name="Rebuild it at every checkpoint").click()
    page.wait_for_selector("#rebuild-through .lab-table")
    steps = page.locator("#rebuild-through .lab-table tr td:first-child").all_inner_texts()
    assert steps == [str(step) for step in STEPS]
    page.locator("#rebuild-text textarea").fill("another sentence")
    page.wait_for_function(
        "document.querySelector('#rebuild-through').innerText.includes('press the button again')"
    )


def test_the_way_between_two_sentences_ends_at_both(open_page: Callable[..., Any], address: str) -> None:
    page = rebuilt(open_page, address, "the cat sees a dog")
    page.get_by_role("tab", name="Between two sentences").click()
    page.get_by_role("button", name="Two sentences of the text").click()
    page.wait_for_selector(".between-stop")
    first, second = (page.locator("#rebuild-between .lab-input").nth(place).input_value() for place in (0, 1))
    nearest = page.locator(".between-near bdi").all_inner_texts()
    assert (nearest[0], nearest[-1]) == (first, second)
    page.locator("#rebuild-between .watch-range").press("Home")
    assert page.locator(".between-stop").first.get_attribute("class").endswith("between-here")
    page.select_option("#rebuild-between select", "sum")
    page.get_by_role("button", name="Add up").click()
    page.wait_for_function("document.querySelectorAll('.between-stop').length === 1")
    page.locator("#rebuild-between .lab-input").nth(1).fill(" ")
    page.get_by_role("button", name="Add up").click()
    page.wait_for_selector("#rebuild-between .near-error")


def test_many_sentences_are_listed_the_worst_first_and_saved(
    open_page: Callable[..., Any], address: str, tmp_path: Path
) -> None:
    page = rebuilt(open_page, address, "the cat sees a dog")
    page.get_by_role("tab", name="Many at once").click()
    page.get_by_role("button", name="Rebuild them").click()
    page.wait_for_selector("#rebuild-many .lab-table")
    scores = [float(text) for text in page.locator("#rebuild-many tr td:nth-child(5)").all_inner_texts()]
    assert len(scores) == 20
    assert scores == sorted(scores)
    page.get_by_role("button", name="Loss", exact=True).click()
    losses = [float(text) for text in page.locator("#rebuild-many tr td:nth-child(6)").all_inner_texts()]
    assert losses == sorted(losses)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as CSV").first.click()
    waiting.value.save_as(tmp_path / "rebuilt.csv")
    with (tmp_path / "rebuilt.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 20
    assert set(rows[0]) == {
        "sentence",
        "damaged",
        "rebuilt",
        "exact",
        "recovered",
        "chrf",
        "loss",
        "stability",
    }
