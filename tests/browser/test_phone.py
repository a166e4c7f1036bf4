"""The explorer's tables on a telephone, in a real Chromium: words stay whole, long labels are cut, the page does not scroll sideways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.drawn import with_decoder
from tsdae_core.runs import Run
from tsdae_core.ui import build_app

pytestmark = [pytest.mark.browser, pytest.mark.slow]
WIDTH = 400
ENDLESS = "L" * 300


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    """Half of its sentences have a label without end."""
    run = with_decoder(
        tmp_path_factory.mktemp("phone"), tiny_model_folder, count=60, name="phone", steps=(1,)
    )
    labels = pa.array([ENDLESS if row % 2 else "plain" for row in range(60)])
    table = run.corpus()
    pq.write_table(table.set_column(table.schema.get_field_index("label"), "label", labels), run.corpus_path)
    return run


@pytest.fixture(scope="module")
def address(run: Run, serve: Callable[..., str]) -> str:
    return serve(build_app(run.path.parent))


def width(page: Any, what: str) -> float:
    return float(page.locator(what).first.bounding_box()["width"])


def stays_inside(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth") <= WIDTH)


def test_rebuilt_sentences_keep_room_beside_their_numbers(
    open_page: Callable[..., Any], address: str
) -> None:
    page = open_page(f"{address}?run=phone&tab=rebuild", width=WIDTH)
    page.locator("#rebuild-parts .overflow-menu button").first.click()
    page.locator("#rebuild-parts .overflow-menu").get_by_text("Many at once").click()
    page.locator("#rebuild-many .lab-go:not([disabled])").click()
    page.wait_for_selector(".lab-table td")
    assert width(page, ".lab-table td >> nth=0") >= 150
    assert width(page, ".lab-table td >> nth=1") >= 150
    assert stays_inside(page)


def test_a_label_without_end_is_cut_in_the_table_of_groups(
    open_page: Callable[..., Any], address: str
) -> None:
    page = open_page(f"{address}?run=phone&tab=search", width=WIDTH)
    page.wait_for_selector(".near-try button")
    page.get_by_role("tab", name="What changed most").click()
    page.locator(".diff-crowd > summary").first.click()
    page.wait_for_selector(".group-name")
    assert width(page, ".group-name") >= 150
    cut = page.locator(".group-name", has_text="LLL")
    assert cut.bounding_box()["height"] < 90, "three lines at most"
    assert cut.get_attribute("title") == ENDLESS
    assert stays_inside(page)
