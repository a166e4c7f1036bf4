"""The weights that have one row per token: which they are, and how a model is cut down to some of the tokens."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


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
