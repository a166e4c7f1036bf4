"""The Compare tab in a real Chromium: from the choice to the table, the bars and the files; stopping; wrong input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.explored import as_finished
from tests.conftest import make_sentences
from tsdae_core import launch
from tsdae_core.evaluate import job
from tsdae_core.runs import Run
from tsdae_core.ui import build_app

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LABEL = "<img src=x onerror=window.hit=1>"
WAIT = 240_000
"""Milliseconds for a whole evaluation on a busy machine."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    """200 sentences in two labels, one of them hostile; the result is the untrained tiny model itself."""
    sentences = make_sentences(200)
    labels = [LABEL if "cat" in sentence else "plain" for sentence in sentences]
    folder = tmp_path_factory.mktemp("compared")
    return as_finished(folder, tiny_model_folder, sentences, labels, name="compared")


@pytest.fixture(scope="module")
def address(run: Run, serve: Callable[..., str]) -> str:
    return f"{serve(build_app(run.path.parent))}?run=compared&tab=compare"


@pytest.fixture
def page(open_page: Callable[..., Any], address: str) -> Any:
    page = open_page(address)
    page.wait_for_selector("#compare .compare[data-state]")
    return page


def choose(page: Any, which: str) -> None:
    page.locator(f"#compare-task input[value='{which}']").check()


def test_the_table_names_the_best_draws_bars_is_kept_and_can_be_saved(page: Any, run: Run) -> None:
    choose(page, "labels")
    page.locator("#compare-go").click()
    page.wait_for_selector(".compare-table", timeout=WAIT)
    names = page.locator(".compare-table tbody th").all_inner_texts()
    assert names == ["Untrained base", "Trained (compared)", "BM25"]
    assert page.locator(".compare-table thead th").all_inner_texts()[1:5] == [
        "kNN accuracy",
        "Linear probe",
        "V-measure",
        "Same-label MAP",
    ]
    [newest] = job.evaluations(run.path.parent, "compared")
    table = job.read_table(newest)
    assert table is not None
    cells = page.locator(".compare-table tbody tr").nth(1).locator("td span, td strong").all_inner_texts()
    assert cells == [f"{cell.mean:.2f}" for cell in table.rows[1].cells]
    for row, place in ((row, place) for row in range(3) for place in range(4)):
        bold = (
            page.locator(".compare-table tbody tr")
            .nth(row)
            .locator("td")
            .nth(place)
            .locator("strong")
            .count()
        )
        assert bold == table.rows[row].cells[place].best
    assert "is best on compared labels" in page.locator(".compare-verdict").inner_text()
    page.wait_for_function("document.querySelectorAll('.compare-plot .bars path').length >= 10")

    with page.expect_download() as given:
        page.get_by_role("button", name="LaTeX", exact=True).click()
    assert r"\begin{tabular}" in Path(given.value.path()).read_text(encoding="utf-8")

    page.reload()
    page.wait_for_selector(".compare-table")  # kept: nothing was pressed
    page.locator(".compare-reported summary").click()
    assert "reported" in page.locator(".compare-reported li").first.inner_text()


def test_an_uploaded_file_is_measured_and_a_malformed_one_is_one_sentence_in_the_page(
    page: Any, tmp_path: Path
) -> None:
    choose(page, "file")
    bad, good = tmp_path / "bad.tsv", tmp_path / "good.tsv"
    bad.write_text("a cat\ta dog\t1\nthe cat\tthe dog\thigh\n")
    good.write_text(
        "".join(f"{text}\t{text[::-1]}\t{place}\n" for place, text in enumerate(make_sentences(8)))
    )
    page.locator("#compare-upload input[type=file]").set_input_files(str(bad))
    page.wait_for_selector("#compare-upload :text('bad')")
    page.locator("#compare-go").click()
    page.wait_for_selector("#compare .map-note:not([hidden])")
    assert "line 2" in page.locator("#compare .map-note").inner_text()

    page.locator(
        "#compare-upload [aria-label='Clear'], #compare-upload [aria-label='Remove this file']"
    ).first.click()
    page.locator("#compare-upload input[type=file]").set_input_files(str(good))
    page.wait_for_selector("#compare-upload :text('good')")
    page.locator("#compare-go").click()
    page.wait_for_function(
        "[...document.querySelectorAll('.compare-table thead th')].some(cell => cell.textContent.startsWith('Spearman'))",
        timeout=WAIT,
    )
    assert not page.locator("#compare .map-note").is_visible()


def test_an_evaluation_can_be_stopped_and_its_process_ends(page: Any, run: Run) -> None:
    choose(page, "damaged")
    page.locator("#compare-go").click()
    stop = page.locator("#compare .map-progress button")
    page.wait_for_selector("#compare .compare[data-state=running], #compare .compare[data-state=starting]")
    stop.click()
    page.wait_for_selector("#compare .compare[data-state=stopped]", timeout=WAIT)
    newest = job.evaluations(run.path.parent, "compared")[0]
    assert launch.wait(newest, timeout=20) == "stopped"
    assert newest.process() is None
    assert "Stopped" in page.locator("#compare .map-note").inner_text()


def test_choosing_nothing_says_what_to_do(page: Any) -> None:
    for place in range(4):
        page.locator("#compare-systems input").nth(place).set_checked(False)
    page.locator("#compare-go").click()
    page.wait_for_selector("#compare .map-note:not([hidden])")
    assert page.locator("#compare .map-note").inner_text() == "Choose at least one system to evaluate."


def test_the_formats_are_told_where_a_file_is_asked_for_and_nothing_spills_on_a_phone(
    open_page: Callable[..., Any], address: str
) -> None:
    page = open_page(address, width=400)
    page.wait_for_selector("#compare .compare[data-state]")
    choose(page, "file")
    page.wait_for_selector("#compare-file .compare-format")
    assert "two sentences and a number" in page.locator("#compare-file .compare-format").first.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
