"""Components of our own: a static frame of HTML, and a file of JavaScript that fills it from the component's value.

What the JavaScript sees: `element`, `props.value`, `watch('value', redraw)`, `trigger('event', data)` and, for each server
function, `await server.NAME(...)`. Text of a corpus is never part of a template: it reaches the page through `textContent`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import gradio as gr
import plotly

ASSETS = Path(__file__).resolve().parents[2] / "assets"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


def component(
    name: str,
    value: Any = None,
    *,
    uses: Sequence[str] = (),
    server_functions: Sequence[Callable[..., Any]] = (),
    elem_id: str | None = None,
    elem_classes: Sequence[str] = (),
    **options: Any,
) -> gr.HTML:
    """The component whose code is `assets/js/NAME.js`.

    Args:
        name: the file's name without its ending; also the class `tsdae-NAME` of the element that it may fill.
        value: anything JSON can carry; the JavaScript reads it as `props.value`.
        uses: files of `assets/js` whose functions the component's code uses, in this order, such as "dom" or "tokens".
        server_functions: called from JavaScript as `await server.NAME(a, b)`; the arguments arrive as one list.
        options: other parameters of `gr.HTML`, such as `visible` or `min_height`.
    """
    files = [ASSETS / "js" / f"{one}.js" for one in (*uses, name)]
    code = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return gr.HTML(
        value,
        html_template=f'<div class="tsdae-{name}"></div>',
        js_on_load=code,
        server_functions=list(server_functions),
        elem_id=elem_id,
        elem_classes=list(elem_classes),
        apply_default_css=False,
        **options,
    )


def plotly_script() -> str:
    """A script element for the installed plotly.js, served by this app; the address is relative, so a sub-path works too."""
    gr.set_static_paths([PLOTLY])
    return f'<script async src="gradio_api/file={quote(PLOTLY.as_posix())}"></script>'


def stylesheets() -> list[Path]:
    """Every stylesheet of the page, the frame's first."""
    return sorted((ASSETS / "css").glob("*.css"))
