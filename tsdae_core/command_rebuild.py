"""The verbs `reconstruct`, `inside` and `through`: what the decoder makes of a sentence's vector."""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from typing import Any

from tsdae_core.command_parts import above_zero, count, json_option, numbers, print_json
from tsdae_core.plan import held_out_sentences
from tsdae_core.runs import find_run, run_at

RATIO = 0.6
"""Share of the words that is damaged unless another is asked for."""


def add_rebuild(verbs: Any) -> list[argparse.ArgumentParser]:
    """Add the verbs; returns their parsers."""
    return [_add_reconstruct(verbs), _add_inside(verbs), _add_through(verbs)]


def _add_reconstruct(verbs: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "reconstruct", help="damage sentences and rebuild them from their vectors"
    )
    parser.add_argument("run", help="a run, or RUN@STEP for one of its checkpoints")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--sentence", help="one sentence")
    what.add_argument("--input", type=Path, help="a text file; without it the run's held-out sentences")
    parser.add_argument(
        "--table",
        action="store_true",
        help="one row per sentence, the worst first: exact, recovered, chrF, loss, noise stability, and their means",
    )
    parser.add_argument(
        "--count", type=count, default=200, help="sentences of the table, drawn by chance [200]"
    )
    _add_damage(parser)
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--num-beams", "--beams", type=count, default=1, metavar="N", help="search with N beams [1]"
    )
    way.add_argument(
        "--temperature",
        type=above_zero,
        metavar="T",
        help="draw the words by chance: above 1 bolder, below 1 more careful; the seed decides the draw",
    )
    json_option(parser, "every token with its state; with --table the means and the rows")
    parser.set_defaults(act=reconstruct)
    return parser


def _add_inside(verbs: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "inside",
        help="what each word of a sentence costs the decoder with its vector, the mean vector and another's",
        description="The glass box: bits that each token costs the decoder with the damaged sentence's own vector, with the mean "
        "vector of held-out sentences, and with another sentence's. What the own vector saves is what it carries.",
    )
    parser.add_argument("run", help="a run, or RUN@STEP for one of its checkpoints")
    parser.add_argument("sentence")
    parser.add_argument("--other", help="the other sentence [a held-out one that the seed picks]")
    _add_damage(parser)
    json_option(parser, "the tokens with their bits, the sums, and what is written from each vector")
    parser.set_defaults(act=inside)
    return parser


def _add_through(verbs: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "through",
        help="one damaged sentence rebuilt by every checkpoint of a run",
        description="The same damaged sentence rebuilt by every checkpoint that a run kept, the oldest first.",
    )
    parser.add_argument("run")
    parser.add_argument("sentence")
    _add_damage(parser)
    json_option(parser, "for each step every token with its state")
    parser.set_defaults(act=through)
    return parser


