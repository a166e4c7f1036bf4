"""A real Chromium, pages in it, and the app behind them: the one home of what every browser test needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlparse

import gradio as gr
import pytest

from tests.browser.serving import OPTIONS, App, chromium
from tsdae_core import launch
from tsdae_core.runs import list_runs
from tsdae_core.ui import LAUNCH

WAIT = 90_000
"""Milliseconds until a page that does not answer fails a test; the machine may be slow and busy."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium without a window. Without one the test is skipped, or fails when TSDAE_BROWSER_REQUIRED is set."""
    program = chromium()
    if program is None:
        if os.environ.get("TSDAE_BROWSER_REQUIRED"):
            pytest.fail("there is no Chromium")
        pytest.skip("there is no Chromium; install it to test the page")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """`open_page(address, width=1400, height=1000, dark=False)`: a page of a person who was never here before.

    At the end no page may have had an error, asked another machine, or run a script out of a text.
    """
    pages: list[Any] = []
    errors: list[str] = []
    outside: list[str] = []

    def fresh(address: str = "", *, width: int = 1400, height: int = 1000, dark: bool = False) -> Any:
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: outside.append(request.url) if leaves(request.url) else None)
        pages.append(page)
        if address:
            page.goto(address)
        return page

    yield fresh
    hit = [page.evaluate("window.hit") for page in pages if not page.is_closed()]
    for page in pages:
        page.context.close()
    assert errors == []
    assert outside == []
    assert not any(hit)


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[[gr.Blocks], str]]:
    """`serve(blocks)`: the address of a page that this process serves until the module's tests are done."""
    served: list[gr.Blocks] = []

    def start(page: gr.Blocks) -> str:
        _, url, _ = page.launch(prevent_thread_lock=True, quiet=True, **LAUNCH)
        served.append(page)
        return str(url)

    yield start
    for page in served:
        page.close()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app as a process of its own over an empty workspace; what it started is ended with it."""
    app = App(tmp_path_factory.mktemp("walk"))
    yield app
    app.kill()
    for run in list_runs(app.workspace):
        launch.kill(run)


def leaves(url: str) -> bool:
    """Whether a request goes to another machine."""
    found = urlparse(url)
    return found.scheme not in ("data", "blob", "file") and found.hostname not in ("127.0.0.1", "localhost")
