"""The verbs `sweep` and `queue` of the command line, and following runs that other processes train."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tsdae_core import run_queue
from tsdae_core.config import PRESETS, settings
from tsdae_core.jobs import ACTIVE, WORDS

FORMATS = ("text", "csv", "markdown", "latex", "json")


def add_sweep(verbs: Any) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Add both verbs; returns their parsers."""
    sweep: argparse.ArgumentParser = verbs.add_parser(
        "sweep",
        help="train with several values of some settings, one run after the other, then one table",
        description="Make a queue of runs, one for every combination of values, and a table of them. The queue goes on by itself.",
    )
    sweep.add_argument("corpus", nargs="?", type=Path, help="as for train; left out with --table")
    sweep.add_argument(
        "--vary", action="append", default=[], metavar="SETTING=VALUE,VALUE",
        help="any setting of train, or corpus_size; may be given several times, such as --vary noise_ratio=0.3,0.6 --vary seed=1,2,3; corpus_size=128..65536 doubles as far as the text goes",
    )  # fmt: skip
    sweep.add_argument(
        "--set", action="append", default=[], metavar="SETTING=VALUE", help="a setting of all runs"
    )
    sweep.add_argument(
        "--preset",
        choices=list(PRESETS),
        default="",
        help="start from a preset instead of the paper's values",
    )
    sweep.add_argument("--name", default="", help="name of the sweep")
    sweep.add_argument(
        "--task", action="append", default=[], dest="tasks", metavar="KIND:PATH",
        help="what the table measures, see evaluate; without one a tenth of the text is set aside and its labels are used, or damaged sentences",
    )  # fmt: skip
    sweep.add_argument(
        "--beside",
        action="append",
        default=[],
        metavar="SYSTEM",
        help="a further row of the table, such as a TSDAE run beside supervised runs on ever more labelled sentences",
    )
    sweep.add_argument(
        "--table", metavar="NAME", help="print the table of a sweep, made anew if it has grown"
    )
    sweep.add_argument("--wait", action="store_true", help="wait until all is done, then print the table")
    sweep.add_argument("--format", choices=FORMATS, default="text")
    sweep.add_argument("--json", action="store_const", const="json", dest="format", help="as --format json")
    for column in ("text", "label", "second"):
        sweep.add_argument(f"--{column}-column", help="as for train")
    sweep.add_argument("--split-sentences", action="store_true", help="as for train")
    sweep.set_defaults(act=_sweep)

    queue: argparse.ArgumentParser = verbs.add_parser(
        "queue", help="what waits to be trained, and in which order"
    )
    what = queue.add_mutually_exclusive_group()
    what.add_argument("--pause", action="store_true", help="start no further run")
    what.add_argument(
        "--resume", action="store_true", help="go on, after a pause or a restart of the machine"
    )
    what.add_argument("--up", metavar="NAME", help="one place earlier")
    what.add_argument("--down", metavar="NAME", help="one place later")
    what.add_argument("--remove", metavar="NAME", help="take a run off the queue; it can be started later")
    queue.add_argument("--json", action="store_true")
    queue.set_defaults(act=_queue)
    return sweep, queue


def _sweep(args: argparse.Namespace) -> int:
    from tsdae_core.command_train import read_text, value_of
    from tsdae_core.evaluate.kinds import split_spec
    from tsdae_core.sweeps import create_sweep, find_sweep, trainable, values_of

    if args.table:
        return _table(find_sweep(args.workspace, args.table), args.format)
    if args.corpus is None:
        raise ValueError("give a corpus to train on, or --table NAME to see the table of a sweep")
    asked = [_split(text) for text in args.vary]
    for name, text in asked:
        values_of(name, text)  # wrong ones are told before the text is read
    known = {one.name for one in settings()}
    changes = {}
    for name, text in map(_split, args.set):
        if name not in known:
            raise ValueError(f"there is no setting {name!r}; `train --help` lists them")
        changes[name] = value_of(name, text)
    supervised = (
        "supervised" in (changes.get("objective"), *values_of("objective", dict(asked).get("objective", "")))
        or args.preset == "Your labels"
    )
    corpus = read_text(args, supervised=supervised)
    for line in corpus.report.sentences():
        print(line, file=sys.stderr)
    tasks = [split_spec(spec) for spec in args.tasks]
    most = trainable(corpus.table.num_rows, tasks=bool(tasks))
    vary = {name: values_of(name, text, most=most) for name, text in asked}
    name = args.name or args.corpus.name.split(".")[0]
    sweep = create_sweep(
        args.workspace, changes, vary, corpus.table, name=name, preset=args.preset,
        beside=args.beside,
        tasks=[(kind, str(Path(path).resolve())) for kind, path in tasks],
    )  # fmt: skip
    runs = [str(one["run"]) for one in sweep.asked()["runs"]]
    print(f"{len(runs)} runs are in the queue: {', '.join(runs)}", file=sys.stderr)
    if run_queue.paused(args.workspace):
        print("The queue is paused; `queue --resume` goes on.", file=sys.stderr)
    if not args.wait:
        print(f"`queue` shows how far it is; `sweep --table {sweep.name}` prints the table", file=sys.stderr)
        return 0
    follow(args.workspace, [*runs, f"{run_queue.SWEEPS}/{sweep.name}"])
    return _table(sweep, args.format)