def _add_damage(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--noise", help="delete, swap, mask, replace or add [delete]")
    parser.add_argument("--noise-ratio", type=float, help=f"share of the words that is damaged [{RATIO}]")
    parser.add_argument("--seed", type=int, default=0, help="decides which words are hit [0]")
    parser.add_argument(
        "--delete",
        type=numbers,
        metavar="2,5",
        help="leave out these words of the sentence instead; the first is 1, and a full stop is a word, too",
    )


def _damage(args: argparse.Namespace) -> dict[str, Any]:
    """What happens to the words by chance."""
    if args.delete and (args.noise or args.noise_ratio is not None):
        raise ValueError("--delete says which words are left out; give no --noise or --noise-ratio with it")
    ratio = RATIO if args.noise_ratio is None else args.noise_ratio
    return {"noise": args.noise or "delete", "ratio": ratio, "seed": args.seed}


def _by_hand(args: argparse.Namespace, model: Any, sentence: str) -> set[int] | None:
    """The words to leave out, counted from 0. Raises `ValueError` for one that the sentence has not, or for all of them."""
    if not args.delete:
        return None
    from tsdae_core.rebuild import words_of

    words = words_of(model, sentence)
    told = ", ".join(f"{number} {word}" for number, word in enumerate(words, start=1))
    if missing := [number for number in args.delete if number > len(words)]:
        raise ValueError(f"the sentence has no word {missing[0]}; its words are {told}")
    if len(set(args.delete)) == len(words):
        raise ValueError(f"at least one word must stay; the words are {told}")
    return {number - 1 for number in args.delete}


def reconstruct(args: argparse.Namespace) -> int:
    """See `rebuild.rebuild` and `inside.many`. Returns the exit code."""
    if args.delete and args.sentence is None:
        raise ValueError("--delete leaves out words of one sentence; give it with --sentence")
    if args.table and (args.delete or args.temperature or args.num_beams > 1):
        raise ValueError("--table damages by chance and writes greedily; leave out --delete, --temperature and --num-beams")  # fmt: skip
    run, step = run_at(args.workspace, args.run)
    damage = _damage(args)
    from tsdae_core.corpus import read_corpus
    from tsdae_core.rebuild import load_model, rebuild

    if args.sentence is not None:
        texts = [args.sentence]
    elif args.input:
        texts = read_corpus(args.input).table["sentence"].to_pylist()
    else:
        texts = held_out_sentences(run)
    model = load_model(run, step=step)
    if args.table:
        return _table(args, model, texts, damage)
    by_hand = _by_hand(args, model, texts[0])
    rows = []
    for first in range(0, len(texts), 32):
        part = texts[first : first + 32]
        rows += rebuild(
            model,
            part,
            **damage | {"seed": args.seed + first},
            num_beams=args.num_beams,
            temperature=args.temperature or 0.0,
            deleted=None if by_hand is None else [by_hand],
        )
    if args.json:
        return print_json(rows)
    for row in rows:
        print(f"original  {row['source']}\ndamaged   {_plain(row['damaged'])}\nrebuilt   {row['text']}")
        print(f"          {_worth(row)}\n")
    return 0


def _table(args: argparse.Namespace, model: Any, texts: list[str], damage: dict[str, Any]) -> int:
    """Many sentences as the page's table has them, the worst first."""
    from tqdm import tqdm

    from tsdae_core import inside

    picked = [texts[row] for row in inside.drawn(len(texts), args.count)]
    with tqdm(total=len(picked), disable=not sys.stderr.isatty(), unit="sentence") as bar:
        rows = inside.many(model, picked, told=lambda done, total: bar.update(done - bar.n), **damage)
    means = inside.summary(rows)
    if args.json:
        return print_json({"means": means, "of": len(texts), "rows": rows})
    told = ", ".join(f"{name} {value:.3f}" for name, value in means.items())
    print(f"{len(rows):,} of {len(texts):,} sentences; means: {told}")
    for row in rows:
        print(
            f"{row['chrf']:.2f}  {row['loss']:6.2f}  {row['stability']:.2f}  {row['source']}  ->  {row['text']}"
        )
    return 0


def inside(args: argparse.Namespace) -> int:
    """See `inside.side_by_side`. Returns the exit code."""
    run, step = run_at(args.workspace, args.run)
    damage = _damage(args)
    from tsdae_core import glass, rebuild
    from tsdae_core import inside as views

    model = rebuild.load_model(run, step=step)
    by_hand = _by_hand(args, model, args.sentence)
    others = held_out_sentences(run)
    other = random.Random(args.seed).choice(others) if args.other is None else args.other
    mean = glass.mean_vector(model, others)
    told = views.side_by_side(model, args.sentence, mean=mean, other=other, deleted=by_hand, **damage)
    if args.json:
        return print_json(told)
    wide = max(len(token["t"]) for token in told["tokens"])
    print(f"bits  {'':{wide}}  {'':7}      own     mean    other")
    for token in told["tokens"]:
        print(f"      {token['t']:{wide}}  {token['s']:7}  {_bits(token)}")
    print(f"      {'together':{wide + 9}}  {_bits(told['bits'])}\n\nwritten from")
    for name, text in told["texts"].items():
        print(f"{name:5} {text}")
    print(f"\nother sentence: {told['other']}")
    return 0


def _bits(spent: dict[str, Any]) -> str:
    return " ".join(f"{spent[name]:8.2f}" for name in ("own", "mean", "other"))


def through(args: argparse.Namespace) -> int:
    """See `inside.through_time`. Returns the exit code."""
    run = find_run(args.workspace, args.run)
    damage = _damage(args)
    if not run.checkpoints():
        raise ValueError(f"{run.name} kept no checkpoints")
    from tsdae_core import inside as views
    from tsdae_core import rebuild

    first = rebuild.load_model(run, step=run.checkpoints()[0].step)
    by_hand = _by_hand(args, first, args.sentence)
    rows = []
    for row in views.through_time(run, args.sentence, deleted=by_hand, **damage):
        rows.append(row)
        if not args.json:
            damaged = f"damaged       {_plain(row['damaged'])}\n" if len(rows) == 1 else ""
            print(f"{damaged}step {row['step']:>8,} {row['text']}\n              {_worth(row)}")
    return print_json(rows) if args.json else 0


def _worth(row: dict[str, Any]) -> str:
    recovered = row["recovered"]
    share = "" if recovered is None else f"{100 * recovered:.0f} % of the deleted tokens recovered, "
    return f"{share}{row['loss']:.2f} nats per token"


def _plain(tokens: list[dict[str, Any]]) -> str:
    return "".join(
        ("" if token["g"] or not place else " ") + token["t"] for place, token in enumerate(tokens)
    )
