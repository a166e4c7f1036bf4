"""The weights that have one row per token: which they are, and how a model is cut down to some of the tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def always_needed(model: Any, *, counts_from_padding: bool) -> Tensor:
    """Ids that a transformer needs whatever the text: its padding, and all before it where positions count from it."""
    padding = getattr(model.get_input_embeddings(), "padding_idx", None)
    if padding is None:
        return torch.zeros(0, dtype=torch.long)
    return torch.arange(padding + 1) if counts_from_padding else torch.tensor([padding])


def token_weights(model: Any) -> list[nn.Parameter]:
    """The weights of a masked-LM model that have one row, or one number, per token of the vocabulary."""
    words = model.get_input_embeddings().weight
    size = words.shape[0]
    body = f"{model.base_model_prefix}."
    head = getattr(
        model.get_output_embeddings(), "weight", None
    )  # DeBERTa's newer head names its first layer
    found = [words] + ([head] if head is not None and head.shape[0] == size else [])
    # some heads hold their bias a second time, beside the projection
    for name, weight in model.named_parameters(remove_duplicate=False):
        if not name.startswith(body) and name.endswith("bias") and weight.shape == (size,):
            found.append(weight)
    return found


def keep_rows(model: Any, vocabulary: Tensor, by_token: set[int]) -> None:
    """Cut the per-token parameters of `model`, known by their ids, to the rows of `vocabulary`; shared ones stay shared."""
    cut: dict[int, nn.Parameter] = {}
    for module in model.modules():
        touched = False
        for name, parameter in list(module.named_parameters(recurse=False)):
            if id(parameter) in by_token:
                fresh = cut.setdefault(id(parameter), nn.Parameter(parameter.detach()[vocabulary].clone()))
                setattr(module, name, fresh)
                touched = True
        if touched and isinstance(module, nn.Linear):
            module.out_features = len(vocabulary)
        elif touched and isinstance(getattr(module, "padding_idx", None), int):
            # the row that gets no gradient from the input is still the padding's
            module.padding_idx = int(torch.searchsorted(vocabulary, module.padding_idx))
        if touched and isinstance(module, nn.Embedding):
            module.num_embeddings = len(vocabulary)


@contextmanager
def few_rows(embedding: nn.Module, ids: Tensor) -> Iterator[None]:
    """Look words up in a copy of the rows that `ids` names; run forward and backward inside.

    The gradient of a lookup is as large as the whole embedding and nearly all zero. TSDAE looks up twice and scores with
    the same weight, so three such gradients would be made and added up in every step. Here the lookups' gradient has
    `ids`' rows alone and is added to the embedding's at the end. The result is the same.

    Args:
        embedding: the word embedding; anything but a plain `nn.Embedding` that learns is left alone.
        ids: every row that will be looked up, in any shape.
    """
    if type(embedding) is not nn.Embedding or not embedding.weight.requires_grad:
        yield
        return
    used = torch.unique(ids)  # sorted
    # in fp32, since a frequent token's gradient is a sum of many
    rows = embedding.weight.detach()[used].float().requires_grad_()
    padding = embedding.padding_idx
    at = None if padding is None else (used == padding).nonzero().flatten().tolist()

    def look_up(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        places = torch.searchsorted(used, inputs[0].contiguous())
        return F.embedding(places, rows, padding_idx=at[0] if at else None).to(output.dtype)

    hook = embedding.register_forward_hook(look_up)
    try:
        yield
    finally:
        hook.remove()
    if rows.grad is not None:
        if embedding.weight.grad is None:
            embedding.weight.grad = torch.zeros_like(embedding.weight)
        embedding.weight.grad.index_add_(0, used, rows.grad.to(embedding.weight.dtype))
