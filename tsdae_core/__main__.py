"""The command line: `python -m tsdae_core train|runs|reconstruct|embed|search|map|evaluate|export ...`.

Exit codes: 0 done, 1 failed while running, 2 wrong input (one sentence on standard error, no traceback).
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tsdae_core.config import PRESETS, TrainConfig, checked, settings
from tsdae_core.evaluate.cli import add_evaluate
from tsdae_core.launch import WAITING
from tsdae_core.runs import Run, create_run, find_run, list_runs


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
        "corpus", nargs="?", type=Path, help="txt, csv, tsv, jsonl, json or parquet, also gzipped"
    )
    train.add_argument("--resume", metavar="RUN", help="go on with a stopped, failed or killed run")
    train.add_argument("--name", default="", help="name of the run")
    train.add_argument(
        "--preset", choices=list(PRESETS), help="start from a preset instead of the paper's values"
    )
    train.add_argument("--text-column", help="column with the sentences")
    train.add_argument("--label-column", help="column with labels, for the map's colours")
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
    _workspace(train)
    train.set_defaults(act=_train)

    runs = verbs.add_parser("runs", help="list the runs")
    runs.add_argument("--json", action="store_true")
    _workspace(runs)
    runs.set_defaults(act=_runs)

    embed = verbs.add_parser("embed", help="sentences to vectors")
    embed.add_argument(
        "system", help="a run, RUN@STEP, base:RUN, a sentence-transformers folder or a hub name"
    )
    embed.add_argument("input", type=Path, help="a text file")
    embed.add_argument("output", type=Path, help=".npy or .parquet")
    _workspace(embed)
    embed.set_defaults(act=_embed)

    rebuild = verbs.add_parser("reconstruct", help="damage sentences and rebuild them from their vectors")
    rebuild.add_argument("run")
    what = rebuild.add_mutually_exclusive_group(required=True)
    what.add_argument("--sentence")
    what.add_argument("--input", type=Path)
    rebuild.add_argument("--noise", default="delete")
    rebuild.add_argument("--noise-ratio", type=float, default=0.6)
    rebuild.add_argument("--num-beams", type=int, default=1)
    rebuild.add_argument("--seed", type=int, default=0)
    rebuild.add_argument("--json", action="store_true")
    _workspace(rebuild)
    rebuild.set_defaults(act=_reconstruct)

    search = verbs.add_parser("search", help="nearest sentences to a query")
    search.add_argument("system", help="as for embed, or bm25")
    search.add_argument("corpus", type=Path)
    search.add_argument("query")
    search.add_argument("-k", type=int, default=10)
    search.add_argument("--label", default="", help="only among the sentences of this label")
    search.add_argument("--json", action="store_true")
    _workspace(search)
    search.set_defaults(act=_search)

    drawn = verbs.add_parser("map", help="draw a text file, or a run's own text, as a map")
    drawn.add_argument("system", help="as for embed")
    drawn.add_argument("corpus", nargs="?", type=Path, help="a text file; a run's own text if left out")
    drawn.add_argument("output", type=Path, help=".html (works offline), .csv, .png or .svg")
    drawn.add_argument("--seed", type=int, default=42, help="the same seed draws the same map [42]")
    _workspace(drawn)
    drawn.set_defaults(act=_map)

    _workspace(add_evaluate(verbs))

    export = verbs.add_parser("export", help="copy a run's encoder as a sentence-transformers folder")
    export.add_argument("run")
    export.add_argument("output", type=Path)
    _workspace(export)
    export.set_defaults(act=_export)
    return parser


def _workspace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace", type=Path, default=Path("workspace"), help="folder of all runs [workspace]"
    )


def _train(args: argparse.Namespace) -> int:
    if bool(args.corpus) == bool(args.resume):
        raise ValueError(
            "give a corpus to train on, or --resume RUN to go on with a run; not both, not neither"
        )
    run = find_run(args.workspace, args.resume) if args.resume else _new_run(args)
    if run.process() is not None:
        raise ValueError(f"{run.name} is already running; stop it first, or start another run")
    from tsdae_core import launch

    if launch.processes(run.config().devices) > 1:
        launch.start(run)
        return _follow(run)
    from tsdae_core import train

    run.clear_stop()
    run.write_status(state="starting", phase="starting", error="", advice="")
    run.write_process(os.getpid(), sys.argv)
    print(f"Run {run.name} in {run.path}", file=sys.stderr)
    code = train.main(run.path, bar=sys.stderr.isatty())
    print(f"{run.name}: {run.status().get('phase', '')}. Encoder: {run.encoder_dir}", file=sys.stderr)
    return code


def _new_run(args: argparse.Namespace) -> Run:
    from tsdae_core.corpus import ReadOptions, read_corpus

    changes = {
        one.name: _value(one.name, getattr(args, one.name))
        for one in settings()
        if getattr(args, one.name) is not None
    }
    config = TrainConfig.from_preset(args.preset, **changes) if args.preset else checked(changes)
    options = ReadOptions(
        text_column=args.text_column, label_column=args.label_column, split_sentences=args.split_sentences
    )
    corpus = read_corpus(args.corpus, options)
    for line in corpus.report.sentences():
        print(line, file=sys.stderr)
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


def _refuse(config: TrainConfig, table: Any) -> None:
    from tsdae_core import preflight
    from tsdae_core.devices import check_devices

    check_devices(config.devices)
    for finding in preflight.check(config, table):
        if finding.level == "error":
            raise ValueError(finding.text)
        print(f"{finding.level}: {finding.text}", file=sys.stderr)


def _value(name: str, text: str) -> Any:
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
    said = run.status()
    print(f"{run.name}: {said['state']} {said.get('error', '')}", file=sys.stderr)
    return 0 if said["state"] in ("finished", "stopped") else 1


def _runs(args: argparse.Namespace) -> int:
    rows = []
    for run in list_runs(args.workspace):
        said = run.status()
        rows.append(
            {"name": run.name}
            | {key: said.get(key) for key in ("state", "step", "total", "loss", "held_out")}
        )
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        held_out = f"held-out loss {row['held_out']:.3f}" if row["held_out"] else ""
        print(
            f"{row['name']:30} {row['state']:10} {row['step'] or 0:>9,} of {row['total'] or 0:>9,}  {held_out}"
        )
    return 0


def _embed(args: argparse.Namespace) -> int:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    if args.output.suffix not in (".npy", ".parquet"):
        raise ValueError(f"the output must end in .npy or .parquet; got {args.output.name}")
    from tsdae_core import explore
    from tsdae_core.corpus import read_corpus

    texts = read_corpus(args.input).table["sentence"].to_pylist()
    vectors = explore.load_encoder(args.system, args.workspace).encode(texts)
    if args.output.suffix == ".npy":
        np.save(args.output, vectors)
    else:
        pq.write_table(pa.table({"sentence": texts, "vector": list(vectors)}), args.output)
    print(f"{len(texts):,} vectors of {vectors.shape[1]} numbers in {args.output}", file=sys.stderr)
    return 0


def _reconstruct(args: argparse.Namespace) -> int:
    from tsdae_core.corpus import read_corpus
    from tsdae_core.rebuild import load_model, rebuild

    run = find_run(args.workspace, args.run)
    texts = (
        [args.sentence]
        if args.sentence is not None
        else read_corpus(args.input).table["sentence"].to_pylist()
    )
    model = load_model(run)
    rows = []
    for first in range(0, len(texts), 32):
        part = texts[first : first + 32]
        rows += rebuild(
            model,
            part,
            noise=args.noise,
            ratio=args.noise_ratio,
            seed=args.seed + first,
            num_beams=args.num_beams,
        )
    if args.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return 0
    for row in rows:
        print(f"original  {row['source']}\ndamaged   {_plain(row['damaged'])}\nrebuilt   {row['text']}")
        share = (
            ""
            if row["recovered"] is None
            else f"{100 * row['recovered']:.0f} % of the deleted tokens recovered, "
        )
        print(f"          {share}{row['loss']:.2f} nats per token\n")
    return 0


def _plain(tokens: list[dict[str, Any]]) -> str:
    return "".join(
        ("" if token["g"] or not place else " ") + token["t"] for place, token in enumerate(tokens)
    )


def _search(args: argparse.Namespace) -> int:
    from tsdae_core import explore
    from tsdae_core.corpus import read_corpus

    table = read_corpus(args.corpus).table
    rows = explore.search(
        args.system, table, args.query, k=args.k, workspace=args.workspace, label=args.label
    )
    if args.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return 0
    for row in rows:
        print(f"{row['score']:.3f}  {row['sentence']}")
    return 0


def _map(args: argparse.Namespace) -> int:
    from tsdae_core import map_export

    print(
        map_export.command(args.system, args.corpus, args.output, args.workspace, args.seed), file=sys.stderr
    )
    return 0


def _export(args: argparse.Namespace) -> int:
    import shutil

    run = find_run(args.workspace, args.run)
    if not run.encoder_dir.is_dir():
        raise ValueError(f"{run.name} has no encoder yet; let it finish, or stop it, which saves it")
    if args.output.exists():
        raise ValueError(f"{args.output} is already there; give a folder that does not exist yet")
    shutil.copytree(run.encoder_dir, args.output)
    print(f"{args.output}: load it with SentenceTransformer({str(args.output)!r})", file=sys.stderr)
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit code."""
    for name, value in WAITING.items():  # before torch is imported
        os.environ.setdefault(name, value)
    args = build_parser().parse_args(arguments)
    act: Callable[[argparse.Namespace], int] = args.act
    try:
        return act(args)
    except (ValueError, FileNotFoundError, PermissionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
