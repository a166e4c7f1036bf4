"""The verb `map`: any text by any encoder as a file, laid out by UMAP or on two plain axes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tsdae_core.command_parts import json_option, print_json

PICTURES = (".png", ".svg")
COLOURS = ("label", "cluster", "words", "trust")
"""What a picture is coloured by: labels, groups on the map, number of words, share of true neighbours."""

PLAIN = ("label", "words")
"""Of them those that plain axes have."""


def add_map(verbs: Any) -> argparse.ArgumentParser:
    """Add the verb; returns its parser."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "map", help="draw a text file, or a run's own text, as a map"
    )
    parser.add_argument("system", help="as for embed")
    parser.add_argument("corpus", nargs="?", type=Path, help="a text file; a run's own text if left out")
    parser.add_argument("output", type=Path, help=".html (works offline), .csv, .png or .svg")
    parser.add_argument("--seed", type=int, default=42, help="the same seed draws the same map [42]")
    parser.add_argument(
        "--colour",
        choices=COLOURS,
        help="of a picture (in a page it is chosen there): label, cluster (group on the map), words (how many), trust (share of "
        "true neighbours) [label if there are any, else cluster]",
    )
    parser.add_argument("--dark", action="store_true", help="a picture with a dark ground")
    parser.add_argument(
        "--ignore", default="", metavar="WORDS", help="words that the groups' names leave out"
    )
    parser.add_argument(
        "--axes",
        nargs=2,
        metavar=("ACROSS", "UP"),
        help="no UMAP: how similar each sentence is to two phrases; .csv, .png or .svg",
    )
    parser.add_argument(
        "--dimensions", type=int, choices=(2, 3), default=2, help="3 lays out in space; .csv only [2]"
    )
    json_option(parser, "where the map is and what it shows")
    parser.set_defaults(act=draw_map)
    return parser


def draw_map(args: argparse.Namespace) -> int:
    """See `map_sheet.draw` and `map_sheet.on_axes`. Returns the exit code."""
    from tqdm import tqdm

    from tsdae_core import map_export, map_sheet
    from tsdae_core.corpus import read_labelled
    from tsdae_core.encoders import fingerprint, run_of
    from tsdae_core.map_layout import MapOptions

    map_export.check_output(args.output)
    _check(args)
    run = run_of(args.system, args.workspace)
    if args.corpus is None and run is None:
        raise ValueError(
            f"{args.system} is no run, so it has no text of its own; give a text file: map SYSTEM CORPUS OUTPUT"
        )
    table = read_labelled(args.corpus).table if args.corpus else run.corpus()  # type: ignore[union-attr]
    # an unknown system is known as such before the first import that takes seconds
    fingerprint(args.system, args.workspace)
    with tqdm(bar_format="{desc} {n_fmt} of {total_fmt}", disable=not sys.stderr.isatty()) as bar:

        def told(phase: str, done: int, total: int) -> None:
            bar.desc, bar.n, bar.total = phase, done, total
            bar.refresh()

        asked: dict[str, Any] = {
            "workspace": args.workspace,
            "title": args.corpus.name if args.corpus else run.name,  # type: ignore[union-attr]
            "cache_dir": run.cache_dir if run and not args.corpus else None,
            "options": MapOptions(seed=args.seed, dimensions=args.dimensions),
            "told": told,
        }
        if args.axes:
            sheet = map_sheet.on_axes(args.system, table, tuple(args.axes), **asked)
        else:
            sheet = map_sheet.draw(args.system, table, **asked)
    if args.ignore:
        sheet = map_sheet.renamed(sheet, args.ignore)
    grey = args.axes and not any(sheet.labels)  # without labels and groups all points look alike
    map_export.save(sheet, args.output, colour=args.colour or ("words" if grey else ""), dark=args.dark)
    said = f"{args.output}: {map_export.caption(sheet, sheet.layers[0])}"
    if args.json:
        print_json({"system": args.system, "output": str(args.output), "text": said})
    print(said, file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raises `ValueError` for options that do not go together, before anything is computed."""
    kind = args.output.suffix.lower()
    if (args.colour or args.dark) and kind not in PICTURES:
        raise ValueError("--colour and --dark are for .png and .svg; a page's colours are chosen in it")
    if args.dimensions == 3 and kind != ".csv":
        raise ValueError("a map in space is saved as .csv only")
    if not args.axes:
        return
    if kind == ".html":
        raise ValueError("plain axes are saved as .csv, .png or .svg")
    if args.ignore or args.dimensions == 3 or args.colour not in (None, *PLAIN):
        raise ValueError(
            f"plain axes are two and have no groups: leave out --ignore and --dimensions, and colour by {' or '.join(PLAIN)}"
        )
