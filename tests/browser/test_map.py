"""The Map tab in a real Chromium, over a run that was really trained: saving, and what its button says."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.browser.explored import HOSTILE, train
from tests.conftest import make_sentences
from tsdae_core import launch, maps
from tsdae_core.config import TrainConfig
from tsdae_core.runs import ACTIVE, Run, create_run
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


def test_a_colour_that_is_left_before_it_is_there_leaves_nothing_behind(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    page.evaluate(
        """() => { const list = document.querySelector('.map-colour');
          for (const kind of ['loss', 'nothing']) { list.value = kind; list.dispatchEvent(new Event('change'));
            if (kind === 'loss') window.wasStale = !!document.querySelector('.map-stale'); } }"""
    )
    assert page.evaluate("window.wasStale")
    page.wait_for_timeout(1500)  # more than the page needs to ask how far it is
    assert page.locator(".map-stale").count() == 0
    assert not page.locator(".map-note").is_visible()
    assert page.locator(".map-colour").first.input_value() == "nothing"


@pytest.mark.parametrize(
    ("kind", "scale", "told"),
    [
        ("loss", "nats per token", "high is hard"),
        ("drop", "nats less", "loss at step 20"),
        ("steady", "cosine", "four damaged copies"),
    ],
)
def test_what_is_worked_out_for_every_sentence_is_a_colour_and_says_what_it_is(
    open_page: Callable[..., Any], address: str, kind: str, scale: str, told: str
) -> None:
    page = drawn(open_page, address)
    page.select_option(".map-colour >> nth=0", kind)
    page.wait_for_function(f"{PLOT}.data[1].marker.colorbar?.title.text.startsWith('{scale}')")
    assert told in page.locator(".map-help").inner_text()
    assert page.evaluate(f"{PLOT}.data[1].marker.color.length") == 200


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
    page.wait_for_selector(".map-chosen-all li")
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


def test_an_ignored_word_leaves_the_names_at_once_and_stays_ignored(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    page.wait_for_function(f"{PLOT}.layout.annotations.length > 0")
    page.select_option(".map-colour >> nth=0", "cluster")
    before = page.locator(".map-chip-name").first.inner_text()
    word = before.split(", ")[0]
    counts = page.locator(".map-chip-count").all_inner_texts()
    page.locator(".map-ignore summary").click()
    page.locator(".map-ignored").fill(f"{word} <b>")
    page.wait_for_function(
        "before => document.querySelector('.map-chip-name').textContent !== before", arg=before
    )
    assert word not in page.locator(".map-chip-name").first.inner_text().split(", ")
    assert page.locator(".map-chip-count").all_inner_texts() == counts, "the groups stay"
    after = page.locator(".map-chip-name").first.inner_text()
    page.reload()
    page.wait_for_selector(".map[data-kind=umap][data-which=trained]")
    page.wait_for_function(
        "after => document.querySelector('.map-chip-name')?.textContent === after", arg=after
    )
    assert page.locator(".map-ignore summary").inner_text() == "Ignored words (2)"


def test_the_map_in_space_is_laid_out_shown_hovered_pressed_and_left(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    page.get_by_role("button", name="3-D", exact=True).click()
    page.wait_for_selector(".map[data-kind=umap][data-which=trained]", timeout=180_000)
    page.wait_for_function(f"{PLOT}.data?.[1]?.type === 'scatter3d'")
    assert page.evaluate(f"new Set({PLOT}.data[1].z).size") > 50
    assert "A lasso selects in 2-D only" in page.locator(".map-trust").inner_text()
    assert page.locator(".map .modebar-btn[data-title='Lasso Select']").count() == 0
    press_a_point_in_space(page)
    assert page.locator(".map-near li").count() == 10
    assert page.evaluate(f"{PLOT}.data.at(-2).z.filter(one => one !== null).length") == 20
    page.get_by_role("button", name="Base", exact=True).click()
    page.wait_for_selector(".map[data-which=base]")
    with page.expect_download() as waiting:
        page.select_option(".map-save", "csv")
    header = Path(waiting.value.path()).read_text(encoding="utf-8-sig").splitlines()[0]
    assert "z_base" in header.split(",")
    page.reload()  # kept: nothing is computed again
    page.wait_for_selector(".map[data-kind=umap]")
    assert page.evaluate(f"{PLOT}.data[1].type") == "scattergl"


def press_a_point_in_space(page: Any) -> None:
    """Move the mouse over the map until a sentence is told, and press there; large points are found sooner."""
    page.evaluate(f"Plotly.restyle({PLOT}, {{'marker.size': 30}}, [1, 2])")
    box = page.locator(".map-plot").bounding_box()
    for place in range(100):
        across, down = 0.3 + 0.4 * (place % 10) / 10, 0.3 + 0.4 * (place // 10) / 10
        page.mouse.move(box["x"] + box["width"] * across, box["y"] + box["height"] * down)
        page.wait_for_timeout(150)
        if page.locator(".map-tip").is_visible():
            page.mouse.down()
            page.mouse.up()
            page.wait_for_selector(".map-near li")
            return
    raise AssertionError("no point was found under the mouse")


def test_the_map_follows_a_training_from_checkpoint_to_checkpoint_and_is_left(
    open_page: Callable[..., Any], tiny_model_folder: Path, serve: Callable[..., str], tmp_path: Path
) -> None:
    going = start_training(tmp_path / "runs", tiny_model_folder)
    try:
        page = open_page(f"{serve(build_app(going.path.parent))}?run=going&tab=map")
        page.get_by_role("button", name="Follow the training").click()
        page.wait_for_selector(".map[data-kind=umap][data-which^=step]")  # the base's may be passed over
        first = page.locator(".map").get_attribute("data-which")
        page.wait_for_function("first => document.querySelector('.map').dataset.which !== first", arg=first)
        assert page.locator(".map-film-name").inner_text().startswith("Step")
        page.reload()
        page.wait_for_selector(".map[data-which^=step]")  # it is followed still
        job = maps.live_job(going)
        assert job.state in ACTIVE
        page.get_by_role("button", name="2-D", exact=True).click()
        wait_until(lambda: job.state not in ACTIVE)
        assert job.state == "finished", job.log_tail()
        assert going.state in ACTIVE, "the training goes on"
    finally:
        launch.kill(maps.live_job(going))
        launch.kill(going)


def start_training(folder: Path, model: Path) -> Run:
    """A run that trains in a process of its own, for longer than the test takes."""
    table = pa.table(
        {"sentence": [HOSTILE, *make_sentences(99)], "line": list(range(1, 101)), "label": [""] * 100}
    )
    config = TrainConfig(
        base_model=str(model), pooling="mean", max_steps=1_000_000, batch_size=8, checkpoint_every=400,
        precision="fp32", devices="cpu", max_length=32, probe_every=400,
    )  # fmt: skip
    run = create_run(folder, config, table, name="going")
    launch.start(run)
    return run


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.1)
