"""Looks at an encoder while it learns: label-free numbers on held-out sentences with damage that never changes.

Legend: B sentences, N all held-out sentences, T tokens of a whole one, H hidden size, V vocabulary.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tsdae_core.alignment import KEPT, RECOVERED, align
from tsdae_core.batches import Batch, Batcher
from tsdae_core.generation import generate, special
from tsdae_core.model import TSDAE
from tsdae_core.rebuild import rebuild
from tsdae_core.verdict import same_label_shares

WRITING = 9_000
"""Bounds what the decoder writes in one look: sentences times the square of the longest one's tokens."""


@dataclass(frozen=True)
class HeldOut:
    """The held-out sentences as a look needs them.

    Attributes:
        batches: all of them, in batches of similar length.
        sample: some of all lengths, which the decoder writes by itself.
        labels: one for each sentence, "" for none; [] when the text has none.
    """

    batches: list[Batch]
    sample: Batch | None
    labels: list[str]

    def same_label(self, whole: Tensor, centring: float = 0.0) -> dict[str, Any]:
        """same_label_each and its mean same_label, from the vectors (N, H) in the order of `batches`; see `verdict`.

        `centring`: the share of their mean that is taken off, as the exported encoder does (see the module of that name).
        """
        if not any(self.labels):
            return {}
        order = [int(index) for batch in self.batches for index in batch.indices]
        vectors = whole.float() - centring * whole.float().mean(0)
        each = same_label_shares(vectors.cpu().numpy(), [self.labels[index] for index in order])
        return {"same_label": sum(each) / len(each), "same_label_each": each} if each else {}


