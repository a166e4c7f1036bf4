"""What a step minimises: TSDAE, and the methods that its paper compares it with. All are trained by the same loop.

An objective makes the batches that it needs and says what they cost; all else (precision, devices, memory, checkpoints,
looks) is `steps` and `train`. Weights that only training needs hang on the model as `model.extra` and are never exported; BERT-flow's flow, which is a part of
the encoder, hangs there as well and is.
"""

from __future__ import annotations

from torch import nn

from tsdae_core.batches import Batcher
from tsdae_core.config import TrainConfig
from tsdae_core.flow import Flow
from tsdae_core.model import TSDAE
from tsdae_core.objectives.base import Objective
from tsdae_core.objectives.bert_flow import BertFlow
from tsdae_core.objectives.ct import ContrastiveTension, first_encoder
from tsdae_core.objectives.mlm import MaskedWords
from tsdae_core.objectives.rebuilding import Rebuilding
from tsdae_core.objectives.simcse import SimCSE, head
from tsdae_core.objectives.supervised import Supervised
from tsdae_core.supervision import Lessons
from tsdae_core.token_cache import TokenCache

Taught = tuple[Lessons, TokenCache | None]
"""What the sentences of a batcher teach, and the tokens of their partners; only for supervised training."""


def make_objective(
    config: TrainConfig, model: TSDAE, batcher: Batcher, *, taught: Taught | None = None
) -> Objective:
    """The objective that the settings name, over the sentences of `batcher`.

    Raises:
        ValueError: when this model cannot be trained by it, or without lessons where it needs them.
    """
    if config.objective == "supervised":
        if taught is None:
            raise ValueError("supervised training needs a text with labels or pairs")
        return Supervised(batcher, *taught, temperature=config.temperature)
    if config.objective == "bert_flow":
        return BertFlow(batcher, model)
    if config.objective == "mlm":
        return MaskedWords(batcher, model, ratio=config.mask_ratio)
    if config.objective == "simcse":
        return SimCSE(batcher, temperature=config.temperature)
    if config.objective == "ct":
        return ContrastiveTension(batcher, negatives=config.negatives)
    return Rebuilding(batcher)


def extra_weights(config: TrainConfig, model: TSDAE) -> nn.Module | None:
    """New weights that only training needs, or None; the model must have its final vocabulary by now."""
    if config.objective == "bert_flow":
        return Flow(model.hidden_size)
    if config.objective == "simcse":
        return head(model)
    return first_encoder(model) if config.objective == "ct" else None
