"""The decoder writes by chance: each token drawn by its probability.

Legend: B sentences, T tokens so far, H hidden size, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tsdae_core.generation import choosable, limit_of, special
from tsdae_core.model import TSDAE


@torch.inference_mode()
def sample(
    model: TSDAE, vectors: Tensor, *, temperature: float = 1.0, seed: int = 0, max_tokens: int | None = None
) -> list[list[int]]:
    """A sentence drawn for each vector (B, H); the same seed draws the same ones.

    Args:
        temperature: below 1 likely tokens get likelier, above 1 less so.
        seed: of the draw.
        max_tokens: where a sentence ends at the latest.

    Returns:
        B lists of token ids without special tokens.

    Raises:
        ValueError: for a temperature that is not above 0.
    """
    if temperature <= 0:
        raise ValueError(f"the temperature must be above 0; got {temperature:g}")
    prefix, suffix = special(model)
    limit = limit_of(model, max_tokens)
    random = torch.Generator().manual_seed(seed)
    ids = torch.tensor([prefix] * len(vectors), device=vectors.device)  # (B, T)
    done = torch.zeros(len(vectors), dtype=torch.bool, device=vectors.device)
    for _ in range(limit):
        states = model.decode(vectors, ids)[:, -1]  # (B, H)
        logs, tokens = choosable(model, states)  # (B, V), (V,)
        drawn = torch.multinomial((logs / temperature).softmax(-1).cpu(), 1, generator=random)[:, 0]  # (B,)
        written = tokens[drawn.to(tokens.device)].masked_fill(done, suffix[0])
        ids = torch.cat([ids, written[:, None]], dim=1)
        done |= written == suffix[0]
        if done.all():
            break
    rows = [row[len(prefix) :] for row in ids.tolist()]
    return [row[: row.index(suffix[0])] if suffix[0] in row else row for row in rows]
