"""Tasks made from your own text, without labels. They are proxies: good at them is not the same as good for you.

What a proxy asks is close to what a word match answers: BM25 is strong at both, and the notes say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from tsdae_core.batches import damage_text
from tsdae_core.corpus import read_corpus
from tsdae_core.evaluate.labels import Labelled, labelled
from tsdae_core.evaluate.tasks import Twins
from tsdae_core.plan import split_corpus
from tsdae_core.runs import Run

MOST = 2000
"""Sentences or documents that are looked for; more are sampled."""

FEWEST = 10
SHORTEST = 4
"""Words of a sentence that can be damaged and still be looked for."""


def damaged(
    texts: Sequence[str], *, name: str, noise: str = "delete", ratio: float = 0.6, seed: int = 0
) -> Twins:
    """Each sentence, damaged, must find its original among all of them.

    Raises:
        ValueError: with fewer than ten sentences of four words.
    """
    every = _sample(
        [text for text in dict.fromkeys(texts) if len(text.split()) >= SHORTEST or not text.isascii()]
    )
    pairs = [(_damage(text, noise, ratio, seed, index=place), text) for place, text in enumerate(every)]
    pairs = [(query, text) for query, text in pairs if query and query != text]
    if len(pairs) < FEWEST:
        raise ValueError(
            f"{name} has {len(pairs)} sentences that can be damaged and looked for; it needs {FEWEST} of at least "
            f"{SHORTEST} words"
        )
    note = f"A proxy made from your own text: {len(pairs):,} sentences with {100 * ratio:.0f} % of the words affected "
    note += f"({noise}) look for their originals. It favours matching words."
    return Twins(name, "damaged", [query for query, _ in pairs], [text for _, text in pairs], note)


def _damage(text: str, noise: str, ratio: float, seed: int, *, index: int) -> str:
    tokens = damage_text(text, noise=noise, ratio=ratio, seed=seed, index=index)
    words, gone = "", True  # a sign is glued to the word before it only if that word is still there
    for token in tokens:
        if token["s"] != "deleted":
            words += ("" if token["g"] and not gone else " ") + token["t"]
        gone = token["s"] == "deleted"
    return words.strip()


def halves(documents: Sequence[Sequence[str]], *, name: str, what: str = "documents") -> Twins:
    """The first half of each document must find the second half among all second halves.

    Args:
        documents: each as its sentences, or as its words; those with fewer than two are left out.
        what: how the note calls them.

    Raises:
        ValueError: with fewer than ten documents of two sentences.
    """
    long = _sample([parts for parts in documents if len(parts) > 1])
    pairs = {}
    for parts in long:
        middle = (len(parts) + 1) // 2
        pairs[" ".join(parts[middle:])] = " ".join(parts[:middle])
    if len(pairs) < FEWEST:
        raise ValueError(f"{name} has {len(pairs)} {what} that can be cut in two; it needs {FEWEST}")
    note = f"A proxy made from your own text: the first halves of {len(pairs):,} {what} look for the second halves. "
    note += "Two halves share a topic; they need not mean the same."
    return Twins(name, "halves", list(pairs.values()), list(pairs), note)


def _sample(every: list) -> list:
    if len(every) <= MOST:
        return every
    return [every[row] for row in np.sort(np.random.default_rng(0).choice(len(every), MOST, replace=False))]


def damaged_file(path: Path, name: str = "") -> Twins:
    """The sentences of a text file, under its own name or `name`. Raises `ValueError` when it cannot be read or has too few."""
    texts = read_corpus(path).table["sentence"].to_pylist()
    return damaged(texts, name=f"{name or path.name.split('.')[0]} damaged")


def halves_file(path: Path, name: str = "") -> Twins:
    """The lines of a text file as documents, under its own name or `name`. Raises `ValueError` when it cannot be read or has too few."""
    texts = read_corpus(path).table["sentence"].to_pylist()
    return _halves_of(texts, list(range(len(texts))), f"{name or path.name.split('.')[0]} halves")


def of_run(run: Run, which: str) -> Twins | Labelled:
    """A task made from a run's own text.

    Args:
        which: "damaged" (held-out sentences when there are enough, damaged as in training), "halves" or "labels" (the
            label column).

    Raises:
        ValueError: when the text does not have what it takes.
    """
    table = run.corpus()
    texts = table["sentence"].to_pylist()
    if which == "labels":
        return labelled(f"{run.name} labels", texts, [label or "" for label in table["label"].to_pylist()])
    if which == "halves":
        return _halves_of(texts, table["line"].to_pylist(), f"{run.name} halves")
    if which != "damaged":
        raise ValueError(f"a task from a run's text is one of damaged, halves, labels; got {which!r}")
    config = run.config()
    held_out = split_corpus(table["sentence"], config)[1]
    return damaged(
        held_out if len(held_out) >= 5 * FEWEST else texts,
        name=f"{run.name} damaged",
        noise=config.noise,
        ratio=config.noise_ratio,
        seed=config.seed,
    )


def _halves_of(texts: list[str], lines: list[int], name: str) -> Twins:
    """Documents are lines of several sentences; where there are none, long sentences are cut at the middle word."""
    rows = groupby(zip(lines, texts, strict=True), key=lambda row: row[0])
    documents = [[part for _, text in group for part in _sentences(text)] for _, group in rows]
    if sum(len(parts) > 1 for parts in documents) >= FEWEST:
        return halves(documents, name=name)
    long = [text.split() for text in texts if len(text.split()) >= 2 * SHORTEST]
    return halves(long, name=name, what="sentences (there are no documents of several sentences)")


def _sentences(text: str) -> list[str]:
    import sentencex  # noqa: PLC0415 (only documents need it)

    return [part.strip() for part in sentencex.segment("en", text) if part.strip()]
