"""The `evaluate` command: systems and tasks in, a table out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tsdae_core.evaluate.kinds import KINDS
from tsdae_core.runs import list_runs

SYSTEM_HELP = (
    "a run, RUN@STEP, base:RUN, bundled (the model that comes with the app), a sentence-transformers folder or hub name, bm25, glove:FILE, words:MODEL (averaged "
    "input embeddings), or a .npy or .parquet file of vectors; LABEL=SYSTEM names the row, LABEL=SYSTEM,SYSTEM makes "
    "one row of several seeds; the first one is what the others are compared with"
)


def add_evaluate(verbs: Any) -> argparse.ArgumentParser:
    """Add the command to the parser's verbs."""
    kinds = "\n\n".join(
        f"  {kind.key:12} {kind.title}: {kind.measures}\n"
        + "\n".join(f"      {line}" for line in kind.text.split("\n"))
        for kind in KINDS.values()
    )
    parser: argparse.ArgumentParser = verbs.add_parser(
        "evaluate",
        help="compare systems on tasks read from files",
        description="Compare systems on tasks read from files.",
        epilog=f"kinds of tasks:\n\n{kinds}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("systems", nargs="+", metavar="SYSTEM", help=SYSTEM_HELP)
    parser.add_argument(
        "--task",
        action="append",
        required=True,
        dest="tasks",
        metavar="KIND:PATH",
        help="may be given several times",
    )
    parser.add_argument("--format", choices=("text", "csv", "markdown", "latex", "json"), default="text")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="as --format json")
    parser.add_argument(
        "--all-metrics", action="store_true", help="a column for every metric, not only the main one"
    )
    parser.add_argument(
        "--checkpoints",
        action="store_true",
        help="of each run named, the untrained base and every checkpoint as a row of its own",
    )
    parser.add_argument(
        "--resamples", type=int, default=1000, help="of the paired bootstrap; 0 for none [1000]"
    )
    parser.set_defaults(act=_evaluate)
    return parser


def _evaluate(args: argparse.Namespace) -> int:
    from tsdae_core.evaluate.read import read_tasks  # noqa: PLC0415 (brings torch, which --help need not wait for)
    from tsdae_core.evaluate.render import FORMATS  # noqa: PLC0415
    from tsdae_core.evaluate.run import evaluate, named  # noqa: PLC0415

    if args.resamples < 0:
        raise ValueError(f"--resamples must be 0 or more; got {args.resamples}")
    rows = [named(text) for text in args.systems]
    if args.checkpoints:
        rows = [row for one in rows for row in _steps(one, Path(args.workspace))]
    tasks = [task for spec in args.tasks for task in read_tasks(spec)]
    teller = _Teller(sys.stderr.isatty())
    table = evaluate(
        rows,
        tasks,
        workspace=Path(args.workspace),
        every=args.all_metrics,
        resamples=args.resamples,
        tell=teller.tell,
    )
    teller.clear()
    sys.stdout.write(FORMATS[args.format](table) + "\n")
    return 0


def _steps(row: tuple[str, list[str]], workspace: Path) -> list[tuple[str, list[str]]]:
    """The base and the checkpoints of a row that is one run; any other row as it is."""
    runs = {run.name: run for run in list_runs(workspace)}
    label, systems = row
    if len(systems) != 1 or systems[0] not in runs:
        return [row]
    name = systems[0]
    steps = [(f"{label}@{one.step}", [f"{name}@{one.step}"]) for one in runs[name].checkpoints()]
    return [(f"base:{label}", [f"base:{name}"]), *steps]


class _Teller:
    """One line of progress on a terminal, nothing elsewhere."""

    def __init__(self, shown: bool):
        self.shown = shown

    def tell(self, phase: str, done: int, total: int) -> None:
        if self.shown:
            sys.stderr.write(f"\r\033[K{phase}" + (f" {done:,} of {total:,}" if total else ""))
            sys.stderr.flush()

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r\033[K")
