"""The Data tab in a real Chromium: three doors, what they show, and that a reload loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pyarrow as pa
import pytest

from tests.conftest import make_sentences
from tsdae_core.config import TrainConfig
from tsdae_core.runs import create_run, delete_run
from tsdae_core.ui import build_app
from tsdae_core.ui.drafts import find_draft

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=window.hit=1> ${document.title} `code` and a few plain words"
WITHOUT_SPOKEN = """() => {
  const copy = document.querySelector("#data-damaged ol").cloneNode(true);
  copy.querySelectorAll(".watch-spoken").forEach((one) => one.remove());
  return copy.textContent;
}"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data-tab")


@pytest.fixture(scope="module")
def address(workspace: Path, serve: Callable[..., str]) -> str:
    return serve(build_app(workspace))


@pytest.fixture
def page(address: str, open_page: Callable[..., Any]) -> Any:
    page = open_page(address, height=1100)
    page.wait_for_selector("#data-file")
    return page


def load(page: Any, file: Path) -> None:
    page.set_input_files("#data-file input[type=file]", file)
    page.wait_for_selector("#data-damaged .tok-deleted")


def draft_key(page: Any) -> str:
    page.wait_for_function("new URL(location).searchParams.get('draft')")
    return parse_qs(urlparse(page.url).query)["draft"][0]


def test_an_uploaded_file_is_reported_damaged_measured_and_kept(page: Any, tmp_path: Path, workspace: Path):
    file = tmp_path / "my lines.txt"
    file.write_text("\n".join(make_sentences(300)), encoding="utf-8")
    load(page, file)
    assert "300 sentences from my" in page.inner_text("#data-report")
    page.wait_for_selector("#data-lengths .lengths-stage svg")
    assert "no sentence is longer than 128" in page.inner_text("#data-lengths")
    draft = find_draft(workspace, draft_key(page))
    assert draft is not None and draft.table()["sentence"].to_pylist() == make_sentences(300)


def test_a_reload_and_a_second_browser_show_the_same_text(
    page: Any, open_page: Callable[..., Any], tmp_path: Path
):
    file = tmp_path / "lines.txt"
    file.write_text("\n".join(make_sentences(40)), encoding="utf-8")
    load(page, file)
    key = draft_key(page)
    page.reload()
    page.wait_for_selector("#data-damaged .tok-deleted")
    assert draft_key(page) == key
    other = open_page(page.url)
    other.wait_for_selector("#data-damaged .tok-deleted")
    assert "40 sentences from lines.txt" in other.inner_text("#data-report")


def test_after_a_reload_another_column_is_chosen_without_a_new_upload(page: Any, tmp_path: Path):
    file = tmp_path / "table.csv"
    rows = [f"{text},short title {number}" for number, text in enumerate(make_sentences(40))]
    file.write_text("body,title\n" + "\n".join(rows), encoding="utf-8")
    load(page, file)
    before = draft_key(page)
    file.unlink()
    page.reload()
    column = page.locator("#data-column input")
    page.wait_for_function("document.querySelector('#data-column input')?.value === 'body'")
    column.click()
    page.get_by_role("option", name="title").click()
    page.wait_for_function("before => !location.search.includes(before)", arg=before)
    page.wait_for_function("document.querySelector('#data-damaged ol').textContent.includes('short')")
    assert "40 sentences from table.csv" in page.inner_text("#data-report")


def test_the_lengths_follow_the_base_model_chosen_on_train(
    page: Any, tmp_path: Path, tiny_model_folder: Path
):
    file = tmp_path / "lines.txt"
    file.write_text("\n".join(make_sentences(40)), encoding="utf-8")
    load(page, file)
    page.wait_for_selector("#data-lengths .lengths-stage svg")
    assert "the tokenizer of all-MiniLM-L6-v2" in page.inner_text("#data-lengths")
    page.get_by_role("tab", name="Train", exact=True).click()
    base = page.locator("#set-base_model input")
    base.fill(str(tiny_model_folder))
    base.press("Enter")
    wanted = f"the tokenizer of {tiny_model_folder.name}"
    page.wait_for_function(
        "wanted => document.querySelector('#data-lengths').textContent.includes(wanted)", arg=wanted
    )


