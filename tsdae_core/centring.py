"""The mean vector of a text, taken off every vector in part: what all sentences of a text share tells none from another.

Mu and Viswanath 2018 (arXiv 1702.01417, section 2) take the mean off word vectors, Suzuki et al. 2013 (EMNLP, "Centering similarity
measures to reduce hubs") off documents. We take off a share, since an encoder is used on other texts, too. It is written as a dense
layer behind the pooling, v - share * mean, which every sentence-transformers can load; training and decoding do not see it.

Legend: N sentences, H vector size.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from tsdae_core.batches import pad
from tsdae_core.dense import add_layers, layer_file
from tsdae_core.flow import Layer
from tsdae_core.model import TSDAE
from tsdae_core.token_cache import TokenCache

MOST = 256
"""Sentences that the mean is taken over, evenly spread: its error is then a sixteenth of a vector's spread. Each checkpoint has its
own mean, so it must cost little."""

ROWS = 64


@torch.no_grad()
def mean_vector(model: TSDAE, cache: TokenCache, *, most: int = MOST) -> Tensor:
    """(H,) float32 mean of the vectors of undamaged sentences, without dropout; the mode of the model stays as it was.

    Args:
        model: whose vectors.
        cache: the sentences' tokens.
        most: sentences that the mean is taken over, evenly spread.
    """
    rows = np.unique(np.linspace(0, len(cache) - 1, min(most, len(cache))).round().astype(int))
    rows = rows[np.argsort(cache.lengths()[rows], kind="stable")]
    training = model.training
    model.eval()
    try:
        total = torch.zeros(model.hidden_size, device=model.device)
        for first in range(0, len(rows), ROWS):
            ids, mask = pad(
                [cache.whole(int(row)) for row in rows[first : first + ROWS]], model.tokenizer.pad_token_id
            )
            total += model.encode(ids.to(model.device), mask.to(model.device)).float().sum(0)
    finally:
        model.train(training)
    return (total / len(rows)).cpu()


def write(encoder: Path, taken_off: Tensor) -> None:
    """Let the vectors of a sentence-transformers folder be less by `taken_off` (H,)."""
    add_layers(encoder, [Layer(torch.eye(len(taken_off)), -taken_off, False)])


def read(encoder: Path) -> Tensor:
    """What `write` was given."""
    return -load_file(layer_file(encoder))["linear.bias"]
