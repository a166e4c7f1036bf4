"""The map's legend and tools in a real Chromium, over a map of which nothing is computed: points anywhere, in many groups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.drawn import as_drawn, with_decoder
from tsdae_core.runs import Run
from tsdae_core.ui import build_app

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    """Thirty groups of five sentences, and ten sentences in no group."""
    run = with_decoder(tmp_path_factory.mktemp("legend"), tiny_model_folder, count=160, name="many")
    job = as_drawn(run, ["base:many", "many"], groups=30)
    for file in job.path.glob("umap-*.parquet"):
        table = pq.read_table(file)
        groups = np.where(np.arange(160) < 10, -1, np.arange(160) % 30).astype(np.float32)
        pq.write_table(
            table.set_column(table.schema.get_field_index("cluster"), "cluster", pa.array(groups)), file
        )
    return run


@pytest.fixture(scope="module")
def address(run: Run, serve: Callable[..., str]) -> str:
    return f"{serve(build_app(run.path.parent))}?run=many&tab=map"


def test_smaller_groups_are_told_from_sentences_in_no_group(
    open_page: Callable[..., Any], address: str
) -> None:
    page = open_page(address)
    page.wait_for_selector(".map[data-kind=umap]")
    page.select_option(".map-colour >> nth=0", "cluster")
    page.wait_for_function("document.querySelectorAll('.map-chip').length > 3")
    told = dict(
        zip(
            page.locator(".map-chip-name").all_inner_texts(),
            page.locator(".map-chip-count").all_inner_texts(),
            strict=True,
        )
    )
    assert len(told) == 25
    assert told["in no group"] == "10"
    assert told["7 smaller groups"] == "35"
    legend = page.locator(".map-legend")
    assert legend.evaluate("one => one.scrollHeight <= one.clientHeight"), "none of them is out of sight"


def test_what_leads_back_from_plain_axes_goes_with_them(open_page: Callable[..., Any], address: str) -> None:
    page = open_page(address)
    page.wait_for_selector(".map[data-kind=umap]")
    page.locator(".map-axes summary").click()
    page.locator(".map-phrase").nth(0).fill("boats")
    page.locator(".map-phrase").nth(1).fill("trains")
    page.keyboard.press("Enter")
    page.wait_for_selector(".map[data-kind=axes]")
    back = page.get_by_role("button", name="Back to the map")
    assert back.is_visible()
    page.get_by_role("button", name="3-D", exact=True).click()
    page.wait_for_selector(".map:not([data-kind=axes])")
    assert not back.is_visible()
