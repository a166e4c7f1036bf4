"""The methods that can train an encoder: what each is called, where it comes from, and the settings of its paper. No torch.

The losses themselves are in `objectives/`. The settings are those with which the TSDAE paper (arXiv 2104.06979) ran the
methods that it compares with; what it leaves open is taken from each method's own paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes:
        name, cite: as people call it, and its paper.
        text: what it does, in one sentence.
        defaults: the settings that differ from TSDAE's.
        ignores: settings that mean nothing here.
        unit: what its loss is measured in.
    """

    name: str
    cite: str
    text: str
    defaults: dict[str, Any] = field(default_factory=dict)
    ignores: tuple[str, ...] = ()
    unit: str = "nats per token"


_OF_THE_DECODER = ("tied", "decoder_warmup_steps", "new_learning_rate")
_OF_MLM = ("mask_ratio",)
_OF_SIMCSE = ("temperature",)
_OF_CT = ("negatives",)

METHODS: dict[str, Method] = {
    "tsdae": Method(
        "TSDAE",
        "arXiv 2104.06979",
        "Rebuild a damaged sentence from its vector alone.",
        ignores=(*_OF_MLM, *_OF_SIMCSE, *_OF_CT),
    ),
    "mlm": Method(
        "MLM",
        "arXiv 1810.04805",
        "Guess masked words from the words around them, as BERT was trained; the vector itself is never trained.",
        {"learning_rate": 5e-5, "pooling": "mean"},
        (*_OF_THE_DECODER, *_OF_SIMCSE, *_OF_CT),
        "nats per guessed token",
    ),
    "simcse": Method(
        "SimCSE",
        "arXiv 2104.08821",
        "Find a sentence's second dropout view among those of all other sentences in the batch.",
        {"learning_rate": 5e-5, "batch_size": 512, "epochs": 1.0},
        (*_OF_THE_DECODER, *_OF_MLM, *_OF_CT),
        "nats per sentence",
    ),
    "ct": Method(
        "Contrastive Tension",
        "openreview.net/forum?id=Ov_sMNau-PF",
        "Let two copies of the encoder agree on the same sentence and disagree on different ones.",
        {
            "learning_rate": 1e-5,
            "lr_schedule": "steps",
            "optimizer": "rmsprop",
            "pooling": "mean",
            "batch_size": 16,
            "max_steps": 50_000,
        },
        (*_OF_THE_DECODER, *_OF_MLM, *_OF_SIMCSE),
        "nats per pair",
    ),
    "bert_flow": Method(
        "BERT-flow",
        "arXiv 2011.05864",
        "Leave the encoder as it is and train a flow above it that makes its vectors standard normal.",
        {
            "learning_rate": 1e-6,
            "weight_decay": 0.01,
            "pooling": "mean",
            "batch_size": 32,
            "epochs": 1.0,
        },
        (*_OF_THE_DECODER, *_OF_MLM, *_OF_SIMCSE, *_OF_CT, "anchor", "centring"),
        "nats per number of the vector",
    ),
    "supervised": Method(
        "Supervised (SBERT)",
        "arXiv 1908.10084",
        "Learn from your labels, or from pairs with scores or that belong together.",
        {
            "learning_rate": 2e-5,
            "lr_schedule": "linear",
            "warmup_ratio": 0.1,
            "pooling": "mean",
            "batch_size": 64,
            "max_steps": 20_000,
            "epochs": 10.0,
            "early_stopping_patience": 5,
        },
        (*_OF_THE_DECODER, *_OF_MLM, *_OF_CT, "anchor"),
        "per pair",
    ),
}

LENGTH = ("max_steps", "epochs", "early_stopping_patience")
"""How long a run is: a preset's business, unlike what a method needs in order to be itself."""

OWN: tuple[str, ...] = tuple(
    dict.fromkeys(key for one in METHODS.values() for key in one.defaults if key not in LENGTH)
)
"""Settings that belong to the method and change with it."""


def without_decoder(objective: str) -> str:
    """Why there is nothing to rebuild with after training by this method; "" when there is a decoder."""
    if objective == "tsdae":
        return ""
    return f"This run was trained by {METHODS[objective].name}, which has no decoder, so no sentence can be rebuilt from its vector."
