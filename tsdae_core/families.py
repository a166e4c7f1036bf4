"""How each transformer family is run as its own decoder, and which families cannot be.

What a family has to tell: after which modules the bottleneck's output joins, how a causal pass is run, and how hidden
states become scores over the vocabulary. All else is the same for every family: the one masked-LM transformer runs
bidirectionally as the encoder and, with a causal mask, as the decoder.

Legend: B sentences, T tokens, H hidden size, N scored tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from tsdae_core.refused import ONE_WAY, why_refused


def causal_mask(length: int, device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    """(1, 1, T, T) to be added to attention scores: each token sees itself and what comes before it."""
    blocked = torch.finfo(dtype).min
    return torch.full((length, length), blocked, device=device, dtype=dtype).triu(1)[None, None]


def _causal(body: Any, ids: Tensor) -> Tensor:
    return body(
        input_ids=ids, attention_mask=causal_mask(ids.shape[1], ids.device, body.dtype)
    ).last_hidden_state


def _causal_in_windows(body: Any, ids: Tensor) -> Tensor:
    """ModernBERT: some layers see only a window around each token; there the decoder sees its left half.

    Given one mask, transformers would use it for both kinds of layer and so widen the windows; given a dict it uses
    both as they are.
    """
    mask = causal_mask(ids.shape[1], ids.device, body.dtype)
    places = torch.arange(ids.shape[1], device=ids.device)
    far = (places[:, None] - places[None]).abs() > body.config.sliding_window  # (T, T)
    masks = {"full_attention": mask, "sliding_attention": mask.masked_fill(far, torch.finfo(mask.dtype).min)}
    return body(input_ids=ids, attention_mask=masks).last_hidden_state


def _causal_deberta(body: Any, ids: Tensor) -> Tensor:
    """DeBERTa multiplies its embeddings by the mask, so they are called without one and the encoder with (1, T, T)."""
    sees = torch.ones(1, ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).tril()
    embedded = body.embeddings(input_ids=ids)  # (B, T, H)
    return body.encoder(embedded, sees, output_hidden_states=False).last_hidden_state


@dataclass(frozen=True)
class Family:
    """What is special about one family.

    Attributes:
        joins: the modules after whose output the bottleneck joins, in the order in which they run; a module that runs
            several times (shared layers) is listed once for each time.
        scores: hidden states (N, H) to scores (N, V) with the masked-LM head.
        decode: the body and ids (B, T) to hidden states (B, T, H) in which no token sees a later one.
        attention: the attention implementation that honours such a mask.
        pre_norm: layers normalise what goes into a block, not the sum behind it. Then the residual stream itself has
            no norm anywhere but at the end, and the bottleneck adds O(V(vector)) to it without one. So does the
            reference (megatron-bert): its cross-attention's norm stands before the query, which with one key to
            choose from has no effect. A norm on the stream would cut it back to unit length in every layer, which the
            checkpoint's later layers have never seen.
        channels_first: hidden states at the join are (B, H, T).
        counts_from_padding: positions are numbered from the padding's id on, and tokens of that id are not counted.
        mixed_precision: False where transformers' code fails under autocast (DeBERTa fills bf16 scores with fp32's
            smallest number); the transformer then computes in fp32 whatever the run's precision.
        attention_dropout: names of the configuration's attention dropout, the first that exists counts.
        hidden_dropout: the same for the dropout of a block's output.
        overruled: what a configuration must say, whatever it said: sparse attention has no causal form and, on sentences,
            is the full one anyway.
        refuse: why a configuration of this family cannot be trained; "" when it can.
    """

    joins: Callable[[Any], list[nn.Module]]
    scores: Callable[[Any, Tensor], Tensor]
    decode: Callable[[Any, Tensor], Tensor] = _causal
    attention: str = "sdpa"
    pre_norm: bool = False
    channels_first: bool = False
    counts_from_padding: bool = False
    mixed_precision: bool = True
    attention_dropout: tuple[str, ...] = ("attention_probs_dropout_prob", "attention_dropout")
    hidden_dropout: tuple[str, ...] = ("hidden_dropout_prob", "dropout", "hidden_dropout")
    overruled: dict[str, Any] = field(default_factory=dict)
    refuse: Callable[[Any], str] = lambda config: ""


def _in_layers(layers: str, module: str) -> Callable[[Any], list[nn.Module]]:
    """The submodule `module` of every layer of the list at `layers` in the body."""
    return lambda model: [layer.get_submodule(module) for layer in model.base_model.get_submodule(layers)]


def _shared_layers(model: Any) -> list[nn.Module]:
    """ALBERT: a few groups of layers, each run many times; one entry for each run."""
    config, groups = model.config, model.base_model.encoder.albert_layer_groups
    runs = [
        int(i / (config.num_hidden_layers / config.num_hidden_groups))
        for i in range(config.num_hidden_layers)
    ]
    return [layer.attention for run in runs for layer in groups[run].albert_layers]


_block = _in_layers("encoder.layer", "attention")
_after_norm = _in_layers("layers", "post_attention_layernorm")


def _cls(model: Any, states: Tensor) -> Tensor:
    return model.cls(states)


def _lm_head(model: Any, states: Tensor) -> Tensor:
    return model.lm_head(states)


def _electra(model: Any, states: Tensor) -> Tensor:
    return model.generator_lm_head(model.generator_predictions(states))


def _distilbert(model: Any, states: Tensor) -> Tensor:
    transformed = model.vocab_layer_norm(model.activation(model.vocab_transform(states)))
    return model.vocab_projector(transformed)


def _deberta(model: Any, states: Tensor) -> Tensor:
    if model.legacy:
        return model.cls(states)
    return model.lm_predictions(states, model.base_model.get_input_embeddings())


def _convolves(config: Any) -> str:
    return (
        "its convolution sees the words to come; microsoft/deberta-v3-base works"
        if getattr(config, "conv_kernel_size", 0)
        else ""
    )


def _quantised(config: Any) -> str:
    return (
        "its integer mode does not train; the same checkpoint works with quant_mode false"
        if config.quant_mode
        else ""
    )


_POST_NORM = Family(_block, _cls)
_ROBERTA = Family(_block, _lm_head, counts_from_padding=True)

FAMILIES: dict[str, Family] = {
    "bert": _POST_NORM,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "data2vec-text": _ROBERTA,
    "electra": Family(_block, _electra),
    "ernie": _POST_NORM,
    "roformer": Family(_block, _cls, attention="eager"),
    "rembert": Family(_block, _cls, attention="eager"),
    "big_bird": Family(_block, _cls, attention="eager", overruled={"attention_type": "original_full"}),
    "megatron-bert": Family(_block, _cls, attention="eager", pre_norm=True),
    "roberta-prelayernorm": Family(_block, _lm_head, pre_norm=True, counts_from_padding=True),
    "xlm-roberta-xl": Family(_block, _lm_head, pre_norm=True, counts_from_padding=True),
    "distilbert": Family(_in_layers("transformer.layer", "sa_layer_norm"), _distilbert),
    "albert": Family(_shared_layers, lambda model, states: model.predictions(states)),
    "modernbert": Family(
        _in_layers("layers", "attn"),
        lambda model, states: model.decoder(model.head(states)),
        decode=_causal_in_windows,
        pre_norm=True,
        hidden_dropout=("mlp_dropout",),
    ),
    "nomic_bert": Family(_after_norm, _cls),
    "jina_embeddings_v3": Family(_after_norm, _lm_head),
    "gte": Family(_after_norm, _lm_head),
    "eurobert": Family(_in_layers("layers", "self_attn"), _lm_head, pre_norm=True),
    "mpnet": Family(_block, _lm_head, attention="eager", counts_from_padding=True),
    "ibert": Family(_block, _lm_head, attention="eager", counts_from_padding=True, refuse=_quantised),
    "squeezebert": Family(
        _in_layers("encoder.layers", "post_attention"), _cls, attention="eager", channels_first=True
    ),
    "luke": Family(_block, _lm_head, attention="eager", counts_from_padding=True),
    "deberta": Family(_block, _deberta, decode=_causal_deberta, attention="eager", mixed_precision=False),
    "deberta-v2": Family(_block, _deberta, decode=_causal_deberta, attention="eager", refuse=_convolves),
}


def family_of(model_type: str, name: str = "") -> Family:
    """The family of a configuration's `model_type`.

    Raises:
        ValueError: for a family that cannot be trained, with the reason and the nearest model that works.
    """
    if model_type in FAMILIES:
        return FAMILIES[model_type]
    shown = f"{name} is a {model_type} model" if name else f"a {model_type} model"
    reason = why_refused(model_type)
    if reason:
        raise ValueError(f"{shown}, which TSDAE cannot train: {reason}.")
    raise ValueError(
        f"{shown}, a family that has not been made to work here; {', '.join(FAMILIES)} work, bert-base-uncased is the paper's."
    )


def check_config(config: Any, name: str) -> Family:
    """The family of a whole configuration, before any weights are read.

    Raises:
        ValueError: when a checkpoint with this configuration cannot be trained, with the reason.
    """
    family = family_of(config.model_type, name)
    reason = family.refuse(config)
    if getattr(config, "is_decoder", False) or getattr(config, "add_cross_attention", False):
        reason = f"it was trained as a decoder: {ONE_WAY}; its family's plain checkpoints work"
    if str(getattr(config, "position_embedding_type", "") or "").startswith("relative"):
        reason = "transformers no longer has its relative positions; bert-base-uncased works"
    if reason:
        raise ValueError(f"{name} is a {config.model_type} model which TSDAE cannot train: {reason}.")
    return family


def cut_layers(config: Any, layers: int, name: str) -> None:
    """Change a configuration so that only its first `layers` layers are loaded.

    Raises:
        ValueError: when it has fewer, or when shared layers would no longer be the same ones.
    """
    had = config.num_hidden_layers
    if layers > had:
        raise ValueError(f"{name} has {had} layers; keeping {layers} is not possible")
    groups = getattr(config, "num_hidden_groups", 1)
    if groups > 1:
        if layers * groups % had:
            raise ValueError(
                f"{name} shares its {had} layers in groups of {had / groups:g}; keep a multiple of that, not {layers}"
            )
        config.num_hidden_groups = layers * groups // had
    config.num_hidden_layers = layers
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:layers]


def longest_sentence(config: Any, family: Family) -> int:
    """Tokens that a checkpoint can take."""
    positions = int(getattr(config, "max_position_embeddings", 512) or 512)
    if not family.counts_from_padding:
        return positions
    padding = 1 if config.model_type == "mpnet" else config.pad_token_id  # MPNet's is fixed in its code
    return positions - padding - 1
