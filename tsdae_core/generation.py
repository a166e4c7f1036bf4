"""The decoder writes: sentences from vectors, greedily or by beam search.

Legend: B sentences, K beams, T tokens so far, H hidden size, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tsdae_core.families import longest_sentence
from tsdae_core.model import TSDAE
from tsdae_core.token_cache import special_tokens


@torch.inference_mode()
def generate(
    model: TSDAE, vectors: Tensor, *, num_beams: int = 1, max_tokens: int | None = None
) -> list[list[int]]:
    """The sentences that the decoder writes from vectors (B, H): greedily, or the best of `num_beams` by mean log-probability.

    Returns:
        B lists of token ids without special tokens.
    """
    prefix, suffix = special(model)
    limit = limit_of(model, max_tokens)
    beams = max(1, num_beams)
    if beams == 1:
        return _greedily(model, vectors, limit)
    count = len(vectors)
    memory = vectors.repeat_interleave(beams, dim=0)  # (B*K, H)
    ids = torch.tensor([prefix] * len(memory), device=vectors.device)  # (B*K, T)
    total = torch.full((count, beams), -torch.inf, device=vectors.device)  # (B, K) log-probability so far
    total[:, 0] = 0.0
    done = torch.zeros(len(memory), dtype=torch.bool, device=vectors.device)  # (B*K,)
    lengths = torch.ones(len(memory), device=vectors.device)
    first_row = torch.arange(count, device=vectors.device)[:, None] * beams  # (B, 1)
    end = suffix[0]
    for _ in range(limit + 1):
        states = model.decode(memory, ids)[:, -1]  # (B*K, H)
        logs, tokens = choosable(
            model, states
        )  # (B*K, V) log-probabilities and the token ids that they belong to
        logs = logs.masked_fill(done[:, None], -torch.inf)
        where_end = int((tokens == end).nonzero()[0])
        logs[:, where_end] = logs[:, where_end].masked_fill(done, 0.0)
        joint = (total.view(-1, 1) + logs).view(count, -1)  # (B, K*V)
        total, best = joint.topk(beams, dim=1)  # (B, K)
        rows = (first_row + best // logs.shape[1]).view(-1)
        written = tokens[best % logs.shape[1]].view(-1)
        ids = torch.cat([ids[rows], written[:, None]], dim=1)
        lengths = lengths[rows] + (~done[rows]).float()
        done = done[rows] | (written == end)
        if done.all():
            break
    chosen = (total / lengths.view(count, beams)).argmax(dim=1)  # (B,)
    best_rows = ids.view(count, beams, -1)[torch.arange(count), chosen.cpu()]
    return [_until(row[len(prefix) :], end)[:limit] for row in best_rows.tolist()]


def _greedily(model: TSDAE, vectors: Tensor, limit: int) -> list[list[int]]:
    """See `generate`. A sentence that has ended costs no further pass, which is most of them most of the time."""
    prefix, suffix = special(model)
    ids = torch.tensor([prefix] * len(vectors), device=vectors.device)  # (B, T) of those that go on
    going = torch.arange(len(vectors), device=vectors.device)
    written: list[list[int]] = [[] for _ in vectors]
    for _ in range(limit + 1):
        logs, tokens = choosable(model, model.decode(vectors[going], ids)[:, -1])
        new = tokens[logs.argmax(dim=1)]  # (B,)
        for row, token in zip(going.tolist(), new.tolist(), strict=True):
            written[row].append(token)
        on = new != suffix[0]
        ids, going = torch.cat([ids, new[:, None]], dim=1)[on], going[on]
        if not len(going):
            break
    return [_until(row, suffix[0])[:limit] for row in written]


def limit_of(model: TSDAE, max_tokens: int | None) -> int:
    """Tokens that are written at most: those asked for, as far as the model has positions; else a longest sentence's."""
    prefix, suffix = special(model)
    most = longest_sentence(model.transformer.config, model.family) - len(prefix)
    return min(max_tokens or model.facts.max_length - len(prefix) - len(suffix), most)


def special(model: TSDAE) -> tuple[list[int], list[int]]:
    return special_tokens(model.tokenizer)


def choosable(model: TSDAE, states: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probabilities (B, V) of the next token among those the model was trained to choose from, and their ids (V,)."""
    scores = model.scores(states).float()
    chosen = model.facts.vocabulary
    if not chosen:
        return scores.log_softmax(-1), torch.arange(scores.shape[1], device=scores.device)
    tokens = torch.tensor(chosen, device=scores.device)
    if scores.shape[1] != len(tokens):  # all rows are loaded; only the trained ones may be chosen
        scores = scores[:, tokens]
    return scores.log_softmax(-1), tokens


def _until(ids: list[int], end: int) -> list[int]:
    return ids[: ids.index(end)] if end in ids else ids
