"""Sentences rebuilt from their vectors: the decoder put to use after training.

Legend: B sentences, K beams, T tokens so far, H hidden size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tsdae_core import storage
from tsdae_core.alignment import align, kept_share, recovered_share, tokens_json
from tsdae_core.batches import Batch, pad
from tsdae_core.generation import generate, special
from tsdae_core.glass import explained
from tsdae_core.methods import without_decoder
from tsdae_core.model import TSDAE
from tsdae_core.noise import damage, generator
from tsdae_core.pieces import pieces_of
from tsdae_core.runs import Run
from tsdae_core.sampling import sample
from tsdae_core.token_cache import build_cache


def newest_model(run: Run) -> Path:
    """The folder of the run's result or, before there is one, of its newest checkpoint.

    Raises:
        ValueError: when neither exists yet.
    """
    if run.encoder_dir.is_dir() and run.decoder_dir.is_dir():
        return run.path
    checkpoints = run.checkpoints()
    if not checkpoints:
        raise ValueError(f"{run.name} has no trained model yet; it has one after its first checkpoint")
    return checkpoints[-1].path


def load_model(run: Run, *, step: int | None = None) -> TSDAE:
    """The run's model, or the one of its checkpoint at `step`; loaded once for as long as its files stay the same.

    Raises:
        ValueError: when there is no such model, or when it has no decoder.
    """
    if refusal := without_decoder(run.config().objective):
        raise ValueError(refusal)
    if step is not None and step not in [checkpoint.step for checkpoint in run.checkpoints()]:
        had = ", ".join(str(checkpoint.step) for checkpoint in run.checkpoints()) or "none"
        raise ValueError(f"{run.name} has no checkpoint at step {step}; it has {had}")
    folder = newest_model(run) if step is None else run.checkpoint(step).path
    weights = folder / "decoder" / "decoder.safetensors"
    if not weights.is_file():
        raise ValueError(f"{folder} holds no trained model yet; it has one after its first checkpoint")
    return _loaded(folder, weights.stat().st_mtime_ns)


@lru_cache(maxsize=3)
def _loaded(folder: Path, changed: int) -> TSDAE:
    return storage.load(folder, device="cuda" if torch.cuda.is_available() else "cpu")


@dataclass(frozen=True)
class Damaged:
    """One sentence, tokenised and damaged.

    Attributes:
        text: the sentence.
        ids: its tokens without special ones; word: which word each token belongs to.
        kept: the words the encoder sees, in order; a negative number is a word that the noise put in.
        inserted: the ids of those words, by that number.
        noisy: ids of the damaged sentence without special tokens.
    """

    text: str
    ids: list[int]
    word: list[int]
    kept: list[int]
    inserted: dict[int, list[int]]
    noisy: list[int]
    spans: list[tuple[int, int]]


def damage_sentence(
    model: TSDAE,
    text: str,
    *,
    noise: str,
    ratio: float,
    seed: int,
    index: int = 0,
    deleted: set[int] | None = None,
) -> Damaged:
    """Damage one sentence as training does, or by hand when `deleted` names the words to leave out.

    Raises:
        ValueError: when the text has no token.
    """
    tokenizer = model.tokenizer
    cache = build_cache([text], tokenizer, max_length=model.facts.max_length)
    words = cache.words(0)
    if not words:
        raise ValueError("there is no sentence to damage; type at least one word")
    spans = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)[
        "offset_mapping"
    ]
    inserted: dict[int, list[int]] = {}

    def spare(rng: np.random.Generator) -> int:
        number = -1 - len(inserted)
        inserted[number] = (
            [tokenizer.mask_token_id] if noise == "mask" else words[int(rng.integers(len(words)))]
        )
        return number

    places = list(range(len(words)))
    if deleted is not None:
        kept = [place for place in places if place not in deleted] or [0]
    else:
        kept = damage(places, noise=noise, ratio=ratio, rng=generator(seed, 0, index), spare=spare)
    noisy = [token for place in kept for token in (words[place] if place >= 0 else inserted[place])]
    word = [place for place, tokens in enumerate(words) for _ in tokens]
    return Damaged(text, [token for tokens in words for token in tokens], word, kept, inserted, noisy, spans)


def words_of(model: TSDAE, text: str) -> list[str]:
    """The words of a sentence as damage counts them. Raises `ValueError` when the text has no token."""
    one = damage_sentence(model, text, noise="delete", ratio=0.0, seed=0)
    spans: dict[int, tuple[int, int]] = {}
    for number, (start, end) in zip(one.word, one.spans, strict=False):
        spans[number] = (spans.get(number, (start, end))[0], end)
    return [text[start:end] for start, end in spans.values()]


def rebuild(
    model: TSDAE,
    sentences: Sequence[str],
    *,
    noise: str = "delete",
    ratio: float = 0.6,
    seed: int = 0,
    num_beams: int = 1,
    temperature: float = 0.0,
    deleted: Sequence[set[int]] | None = None,
    explain: bool = False,
) -> list[dict[str, Any]]:
    """Damage sentences, encode what is left, and let the decoder rebuild them from the vector alone.

    Args:
        model: a trained model.
        sentences: texts; blank ones are refused.
        noise, ratio, seed: the damage; the same seed damages the same sentences alike.
        num_beams: 1 writes greedily, more search.
        temperature: above 0 the tokens are drawn by chance instead, see `sampling.sample`; the seed decides this, too.
        deleted: for each sentence the numbers of the words to leave out instead of random ones.
        explain: also tell of each rebuilt token its probability "p" and what else was likely, "alt": [[text, p], ...].

    Returns:
        for each sentence a dict of original, damaged and rebuilt tokens (text "t", state "s", glued "g", word "w"),
        text, source, loss (nats per token), recovered (share of deleted tokens, or None) and exact.

    Raises:
        ValueError: for a sentence without words.
    """
    if not sentences:
        return []
    training = model.training
    model.eval()
    try:
        damaged = [
            damage_sentence(model, text, noise=noise, ratio=ratio, seed=seed, index=place,
                            deleted=deleted[place] if deleted is not None else None)
            for place, text in enumerate(sentences)
        ]  # fmt: skip
        return _rebuilt(model, damaged, num_beams, (temperature, seed), explain=explain)
    finally:
        model.train(training)


@torch.inference_mode()
def _rebuilt(
    model: TSDAE, damaged: list[Damaged], num_beams: int, chance: tuple[float, int], *, explain: bool
) -> list[dict[str, Any]]:
    prefix, suffix = special(model)
    pad_id = model.tokenizer.pad_token_id
    noisy, noisy_mask = pad([prefix + one.noisy + suffix for one in damaged], pad_id)
    target, target_mask = pad([prefix + one.ids + suffix for one in damaged], pad_id)
    gone, _ = pad([[0] * len(prefix) + _gone(one) + [0] * len(suffix) for one in damaged], 0)
    batch = Batch(noisy, noisy_mask, target, target_mask, torch.arange(len(damaged)), gone.bool()).to(
        model.device
    )
    vectors = model.encode(batch.noisy, batch.noisy_mask)
    losses = _losses(model, vectors, batch)
    longest = max(len(one.ids) for one in damaged)
    most = min(model.facts.max_length, longest + 12)
    if chance[0] > 0:
        written = sample(model, vectors, temperature=chance[0], seed=chance[1], max_tokens=most)
    else:
        written = generate(model, vectors, num_beams=num_beams, max_tokens=most)
    shown = [_shown(model, one, ids, loss) for one, ids, loss in zip(damaged, written, losses, strict=True)]
    if explain:
        for one, told in zip(shown, explained(model, vectors, written), strict=True):
            for token, more in zip(one["rebuilt"], told, strict=True):
                token |= more
    return shown


def _gone(one: Damaged) -> list[int]:
    """For each token 1 if the encoder does not see its word."""
    seen = set(one.kept)
    return [int(word not in seen) for word in one.word]


def _losses(model: TSDAE, vectors: Tensor, batch: Batch) -> list[float]:
    """Nats per token of each sentence. A token outside the trained vocabulary has no score of its own; it counts as is."""
    summed = model.reconstruction_loss(vectors, batch, reduction="sentence")
    return (summed / (batch.target_mask.sum(1) - 1)).tolist()


def _shown(model: TSDAE, one: Damaged, written: list[int], loss: float) -> dict[str, Any]:
    names = model.tokenizer.convert_ids_to_tokens
    gone = [bool(away) for away in _gone(one)]
    original, rebuilt = names(one.ids), names(written)
    states = align(original, gone, rebuilt)
    texts = [one.text[a:b] for a, b in one.spans[: len(one.ids)]]
    glued = [place > 0 and one.spans[place][0] == one.spans[place - 1][1] for place in range(len(one.ids))]
    shown = tokens_json(texts, ["deleted" if away else "kept" for away in gone], glued)
    for token, word in zip(shown, one.word, strict=True):
        token["w"] = word
    return {
        "original": shown,
        "damaged": _damaged_shown(model, one),
        "rebuilt": tokens_json(
            [text for text, _ in pieces_of(rebuilt)], states, [glue for _, glue in pieces_of(rebuilt)]
        ),
        "text": model.tokenizer.decode(written, skip_special_tokens=True),
        "source": one.text,
        "loss": round(float(loss), 4),
        "recovered": recovered_share(original, gone, states),
        "kept": kept_share(original, gone, states),
        "exact": written == one.ids,
    }


def _damaged_shown(model: TSDAE, one: Damaged) -> list[dict[str, Any]]:
    """What the encoder sees: kept words as they stand in the source, words that the noise put in as vocabulary entries."""
    tokens: list[dict[str, Any]] = []
    for at, place in enumerate(one.kept):
        if place < 0:
            texts = pieces_of(model.tokenizer.convert_ids_to_tokens(one.inserted[place]))
            tokens += tokens_json(
                [text for text, _ in texts], ["invented"] * len(texts), [glue for _, glue in texts]
            )
            continue
        spans = [span for span, word in zip(one.spans, one.word, strict=False) if word == place]
        follows = at > 0 and one.kept[at - 1] == place - 1 and _ends(one, place - 1) == spans[0][0]
        glued = [follows, *(first == last for (_, last), (first, _) in pairwise(spans))]
        tokens += tokens_json([one.text[a:b] for a, b in spans], ["kept"] * len(spans), glued)
    return tokens


def _ends(one: Damaged, word: int) -> int:
    """Where a word ends in the source text."""
    return max(
        (last for (_, last), number in zip(one.spans, one.word, strict=False) if number == word), default=-1
    )