def test_a_link_to_a_text_shows_it_in_a_browser_that_never_saw_it(
    page: Any, open_page: Callable[..., Any], tmp_path: Path
):
    file = tmp_path / "table.csv"
    file.write_text(
        "body,title\n" + "\n".join(f"{one},a title" for one in make_sentences(40)), encoding="utf-8"
    )
    load(page, file)
    draft_key(page)
    other = open_page(page.url)
    other.wait_for_function("document.querySelector('#data-column input')?.value === 'body'")
    other.get_by_role("tab", name="Train", exact=True).click()
    other.wait_for_function("document.querySelector('#findings')?.innerText.includes('table.csv')")


def test_how_a_text_is_read_is_offered_only_where_it_matters(page: Any):
    reading = page.locator("#data-reading")
    reading.wait_for(state="visible")
    page.get_by_role("tab", name="Example").click()
    reading.wait_for(state="hidden")
    page.get_by_role("tab", name="Paste text").click()
    reading.wait_for(state="visible")


def test_pasted_hostile_text_is_shown_as_text(page: Any):
    page.get_by_role("tab", name="Paste text").click()
    page.fill("#data-text textarea", "\n".join([HOSTILE, *make_sentences(30)]))
    page.click("#data-paste")
    page.wait_for_selector("#data-damaged .tok-deleted")
    seen = page.evaluate(WITHOUT_SPOKEN)
    assert "onerror=window.hit=1" in seen and "${document.title}" in seen
    page.wait_for_selector("#data-rows [data-row='0']")
    assert page.locator("#data-damaged img, #data-rows img, #data-report img").count() == 0


def test_the_damage_is_drawn_anew_and_follows_the_share(page: Any, tmp_path: Path):
    file = tmp_path / "lines.txt"
    file.write_text("\n".join(make_sentences(40)), encoding="utf-8")
    load(page, file)
    before = page.inner_html("#data-damaged ol")
    page.get_by_role("button", name="Damage again").click()
    page.wait_for_function(
        "before => document.querySelector('#data-damaged ol').innerHTML !== before", arg=before
    )
    page.get_by_label("number input for Share of words").fill("0")
    page.keyboard.press("Enter")
    page.wait_for_function("!document.querySelector('#data-damaged ol .tok-deleted')")


def test_a_file_that_cannot_be_used_gets_a_sentence_in_the_page(page: Any, tmp_path: Path):
    file = tmp_path / "nothing.txt"
    file.write_text("\n\n", encoding="utf-8")
    page.set_input_files("#data-file input[type=file]", file)
    page.wait_for_selector("#data-report [role=alert]")
    assert "Traceback" not in page.inner_text("body")
    assert not page.locator("#data-use").is_visible()


def test_the_example_is_one_click_away_and_use_leads_to_train(page: Any):
    page.get_by_role("tab", name="Example").click()
    page.click("#data-take")
    page.wait_for_selector("#data-use")
    page.click("#data-use")
    page.wait_for_function("document.querySelector('#findings')?.innerText.includes('sentences')")
    assert page.get_by_role("tab", name="Train").get_attribute("aria-selected") == "true"


def test_a_run_made_after_the_page_was_built_is_shown_without_an_error(
    page: Any, workspace: Path, address: str
):
    sentences = make_sentences(30)
    table = pa.table({"sentence": sentences, "line": pa.array(range(30), pa.int64()), "label": [""] * 30})
    run = create_run(workspace, TrainConfig(), table, name="later")
    for step in range(1, 20):
        run.append_metrics({"step": step, "loss": 5.0, "lr": 1e-5})
    try:
        page.goto(f"{address}?run=later&tab=train")
        page.wait_for_selector("#chart .watch-plot .main-svg")
        assert page.locator("[data-testid=toast-body]").count() == 0
    finally:
        delete_run(run)
