"""The command line: `python -m tsdae_core train|sweep|queue|runs|embed|reconstruct|inside|through|between|search|blind|changed|hubs|map|evaluate|export ...`.

Exit codes: 0 done, 1 failed while running, 2 wrong input (one sentence on standard error, no traceback).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tsdae_core import commands
from tsdae_core.command_explore import add_explore
from tsdae_core.command_map import add_map
from tsdae_core.command_parts import json_option, workspace_option
from tsdae_core.command_queue import add_sweep
from tsdae_core.command_rebuild import add_rebuild
from tsdae_core.command_search import add_search
from tsdae_core.command_train import train as train_verb
from tsdae_core.config import PRESETS, settings
from tsdae_core.evaluate.cli import add_evaluate
from tsdae_core.launch import WAITING
from tsdae_core.recipes import RECIPES
from tsdae_core.records import why


class _Parser(argparse.ArgumentParser):
    """argparse, but wrong input is one sentence."""

    def error(self, message: str) -> Any:
        print(f"{self.prog}: {message}", file=sys.stderr)
        sys.exit(2)


def build_parser() -> argparse.ArgumentParser:
    """The whole command line; the options of `train` are made from the settings."""
    parser = _Parser(prog="python -m tsdae_core", description="Train and use TSDAE sentence encoders.")
    verbs = parser.add_subparsers(dest="verb", required=True, parser_class=_Parser)

    train = verbs.add_parser("train", help="train an encoder on a text file")
    train.add_argument(
        "corpus",
        nargs="?",
        type=Path,
        help="txt, csv, tsv, jsonl, json or parquet, also gzipped; or a data set's folder of USEB's data-train",
    )
    train.add_argument("--resume", metavar="RUN", help="go on with a stopped, failed or killed run")
    train.add_argument("--name", default="", help="name of the run")
    train.add_argument(
        "--preset", choices=list(PRESETS), help="start from a preset instead of the paper's values"
    )
    train.add_argument(
        "--recipe",
        choices=list(RECIPES),
        help="two runs, the second from the encoder of the first: "
        + "; ".join(f"{key}: {one.text}" for key, one in RECIPES.items()).replace("%", "%%"),
    )
    train.add_argument("--text-column", help="column with the sentences")
    train.add_argument(
        "--label-column",
        help="column with labels, for the map's colours, the verdict and supervised training, or with the scores of pairs; found by itself, '' for none",
    )
    train.add_argument(
        "--second-column",
        help="column with the other sentence of a pair; for supervised training found by itself when it is called sentence2 or the like",
    )
    train.add_argument("--split-sentences", action="store_true", help="the lines are paragraphs; split them")
    for one in settings():
        option = f"--{one.name.replace('_', '-')}"
        names = [option] if option == f"--{one.name}" else [option, f"--{one.name}"]
        train.add_argument(
            *names,
            dest=one.name,
            default=None,
            metavar="VALUE",
            help=f"{one.help} [{one.default}]".replace("%", "%%"),
        )
    json_option(train, "what became of the run")
    workspace_option(train)
    train.set_defaults(act=train_verb)

    runs = verbs.add_parser("runs", help="list the runs")
    json_option(runs, "a list of runs")
    workspace_option(runs)
    runs.set_defaults(act=commands.runs)

    embed = verbs.add_parser("embed", help="sentences to vectors")
    embed.add_argument(
        "system", help="a run, RUN@STEP, base:RUN, a sentence-transformers folder or a hub name"
    )
    embed.add_argument("input", type=Path, help="a text file")
    embed.add_argument("output", type=Path, help=".npy or .parquet")
    json_option(embed, "how many vectors of which size, and where")
    workspace_option(embed)
    embed.set_defaults(act=commands.embed)

    for parser_of in (*add_rebuild(verbs), *add_search(verbs), add_map(verbs)):
        workspace_option(parser_of)

    for parser_of in add_explore(verbs):
        workspace_option(parser_of)
    workspace_option(add_evaluate(verbs))
    for parser_of in add_sweep(verbs):
        workspace_option(parser_of)

    export = verbs.add_parser("export", help="copy a run's encoder as a sentence-transformers folder")
    export.add_argument("run", help="a run, or RUN@STEP for one of its checkpoints")
    export.add_argument("output", type=Path)
    json_option(export, "where the encoder is")
    workspace_option(export)
    export.set_defaults(act=commands.export)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit code."""
    for name, value in WAITING.items():  # before torch is imported
        os.environ.setdefault(name, value)
    args = build_parser().parse_args(arguments)
    act: Callable[[argparse.Namespace], int] = args.act
    try:
        code = act(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # or Python complains once more at its end
        return 1
    except (ValueError, FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:  # a full disk, a lost connection
        print(f"error: {why(error)}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
