"""TSDAE: squeeze a damaged sentence into one vector, rebuild the sentence from that vector alone (arXiv 2104.06979).

One masked-LM transformer is used twice. Bidirectionally it is the encoder; with a causal mask, and with the bottleneck
added after each self-attention, it is the decoder. So encoder and decoder share their weights because they are the
same module, and nothing has to be tied.

Legend: B sentences, S tokens of a damaged sentence, T of a whole one, H hidden size, N scored tokens, V vocabulary.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tsdae_core.batches import Batch
from tsdae_core.bottleneck import Bottleneck
from tsdae_core.families import family_of
from tsdae_core.vocabulary import always_needed, keep_rows, token_weights

POOLINGS = ("cls", "mean", "max")


_PASS = threading.local()
"""What the decoder pass of each thread sees: the page answers several people from one loaded model at the same time."""


@dataclass
class _Seen:
    """The vector of a decoder pass, and how many bottlenecks have joined already."""

    model: nn.Module
    vector: Tensor
    joined: int = 0


@dataclass
class Facts:
    """What a saved model must remember besides its weights."""

    pooling: str
    max_length: int
    base_model: str = ""
    loaded: str = ""
    vocabulary: list[int] = field(default_factory=list)
    tied: bool = True
    new_head: bool = False
    objective: str = "tsdae"
    centring: float = 0.0


class TSDAE(nn.Module):
    """A sentence encoder with the decoder that trains it.

    Attributes:
        transformer: the masked-LM model, encoder and (when tied) decoder.
        bottleneck: one `Bottleneck` per layer; none when another objective than TSDAE trains the encoder.
        extra: weights that only another objective's training needs; never saved with the model.
        tokenizer: the checkpoint's own fast tokenizer.
        facts: pooling, maximum length and the like.
    """

    def __init__(self, transformer: Any, tokenizer: Any, facts: Facts):
        super().__init__()
        if facts.pooling not in POOLINGS:
            raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}; got {facts.pooling!r}")
        self.transformer = transformer
        self.tokenizer = tokenizer
        self.facts = facts
        config = transformer.config
        self.family = family_of(config.model_type)
        joins = self.family.joins(transformer) if facts.objective == "tsdae" else []
        layers = [
            Bottleneck(
                config.hidden_size,
                config.num_attention_heads,
                eps=getattr(config, "layer_norm_eps", 1e-12),
                attention_dropout=_first(config, self.family.attention_dropout),
                hidden_dropout=_first(config, self.family.hidden_dropout),
                norm=not self.family.pre_norm,
            )
            for _ in joins
        ]
        for layer in layers:
            for linear in (layer.value, layer.output):
                nn.init.normal_(linear.weight, std=getattr(config, "initializer_range", 0.02))
                nn.init.zeros_(linear.bias)
        self.bottleneck = nn.ModuleList(layers)
        self.extra: nn.Module | None = None
        self.decoder = None if facts.tied or not layers else copy.deepcopy(transformer)
        self.spare: dict[str, Tensor] = {}
        """Weights of the checkpoint that TSDAE does not use (a pooler), kept for the exported encoder."""
        self.taken_off: Tensor | None = None
        """(H,) what the exported encoder takes off its vectors, see `centring`; training and decoding do not."""
        self._remap: Tensor | None
        self.register_buffer("_remap", None, persistent=False)  # follows the model to its device
        self._whole: dict[str, Tensor] = {}
        for module in dict.fromkeys(self.family.joins(self._decoding) if self.decodes else []):
            module.register_forward_hook(self._join)

    @property
    def _decoding(self) -> Any:
        return self.transformer if self.decoder is None else self.decoder

    @property
    def decodes(self) -> bool:
        """Whether there is a decoder; only TSDAE has one."""
        return len(self.bottleneck) > 0

    def exported(self, vectors: Tensor) -> Tensor:
        """Vectors (..., H) of this model as its exported encoder gives them: what is taken off there is taken off here."""
        return vectors if self.taken_off is None else vectors - self.taken_off.to(vectors)

    @property
    def device(self) -> torch.device:
        return self.transformer.device

    @property
    def hidden_size(self) -> int:
        return int(self.transformer.config.hidden_size)

    def _join(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        """Let the bottleneck's output join after a self-attention block, in the decoder pass only."""
        seen = self._seen()
        if seen is None:
            return output
        bottleneck = self.bottleneck[seen.joined]
        seen.joined += 1
        return _in_first(output, lambda states: self._joined_to(bottleneck, states, seen.vector))

    def _joined_to(self, bottleneck: nn.Module, states: Tensor, vector: Tensor) -> Tensor:
        if self.family.channels_first:
            return bottleneck(states.transpose(1, 2), vector).transpose(1, 2)
        return bottleneck(states, vector)

    def _seen(self) -> _Seen | None:
        """The vector that this thread's pass through this model decodes from; None in an encoder pass."""
        seen: _Seen | None = getattr(_PASS, "seen", None)
        return seen if seen is not None and seen.model is self else None

    @contextmanager
    def _seeing(self, vector: Tensor) -> Iterator[None]:
        _PASS.seen = _Seen(self, vector)
        try:
            yield
        finally:
            _PASS.seen = None

    def _precision(self) -> AbstractContextManager[Any]:
        """The caller's, unless the family's code cannot have mixed precision."""
        if self.family.mixed_precision:
            return nullcontext()
        return torch.autocast(self.device.type, enabled=False)

    def is_new(self, name: str) -> bool:
        """Whether a parameter did not come from the base checkpoint: the bottleneck, and the head if it had none."""
        if name.startswith("bottleneck."):
            return True
        body = f".{self.transformer.base_model_prefix}."
        return self.facts.new_head and body not in f".{name.split('.', 1)[-1]}"

    def local(self, ids: Tensor) -> Tensor:
        """Token ids as the rows of the embedding that is loaded now (see `restrict`)."""
        return ids if self._remap is None else self._remap[ids]

    def encode(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Sentences to vectors.

        Args:
            ids: (B, S) token ids.
            mask: (B, S) 1 where there is a token.

        Returns:
            (B, H), pooled over the real tokens.
        """
        with self._precision():
            body = self.transformer.base_model
            states = body(input_ids=self.local(ids), attention_mask=mask).last_hidden_state
        return pool(states, mask, self.facts.pooling)

    def decode(self, vector: Tensor, ids: Tensor) -> Tensor:
        """Hidden states (B, T, H) of a causal pass over `ids` (B, T) in which every layer sees `vector` (B, H)."""
        with self._seeing(vector), self._precision():
            return self.family.decode(self._decoding.base_model, self.local(ids))

    def scores(self, states: Tensor) -> Tensor:
        """Hidden states (N, H) to scores over the loaded vocabulary (N, V)."""
        return self.family.scores(self._decoding, states)

    def reconstruction_loss(self, vector: Tensor, batch: Batch, *, reduction: str = "sum") -> Tensor:
        """Negative log-probability of each whole sentence given its vector, padding never scored.

        The paper sums it per sentence (equation 1); divided by `batch.scored` it is the reference's average over the
        batch's tokens, which is what we train on.

        Returns:
            () for "sum"; (B,) summed per sentence for "sentence"; (N,) per token for "none".
        """
        wanted = batch.target_mask[:, 1:].bool()  # (B, T-1): the positions that have a next token
        states = self.decode(vector, batch.target[:, :-1])[wanted]  # (N, H)
        labels = self.local(batch.target[:, 1:][wanted])  # (N,)
        scores = self._choosable(self.scores(states).float(), labels)  # (N, V)
        losses = F.cross_entropy(scores, labels, reduction="sum" if reduction == "sum" else "none")
        if reduction == "sentence":
            rows = torch.arange(len(wanted), device=wanted.device)[:, None].expand_as(wanted)[wanted]
            return torch.zeros(len(wanted), device=losses.device).index_add_(0, rows, losses)
        return losses

    def _choosable(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Scores (N, V) without the tokens that the decoder never learnt to choose from, a label's own excepted.

        A model trained on its corpus's tokens and loaded whole would else be charged for tokens it was never asked about.
        """
        if self._remap is not None or not self.facts.vocabulary:
            return scores
        left_out = torch.ones(scores.shape[1], dtype=torch.bool, device=scores.device)
        left_out[torch.tensor(self.facts.vocabulary, device=scores.device)] = False
        own = scores.gather(1, labels[:, None])
        return scores.masked_fill(left_out, -torch.inf).scatter(1, labels[:, None], own)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The summed loss () of a batch and the vectors (B, H) of its damaged sentences."""
        vector = self.encode(batch.noisy, batch.noisy_mask)
        return self.reconstruction_loss(vector, batch), vector

    def restrict(self, vocabulary: Tensor) -> None:
        """Load only the embedding rows of `vocabulary` (sorted ids) until `whole_state` puts them back.

        The decoder then chooses among these tokens only, the optimizer never visits the other rows, and they stay
        exactly as they were. Ids that the family needs whatever the text (its padding) are added.
        """
        always = always_needed(self.transformer, counts_from_padding=self.family.counts_from_padding)
        vocabulary = torch.unique(torch.cat([vocabulary.cpu(), always]))
        size = self.transformer.get_input_embeddings().weight.shape[0]
        remap = torch.zeros(size, dtype=torch.long)
        remap[vocabulary] = torch.arange(len(vocabulary))
        models = [self.transformer] + ([] if self.decoder is None else [self.decoder])
        by_token = {id(weight) for model in models for weight in token_weights(model)}
        kept: dict[int, Tensor] = {}
        for name, weight in self.named_parameters(remove_duplicate=False):
            if id(weight) in by_token:
                self._whole[name] = kept.setdefault(id(weight), weight.detach())
        for model in models:
            keep_rows(model, vocabulary, by_token)
        self._remap = remap.to(self.device)
        self.facts.vocabulary = vocabulary.tolist()

    def whole_state(self) -> dict[str, Tensor]:
        """The state with the full vocabulary, on the CPU: trained rows in their place, all others as they were."""
        state = {name: value.detach().cpu() for name, value in self.state_dict().items()}
        if self._whole:
            rows = torch.tensor(self.facts.vocabulary)
            for name, whole in self._whole.items():
                whole = whole.cpu().clone()
                whole[rows] = state[name]
                state[name] = whole
        return state


def pool(states: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """States (B, S, H) to one vector (B, H): the first real token's, or the mean or maximum over real tokens."""
    if pooling == "cls":
        first = mask.argmax(dim=1)  # 0 unless the tokenizer pads on the left
        return states[torch.arange(len(states), device=states.device), first]
    if pooling == "mean":
        weights = mask[:, :, None].to(states.dtype)
        return (states * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
    return states.masked_fill(~mask[:, :, None].bool(), torch.finfo(states.dtype).min).amax(1)


def _in_first(output: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A module's output with its hidden states changed: the output itself, or the first of a tuple."""
    if isinstance(output, tuple):
        return (_in_first(output[0], change), *output[1:])
    return change(output)


def _first(config: Any, names: tuple[str, ...]) -> float:
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, float | int):
            return float(value)
    return 0.0
