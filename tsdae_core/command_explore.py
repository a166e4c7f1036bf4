"""The verbs `changed`, `hubs` and `between` of the command line: what the page shows of neighbours and of the way between sentences."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tsdae_core.runs import find_run

PAIRS = 20
MOST_STOPS = 1000
"""Of a way between two sentences; each is written by the decoder."""
"""Hubs and near-duplicates that are listed unless another number is asked for."""


def add_explore(verbs: Any) -> list[argparse.ArgumentParser]:
    """Add the verbs; returns their parsers."""
    return [_add_changed(verbs), _add_hubs(verbs), _add_between(verbs)]


def _add_changed(verbs: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "changed",
        help="the sentences whose neighbours changed most between two states of a run's encoder",
        description="How each sentence's ten nearest differ between two states of a run's encoder: shared (Jaccard) and with "
        "order (rank-biased overlap); 1 means nothing changed. Above 50,000 sentences a sample, which is told.",
    )
    parser.add_argument("run")
    parser.add_argument("corpus", nargs="?", type=Path, help="a text file; the run's own text if left out")
    parser.add_argument("--before", help="the earlier encoder, as for embed [base:RUN]")
    parser.add_argument("--after", help="the later encoder [RUN]")
    parser.add_argument(
        "--by",
        choices=("sentence", "label", "cluster", "checkpoint"),
        default="sentence",
        help="sentences one by one, means of each label or of each cluster of the map, or of every checkpoint against the "
        "base on at most 2,000 sentences [sentence]",
    )
    parser.add_argument("-k", type=int, default=20, help="sentences that are listed [20]")
    parser.add_argument("--json", action="store_true", help="print the numbers and the neighbours as JSON")
    parser.set_defaults(act=changed)
    return parser


def _add_hubs(verbs: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "hubs",
        help="sentences that are near to very many others, and near-duplicates",
        description="Which sentences are among the ten nearest of very many others (a few such hubs spoil a search), and which "
        "pairs have a cosine of 0.95 or more.",
    )
    parser.add_argument("system", help="as for embed")
    parser.add_argument("corpus", nargs="?", type=Path, help="a text file; a run's own text if left out")
    parser.add_argument("-k", type=int, default=PAIRS, help=f"hubs and pairs that are listed [{PAIRS}]")
    parser.add_argument("--json", action="store_true", help="print both lists as JSON")
    parser.set_defaults(act=hubs)
    return parser


def _add_between(verbs: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "between",
        help="what the decoder writes on the way from one sentence to another",
        description="What the decoder writes at each stop between two sentences' vectors, and the nearest sentence of a text "
        "beside it; with --plus of first - second + third.",
    )
    parser.add_argument("run")
    parser.add_argument("first", help="a sentence")
    parser.add_argument("second", help="another sentence")
    parser.add_argument(
        "--plus", metavar="THIRD", help="one stop: the first less the second plus this sentence"
    )
    parser.add_argument("--path", choices=("line", "arc"), default="line", help="[line]")
    parser.add_argument("--stops", type=int, default=7, help="both ends included [7]")
    parser.add_argument("--corpus", type=Path, help="where the nearest are looked for [the run's own text]")
    parser.add_argument("--json", action="store_true", help="print the stops as JSON")
    parser.set_defaults(act=between)
    return parser


def changed(args: argparse.Namespace) -> int:
    """See `changes`, `change_groups` and `change_line`. Returns the exit code."""
    run = find_run(args.workspace, args.run)
    before, after = args.before or f"base:{run.name}", args.after or run.name
    table = _table(args.corpus, run)
    from tsdae_core import change_groups, change_line, changes, explore, maps

    if args.by == "checkpoint":
        if args.before or args.after:
            raise ValueError(
                "--by checkpoint compares every checkpoint with the base; leave out --before and --after"
            )
        line = change_line.over_training(
            run, table, workspace=args.workspace, cache_dir=run.cache_dir, told=_tell
        )
        return _print_line(line, as_json=args.json)
    rows = maps.sample(table.num_rows, 0)
    part = table.take(rows)
    found = changes.changed(
        [before, after], part, workspace=args.workspace, cache_dir=run.cache_dir, told=_tell
    )
    told = {
        "before": before,
        "after": after,
        "count": len(rows),
        "of": table.num_rows,
        "nearest": found.before.shape[1],
        "stayed": round(float(change_groups.stayed(found).mean()), 3),
        "jaccard": round(float(found.jaccard.mean()), 4),
        "overlap": round(float(found.overlap.mean()), 4),
    }
    if args.by == "sentence":
        listed = [told_of(found, row, part) for row in found.most(max(0, args.k))]
        return _print_sentences(told, listed, as_json=args.json)
    if args.by == "label":
        groups = change_groups.by_label(found, part["label"].to_pylist())
        if not groups:
            raise ValueError("no sentence has a label; --by cluster needs none")
    else:
        drawn = change_line.drawn(part.num_rows, most=change_groups.MOST)
        texts = part["sentence"].to_pylist()
        vectors = explore.embed(explore.load_encoder(after, args.workspace), texts, run.cache_dir)[drawn]
        places, names = change_groups.cluster([texts[row] for row in drawn], vectors, told=_tell)
        groups = change_groups.by_group(found.part(drawn), places, names)
        told |= {"clustered": len(drawn)}
    return _print_groups(told, groups, as_json=args.json)


def told_of(found: Any, row: int, table: Any) -> dict[str, Any]:
    """One sentence of a comparison: its text, its numbers, and its neighbours kept, gained and lost as texts."""
    texts = table["sentence"]
    near = {kind: [texts[one["row"]].as_py() for one in ones] for kind, ones in found.of(row).items()}
    numbers = {"jaccard": round(float(found.jaccard[row]), 4), "overlap": round(float(found.overlap[row]), 4)}
    return {"sentence": texts[row].as_py(), "label": table["label"][row].as_py() or ""} | numbers | near


def hubs(args: argparse.Namespace) -> int:
    """See `changes.hubs` and `changes.twins`. Returns the exit code."""
    from tsdae_core import changes, encoders, maps, vectors

    run = encoders.run_of(args.system, args.workspace)
    if args.corpus is None and run is None:
        raise ValueError(f"{args.system} is no run, so it has no text of its own; give a text file")
    table = _table(args.corpus, run)
    part = table.take(maps.sample(table.num_rows, 0))
    texts = part["sentence"].to_pylist()
    if len(texts) < 2:
        raise ValueError("neighbours need at least two sentences")
    encoder = encoders.load_encoder(args.system, args.workspace)
    found = encoder.encode(texts, progress=lambda done, total: _tell("Embedding", done, total))
    points, cosines = vectors.neighbour_graph(found, vectors.GRAPH)
    counts = changes.hubs(points)
    pairs = changes.twins(points, cosines)
    told = {
        "count": len(texts),
        "of": table.num_rows,
        "pairs": len(pairs),
        "hubs": [
            {"sentence": texts[row], "count": int(counts[row])}
            for row in counts.argsort(kind="stable")[::-1][: max(0, args.k)].tolist()
        ],
        "near_duplicates": [
            {"one": texts[a], "other": texts[b], "cosine": round(cosine, 4)}
            for a, b, cosine in pairs[: max(0, args.k)]
        ],
    }
    if args.json:
        return _json(told)
    print(f"{len(texts):,} of {table.num_rows:,} sentences. Near to how many others:")
    for one in told["hubs"]:
        print(f"{one['count']:>6,}  {one['sentence']}")
    print(f"{len(pairs):,} pairs with a cosine of {changes.ALIKE} or more:")
    for one in told["near_duplicates"]:
        print(f" {one['cosine']:.3f}  {one['one']}  =  {one['other']}")
    return 0


def between(args: argparse.Namespace) -> int:
    """See `inside.between` and `inside.arithmetic`. Returns the exit code."""
    if not 2 <= args.stops <= MOST_STOPS:
        raise ValueError(f"--stops must be from 2 to {MOST_STOPS:,}; got {args.stops:,}")
    run = find_run(args.workspace, args.run)
    table = _table(args.corpus, run)
    from tsdae_core import explore, inside, rebuild

    model = rebuild.load_model(run)
    if args.plus is None:
        shares, vectors = inside.between(model, args.first, args.second, path=args.path, stops=args.stops)
    else:
        shares, vectors = [None], inside.arithmetic(model, args.first, args.second, args.plus)  # type: ignore[list-item]
    texts = table["sentence"].to_pylist()
    near = explore.embed(explore.load_encoder(run.name, args.workspace), texts, run.cache_dir)
    told = inside.decoded(model, vectors, texts, near)
    stops = [one | {"share": share} for one, share in zip(told, shares, strict=True)]
    if args.json:
        return _json(stops)
    for stop in stops:
        share = "" if stop["share"] is None else f"{100 * stop['share']:3.0f} %  "
        print(f"{share}{stop['text']}\n       nearest, {stop['score']:.2f}: {stop['nearest']}")
    return 0


def _table(corpus: Path | None, run: Any) -> Any:
    from tsdae_core.corpus import read_labelled

    return read_labelled(corpus).table if corpus else run.corpus()


def _tell(phase: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{phase}: {done:,} of {total:,}", end="\n" if done == total else "", file=sys.stderr)


def _json(told: Any) -> int:
    print(json.dumps(told, ensure_ascii=False, indent=2))
    return 0


def _print_line(line: dict[str, Any], *, as_json: bool) -> int:
    if as_json:
        return _json(line)
    print(f"{line['count']:,} of {line['of']:,} sentences\n    step  jaccard  overlap")
    for one in line["points"]:
        print(f"{one['step']:>8,}  {one['jaccard']:7.3f}  {one['overlap']:7.3f}")
    return 0


def _print_groups(told: dict[str, Any], groups: list[Any], *, as_json: bool) -> int:
    from dataclasses import asdict

    if as_json:
        return _json(told | {"groups": [asdict(one) for one in groups]})
    print(
        f"{told['count']:,} of {told['of']:,} sentences; {told['stayed']:.1f} of {told['nearest']} stayed on average"
    )
    for one in groups:
        print(f"{one.stayed:5.1f} stayed  {one.count:>7,} sentences  {one.name}")
    return 0


def _print_sentences(told: dict[str, Any], listed: list[dict[str, Any]], *, as_json: bool) -> int:
    if as_json:
        return _json(told | {"sentences": listed})
    print(
        f"{told['count']:,} of {told['of']:,} sentences; {told['stayed']:.1f} of {told['nearest']} stayed on average"
    )
    for one in listed:
        print(f"{len(one['kept']):>3} stayed  overlap {one['overlap']:.2f}  {one['sentence']}")
    return 0
