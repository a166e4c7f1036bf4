"""Screenshots of every tab with real content, for the README: `python -m tests.screenshots [FILE] [--output assets/screenshots]`.

Trains "Quick look" on the bundled example corpus (or on FILE) through the page itself, as a user would, and takes the
pictures on the way. Needs Chromium.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.browser.serving import OPTIONS, ROOT, App, chromium

MINUTES = 15


def main() -> int:
    """Start the app on an empty workspace, walk through it, save the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path, help="text to train on instead of the example corpus")
    parser.add_argument("--query", default="a storm warning for small boats")
    parser.add_argument("--all", action="store_true", help="also dark and at phone width")
    parser.add_argument("--output", type=Path, default=ROOT / "assets" / "screenshots")
    arguments = parser.parse_args()
    program = chromium()
    if program is None:
        print("there is no Chromium; install it first", file=sys.stderr)
        return 2
    from playwright.sync_api import sync_playwright

    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as workspace, sync_playwright() as playwright:
        app = App(Path(workspace))
        try:
            browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.set_default_timeout(MINUTES * 60_000)
            _walk(page, app.url, arguments)
            browser.close()
        finally:
            app.kill()
    return 0


def _walk(page: Any, url: str, arguments: argparse.Namespace) -> None:
    def shoot(name: str) -> None:
        page.wait_for_timeout(1500)
        page.screenshot(path=arguments.output / f"{name}.png")
        print(f"{name}.png", flush=True)

    page.goto(url)
    page.wait_for_selector("#data-file")
    if arguments.file:
        page.set_input_files("#data-file input[type=file]", arguments.file)
    else:
        page.get_by_role("tab", name="Example", exact=True).click()
        page.locator("#data-take").click()
    page.wait_for_selector("#data-damaged .tok-deleted")
    page.wait_for_timeout(8000)  # the token lengths come a little later
    shoot("data")
    page.locator("#data-use").click()
    page.wait_for_function("!document.querySelector('#start').disabled")
    page.locator("#start").click()
    page.wait_for_function("/finished/i.test(document.querySelector('#facts').innerText)")
    page.reload()
    page.wait_for_selector("#chart .js-plotly-plot")
    page.wait_for_selector("#probes .tok-deleted")
    shoot("train")
    page.get_by_role("tab", name="Rebuild", exact=True).click()
    page.locator("#rebuild-go").click()
    page.wait_for_selector("#rebuild-view .tok-deleted")
    shoot("rebuild")
    page.get_by_role("tab", name="Search", exact=True).click()
    page.locator("#query textarea, #query input").first.fill(arguments.query)
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelectorAll('#neighbours .near-hit').length >= 20")
    shoot("search")
    page.get_by_role("tab", name="Map", exact=True).click()
    page.locator("#map-go").click()
    page.wait_for_selector(".map[data-kind=umap]")
    page.wait_for_timeout(2000)
    page.evaluate("document.querySelector('.map-plot').emit('plotly_click', {points: [{customdata: 3}]})")
    page.wait_for_selector(".map-near li")
    shoot("map")
    page.get_by_role("tab", name="Compare", exact=True).click()
    page.locator("#compare-go").click()
    page.wait_for_selector(".compare-table")
    shoot("compare")
    if not arguments.all:
        return
    for width in (1400, 400):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            page.evaluate("dark => document.body.classList.toggle('dark', dark)", theme == "dark")
            for tab in ("Data", "Train", "Rebuild", "Search", "Map", "Compare"):
                page.get_by_role("tab", name=tab, exact=True).click()
                shoot(f"{tab.lower()}-{theme}-{width}")


if __name__ == "__main__":
    sys.exit(main())
