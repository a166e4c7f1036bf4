"""Every training setting, once: its default, its limits, its label and its help.

The form on the page, the command line, the check and the documentation are made from this file.
Defaults are the TSDAE paper's values (arXiv 2104.06979, section 5 and appendix) or, where the paper is silent,
those of its authors' training script; what goes beyond the paper is off by default and says so in its help.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from tsdae_core import fields
from tsdae_core.fields import Setting, setting
from tsdae_core.methods import METHODS, OWN
from tsdae_core.presets import PRESETS

BUNDLED_MODEL = "all-MiniLM-L6-v2 (bundled)"
"""The value of `base_model` that names the encoder which comes with the app and needs no download."""


class TrainConfig(BaseModel):
    """All that decides how a run is trained. Frozen; an unknown or impossible value is a `ValueError`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    base_model: str = setting(
        BUNDLED_MODEL,
        "Base model",
        "The checkpoint to start from: the bundled one, a Hugging Face name, or a local folder. The paper starts from bert-base-uncased.",
        group="Model",
        advanced=False,
    )
    objective: str = setting(
        "tsdae",
        "Objective",
        "The method that trains the encoder: TSDAE, or one that its paper compares it with (mlm, simcse, ct, bert_flow, supervised). Choosing one brings "
        "that method's own settings from the paper.",
        group="Model",
        choices=list(METHODS),
        advanced=False,
    )
    max_steps: int = setting(
        100_000,
        "Steps",
        "Optimizer steps. The paper trains 100,000.",
        min=1,
        max=100_000_000,
        step=1,
        advanced=False,
    )
    epochs: float = setting(
        0.0,
        "Epochs",
        "Passes over the corpus; 0 leaves the length to Steps. When both are set, the shorter one ends the run.",
        min=0.0,
        max=10_000.0,
    )
    batch_size: int = setting(
        8, "Batch size", "Sentences per optimizer step, over all processes. The paper uses 8.", min=1, max=4096, step=1,
        advanced=False,
    )  # fmt: skip
    learning_rate: float = setting(
        3e-5, "Learning rate", "AdamW's step size for the whole model. The paper uses 3e-5.", min=0.0, max=1.0, advanced=False
    )  # fmt: skip
    optimizer: str = setting(
        "adamw",
        "Optimizer",
        "AdamW in TSDAE, MLM and SimCSE; RMSprop in Contrastive Tension.",
        choices=["adamw", "rmsprop"],
    )
    weight_decay: float = setting(
        0.0, "Weight decay", "AdamW's decoupled weight decay. The authors' script uses 0.", min=0.0, max=1.0
    )
    max_grad_norm: float = setting(
        1.0,
        "Gradient clipping",
        "Largest norm of the gradient; 0 switches clipping off.",
        min=0.0,
        max=1000.0,
    )
    lr_schedule: str = setting(
        "constant",
        "Learning-rate schedule",
        "How the learning rate changes after warm-up. The authors' script keeps it constant. steps: to 80, 60, 40 and 20 % after "
        "500, 1,000, 1,500 and 2,000 steps, as in Contrastive Tension.",
        choices=["constant", "linear", "cosine", "steps"],
    )
    warmup_ratio: float = setting(
        0.0,
        "Warm-up share",
        "Share of the steps in which the learning rate rises from 0.",
        min=0.0,
        max=0.9,
        step=0.01,
    )
    noise: str = setting(
        "delete",
        "Damage",
        "How a sentence is damaged. Deleting words did best in the paper (table 5).",
        group="Damage",
        choices=["delete", "swap", "mask", "replace", "add"],
    )
    noise_ratio: float = setting(
        0.6,
        "Words deleted",
        "Share of the words that the damage affects (deletion ratio). 0.6 deletes 60 % of the words, the paper's best (table 6).",
        group="Damage",
        min=0.0,
        max=0.95,
        step=0.05,
        advanced=False,
    )
    mask_ratio: float = setting(
        0.15,
        "Words masked",
        "MLM: share of the tokens that must be guessed; 80 % of them become a mask, 10 % another token, as in BERT.",
        group="Other objectives",
        min=0.01,
        max=0.95,
        step=0.01,
    )
    temperature: float = setting(
        0.05,
        "Temperature",
        "SimCSE, and supervised on pairs that belong together: what cosines are divided by before they compete. The paper uses 0.05.",
        group="Other objectives",
        min=0.001,
        max=10.0,
    )
    negatives: int = setting(
        7,
        "Negative pairs",
        "Contrastive Tension: pairs of different sentences for each pair of the same one. The paper uses 7.",
        group="Other objectives",
        min=1,
        max=1000,
        step=1,
    )
    pooling: str = setting(
        "cls",
        "Sentence vector",
        "What becomes the sentence vector (pooling): the first token's state (cls), or the mean or maximum over tokens. "
        "In the paper mean scored 78.84 and CLS 78.77 in tuning; CLS is what it reports.",
        group="Model",
        choices=["cls", "mean", "max"],
        advanced=False,
    )
    max_length: int = setting(
        128, "Longest sentence", "Tokens per sentence, special tokens included; the rest is cut off.", min=4, max=8192, step=1
    )  # fmt: skip
    tied: bool = setting(
        True,
        "Tie encoder and decoder",
        "Let the decoder use the encoder's own weights (tied). The paper measured 79.15 tied against 78.77 untied.",
        group="Model",
    )
    precision: str = setting(
        "auto",
        "Precision",
        "Number format of the matrix products: auto takes bf16 where the processor has it, else fp32.",
        choices=["auto", "fp32", "bf16", "fp16"],
    )
    seed: int = setting(
        42, "Seed", "Decides new weights, order, damage and dropout.", min=0, max=2**31 - 1, step=1
    )
    held_out: int = setting(
        256,
        "Held-out sentences",
        "Sentences kept aside to measure the loss on text the model never trains on; at most a tenth of the corpus.",
        group="Watching",
        min=0,
        max=100_000,
        step=1,
    )
    probe_every: int = setting(
        0, "Look every", "Steps between two looks at the held-out loss and the rebuilt sentences; 0 looks about 18 times a run.",
        group="Watching", min=0, max=1_000_000, step=1,
    )  # fmt: skip
    checkpoint_every: int = setting(
        0,
        "Checkpoint every",
        "Steps between two checkpoints; 0 saves about 8 times a run.",
        group="Watching",
        min=0,
        max=10_000_000,
        step=1,
    )
    early_stopping_patience: int = setting(
        0,
        "Early stopping",
        "Stop after this many looks without a better held-out loss and keep the best; 0 is off, as in the paper.",
        group="Watching",
        min=0,
        max=1000,
        step=1,
    )
    devices: str = setting(
        "auto",
        "Devices",
        "auto: the first GPU or the CPU; cpu; cuda:0; cuda:0,cuda:1 for several GPUs; cpu*2 for two processes on the CPU.",
    )
    layers: int = setting(
        0,
        "Layers kept",
        "Keep only the base model's first layers: smaller and faster. 0 keeps all, as in the paper.",
        group="Beyond the paper",
        min=0,
        max=256,
        step=1,
    )
    vocabulary: str = setting(
        "full",
        "Words scored",
        "corpus: the decoder chooses among the tokens that occur in your text (several times faster, and the other tokens stay "
        "exactly as they were); full: among all tokens, as in the paper.",
        group="Beyond the paper",
        choices=["full", "corpus"],
    )
    decoder_warmup_steps: int = setting(
        0,
        "Decoder first",
        "Steps in which only the new weights learn, so that their first, random gradients do not harm the encoder. 0 in the paper.",
        group="Beyond the paper",
        min=0,
        max=10_000_000,
        step=1,
    )
    new_learning_rate: float = setting(
        0.0,
        "Learning rate of new weights",
        "For the bottleneck and a new head during 'Decoder first'; 0 uses the learning rate above.",
        group="Beyond the paper",
        min=0.0,
        max=1.0,
    )
    anchor: float = setting(
        0.0, "Anchor", "Weight of keeping each undamaged sentence's vector near the base model's (1 - cosine). 0 in the paper.",
        group="Beyond the paper", min=0.0, max=100.0,
    )  # fmt: skip

    centring: float = setting(
        0.0, "Centring",
        "Share of your text's mean vector that the finished encoder takes off every vector: what all its sentences have in common "
        "tells none from another. 0 in the paper.",
        group="Beyond the paper", min=0.0, max=1.0, step=0.05,
    )  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _choices(cls, values: Any) -> Any:
        """Refuse a value outside a field's list of choices, in words; what is not given is as in the objective's paper."""
        if isinstance(values, dict):
            method = METHODS.get(str(values.get("objective")))
            values = (method.defaults if method else {}) | values
            for name, value in values.items():
                choices = describe(name).choices if name in cls.model_fields else None
                if choices and value not in choices:
                    raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
        return values

    @model_validator(mode="after")
    def _consistent(self) -> TrainConfig:
        if not self.base_model.strip():
            raise ValueError("base_model is empty; give a model name or a folder")
        if self.objective == "tsdae" and self.decoder_warmup_steps >= self.max_steps:
            raise ValueError(
                f"decoder_warmup_steps must be smaller than max_steps ({self.max_steps:,}); got {self.decoder_warmup_steps:,}"
            )
        if self.learning_rate == 0 and self.new_learning_rate == 0:
            raise ValueError("learning_rate is 0: nothing would learn; the paper's value is 3e-5")
        return self

    @classmethod
    def from_preset(cls, preset: str, **changes: Any) -> TrainConfig:
        """The named preset with some settings changed; another objective brings its own settings.

        Raises:
            ValueError: for an unknown preset or a wrong value.
        """
        if preset not in PRESETS:
            raise ValueError(f"there is no preset {preset!r}; the presets are {', '.join(PRESETS)}")
        base = PRESETS[preset].changes
        objective = changes.get("objective", base.get("objective", "tsdae"))
        if objective != base.get("objective", "tsdae") and objective in METHODS:
            left = {*OWN, *METHODS[objective].ignores}
            length = {"epochs": 0.0} if "max_steps" in base else {}  # the preset's, not the method's
            rest = {name: value for name, value in base.items() if name not in left}
            base = METHODS[objective].defaults | length | rest
        steps = changes.get("max_steps")
        if isinstance(steps, int) and base.get("decoder_warmup_steps", 0) >= steps:
            base = base | {"decoder_warmup_steps": steps // 3}  # a shorter run has a shorter beginning
        return checked(base | changes)


def checked(values: dict[str, Any]) -> TrainConfig:
    """A `TrainConfig` from plain values. Raises `ValueError` with one sentence per wrong setting."""
    try:
        return TrainConfig(**values)
    except ValidationError as error:
        raise ValueError("; ".join(fields.sentence(TrainConfig, item) for item in error.errors())) from error


def describe(name: str) -> Setting:
    """What is known of one setting. Raises `ValueError` for a name that is none."""
    return fields.describe(TrainConfig, name)


def settings() -> list[Setting]:
    """Every setting, in the order of the form."""
    return [describe(name) for name in TrainConfig.model_fields]
