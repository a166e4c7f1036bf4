"""How quickly the page draws large maps: `python -m tests.benchmarks.map_draw [--points 20000 50000] [--rounds 5]`.

The app as a user starts it, its page in a Chromium that draws without a graphics card. For each number of points: the time from the
press on the tab's name until the points can be seen (median, fastest to slowest), against the limit of two seconds for 20,000; then,
while the map is dragged, and while it turns from one encoder's into the other's, how many pictures per second the browser shows and how
long the longest pause between two is. The points lie anywhere, in 60 groups; nothing is computed but what the page does.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from playwright.sync_api import sync_playwright

from tests.browser.serving import OPTIONS, App, chromium
from tests.drawn import as_drawn
from tsdae_core.base_models import bundled_folder
from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run, create_run

GROUPS = 60
LIMITS = {20_000: 2.0}
"""Seconds until so many points are drawn on two cores."""

WINDOW = {"width": 1400, "height": 1000}
FRAMES = """() => {
  window.frames_seen = [];
  const each = (now) => (window.frames_seen.push(now), window.counting && requestAnimationFrame(each));
  window.counting = true;
  requestAnimationFrame(each);
}"""


def finished(workspace: Path, count: int) -> Run:
    """A run over so many sentences whose result is the bundled model itself."""
    sentences = [
        f"Sentence {number} of {count}, long enough for the page to shorten it." for number in range(count)
    ]
    table = pa.table({"sentence": sentences, "line": list(range(1, count + 1)), "label": [""] * count})
    run = create_run(workspace, TrainConfig(), table, name=f"points-{count}")
    shutil.copytree(bundled_folder(), run.encoder_dir)
    run.decoder_dir.mkdir()
    run.write_status(state="finished", step=10, total=10)
    return run


def drawn_in(page: Any, address: str) -> float:
    """Seconds from the press on the tab to the picture."""
    page.goto(address)
    tab = page.get_by_role("tab", name="Map")
    tab.wait_for()
    page.wait_for_timeout(2000)  # all that the page does at its start is over
    page.evaluate(
        "window.pressed = 0; addEventListener('pointerdown', () => (window.pressed = performance.now()), true)"
    )
    page.evaluate("""() => {
      window.picture = new Promise((done) => {
        const look = () => document.querySelector('.map[data-kind=umap]')
          ? requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))) : setTimeout(look, 5);
        look();
      });
    }""")
    tab.click()
    return float(page.evaluate("window.picture.then((seen) => (seen - window.pressed) / 1000)"))


def smoothness(page: Any, act: Callable[[Any], None]) -> tuple[float, float]:
    """Pictures per second and the longest pause in milliseconds, while something is done."""
    page.evaluate(FRAMES)
    act(page)
    seen = page.evaluate("(window.counting = false, window.frames_seen)")
    pauses = np.diff(seen)
    return 1000 * len(pauses) / float(pauses.sum()), float(pauses.max())


def drag(page: Any) -> None:
    box = page.locator(".map-plot").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(60):
        page.mouse.move(x + 3 * step, y + 2 * step)
        page.wait_for_timeout(16)
    page.mouse.up()


def turn(page: Any) -> None:
    page.get_by_role("button", name="Base", exact=True).click()
    page.wait_for_selector(".map[data-which=base]")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, nargs="+", default=[20_000, 50_000])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        workspace = Path(folder)
        for count in arguments.points:
            run = finished(workspace, count)
            as_drawn(run, [f"base:{run.name}", run.name], groups=GROUPS)
        app = App(workspace)
        browser = playwright.chromium.launch(executable_path=chromium(), args=OPTIONS)
        try:
            for count in arguments.points:
                page = browser.new_page(viewport=WINDOW)
                page.set_default_timeout(120_000)
                address = f"{app.url}?run=points-{count}"
                taken = [drawn_in(page, address) for _ in range(arguments.rounds)]
                middle, limit = statistics.median(taken), ""
                if count in LIMITS:
                    limit = (
                        f"   limit {LIMITS[count]:.0f} s: {'kept' if middle <= LIMITS[count] else 'missed'}"
                    )
                print(
                    f"{count:>8,} points   drawn {middle:.2f} s ({min(taken):.2f} to {max(taken):.2f}){limit}"
                )
                for words, act in (("dragged", drag), ("turning", turn)):
                    rate, pause = smoothness(page, act)
                    print(
                        f"{count:>8,} points   {words}: {rate:.0f} pictures a second, longest pause {pause:.0f} ms"
                    )
        finally:
            browser.close()
            app.kill()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