def _split(text: str) -> tuple[str, str]:
    name, equals, values = text.partition("=")
    if not equals or not values.strip():
        raise ValueError(f"a setting is written NAME=VALUE; got {text!r}")
    return name.strip().replace("-", "_"), values


def _table(sweep: Any, kind: str) -> int:
    """Print a sweep's table; it is made here when there is none, or when runs have ended since."""
    from tsdae_core.evaluate.render import FORMATS as RENDERED
    from tsdae_core.evaluate.sweep import compute, read_table, rows_of, with_words

    table = read_table(sweep)
    rows = rows_of(sweep, Path(sweep.asked()["workspace"]))
    if table is None or [row.systems for row in table.rows] != [systems for _, systems in rows]:
        if sweep.state in ("starting", "running"):
            raise ValueError(f"the table of {sweep.name} is being made; ask again in a moment")
        table = compute(sweep)
    sys.stdout.write(RENDERED[kind](with_words(sweep, table)) + "\n")
    return 0


def _queue(args: argparse.Namespace) -> int:
    workspace: Path = args.workspace
    if args.pause:
        run_queue.pause(workspace)
    elif args.resume:
        run_queue.resume(workspace)
    elif args.up or args.down:
        run_queue.move(workspace, args.up or args.down, by=-1 if args.up else 1)
    elif args.remove:
        found = dict(run_queue.waiting(workspace))
        if args.remove not in found:
            raise ValueError(f"{args.remove} does not wait in the queue")
        run_queue.halt(found[args.remove])
    said = run_queue.queue_job(workspace)
    names = [entry for entry, _ in run_queue.waiting(workspace)]
    if args.json:
        print(
            json.dumps(
                {"waiting": names, "state": said.state, "phase": said.status().get("phase", "")}, indent=2
            )
        )
        return 0
    print(_standing(workspace, waits=bool(names)))
    for place, name in enumerate(names, 1):
        sweep = name.removeprefix(f"{run_queue.SWEEPS}/")
        print(f"{place:3}  {name}" + (f"  (table of the sweep {sweep})" if sweep != name else ""))
    return 0


def _standing(workspace: Path, *, waits: bool) -> str:
    """How the queue stands, in one sentence."""
    job = run_queue.queue_job(workspace)
    going = job.process() is not None
    if run_queue.paused(workspace) and (going or waits):
        rest = f"{job.status().get('phase', '')} is still done, then nothing more" if going else "nothing"
        return f"Paused: {rest} is started until `queue --resume`."
    if going:
        return f"{job.status().get('phase', '')}."
    return "Not being worked through; --resume goes on." if waits else "Empty."


def follow(workspace: Path, entries: Sequence[str]) -> int:
    """Show on a terminal how far jobs of the queue are, until the last one has ended; Ctrl+C leaves them running.

    Returns:
        the exit code: 0 when all have finished, were stopped or taken off the queue.
    """
    told: dict[str, str] = {}
    try:
        while True:
            jobs = [(entry, run_queue.job_of(workspace, entry)) for entry in entries]
            states = {entry: job.state for entry, job in jobs if job is not None}
            for entry, state in states.items():
                if state != told.get(entry):
                    told[entry] = state
                    print(f"{entry}: {WORDS.get(state, state)}", file=sys.stderr)
            if not any(state in ACTIVE for state in states.values()):
                return 0 if all(state in ("finished", "stopped", "new") for state in states.values()) else 1
            time.sleep(0.5)
    except KeyboardInterrupt:
        print("The queue goes on; `queue --pause` pauses it.", file=sys.stderr)
        return 0
