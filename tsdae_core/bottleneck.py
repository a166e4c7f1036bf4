"""The bottleneck: all that the decoder sees of a sentence is one vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Bottleneck(nn.Module):
    """Cross-attention to a memory of one row, which is all that is left of it: LayerNorm(x + dropout(O(V(vector)))).

    In pre-norm families (`norm=False`) the sum has no norm, see `Family.pre_norm`.

    The softmax over one key is 1 whatever query and key are, so neither exists here. In training the reference's
    attention dropout still acts on that single weight, one draw per position and head; so does `forward`.
    """

    def __init__(
        self,
        hidden_size: int,
        heads: int,
        *,
        eps: float,
        attention_dropout: float,
        hidden_dropout: float,
        norm: bool = True,
    ):
        super().__init__()
        self.heads = heads
        self.attention_dropout = attention_dropout
        self.value = nn.Linear(hidden_size, hidden_size)
        self.output = nn.Linear(hidden_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size, eps=eps) if norm else nn.Identity()
        self.dropout = nn.Dropout(hidden_dropout)

    def forward(self, states: Tensor, vector: Tensor) -> Tensor:
        """states (B, T, H) and vector (B, H) to (B, T, H)."""
        value = self.value(vector)  # (B, H)
        if self.training and self.attention_dropout > 0:
            batch, length, hidden = states.shape
            by_head = value.view(batch, self.heads, -1, 1)  # (B, heads, H/heads, 1)
            weight = self.output.weight.t().view(self.heads, -1, hidden)  # (heads, H/heads, H)
            parts = torch.einsum(
                "bnd,ndh->bnh", by_head.squeeze(-1), weight
            )  # (B, heads, H): what each head adds
            draw = F.dropout(parts.new_ones(batch, length, self.heads), self.attention_dropout)
            added = draw @ parts + self.output.bias.to(parts.dtype)  # (B, T, H)
        else:
            added = self.output(value)[:, None]  # (B, 1, H)
        if added.shape[1] != states.shape[1]:
            added = added.expand(-1, states.shape[1], -1)
        return self.norm(states + self.dropout(added))
