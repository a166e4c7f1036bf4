"""What the verbs of the command line do, but those that have a module of their own (train, evaluate, sweep, changed, hubs, between); each returns the exit code."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from tsdae_core.files import wants_folder
from tsdae_core.jobs import WORDS
from tsdae_core.runs import Run, find_run, list_runs


def runs(args: argparse.Namespace) -> int:
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
        far = f"{row['step'] or 0:>9,} of {row['total']:>9,}" if row["total"] else " " * 22
        state = WORDS.get(str(row["state"]), str(row["state"]))
        print(f"{row['name']:30} {state:10} {far}  {held_out}".rstrip())
    return 0


def embed(args: argparse.Namespace) -> int:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    if args.output.suffix not in (".npy", ".parquet"):
        raise ValueError(f"the output must end in .npy or .parquet; got {args.output.name}")
    wants_folder(args.output)
    from tsdae_core import explore
    from tsdae_core.corpus import read_corpus

    texts = read_corpus(args.input).table["sentence"].to_pylist()
    vectors = explore.load_encoder(args.system, args.workspace).encode(texts)
    if args.output.suffix == ".npy":
        np.save(args.output, vectors)
    else:
        pq.write_table(pa.table({"sentence": texts, "vector": list(vectors)}), args.output)
    count, size = vectors.shape
    if args.json:
        told = {"system": args.system, "output": str(args.output), "sentences": count, "size": size}
        print(json.dumps(told, indent=2))
    print(f"{count:,} vectors of {size} numbers in {args.output}", file=sys.stderr)
    return 0


def reconstruct(args: argparse.Namespace) -> int:
    from tsdae_core.corpus import read_corpus
    from tsdae_core.rebuild import load_model, rebuild

    run = find_run(args.workspace, args.run)
    if args.sentence is not None:
        texts = [args.sentence]
    elif args.input:
        texts = read_corpus(args.input).table["sentence"].to_pylist()
    else:
        texts = _held_out(run)
    model = load_model(run)
    if args.table:
        return _table(args, model, texts)
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


def _held_out(run: Run) -> list[str]:
    """The sentences that the run did not train on, or all of its text when none are held out."""
    import pyarrow as pa

    from tsdae_core.plan import held_out_rows

    column = run.corpus()["sentence"]
    rows = held_out_rows(len(column), run.config())
    return [str(text) for text in (column.take(pa.array(rows)) if rows else column).to_pylist()]


def _table(args: argparse.Namespace, model: Any, texts: list[str]) -> int:
    """Many sentences as the page's table has them, the worst first."""
    from tqdm import tqdm

    from tsdae_core import inside

    picked = [texts[row] for row in inside.drawn(len(texts), args.count)]
    with tqdm(total=len(picked), disable=not sys.stderr.isatty(), unit="sentence") as bar:
        rows = inside.many(
            model,
            picked,
            noise=args.noise,
            ratio=args.noise_ratio,
            seed=args.seed,
            told=lambda done, total: bar.update(done - bar.n),
        )
    means = inside.summary(rows)
    if args.json:
        print(json.dumps({"means": means, "of": len(texts), "rows": rows}, ensure_ascii=False, indent=2))
        return 0
    told = ", ".join(f"{name} {value:.3f}" for name, value in means.items())
    print(f"{len(rows):,} of {len(texts):,} sentences; means: {told}")
    for row in rows:
        print(
            f"{row['chrf']:.2f}  {row['loss']:6.2f}  {row['stability']:.2f}  {row['source']}  ->  {row['text']}"
        )
    return 0


def _plain(tokens: list[dict[str, Any]]) -> str:
    return "".join(
        ("" if token["g"] or not place else " ") + token["t"] for place, token in enumerate(tokens)
    )


def search(args: argparse.Namespace) -> int:
    from tsdae_core import explore
    from tsdae_core.corpus import read_labelled

    table = read_labelled(args.corpus).table
    rows = explore.search(
        args.system, table, args.query, k=args.k, workspace=args.workspace, label=args.label
    )
    if args.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return 0
    for row in rows:
        print(f"{row['score']:.3f}  {row['sentence']}")
    return 0


def map(args: argparse.Namespace) -> int:
    from tsdae_core import map_export

    said = map_export.command(args.system, args.corpus, args.output, args.workspace, args.seed)
    if args.json:
        print(json.dumps({"system": args.system, "output": str(args.output), "text": said}, indent=2))
    print(said, file=sys.stderr)
    return 0


def export(args: argparse.Namespace) -> int:
    from tsdae_core.export import copy_encoder

    name, _, step = args.run.rpartition("@")
    chosen = int(step) if name and step.isdecimal() else None
    run = find_run(args.workspace, args.run if chosen is None else name)
    copy_encoder(run, args.output, step=chosen)
    if args.json:
        print(json.dumps({"name": run.name, "output": str(args.output)}, indent=2))
    print(f"{args.output}: load it with SentenceTransformer({str(args.output)!r})", file=sys.stderr)
    return 0
