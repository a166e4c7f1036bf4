"""How each transformer family is run as its own decoder, and which families cannot be.

What a family has to tell: after which module of each layer the bottleneck's output joins (its self-attention block),
and how hidden states become scores over the vocabulary. All else is the same for every family: the one masked-LM
transformer runs bidirectionally as the encoder and, with a causal mask, as the decoder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn


@dataclass(frozen=True)
class Family:
    """What is special about one family.

    Attributes:
        joins: the modules after whose output the bottleneck joins, in the order in which they run; a module that runs
            several times (shared layers) is listed once for each time.
        scores: hidden states (N, H) to scores (N, V) with the masked-LM head.
        attention_dropout: names of the configuration's attention dropout, the first that exists counts.
        hidden_dropout: the same for the dropout of a block's output.
        attention: the attention implementation that honours a 4-D causal mask.
    """

    joins: Callable[[Any], list[nn.Module]]
    scores: Callable[[Any, Tensor], Tensor]
    attention_dropout: tuple[str, ...] = ("attention_probs_dropout_prob", "attention_dropout")
    hidden_dropout: tuple[str, ...] = ("hidden_dropout_prob", "dropout", "hidden_dropout")
    attention: str = "sdpa"


def _bert_blocks(model: Any) -> list[nn.Module]:
    return [layer.attention for layer in model.base_model.encoder.layer]


def _cls(model: Any, states: Tensor) -> Tensor:
    return model.cls(states)


def _lm_head(model: Any, states: Tensor) -> Tensor:
    return model.lm_head(states)


def _electra(model: Any, states: Tensor) -> Tensor:
    return model.generator_lm_head(model.generator_predictions(states))


FAMILIES: dict[str, Family] = {
    "bert": Family(_bert_blocks, _cls),
    "roberta": Family(_bert_blocks, _lm_head),
    "xlm-roberta": Family(_bert_blocks, _lm_head),
    "camembert": Family(_bert_blocks, _lm_head),
    "electra": Family(_bert_blocks, _electra),
    "ernie": Family(_bert_blocks, _cls),
    "data2vec-text": Family(_bert_blocks, _lm_head),
}

REFUSED: dict[str, str] = {
    "bart": "it is an encoder-decoder that did badly as a base in the paper; bert-base-uncased works",
    "mbart": "it is an encoder-decoder whose encoder is not trained to stand alone; xlm-roberta-base works",
    "t5": "it is an encoder-decoder that did badly as a base in the paper; bert-base-uncased works",
    "mt5": "it is an encoder-decoder that did badly as a base in the paper; xlm-roberta-base works",
    "gpt2": "it reads from left to right only, so its first token never sees the sentence; bert-base-uncased works",
    "llama": "it reads from left to right only, so its first token never sees the sentence; answerdotai/ModernBERT-base works",
    "qwen3": "it reads from left to right only, so its first token never sees the sentence; answerdotai/ModernBERT-base works",
    "gemma3_text": "it reads from left to right only, so its first token never sees the sentence; bert-base-uncased works",
    "modernbert-decoder": "it reads from left to right only; answerdotai/ModernBERT-base works",
    "xlm": "its attention does not honour a causal mask, so the decoder could copy the answer; xlm-roberta-base works",
    "xlnet": "its attention does not honour a causal mask, so the decoder could copy the answer; bert-base-uncased works",
    "flaubert": "its attention does not honour a causal mask; camembert-base works",
    "convbert": "its convolutions see the words to come; google/electra-small-discriminator works",
    "nystromformer": "its approximated attention cannot be causal; bert-base-uncased works",
    "esm": "it is made for proteins and its masking does not carry over; bert-base-uncased works",
    "mobilebert": "its layers do not honour a causal mask; distilbert-base-uncased works",
    "fnet": "its Fourier layers see the words to come; bert-base-uncased works",
    "longformer": "its windowed attention does not honour a causal mask; answerdotai/ModernBERT-base works",
    "funnel": "it shortens the sentence between its layers; bert-base-uncased works",
    "mra": "its approximated attention cannot be causal; bert-base-uncased works",
    "yoso": "its approximated attention cannot be causal; bert-base-uncased works",
}


def family_of(model_type: str, name: str = "") -> Family:
    """The family of a configuration's `model_type`.

    Raises:
        ValueError: for a family that cannot be trained, with the reason and the nearest model that works.
    """
    shown = f"{name} is a {model_type} model" if name else f"a {model_type} model"
    if model_type in FAMILIES:
        return FAMILIES[model_type]
    if model_type in REFUSED:
        raise ValueError(f"{shown}, which TSDAE cannot train: {REFUSED[model_type]}.")
    raise ValueError(
        f"{shown}, a family that has not been made to work here; {', '.join(FAMILIES)} work, bert-base-uncased is the paper's."
    )
