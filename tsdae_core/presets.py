"""Named starting points for the form and the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A named starting point: what it is for, and how it differs from the paper's values."""

    text: str
    changes: dict[str, Any]


PRESETS: dict[str, Preset] = {
    "Quick look": Preset(
        "See it learn in a few minutes on a CPU: new weights first, batches of 16, only your own text's tokens, held near the base.",
        {
            "max_steps": 700,
            "batch_size": 16,
            "learning_rate": 3e-4,
            "vocabulary": "corpus",
            "decoder_warmup_steps": 200,
            "new_learning_rate": 1e-3,
            "max_length": 64,
            "pooling": "mean",
            "anchor": 1.0,
            "centring": 0.5,
            "lr_schedule": "linear",
        },
    ),
    "Paper": Preset(
        "Exactly the paper's recipe: 100,000 steps, batch 8, AdamW at 3e-5, fp32. Made for a GPU; a CPU needs a day or more.",
        {"base_model": "bert-base-uncased", "precision": "fp32", "max_grad_norm": 1.0},
    ),
    "Small corpus": Preset(
        "For about 1,000 to 10,000 sentences: 20 passes at most, new weights first, stops when the held-out loss no longer falls.",
        {
            "max_steps": 10_000,
            "epochs": 20.0,
            "batch_size": 16,
            "vocabulary": "corpus",
            "decoder_warmup_steps": 300,
            "new_learning_rate": 1e-3,
            "pooling": "mean",
            "early_stopping_patience": 5,
        },
    ),
    "Tuned encoder": Preset(
        "To improve a base that is already a sentence encoder: new weights first, then 1,000 steps in all, held near the base.",
        {
            "max_steps": 1000,
            "batch_size": 16,
            "vocabulary": "corpus",
            "decoder_warmup_steps": 350,
            "new_learning_rate": 1e-3,
            "max_length": 64,
            "pooling": "mean",
            "anchor": 2.0,
            "centring": 0.5,
        },
    ),
    "MLM (paper)": Preset(
        "To compare: masked words are guessed, 15 % as in BERT; 100,000 steps, batch 8, AdamW at 5e-5, mean pooling.",
        {"objective": "mlm", "base_model": "bert-base-uncased", "precision": "fp32"},
    ),
    "SimCSE (paper)": Preset(
        "To compare: two dropout views of each sentence; one pass, batch 512, AdamW at 5e-5, temperature 0.05. Made for a GPU.",
        {"objective": "simcse", "base_model": "bert-base-uncased", "precision": "fp32"},
    ),
    "CT (paper)": Preset(
        "To compare: Contrastive Tension, two encoders, 7 negative pairs to 1; RMSprop from 1e-5 down to 2e-6, mean pooling.",
        {"objective": "ct", "base_model": "bert-base-uncased", "precision": "fp32"},
    ),
    "BERT-flow (paper)": Preset(
        "To compare: the encoder stays as it is, a flow above it is trained; one pass, batch 32, AdamW at 1e-6, mean pooling.",
        {"objective": "bert_flow", "base_model": "bert-base-uncased", "precision": "fp32"},
    ),
    "Your labels": Preset(
        "Supervised: from labels, scored pairs or pairs that belong together; 10 passes, batch 64, stops when the held-out loss no longer falls.",
        {"objective": "supervised"},
    ),
}
