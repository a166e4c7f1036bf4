"""Everything up to the first step: model, token cache, held-out batches, optimizer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from tsdae_core import probes
from tsdae_core.anchor import Anchor
from tsdae_core.base_models import new_size
from tsdae_core.batches import Batcher
from tsdae_core.checkpoints import extra_of
from tsdae_core.config import TrainConfig
from tsdae_core.devices import choose_precision
from tsdae_core.flow import Flow
from tsdae_core.masters import Masters
from tsdae_core.methods import METHODS
from tsdae_core.model import TSDAE
from tsdae_core.objectives import Taught, extra_weights, make_objective
from tsdae_core.objectives.looks import Looks
from tsdae_core.plan import held_out_rows, split_corpus
from tsdae_core.runs import Checkpoint, Run
from tsdae_core.scratch import base_of
from tsdae_core.self_test import self_test
from tsdae_core.steps import Steps
from tsdae_core.storage import from_base, load
from tsdae_core.supervision import has_pairs, lessons_of
from tsdae_core.token_cache import TokenCache, build_cache


def prepare(
    run: Run, config: TrainConfig, accelerator: Accelerator, *, last: Checkpoint | None = None
) -> Steps:
    """Everything up to the first step: model, token cache, held-out batches, optimizer.

    Args:
        run: holds the corpus and the probe sentences.
        config: the settings.
        accelerator: the devices.
        last: the checkpoint to go on from; None starts from the base model.

    Raises:
        ValueError: for settings that cannot work here.
    """
    device = accelerator.device
    precision = choose_precision(config.precision, device)
    model = load(last.path) if last else _from_base(run, config, accelerator)
    if last and model.decodes:  # a new model was tested when it was made
        self_test(model)
    model.facts.centring = 0.0 if "centring" in METHODS[config.objective].ignores else config.centring
    if not model.family.mixed_precision or config.objective == "bert_flow":  # a flow is inverted: no rounding
        precision = "fp32"
    corpus = run.corpus()
    train_texts, held_out_texts = split_corpus(corpus["sentence"], config)
    aside = held_out_rows(corpus.num_rows, config)
    labels = corpus["label"].take(pa.array(aside, pa.int64())).to_pylist()
    if has_pairs(corpus):  # what stands there are scores
        labels = [""] * len(labels)
    shown = run.probes() or probes.choose_probes(held_out_texts or train_texts[:10_000].to_pylist())
    folder = run.cache_dir / f"tokens-{accelerator.process_index}"
    cache = build_cache(train_texts, model.tokenizer, max_length=model.facts.max_length, folder=folder)
    watched = build_cache(held_out_texts + shown, model.tokenizer, max_length=model.facts.max_length)
    taught, watched_taught = _taught(corpus, config, model, aside=aside)
    del corpus, train_texts  # from here on what is read of them lies in the cache
    pa.default_memory_pool().release_unused()
    if config.vocabulary == "corpus":
        partners = [one[1] for one in (taught, watched_taught) if one and one[1]]
        model.restrict(_needed([cache, watched, *partners], model))
    objective = make_objective(config, model, _batcher(cache, model, config), taught=taught)
    if not objective.splits and accelerator.num_processes > 1:
        raise ValueError(
            f"the objective {config.objective} compares all sentences of a batch with each other and works on one device; "
            f"set devices to one, such as cpu or cuda:0; got {config.devices!r}"
        )
    watching = _batcher(watched, model, config)
    seen = make_objective(config, model, watching, taught=watched_taught)
    looks = Looks.of(config, seen, watching, [one or "" for one in labels])
    model.extra = extra_weights(config, model)
    if last and model.extra is not None:
        model.extra.load_state_dict(extra_of(last), strict=False)
    model.to(device).train()
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    anchor = None
    held = config.anchor and "anchor" not in METHODS[config.objective].ignores
    if held and not new_size(config.base_model):  # a model made from nothing has nothing to hold on to
        kept = run.cache_dir / f"anchor-{accelerator.process_index}"
        anchor = Anchor(model, config, base_of(run), kept, sentences=len(cache), dtype=dtype)
    masters = Masters(model, dtype) if precision == "bf16" else None
    moved = list(masters.by_name.values()) if masters else list(model.parameters())
    if isinstance(model.extra, Flow):  # the encoder below it stays as it is
        moved = [weight for weight in model.extra.parameters() if weight.requires_grad]
    return Steps(
        config=config,
        accelerator=accelerator,
        model=model,
        cache=cache,
        objective=objective,
        looks=looks,
        shown=shown,
        optimizer=_optimizer(config, moved),
        precision=precision,
        masters=masters,
        anchor=anchor,
    )


def _from_base(run: Run, config: TrainConfig, accelerator: Accelerator) -> TSDAE:
    if accelerator.is_main_process:
        base_of(run)  # made once where it has to be made
    accelerator.wait_for_everyone()
    return from_base(
        base_of(run),
        called=config.base_model,
        pooling=config.pooling,
        max_length=config.max_length,
        tied=config.tied,
        layers=config.layers,
        objective=config.objective,
    )


def _optimizer(config: TrainConfig, weights: list[nn.Parameter]) -> torch.optim.Optimizer:
    rate, decay = config.learning_rate, config.weight_decay
    if config.optimizer == "rmsprop":
        return torch.optim.RMSprop(weights, lr=rate, weight_decay=decay)
    fused = weights[0].device.type in ("cpu", "cuda")
    return torch.optim.AdamW(weights, lr=rate, weight_decay=decay, fused=fused)


def _batcher(cache: TokenCache, model: TSDAE, config: TrainConfig) -> Batcher:
    tokenizer = model.tokenizer
    if config.noise == "mask" and tokenizer.mask_token_id is None:
        raise ValueError(
            "this model's tokenizer has no mask token, which the noise 'mask' needs; choose another noise"
        )
    mask = tokenizer.mask_token_id or 0
    return Batcher(cache, tokenizer.pad_token_id, mask, config.noise, config.noise_ratio, config.seed)


def _taught(
    corpus: pa.Table, config: TrainConfig, model: TSDAE, *, aside: list[int]
) -> tuple[Taught | None, Taught | None]:
    """What the training sentences teach, and what the held-out ones (rows `aside`) would; None for other objectives."""
    if config.objective != "supervised":
        return None, None
    lessons, out = lessons_of(corpus), set(aside)

    def of(rows: list[int]) -> Taught:
        some = lessons.of(rows)
        tokens = None
        if some.seconds:
            tokens = build_cache(some.seconds, model.tokenizer, max_length=model.facts.max_length)
        return some, tokens

    return of([row for row in range(corpus.num_rows) if row not in out]), of(aside)


def _needed(caches: list[TokenCache], model: TSDAE) -> Tensor:
    """The tokens that can occur in this run. Ids up to the padding's stay, since some families count positions by it."""
    tokenizer = model.tokenizer
    low = np.arange(tokenizer.pad_token_id + 1) if tokenizer.pad_token_id < 1000 else [tokenizer.pad_token_id]
    ids = [*(cache.vocabulary() for cache in caches), low, [tokenizer.mask_token_id or 0]]
    return torch.from_numpy(np.unique(np.concatenate(ids)).astype(np.int64))
