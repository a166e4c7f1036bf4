"""A map to take along: one HTML file that works offline, a picture (PNG, SVG), or a table (CSV).

Legend: N points, k neighbours.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from pathlib import Path

import numpy as np
import plotly

from tsdae_core.files import cell, wants_folder
from tsdae_core.map_picture import Colours, colours_of, png, svg
from tsdae_core.map_sheet import Layer, Sheet

ASSETS = Path(__file__).resolve().parents[1] / "assets"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
TITLES = {
    "words": "words", "trust": "true neighbours", "change": "changed", "loss": "nats per token", "drop": "nats less",
    "steady": "cosine", "similarity": "similarity",
}  # fmt: skip
"""What the numbers of a column are."""

SHARES = ("trust", "change")
"""Columns from none to all."""

FROM_THE_LOWEST = ("drop", "steady", "similarity")
"""Columns that say nothing near nought, or go below it."""

FORMATS = (".html", ".csv", ".png", ".svg")


def check_output(output: Path) -> None:
    """Raises `ValueError` for a file of another kind, or one in a folder that is not there."""
    if output.suffix.lower() not in FORMATS:
        raise ValueError(f"the map's file must end in .html, .csv, .png or .svg; got {output.name}")
    wants_folder(output)


def save(sheet: Sheet, output: Path, *, colour: str = "", dark: bool = False) -> None:
    """Write the map in the format that the file's ending names: .html, .csv, .png or .svg; colours are a picture's, see `picture`."""
    check_output(output)
    kind = output.suffix.lower()
    if kind in (".png", ".svg"):
        output.write_bytes(picture(sheet, kind[1:], colour=colour, dark=dark))
        return
    text = to_html(sheet) if kind == ".html" else to_csv(sheet)
    output.write_text(text, encoding="utf-8-sig" if kind == ".csv" else "utf-8", newline="")


def picture(sheet: Sheet, kind: str, *, place: int = -1, colour: str = "", dark: bool = False) -> bytes:
    """One layer as an image file.

    Args:
        kind: "png" or "svg".
        place: which layer; the last one unless told.
        colour: see `colouring`.
        dark: light points on a dark ground.
    """
    layer = sheet.layers[place]
    write = png if kind == "png" else svg
    written = [one for one in layer.names if "x" in one]
    return write(layer.xy, colouring(sheet, layer, colour), written, title=caption(sheet, layer), dark=dark)


def colouring(sheet: Sheet, layer: Layer, colour: str = "") -> Colours:
    """What each point's colour stands for.

    Args:
        colour: "label", "cluster", "words", or one of the layer's further columns; "" takes labels when there are any,
            else groups. What the map does not have falls back to that too.
    """
    values = layer.more.get(colour)
    if colour == "words":
        values = np.array([len(text.split()) for text in sheet.sentences], np.float32)
    if values is not None:
        return colours_of(values, title=TITLES.get(colour, colour), ends=ends_of(colour, values))
    if colour != "cluster" and any(sheet.labels):
        return colours_of([label or "no label" for label in sheet.labels])
    return colours_of(group_names(layer), last="in no group")


def ends_of(column: str, values: np.ndarray) -> tuple[float, float]:
    """The numbers that get the first and the last colour: of a share nought and one, else such that an outlier takes no colour
    from the rest.

    Args:
        column: the name of `values`: "words" or one of a layer's further columns.
        values: (N,); nan where nothing is known.
    """
    known = values[~np.isnan(values)]
    if column in SHARES or not len(known):
        return 0.0, 1.0
    low, top = (float(end) for end in np.quantile(known, (0.01, 0.99)))
    low = low if column in FROM_THE_LOWEST else 0.0
    return low, max(top, low + 0.01)


def group_names(layer: Layer) -> list[str]:
    """(N,) the name of each point's group, "in no group" for points between the groups."""
    called = [str(one["text"]) for one in layer.names]
    return [called[group] if 0 <= group < len(called) else "in no group" for group in layer.groups.tolist()]


def caption(sheet: Sheet, layer: Layer) -> str:
    """One line on what is drawn."""
    count = len(sheet.sentences)
    drawn = f"{count:,} of {sheet.total:,}" if count < sheet.total else f"{count:,}"
    by = f", {layer.title}" if layer.title != sheet.title else ""
    return f"{sheet.title}{by}: {drawn} sentences"


def to_csv(sheet: Sheet) -> str:
    """A row per sentence: text, label, line, and for each layer x, y (and z), group and further columns.

    Texts are written by `files.cell`.
    """
    several = len(sheet.layers) > 1
    header, columns = ["sentence", "label", "line"], [[cell(text) for text in sheet.sentences]]
    columns += [[cell(label) for label in sheet.labels], [str(line) for line in sheet.lines]]
    for layer in sheet.layers:
        mark = f"_{layer.title.lower().replace(' ', '_')}" if several else ""
        axes = "xyz"[: layer.xy.shape[1]]
        header += [
            *(f"{axis}{mark}" for axis in axes),
            f"group{mark}",
            *(f"{name}{mark}" for name in layer.more),
        ]
        columns += [[f"{value:.5f}" for value in axis] for axis in layer.xy.T.tolist()]
        columns.append([cell(name) for name in group_names(layer)])
        columns += [[f"{value:.4f}" for value in column.tolist()] for column in layer.more.values()]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def to_html(sheet: Sheet) -> str:
    """The whole map as one page that needs no server and no network: plotly.js, its own code and the data are inside."""
    layers = [
        {
            "title": layer.title,
            "x": _packed(layer.xy[:, 0]),
            "y": _packed(layer.xy[:, 1]),
            "near": _packed(layer.near.astype(np.int32)),
            "names": layer.names,
            "faithful": layer.faithful,
            "trustworthy": layer.trustworthy,
            "groups": group_names(layer) if layer.names else [],
            "more": {name: _packed(column.astype(np.float32)) for name, column in layer.more.items()},
            "scales": {
                name: {
                    "title": TITLES.get(name, name),
                    "ends": ends_of(name, column),
                    "share": name in SHARES,
                }
                for name, column in layer.more.items()
            },
        }
        for layer in sheet.layers
    ]
    data = {
        "title": sheet.title,
        "sentences": sheet.sentences,
        "labels": sheet.labels if any(sheet.labels) else [],
        "lines": sheet.lines,
        "total": sheet.total,
        "layers": layers,
    }
    # "<" is written so that no sentence can end the script it stands in
    packed = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    parts = {
        "/*PLOTLY*/": PLOTLY.read_text(encoding="utf-8"),
        "/*DATA*/": packed,
        "/*CODE*/": (ASSETS / "js" / "map_file.js").read_text(encoding="utf-8"),
    }
    rest, page = (ASSETS / "map_file.html").read_text(encoding="utf-8"), []
    for mark, part in parts.items():  # in the order of the file; what was put in is not searched again
        before, rest = rest.split(mark)
        page += [before, part]
    return "".join([*page, rest])


def _packed(column: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(column).tobytes()).decode("ascii")
