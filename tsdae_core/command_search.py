"""The verbs `search` and `blind`: the nearest sentences by one or several systems, and what the blind test says of two."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tsdae_core.command_parts import count, json_option, print_json, tell
from tsdae_core.files import wants_folder
from tsdae_core.runs import find_run


def add_search(verbs: Any) -> list[argparse.ArgumentParser]:
    """Add the verbs; returns their parsers."""
    return [_add_search(verbs), _add_blind(verbs)]


def _add_search(verbs: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser("search", help="nearest sentences to a query")
    parser.add_argument("system", help="as for embed, or bm25")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("query")
    parser.add_argument("-k", type=count, default=10, help="how many sentences [10]")
    parser.add_argument("--label", default="", help="only among the sentences of this label")
    parser.add_argument(
        "--beside",
        action="append",
        default=[],
        metavar="SYSTEM",
        help="a further column, as often as you like: base (what the run started from), bm25, or as for embed; each sentence "
        "then comes with its place by the other systems",
    )
    json_option(parser, "a list of hits: rank, row, score, sentence, label; with --beside columns of them")
    parser.set_defaults(act=search)
    return parser


def _add_blind(verbs: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "blind",
        help="how the blind test between a run's base and its trained encoder stands",
        description="The verdicts given on the Search tab: the later encoder's share of wins with its 95 %% Wilson interval, for "
        "each text that was judged. Verdicts on earlier states of the run are not counted.",
    )
    parser.add_argument("run")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the counted verdicts to a table")
    json_option(parser, "the counts, the interval and every verdict of each text")
    parser.set_defaults(act=blind)
    return parser


def search(args: argparse.Namespace) -> int:
    """See `explore.search` and `explore.columns`. Returns the exit code."""
    from tsdae_core import explore
    from tsdae_core.corpus import read_labelled

    systems = [args.system, *(_beside(one, args) for one in args.beside)]
    corpus = read_labelled(args.corpus).table
    asked: dict[str, Any] = {"k": args.k, "workspace": args.workspace, "label": args.label}
    if len(systems) > 1:
        return _columns(args, explore.columns(systems, corpus, args.query, told=tell, **asked))
    rows = explore.search(args.system, corpus, args.query, **asked)
    if args.json:
        return print_json(rows)
    for row in rows:
        print(f"{row['score']:.3f}  {row['sentence']}")
    return 0


def _beside(system: str, args: argparse.Namespace) -> str:
    """A further system by its full name. Raises `ValueError` for the base of what is no run."""
    from tsdae_core.encoders import run_of

    if system != "base":
        return system
    run = run_of(args.system, args.workspace)
    if run is None:
        raise ValueError(f"{args.system} is no run, so --beside base is none either; write base:RUN")
    return f"base:{run.name}"


def _columns(args: argparse.Namespace, columns: list[dict[str, Any]]) -> int:
    if args.json:
        told = [
            {
                "system": column["title"],
                "hits": [
                    {name: value for name, value in hit.items() if name != "there"}
                    | {"places": dict(hit.get("places", []))}
                    for hit in column["hits"]
                ],
            }
            for column in columns
        ]
        return print_json({"query": args.query, "label": args.label, "columns": told})
    print("After each sentence its place by the others; +2 says that it stands two places higher here.")
    for column in columns:
        print(f"\n{column['title']}")
        for hit in column["hits"]:
            others = ", ".join(_moved(hit["rank"], *place) for place in hit.get("places", []))
            print(f"{hit['rank']:>4}  {hit['score']:.3f}  {hit['sentence']}  [{others}]")
    return 0


def _moved(here: int, system: str, there: int | None) -> str:
    if there is None:
        return f"{system}: none"
    return f"{system}: {there:,}" + (f" ({there - here:+,})" if there != here else "")


def blind(args: argparse.Namespace) -> int:
    """See `blind.tally`. Returns the exit code."""
    if args.csv:
        wants_folder(args.csv)
    run = find_run(args.workspace, args.run)
    from tsdae_core import blind as test

    before, after = test.encoders_of(run, args.workspace)
    by_text = {text: test.verdicts(run, before, after, text=text) for text in ("", *test.texts(run))}
    by_text = {text: said for text, said in by_text.items() if said or not text}
    counted = [one for said in by_text.values() for one in said]
    if args.csv:
        args.csv.write_text(test.to_csv(counted), encoding="utf-8-sig", newline="")
    stands = {text: test.tally(said) for text, said in by_text.items()}
    rest = test.count(run) - len(counted)
    if args.json:
        texts = [
            {"text": text} | asdict(stand) | {"words": stand.words, "verdicts": by_text[text]}
            for text, stand in stands.items()
        ]
        return print_json({"before": before, "after": after, "not_counted": rest, "texts": texts})
    for text, stand in stands.items():
        print(f"{text.rpartition('#')[0] or 'own text'}: {stand.words}")
        print(f"  later {stand.after:,}, earlier {stand.before:,}, the same {stand.same:,}")
    if rest:
        print(f"Not counted, since replaced or given on earlier states of the run: {rest:,}")
    if args.csv:
        print(f"{len(counted):,} verdicts in {args.csv}")
    return 0
