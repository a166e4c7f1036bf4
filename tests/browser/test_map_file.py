"""The saved map in a real Chromium, opened from the disk: its colours mean what their scale says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.explored import HOSTILE, LABEL
from tests.conftest import make_sentences
from tsdae_core.map_export import to_html
from tsdae_core.map_sheet import Layer, Sheet

pytestmark = [pytest.mark.browser, pytest.mark.slow]
MARKER = "document.querySelector('#plot').data[0].marker"
SPREAD = {"trust": (0, 1), "change": (0, 1), "loss": (2, 9), "drop": (-0.5, 1.5), "steady": (0.6, 0.8)}
"""Between which numbers a column lies here."""


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """The address of a saved map of 200 sentences, the first and every other label hostile."""
    random, count = np.random.default_rng(0), 200
    more = {
        name: random.uniform(*ends, count).astype(np.float32)  # type: ignore[misc]
        for name, ends in SPREAD.items()
    }
    layer = Layer(
        "Trained encoder",
        random.uniform(-1, 1, (count, 2)).astype(np.float32),
        np.array([row % 3 - 1 for row in range(count)], np.int16),
        [{"text": HOSTILE, "x": 0.5, "y": 0.5}, {"text": "trains", "x": -0.5, "y": 0.1}],
        random.integers(0, count, (count, 10)),
        0.42,
        more,
        0.913,
    )
    sentences = [HOSTILE, *make_sentences(count - 1)]
    labels = [LABEL if row % 2 else "plain" for row in range(count)]
    file = tmp_path / "map.html"
    file.write_text(
        to_html(Sheet(HOSTILE, sentences, labels, list(range(1, count + 1)), count, [layer])),
        encoding="utf-8",
    )
    return file.as_uri()


@pytest.mark.parametrize("dark", [False, True])
def test_each_number_of_a_saved_map_is_drawn_on_a_scale_of_its_own(
    open_page: Callable[..., Any], saved: str, dark: bool
) -> None:
    page = open_page(saved, dark=dark)
    page.wait_for_selector("body[data-drawn]")
    trust = page.locator("#trust").inner_text()
    assert trust.startswith("About 4 of the 10 nearest points here are true neighbours")
    assert trust.endswith("Trustworthiness 0.91.")
    for name, (low, top) in SPREAD.items():
        page.select_option("#colour", name)
        page.wait_for_function(f"{MARKER}.colorbar?.title?.text")
        ends = page.evaluate(f"[{MARKER}.cmin, {MARKER}.cmax]")
        assert ends == pytest.approx([low if name != "loss" else 0, top], abs=0.15), name
        shares = page.evaluate(f"{MARKER}.colorbar.tickformat || ''")
        assert shares.endswith("%") == (name in ("trust", "change")), f"{name} is no share of a whole"
