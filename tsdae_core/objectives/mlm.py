"""Masked language modelling: guess 15 % of the tokens from the others (Devlin et al. 2018, arXiv 1810.04805, section 3.1).

The sentence vector takes no part in it; the exported encoder is the transformer with mean pooling, as in the TSDAE paper.

Legend: B sentences, T tokens, N tokens to be guessed, H hidden size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import DataCollatorForLanguageModeling

from tsdae_core.batches import Batch, Batcher
from tsdae_core.model import TSDAE
from tsdae_core.noise import generator
from tsdae_core.objectives.base import rows_of, whole_sentences


class MaskedWords:
    """See `Objective`; the sum is divided by the tokens to be guessed. `Batch.hidden` says which they are."""

    splits, by_length, by_chance = True, True, False

    def __init__(self, batcher: Batcher, model: TSDAE, *, ratio: float):
        if model.tokenizer.mask_token is None:
            raise ValueError(
                "this model's tokenizer has no mask token, which the objective mlm needs; choose another objective"
            )
        self.batcher = batcher
        self.mask = int(model.tokenizer.mask_token_id)
        self.special = torch.tensor(sorted(set(model.tokenizer.all_special_ids)))
        self.loaded = torch.tensor(model.facts.vocabulary) if model.facts.vocabulary else None
        self.collator = DataCollatorForLanguageModeling(model.tokenizer, mlm_probability=ratio)

    def batch(
        self, indices: Sequence[int] | np.ndarray, *, epoch: int, mine: slice
    ) -> tuple[Batch | None, int]:
        """See `Objective`."""
        whole = self.masked(indices, epoch)
        return rows_of(whole, mine), max(1, int(whole.hidden.sum()))

    def masked(self, indices: Sequence[int] | np.ndarray, epoch: int) -> Batch:
        """The whole batch, masked by transformers' collator with a generator of this batch's own."""
        plain = whole_sentences(self.batcher, indices)
        draw = generator(self.batcher.seed, epoch, int(indices[0]))
        self.collator.generator = torch.Generator().manual_seed(int(draw.integers(2**62)))
        apart = torch.isin(plain.target, self.special) | ~plain.target_mask.bool()  # (B, T)
        noisy, labels = self.collator.torch_mask_tokens(plain.target.clone(), apart)  # (B, T), (B, T)
        if self.loaded is not None:  # "another token" must be one of those that are loaded
            other = (noisy != plain.target) & (noisy != self.mask)
            noisy[other] = self.loaded[noisy[other] % len(self.loaded)]
        return Batch(noisy, plain.target_mask, plain.target, plain.target_mask, plain.indices, labels != -100)

    def loss(self, model: TSDAE, batch: Batch) -> Tensor:
        """See `Objective`."""
        body = model.transformer.base_model
        states = body(input_ids=model.local(batch.noisy), attention_mask=batch.noisy_mask).last_hidden_state
        scores = model.scores(states[batch.hidden]).float()  # (N, V)
        return F.cross_entropy(scores, model.local(batch.target[batch.hidden]), reduction="sum")