def held_out_batches(batcher: Batcher, count: int, labels: Sequence[str] = ()) -> HeldOut:
    """The first `count` sentences of the batcher, and their labels, as looks need them.

    The decoder takes a pass for each token that it writes, so the sample has many short sentences or few long ones.
    """
    lengths = batcher.cache.lengths()[:count]
    order = np.argsort(lengths, kind="stable")
    batches = [batcher.batch(order[first : first + 32], epoch=0) for first in range(0, count, 32)]
    usual = order[: math.ceil(0.9 * count)]  # one giant would make all writing long
    wanted = min(len(usual), max(8, WRITING // int(lengths[usual].max(initial=1)) ** 2), 64)
    chosen = usual[[place * len(usual) // wanted for place in range(wanted)]]
    return HeldOut(batches, batcher.batch(chosen, epoch=0) if count else None, list(labels))


@torch.inference_mode()
def held_out_numbers(
    model: TSDAE, seen: HeldOut, *, shuffled_batches: int = 3, centring: float = 0.0
) -> dict[str, Any]:
    """What encoder and decoder make of the held-out sentences.

    Args:
        model: switched to evaluation and back.
        seen: the held-out sentences.
        shuffled_batches: how many of the batches are also scored with the vectors handed on by one row, and with the
            mean vector.
        centring: see `HeldOut.same_label`.

    Returns:
        held_out: nats per token with the sentence's own vector. shuffled, mean_vector: with another sentence's, with the
        mean of all. bits, bits_mean: what the vector saves per sentence, (shuffled - own) * tokens / ln 2; at 0 the
        decoder ignores it. And the numbers of `vector_numbers`, `written_numbers` and `HeldOut.same_label`.
    """
    if not seen.batches:
        return {}
    training = model.training
    model.eval()
    try:
        batches = [batch.to(model.device) for batch in seen.batches]
        damaged = [model.encode(batch.noisy, batch.noisy_mask) for batch in batches]
        whole = [model.encode(batch.target, batch.target_mask) for batch in batches]
        numbers: dict[str, Any] = _losses(model, batches, damaged, shuffled_batches)
        numbers |= vector_numbers(torch.cat(whole).float(), torch.cat(damaged).float())
        numbers |= seen.same_label(torch.cat(whole), centring)
        if seen.sample is not None:
            numbers |= written_numbers(model, seen.sample.to(model.device))
    finally:
        model.train(training)
    return numbers


def _losses(
    model: TSDAE, batches: Sequence[Batch], vectors: Sequence[Tensor], chosen: int
) -> dict[str, float]:
    mean = torch.cat(list(vectors)).mean(0)
    every = max(1, len(batches) // max(1, chosen))
    summed = dict.fromkeys(("own", "same", "other", "mean"), 0.0)
    tokens = compared = sentences = 0
    for place, (batch, own) in enumerate(zip(batches, vectors, strict=True)):
        loss = float(model.reconstruction_loss(own, batch))
        summed["own"], tokens = summed["own"] + loss, tokens + batch.scored
        if place % every == every // 2 and len(own) > 1:  # spread over all lengths
            summed["same"] += loss
            summed["other"] += float(model.reconstruction_loss(own.roll(1, dims=0), batch))
            summed["mean"] += float(model.reconstruction_loss(mean.expand_as(own), batch))
            compared, sentences = compared + batch.scored, sentences + len(own)
    numbers = {"held_out": summed["own"] / max(1, tokens)}
    if compared:
        numbers |= {"shuffled": summed["other"] / compared, "mean_vector": summed["mean"] / compared}
        numbers["bits"] = (summed["other"] - summed["same"]) / sentences / math.log(2)
        numbers["bits_mean"] = (summed["mean"] - summed["same"]) / sentences / math.log(2)
    return numbers


def vector_numbers(whole: Tensor, damaged: Tensor) -> dict[str, float]:
    """How the vectors lie, from whole (N, H) and damaged (N, H) sentences alone.

    Returns:
        mrr, recall_at_1: finding each sentence among all N by the cosine to its damaged form's vector (mean reciprocal
        rank, share found first). alignment: mean squared distance of the two on the unit sphere; uniformity: log of the
        mean of exp(-2 squared distance) over all pairs (Wang and Isola 2020, arXiv 2005.10242; lower is better for both).
        mean_cosine: over all pairs of different sentences; near 1 all vectors point the same way.
        effective_rank: exp of the entropy of the normalised singular values of the centred vectors (Roy and Vetterli
        2007): how many directions they use.
    """
    count = len(whole)
    if count < 2:
        return {}
    whole, damaged = F.normalize(whole, dim=-1), F.normalize(damaged, dim=-1)
    near = damaged @ whole.T  # (N, N)
    own = near.diagonal()
    ranks = 1 + (near > own[:, None]).sum(1)  # (N,)
    pairs = (whole @ whole.T)[~torch.eye(count, dtype=torch.bool, device=whole.device)]  # (N * (N - 1),)
    singular = torch.linalg.svdvals(whole - whole.mean(0))
    share = singular / singular.sum().clamp(min=1e-12)
    numbers = {
        "mrr": (1 / ranks).mean(),
        "recall_at_1": (ranks == 1).float().mean(),
        "alignment": (2 - 2 * own).mean(),
        "uniformity": torch.exp(-2 * (2 - 2 * pairs)).mean().log(),
        "mean_cosine": pairs.mean(),
        "effective_rank": torch.exp(-(share * share.clamp(min=1e-12).log()).sum()),
    }
    return {name: float(value) for name, value in numbers.items()}


@torch.inference_mode()
def written_numbers(model: TSDAE, batch: Batch) -> dict[str, float]:
    """How much of each sentence stands in what the decoder writes, greedily and from the vector alone.

    Returns:
        written: share of a sentence's tokens that `align` finds in the written one; kept and recovered: the same for
        tokens that the encoder saw and for those that the damage took; each again with `_shuffled` for sentences written
        from another sentence's vector, which is what the language alone gives.
    """
    prefix, suffix = special(model)
    whole, hidden = (
        [],
        [],
    )  # per sentence its tokens and whether the damage took each, special tokens left out
    for ids, flags, length in zip(
        batch.target.tolist(), batch.hidden.tolist(), batch.target_mask.sum(1).tolist(), strict=True
    ):
        whole.append([str(token) for token in ids[len(prefix) : length - len(suffix)]])
        hidden.append(flags[len(prefix) : length - len(suffix)])
    longest = max(len(one) for one in whole) + 4
    vectors = model.encode(batch.noisy, batch.noisy_mask)
    endings = ["", "_shuffled"] if len(vectors) > 1 else [""]
    memories = torch.cat([vectors, vectors.roll(1, dims=0)]) if len(vectors) > 1 else vectors
    written = generate(model, memories, max_tokens=longest)
    numbers: dict[str, float] = {}
    for place, ending in enumerate(endings):
        states: Counter[str] = Counter()
        mine = written[place * len(vectors) : (place + 1) * len(vectors)]
        for one, gone, ids in zip(whole, hidden, mine, strict=True):
            states.update(align(one, gone, [str(token) for token in ids]))
        taken = sum(map(sum, hidden))
        tokens = sum(map(len, whole))
        numbers[f"written{ending}"] = (states[KEPT] + states[RECOVERED]) / max(1, tokens)
        if taken:
            numbers[f"recovered{ending}"] = states[RECOVERED] / taken
        if tokens > taken:
            numbers[f"kept{ending}"] = states[KEPT] / (tokens - taken)
    return numbers


def collapse(numbers: dict[str, float], first_rank: float) -> str:
    """One sentence when the vectors fall together, else "".

    Args:
        numbers: of a look.
        first_rank: the effective rank before training, 0 when unknown.
    """
    rank = numbers.get("effective_rank")
    if rank is None:
        return ""
    if rank < 2:
        return (
            f"The vectors have collapsed: they use {rank:.1f} directions. Stop, and lower the learning rate."
        )
    if first_rank and rank < first_rank / 2:
        return (
            f"The vectors are falling together: they use {rank:.0f} directions, {first_rank:.0f} before training. "
            "A lower learning rate, or new weights first, keeps them apart."
        )
    return ""


def look(model: TSDAE, probes: Sequence[str], *, noise: str, ratio: float, seed: int) -> list[dict[str, Any]]:
    """The probe sentences as the decoder rebuilds them now (see `rebuild.rebuild`)."""
    return rebuild(model, probes, noise=noise, ratio=ratio, seed=seed)


def choose_probes(sentences: Sequence[str], count: int = 6) -> list[str]:
    """Sentences that are good to watch: neither tiny nor long, as many beginnings as there are."""
    fitting = [text for text in sentences if 5 <= len(text.split()) <= 14] or list(sentences)
    varied: dict[str, str] = {}
    for text in fitting:
        varied.setdefault(text.split()[0].lower() if text.split() else text, text)
    return list(dict.fromkeys([*varied.values(), *fitting, *sentences]))[:count]
