"""The verb `train` of the command line: from a text file and options to a trained encoder, in this terminal."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
from typing import Any

from tsdae_core.config import PRESETS, TrainConfig, checked, settings
from tsdae_core.corpus import Corpus
from tsdae_core.runs import Run, create_run, find_run


def train(args: argparse.Namespace) -> int:
    """Train; with `--json` what became of it stands alone on standard output."""
    if not args.json:
        return _train(args)[1]
    with contextlib.redirect_stdout(sys.stderr):
        run, code = _train(args)
    said = run.status()
    told = {key: said.get(key) for key in ("state", "step", "total", "loss", "held_out", "error")}
    print(
        json.dumps(
            {"name": run.name, "path": str(run.path), "encoder": str(run.encoder_dir)} | told, indent=2
        )
    )
    return code


def _train(args: argparse.Namespace) -> tuple[Run, int]:
    if bool(args.corpus) == bool(args.resume):
        raise ValueError(
            "give a corpus to train on, or --resume RUN to go on with a run; not both, not neither"
        )
    if args.recipe:
        return _two_stages(args)
    run = find_run(args.workspace, args.resume) if args.resume else _new_run(args)
    if run.process() is not None:
        raise ValueError(f"{run.name} is already running; stop it first, or start another run")
    from tsdae_core import launch

    if launch.processes(run.config().devices) > 1:
        launch.start(run)
        return run, _follow(run)
    from tsdae_core import train as training

    run.clear_stop()
    run.write_status(state="starting", phase="starting", error="", advice="")
    run.write_process(os.getpid(), sys.argv)
    print(f"Run {run.name} in {run.path}", file=sys.stderr)
    code = training.main(run.path, bar=sys.stderr.isatty())
    print(_ended(run), file=sys.stderr)
    return run, code


def _new_run(args: argparse.Namespace) -> Run:
    config, corpus = _asked(args)
    _refuse(config, corpus.table)
    if not (args.preset or args.max_steps or args.epochs):
        print(
            f"info: without a preset the paper's {config.max_steps:,} steps are taken; "
            f"--preset {shlex.quote(next(iter(PRESETS)))} takes minutes, and Ctrl+C stops and keeps what was learned",
            file=sys.stderr,
        )
    run = create_run(args.workspace, config, corpus.table, name=args.name or args.corpus.name.split(".")[0])
    if args.name and run.name != args.name:
        print(
            f"info: the run is called {run.name}: a name has letters, digits, '.', '-' and '_', and is given once",
            file=sys.stderr,
        )
    return run


def _asked(args: argparse.Namespace) -> tuple[TrainConfig, Corpus]:
    """The settings and the text that the options name."""
    changes = {
        one.name: value_of(one.name, getattr(args, one.name))
        for one in settings()
        if getattr(args, one.name) is not None
    }
    config = TrainConfig.from_preset(args.preset, **changes) if args.preset else checked(changes)
    corpus = read_text(args, supervised=config.objective == "supervised" or bool(args.recipe))
    for line in corpus.report.sentences():
        print(line, file=sys.stderr)
    return config, corpus


def _two_stages(args: argparse.Namespace) -> tuple[Run, int]:
    """Both runs of a recipe, through the queue; this terminal only follows them."""
    from tsdae_core import recipes
    from tsdae_core.command_queue import follow

    if args.resume:
        raise ValueError("--recipe makes new runs; resume each of them by its name")
    config, corpus = _asked(args)
    for stage in recipes.stages(args.recipe, config):
        _refuse(stage, corpus.table)
    print(f"info: {recipes.RECIPES[args.recipe].text}", file=sys.stderr)
    name = args.name or args.corpus.name.split(".")[0]
    runs = recipes.create(args.workspace, args.recipe, config, corpus.table, name=name)
    code = follow(args.workspace, [run.name for run in runs])
    print(_ended(runs[1]), file=sys.stderr)
    return runs[1], code


def read_text(args: argparse.Namespace, *, supervised: bool) -> Corpus:
    """The corpus that the options name: a file, or a data set's folder of USEB's data-train.

    The label column is found by itself; a supervised run finds the columns of pairs by their usual names as well.
    """
    from tsdae_core.corpus import ReadOptions, peek, read_corpus
    from tsdae_core.pairs import find_pair, read_useb

    if args.corpus.is_dir():
        return read_useb(
            args.corpus, supervised=supervised, options=ReadOptions(split_sentences=args.split_sentences)
        )
    seen = peek(args.corpus)
    text, second, label = args.text_column, args.second_column, args.label_column
    pair = find_pair(seen.columns) if supervised and text is None and second is None else None
    if pair:
        text, second = pair[:2]
        label = pair[2] if label is None else label
    elif label is None:
        label = seen.label_column
    options = ReadOptions(
        text_column=text,
        label_column=label if label and label not in (text, second) else None,
        second_column=second or None,
        split_sentences=args.split_sentences,
    )
    return read_corpus(args.corpus, options)


def _refuse(config: TrainConfig, table: Any) -> None:
    from tsdae_core import preflight
    from tsdae_core.devices import check_devices

    check_devices(config.devices)
    for finding in preflight.check(config, table):
        if finding.level == "error":
            raise ValueError(finding.text)
        print(f"{finding.level}: {finding.text}", file=sys.stderr)


def value_of(name: str, text: str) -> Any:
    """A setting's text as its kind; what is no number stays text, for the check to refuse."""
    kind = type(TrainConfig.model_fields[name].default)
    if kind is bool:
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
            text.lower(), text
        )
    try:
        return int(text.replace("_", "").replace(",", "")) if kind is int else kind(text)
    except ValueError:
        return text


def _ended(run: Run) -> str:
    """How a run ended, why if it failed, and where its encoder is if there is one."""
    from tsdae_core.export import has_encoder

    said = run.status()
    words = [said.get("phase") or said["state"], said.get("error"), said.get("advice")]
    where = f" Encoder: {run.encoder_dir}" if has_encoder(run) else ""
    return f"{run.name}: " + " ".join(f"{str(word).rstrip('.')}." for word in words if word) + where


def _follow(run: Run) -> int:
    """Show the progress of a run that other processes train."""
    import time

    from tqdm import tqdm

    from tsdae_core import launch

    with tqdm(total=run.status().get("total"), disable=not sys.stderr.isatty(), unit="step") as bar:
        while run.state in ("starting", "running", "stopping"):
            try:
                said = run.status()
                bar.total = said.get("total")
                bar.update(int(said.get("step", 0)) - bar.n)
                time.sleep(0.5)
            except KeyboardInterrupt:
                launch.stop(run)
    print(_ended(run), file=sys.stderr)
    return 0 if run.state in ("finished", "stopped") else 1
