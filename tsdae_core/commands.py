"""The verbs `runs`, `embed` and `export`: what they do; each returns the exit code."""

from __future__ import annotations

import argparse
import json
import sys

from tsdae_core.files import wants_folder
from tsdae_core.jobs import WORDS
from tsdae_core.runs import list_runs, run_at


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


def export(args: argparse.Namespace) -> int:
    from tsdae_core.export import copy_encoder

    run, step = run_at(args.workspace, args.run)
    copy_encoder(run, args.output, step=step)
    if args.json:
        print(json.dumps({"name": run.name, "output": str(args.output)}, indent=2))
    print(f"{args.output}: load it with SentenceTransformer({str(args.output)!r})", file=sys.stderr)
    return 0
