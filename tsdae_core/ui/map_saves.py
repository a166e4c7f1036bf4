"""A map as a file, the way it is seen: by one encoder or all of them, its names, its colours, on plain axes."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tsdae_core.runs import Job, Run
from tsdae_core.ui.columns import LONGEST
from tsdae_core.ui.map_asks import Find, answering, drawn_rows, far, index_of, phrase

FILES = {"html": "text/html", "png": "image/png", "svg": "image/svg+xml", "csv": "text/csv"}
"""What a map is saved as, and the type that the browser gives it."""


def saving(workspace: Path, find_map: Find) -> Callable[[list[Any]], Any]:
    """The server function `await server.saved(run, map, kind, place, colour, dark, ignore, typed, a, b)`.

    `typed` is the sentence that was placed on the map, `a` and `b` the phrases of its plain axes; "" where there are none.
    The answer is the file's name, type, and content as base64, or {phase, done, total} until it is there.
    """
    safely = answering(workspace, find_map)

    def on_saved(
        run: Run, job: Job, kind: str, place: int, colour: str, dark: bool,
        ignore: str = "", typed: str = "", a: str = "", b: str = "",
    ) -> dict[str, Any]:  # fmt: skip
        from tsdae_core.map_sheet import renamed, sheet_of, with_axes, with_column  # noqa: PLC0415 (brings torch)

        if kind not in FILES:
            raise ValueError(f"a map is saved as {', '.join(FILES)}; got {kind!r}")
        sheet = sheet_of(run, job)
        place = min(max(0, int(place)), len(sheet.layers) - 1)
        if kind != "csv" and sheet.layers[0].xy.shape[1] > 2:
            raise ValueError(
                "a map in space is saved as a table (CSV); the camera above it takes its picture"
            )
        if str(ignore).strip():
            sheet = renamed(sheet, str(ignore)[:LONGEST])
        if typed or a or b:
            index = index_of(workspace, run, job, place)
            if waiting := far(index):
                return waiting

            def similar(text: str) -> np.ndarray:
                return np.asarray(index.result().scores(phrase(text))[drawn_rows(job)])

            if typed:
                sheet = with_column(sheet, place, "similarity", similar(typed))
            if a or b:
                if kind == "html":
                    raise ValueError("plain axes are saved as a picture, a drawing or a table")
                sheet, place = with_axes(sheet, place, np.stack([similar(a), similar(b)], axis=1), (a, b)), 0
        return _packed(
            run, sheet, kind, place, "similarity" if colour == "query" else str(colour), bool(dark)
        )

    def saved(asked: list[Any]) -> Any:
        return safely(on_saved, asked)

    return saved


def _packed(run: Run, sheet: Any, kind: str, place: int, colour: str, dark: bool) -> dict[str, Any]:
    from tsdae_core import map_export  # noqa: PLC0415

    if kind in ("png", "svg"):
        data = map_export.picture(sheet, kind, place=place, colour=colour, dark=dark)
    else:
        text = map_export.to_html(sheet) if kind == "html" else map_export.to_csv(sheet)
        data = text.encode("utf-8-sig" if kind == "csv" else "utf-8")
    packed = base64.b64encode(data).decode("ascii")
    return {"name": f"map-{run.name}.{kind}", "type": FILES[kind], "data": packed}
