"""Families of models that TSDAE cannot train, each with the reason and the nearest model that works. No torch here."""

from __future__ import annotations

ONE_WAY = "it reads from left to right only, so its first token never sees the sentence"
TWO_PARTS = "it is an encoder-decoder that did badly as a base in the paper"
NO_MASK = "its attention does not honour a causal mask, so the decoder could copy the answer"
APPROXIMATE = "its approximated attention cannot be causal; bert-base-uncased works"

REFUSED: dict[str, str] = {
    "bart": f"{TWO_PARTS}; bert-base-uncased works",
    "mbart": f"{TWO_PARTS}; xlm-roberta-base works",
    "t5": f"{TWO_PARTS}; bert-base-uncased works",
    "mt5": f"{TWO_PARTS}; xlm-roberta-base works",
    "gpt2": f"{ONE_WAY}; bert-base-uncased works",
    "llama": f"{ONE_WAY}; answerdotai/ModernBERT-base works",
    "qwen3": f"{ONE_WAY}; answerdotai/ModernBERT-base works",
    "gemma3_text": f"{ONE_WAY}; bert-base-uncased works",
    "modernbert-decoder": f"{ONE_WAY}; answerdotai/ModernBERT-base works",
    "bert-generation": f"{ONE_WAY}; bert-base-uncased works",
    "xlm": f"{NO_MASK}; xlm-roberta-base works",
    "xlnet": f"{NO_MASK}; bert-base-uncased works",
    "flaubert": f"{NO_MASK}; camembert-base works",
    "mobilebert": f"{NO_MASK}; distilbert-base-uncased works",
    "longformer": "its windowed attention does not honour a causal mask; answerdotai/ModernBERT-base works",
    "convbert": "its convolutions see the words to come; google/electra-small-discriminator works",
    "funnel": "it shortens the sentence between its layers; bert-base-uncased works",
    "fnet": "its Fourier layers see the words to come; bert-base-uncased works",
    "esm": "it is made for proteins; bert-base-uncased works",
    "nystromformer": APPROXIMATE,
    "mra": APPROXIMATE,
    "yoso": APPROXIMATE,
    "reformer": APPROXIMATE,
    "perceiver": "it has no state per token of its own; bert-base-uncased works",
    "xmod": "its language has to be chosen for every sentence; xlm-roberta-base works",
    "roc_bert": "it reads shapes and pronunciations beside the words; bert-base-chinese works",
    "layoutlm": "it reads places on a page beside the words; bert-base-uncased works",
    "tapas": "it reads tables; bert-base-uncased works",
    "clip": "it is made for pictures and captions; bert-base-uncased works",
}


def why_refused(model_type: str) -> str:
    """Why no model of this type can be trained and what to take instead; "" when nothing is known against it."""
    if model_type in REFUSED:
        return REFUSED[model_type]
    from transformers.models.auto.modeling_auto import (  # noqa: PLC0415  (slow, only for types not named above)
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    )

    if model_type in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
        return f"{TWO_PARTS}; bert-base-uncased works"
    if model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return ""
    if model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return f"{ONE_WAY}; bert-base-uncased works"
    return "it has no masked-LM form; bert-base-uncased works"
