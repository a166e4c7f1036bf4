"""A map to take along: one HTML file that works offline, a picture (PNG, SVG), or a table (CSV).

Legend: N points, k neighbours.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import plotly
from tqdm import tqdm

from tsdae_core.corpus import read_corpus
from tsdae_core.encoders import fingerprint, run_of
from tsdae_core.files import cell, wants_folder
from tsdae_core.map_layout import MapOptions
from tsdae_core.map_picture import Colours, colours_of, png, svg
from tsdae_core.map_sheet import Layer, Sheet, draw

ASSETS = Path(__file__).resolve().parents[1] / "assets"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
TITLES = {
    "trust": "true neighbours", "change": "changed", "loss": "nats per token", "drop": "nats less", "steady": "cosine",
}  # fmt: skip
"""What the numbers of a further column are."""

FORMATS = (".html", ".csv", ".png", ".svg")


def command(system: str, corpus: Path | None, output: Path, workspace: Path, seed: int) -> str:
    """What `python -m tsdae_core map` does: draw, save, and say so in one line.

    Raises:
        ValueError: for wrong input, before anything is computed.
    """
    check_output(output)
    run = run_of(system, workspace)
    if corpus is None and run is None:
        raise ValueError(
            f"{system} is no run, so it has no text of its own; give a text file: map SYSTEM CORPUS OUTPUT"
        )
    table = read_corpus(corpus).table if corpus else run.corpus()  # type: ignore[union-attr]
    fingerprint(
        system, workspace
    )  # an unknown system is known as such before the first import that takes seconds
    title = corpus.name if corpus else run.name  # type: ignore[union-attr]
    with tqdm(bar_format="{desc} {n_fmt} of {total_fmt}", disable=not sys.stderr.isatty()) as bar:

        def told(phase: str, done: int, total: int) -> None:
            bar.desc, bar.n, bar.total = phase, done, total
            bar.refresh()

        sheet = draw(
            system, table, workspace=workspace, title=title,
            cache_dir=run.cache_dir if run and not corpus else None, options=MapOptions(seed=seed), told=told,
        )  # fmt: skip
    save(sheet, output)
    return f"{output}: {caption(sheet, sheet.layers[0])}"


def check_output(output: Path) -> None:
    """Raises `ValueError` for a file of another kind, or one in a folder that is not there."""
    if output.suffix.lower() not in FORMATS:
        raise ValueError(f"the map's file must end in .html, .csv, .png or .svg; got {output.name}")
    wants_folder(output)


def save(sheet: Sheet, output: Path) -> None:
    """Write the map in the format that the file's ending names: .html, .csv, .png or .svg."""
    check_output(output)
    kind = output.suffix.lower()
    if kind == ".png":
        output.write_bytes(picture(sheet, "png"))
    else:
        text = {".html": to_html, ".csv": to_csv, ".svg": lambda one: picture(one, "svg").decode()}[kind](
            sheet
        )
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
    return write(
        layer.xy, colouring(sheet, layer, colour), layer.names, title=caption(sheet, layer), dark=dark
    )


def colouring(sheet: Sheet, layer: Layer, colour: str = "") -> Colours:
    """What each point's colour stands for.

    Args:
        colour: "label", "cluster", "words", or one of the layer's further columns; "" takes labels when there are any,
            else groups. What the map does not have falls back to that too.
    """
    if colour in layer.more:
        values = np.nan_to_num(layer.more[colour])
        shares = colour in ("trust", "change", "steady")
        return colours_of(values, title=TITLES.get(colour, colour), top=1.0 if shares else 0.0)
    if colour == "words":
        return colours_of(
            np.array([len(text.split()) for text in sheet.sentences], np.float32), title="words"
        )
    if colour != "cluster" and any(sheet.labels):
        return colours_of([label or "no label" for label in sheet.labels])
    return colours_of(group_names(layer), last="in no group")


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
            "groups": group_names(layer) if layer.names else [],
            "more": {name: _packed(column.astype(np.float32)) for name, column in layer.more.items()},
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
