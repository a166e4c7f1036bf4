"""What a sentence vector carries: the decoder with it, without it, between two of them, through training, and over many.

Legend: B sentences, H hidden size.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tsdae_core.batches import pad
from tsdae_core.chrf import chrf
from tsdae_core.generation import generate, special
from tsdae_core.glass import costs, whole_vectors
from tsdae_core.model import TSDAE
from tsdae_core.rebuild import damage_sentence, load_model, rebuild
from tsdae_core.runs import Run
from tsdae_core.vectors import neighbours

COPIES = 4
"""Damaged copies of a sentence whose vectors tell how stable its own is."""

Told = Callable[[int, int], None]


@torch.inference_mode()
def side_by_side(
    model: TSDAE,
    sentence: str,
    *,
    mean: Tensor,
    other: str,
    noise: str = "delete",
    ratio: float = 0.6,
    seed: int = 0,
    deleted: set[int] | None = None,
) -> dict[str, Any]:
    """One sentence as the decoder sees it with its own vector, with the mean vector and with another sentence's.

    What the decoder can do without the sentence's own vector is habit of language; the rest is what the vector carries.

    Args:
        model: a trained model.
        sentence: is damaged as in `rebuild`; its own vector is that of the damaged sentence.
        mean: (H,) the mean of many sentences' vectors.
        other: the other sentence, undamaged.
        noise, ratio, seed, deleted: the damage.

    Returns:
        tokens: of each token of the sentence text "t", glued "g", state "s" (kept or deleted), and the bits it costs with the
        three vectors, "own", "mean", "other". bits: their sums, the end included. texts: what the decoder writes from each.

    Raises:
        ValueError: for a sentence without words.
    """
    one = damage_sentence(model, sentence, noise=noise, ratio=ratio, seed=seed, deleted=deleted)
    prefix, suffix = special(model)
    ids, mask = pad([prefix + one.noisy + suffix], model.tokenizer.pad_token_id)
    own = model.encode(ids.to(model.device), mask.to(model.device)).float().cpu()  # (1, H)
    vectors = torch.cat([own, mean[None].cpu(), whole_vectors(model, [other])])  # (3, H)
    spent = costs(model, vectors, [one.ids] * 3)
    written = generate(
        model, vectors.to(model.device), max_tokens=min(model.facts.max_length, len(one.ids) + 12)
    )
    seen = set(one.kept)
    names = ("own", "mean", "other")
    tokens = []
    for place, (word, (start, end)) in enumerate(zip(one.word, one.spans, strict=False)):
        token = {
            "t": one.text[start:end],
            "g": place > 0 and start == one.spans[place - 1][1],
            "s": "kept" if word in seen else "deleted",
        }
        tokens.append(token | {name: round(bits[place], 2) for name, bits in zip(names, spent, strict=True)})
    texts = [model.tokenizer.decode(row, skip_special_tokens=True) for row in written]
    return {
        "tokens": tokens,
        "bits": {name: round(sum(bits), 1) for name, bits in zip(names, spent, strict=True)},
        "texts": dict(zip(names, texts, strict=True)),
        "other": other,
    }


def line(first: Tensor, second: Tensor, share: float) -> Tensor:
    """The point (H,) that lies `share` of the straight way from `first` to `second`."""
    return first + share * (second - first)


def arc(first: Tensor, second: Tensor, share: float) -> Tensor:
    """The same along the arc around the origin, its length going evenly from one length to the other.

    Straight lines cut through the middle, where no sentence lies; vectors without an angle between them have no other way.
    """
    lengths = first.norm(), second.norm()
    cosine = torch.clamp(first @ second / (lengths[0] * lengths[1]), -1, 1)
    angle = torch.arccos(cosine)
    if float(angle.sin()) < 1e-4:
        return line(first, second, share)
    one, two = first / lengths[0], second / lengths[1]
    direction = (torch.sin((1 - share) * angle) * one + torch.sin(share * angle) * two) / angle.sin()
    return direction * (lengths[0] + share * (lengths[1] - lengths[0]))


PATHS: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {"line": line, "arc": arc}


def between(
    model: TSDAE, first: str, second: str, *, path: str = "line", stops: int = 7
) -> tuple[list[float], Tensor]:
    """Stops on the way between two sentences' vectors: shares of the way, and vectors (stops, H).

    Args:
        first, second: undamaged sentences.
        path: "line" or "arc".
        stops: how many, both ends included.

    Raises:
        ValueError: for another path, or a sentence without words.
    """
    if path not in PATHS:
        raise ValueError(f"the path must be one of {', '.join(PATHS)}; got {path!r}")
    _need_words(first, second)
    ends = whole_vectors(model, [first, second])  # (2, H)
    shares = [place / (stops - 1) for place in range(stops)]
    return shares, torch.stack([PATHS[path](ends[0], ends[1], share) for share in shares])


def arithmetic(model: TSDAE, start: str, minus: str, plus: str) -> Tensor:
    """(1, H): the vector of `start`, less that of `minus`, and that of `plus`. Raises `ValueError` for one without words."""
    _need_words(start, minus, plus)
    one, two, three = whole_vectors(model, [start, minus, plus])
    return (one - two + three)[None]


def _need_words(*sentences: str) -> None:
    if not all(text.strip() for text in sentences):
        raise ValueError("a sentence is missing; type one in every field")


@torch.inference_mode()
def decoded(
    model: TSDAE, vectors: Tensor, texts: Sequence[str], table: np.ndarray, *, max_tokens: int = 48
) -> list[dict[str, Any]]:
    """What the decoder writes from each of vectors (B, H), and the sentence of a corpus that lies nearest.

    Args:
        texts: the corpus.
        vectors: in the decoder's space.
        table: its unit vectors (N, H) by the exported encoder.

    Returns:
        dicts of text, nearest (a sentence), row and score.
    """
    written = generate(model, vectors.to(model.device), max_tokens=min(model.facts.max_length, max_tokens))
    unit = torch.nn.functional.normalize(model.exported(vectors), dim=1).numpy()  # (B, H)
    scores, rows = neighbours(unit, table, 1)
    return [
        {
            "text": model.tokenizer.decode(ids, skip_special_tokens=True),
            "nearest": texts[int(row[0])],
            "row": int(row[0]),
            "score": round(float(score[0]), 3),
        }
        for ids, row, score in zip(written, rows, scores, strict=True)
    ]


def through_time(
    run: Run, sentence: str, *, noise: str, ratio: float, seed: int, deleted: set[int] | None = None
) -> Iterator[dict[str, Any]]:
    """The same damaged sentence rebuilt by every checkpoint of a run: dicts of `rebuild` with its step, oldest first."""
    for checkpoint in run.checkpoints():
        model = load_model(run, step=checkpoint.step)
        by_hand = None if deleted is None else [deleted]
        [shown] = rebuild(model, [sentence], noise=noise, ratio=ratio, seed=seed, deleted=by_hand)
        yield shown | {"step": checkpoint.step}


def many(
    model: TSDAE,
    sentences: Sequence[str],
    *,
    noise: str = "delete",
    ratio: float = 0.6,
    seed: int = 0,
    told: Told = lambda done, total: None,
    batch_size: int = 32,
) -> list[dict[str, Any]]:
    """Many sentences damaged and rebuilt, the worst first.

    Args:
        model: a trained model.
        sentences: blank ones are left out.
        noise, ratio, seed: the damage.
        told: called with sentences done and sentences in all.
        batch_size: sentences at a time.

    Returns:
        dicts of place (in `sentences`), source, damaged (text), text (rebuilt), exact, recovered (share of the deleted tokens
        or None), chrf (0 to 1, upper case ignored, as most tokenizers do), loss (nats per token) and stability (mean cosine between the sentence's vector and those of
        `COPIES` damaged copies). Ordered by chrf, then by loss.
    """
    places = [place for place, text in enumerate(sentences) if text.strip()]
    rows = []
    for first in range(0, len(places), batch_size):
        part = [sentences[place] for place in places[first : first + batch_size]]
        shown = rebuild(model, part, noise=noise, ratio=ratio, seed=seed + first)
        steady = stability(model, part, noise=noise, ratio=ratio, seed=seed + first)
        for place, one, stable in zip(places[first : first + batch_size], shown, steady, strict=True):
            damaged = "".join(
                ("" if token["g"] or not at else " ") + token["t"] for at, token in enumerate(one["damaged"])
            )
            rows.append(
                {
                    "place": place,
                    "source": one["source"],
                    "damaged": damaged,
                    "text": one["text"],
                    "exact": one["exact"],
                    "recovered": one["recovered"],
                    "chrf": round(chrf(one["text"].lower(), one["source"].lower()), 4),
                    "loss": one["loss"],
                    "stability": round(stable, 4),
                }
            )
        told(min(first + batch_size, len(places)), len(places))
    return sorted(rows, key=lambda row: (row["chrf"], -row["loss"]))


def drawn(total: int, count: int) -> list[int]:
    """Places of `count` sentences of `total`, always the same ones, drawn by chance; in order, and all when there are no more."""
    return sorted(random.Random(0).sample(range(total), count)) if count < total else list(range(total))


@torch.inference_mode()
def stability(
    model: TSDAE, sentences: Sequence[str], *, noise: str, ratio: float, seed: int, copies: int = COPIES
) -> list[float]:
    """Mean cosine between each sentence's vector and those of `copies` damaged copies, by the exported encoder; 1 when damage does
    not matter."""
    prefix, suffix = special(model)
    own = torch.nn.functional.normalize(model.exported(whole_vectors(model, sentences)), dim=1)  # (B, H)
    total = torch.zeros(len(sentences))
    for copy in range(copies):
        noisy = [
            damage_sentence(
                model, text, noise=noise, ratio=ratio, seed=seed + 7919 * (copy + 1), index=place
            ).noisy
            for place, text in enumerate(sentences)
        ]
        ids, mask = pad([prefix + row + suffix for row in noisy], model.tokenizer.pad_token_id)
        vectors = model.encode(ids.to(model.device), mask.to(model.device)).float().cpu()
        total += (own * torch.nn.functional.normalize(model.exported(vectors), dim=1)).sum(1)
    return (total / copies).tolist()


@torch.inference_mode()
def losses(
    model: TSDAE,
    sentences: Sequence[str],
    *,
    noise: str,
    ratio: float,
    seed: int = 0,
    told: Told = lambda done, total: None,
    batch_size: int = 32,
) -> np.ndarray:
    """(B,) float32: nats per token that rebuilding each sentence from the vector of its damaged self costs; nan for a blank one.

    Similar lengths share a batch; `told` is called with sentences done and sentences in all.
    """
    prefix, suffix = special(model)
    found = np.full(len(sentences), np.nan, np.float32)
    order = [
        place for place in np.argsort([len(text) for text in sentences]).tolist() if sentences[place].strip()
    ]
    for first in range(0, len(order), batch_size):
        places = order[first : first + batch_size]
        damaged = [
            damage_sentence(model, sentences[place], noise=noise, ratio=ratio, seed=seed, index=place)
            for place in places
        ]
        ids, mask = pad([prefix + one.noisy + suffix for one in damaged], model.tokenizer.pad_token_id)
        vectors = model.encode(ids.to(model.device), mask.to(model.device))
        spent = costs(model, vectors, [one.ids for one in damaged])
        found[places] = [sum(bits) / len(bits) * math.log(2) for bits in spent]
        told(first + len(places), len(order))
    return found


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Means of `many`'s columns: exact, recovered, chrf, loss, stability; recovered over the sentences that have it."""
    means: dict[str, float] = {}
    for name in ("exact", "recovered", "chrf", "loss", "stability"):
        values = [float(row[name]) for row in rows if row[name] is not None and math.isfinite(row[name])]
        if values:
            means[name] = sum(values) / len(values)
    return means
