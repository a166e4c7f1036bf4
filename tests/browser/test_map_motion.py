"""The map while it moves, in a real Chromium: dragged, turned from one encoder to the other, selected from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.drawn import HOSTILE, as_drawn, with_decoder
from tsdae_core.ui import build_app

pytestmark = pytest.mark.browser
PLOT = "document.querySelector('.map-plot')"
MOVING = "document.querySelector('.map-stage').classList.contains('map-moving')"
PAINTED = """() => {
  const pad = document.querySelector('.map-motion');
  const pixels = pad.getContext('2d').getImageData(0, 0, pad.width, pad.height).data;
  const columns = [];
  for (let at = 3; at < pixels.length; at += 4) if (pixels[at]) columns.push(((at - 3) / 4) % pad.width);
  return columns.length ? [Math.min(...columns), Math.max(...columns), pad.width] : null;
}"""


@pytest.fixture(scope="module")
def address(
    tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path, serve: Callable[..., str]
) -> str:
    run = with_decoder(tmp_path_factory.mktemp("moved"), tiny_model_folder, count=300, name="moved")
    as_drawn(run, ["base:moved", "moved"])
    return serve(build_app(run.path.parent))


def drawn(open_page: Callable[..., Any], address: str) -> Any:
    page = open_page(f"{address}?run=moved&tab=map")
    page.wait_for_selector(".map[data-kind=umap][data-which=trained]")
    page.wait_for_function(f"{PLOT}._fullLayout?.xaxis.range")
    return page


def ranges(page: Any) -> np.ndarray:
    """What the frame spans: (2, 2), across and up."""
    return np.array(page.evaluate(f"[{PLOT}._fullLayout.xaxis.range, {PLOT}._fullLayout.yaxis.range]"))


def middle(page: Any) -> tuple[float, float]:
    box = page.locator(".map-plot").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_the_points_follow_the_hand_and_stay_where_they_are_left(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    before = ranges(page)
    x, y = middle(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 150, y + 60, steps=5)
    page.wait_for_function(MOVING)
    page.wait_for_timeout(100)  # until the last picture is painted
    first = page.evaluate(PAINTED)
    page.mouse.move(x + 350, y + 60, steps=5)
    page.wait_for_timeout(100)
    assert page.evaluate(PAINTED)[0] == pytest.approx(first[0] + 200, abs=4)
    assert np.array_equal(ranges(page), before), "Plotly draws when the hand lets go"
    page.mouse.up()
    page.wait_for_function(f"!{MOVING}")
    moved = before - ranges(page)
    frame = page.evaluate(f"[{PLOT}._fullLayout._size.w, {PLOT}._fullLayout._size.h]")
    assert moved[0] == pytest.approx(350 / frame[0] * np.ptp(before[0]), rel=0.02)
    assert moved[1] == pytest.approx(-60 / frame[1] * np.ptp(before[1]), rel=0.02)
    assert page.locator(".map-card .map-sentence").count() == 0, "no point was pressed"


def test_a_press_without_a_move_chooses_a_point(open_page: Callable[..., Any], address: str) -> None:
    page = drawn(open_page, address)
    at = page.evaluate(f"""(() => {{
      const {{ xaxis, yaxis }} = {PLOT}._fullLayout, one = {PLOT}.data[1], box = {PLOT}.getBoundingClientRect();
      return [box.x + xaxis._offset + xaxis.l2p(one.x[0]), box.y + yaxis._offset + yaxis.l2p(one.y[0])];
    }})()""")
    page.mouse.move(*at)
    page.wait_for_selector(".map-tip:not([hidden])")
    page.mouse.down()
    page.mouse.up()
    page.wait_for_selector(".map-card .map-sentence")
    assert page.evaluate("window.hit") is None


def test_turning_to_the_base_is_painted_and_ends_in_its_map(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    page.get_by_role("button", name="Base", exact=True).click()
    page.wait_for_function(MOVING)
    page.wait_for_selector(".map[data-which=base]")
    page.wait_for_function(f"!{MOVING}")
    base = page.evaluate(f"{PLOT}.data.slice(1, -2).flatMap((one) => Array.from(one.x)).sort()[0]")
    page.get_by_role("button", name="Trained", exact=True).click()
    page.wait_for_selector(".map[data-which=trained]")
    page.wait_for_function(f"!{MOVING}")
    assert page.evaluate(f"{PLOT}.data.slice(1, -2).flatMap((one) => Array.from(one.x)).sort()[0]") != base


def test_a_selected_sentence_is_listed_beside_the_map_and_chosen_by_a_press(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    page.evaluate(f"{PLOT}.emit('plotly_selected', {{points: [{{customdata: 0}}, {{customdata: 4}}]}})")
    page.wait_for_selector(".map-chosen-all li")
    assert page.locator(".map-chosen").bounding_box()["x"] > middle(page)[0]
    page.locator(".map-chosen-all .map-hit").first.click()
    page.wait_for_selector(".map-card .map-sentence")
    assert page.locator(".map-card .map-sentence").inner_text() == HOSTILE


def test_a_selection_holds_the_same_sentences_by_every_encoder_until_escape(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    marked = f"""{PLOT}.data.slice(1, -2).flatMap((one) => (one.selectedpoints || []).map((at) => one.customdata[at])).sort().join()"""
    box = page.locator(".map-plot").bounding_box()
    page.locator(".modebar-btn[data-title='Box Select']").click()
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.6 * box["height"], steps=4)
    page.mouse.up()
    page.wait_for_selector(".map-chosen-all li")
    count = page.locator(".map-chosen strong").inner_text()
    before = page.evaluate(marked)
    assert count == f"{len(before.split(','))} selected"
    page.get_by_role("button", name="Base", exact=True).click()
    page.wait_for_selector(".map[data-which=base]")
    page.wait_for_function(f"!{MOVING}")
    assert page.evaluate(marked) == before
    assert page.locator(".map-chosen strong").inner_text() == count
    page.keyboard.press("Escape")
    page.wait_for_function("!document.querySelector('.map-chosen strong')")
    page.wait_for_function(f"{PLOT}.data.every((one) => !one.selectedpoints)")


def test_a_zoomed_map_keeps_its_frame_whatever_it_is_coloured_by(
    open_page: Callable[..., Any], address: str
) -> None:
    page = drawn(open_page, address)
    page.locator(".modebar-btn[data-title='Zoom in']").click()
    page.wait_for_timeout(300)  # Plotly's own relayout
    before = ranges(page)
    for kind in ("words", "label", "trust", "cluster"):
        page.select_option(".map-colour >> nth=0", kind)
        page.wait_for_timeout(200)
        assert ranges(page) == pytest.approx(before, rel=1e-3), kind
