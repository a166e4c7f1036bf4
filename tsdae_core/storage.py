"""TSDAE models on disk: started from a checkpoint, saved, loaded.

A saved model is two folders side by side: `encoder/`, a sentence-transformers folder that anyone can load, and
`decoder/`, the bottleneck and the masked-LM head. Weights are safetensors, everything else is JSON.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from tsdae_core import centring, sources
from tsdae_core.dense import add_layers
from tsdae_core.families import Family, check_config, cut_layers, family_of, longest_sentence
from tsdae_core.flow import Flow
from tsdae_core.model import TSDAE, Facts
from tsdae_core.model_card import model_card
from tsdae_core.runs import new_folder
from tsdae_core.self_test import self_test
from tsdae_core.token_cache import special_tokens


def from_base(
    base_model: str,
    *,
    pooling: str = "cls",
    max_length: int = 128,
    tied: bool = True,
    layers: int = 0,
    called: str = "",
    objective: str = "tsdae",
) -> TSDAE:
    """Start from a checkpoint: its transformer, its masked-LM head if it has one, a new bottleneck.

    Args:
        base_model: the bundled model, a local folder (transformers or sentence-transformers) or a hub name.
        pooling: "cls", "mean" or "max".
        max_length: tokens per sentence; cut to what the checkpoint can take.
        tied: one transformer for both directions; False gives the decoder a copy of its own.
        layers: keep only the first so many; 0 keeps all.
        called: how to name it in words, if not as it was given.
        objective: what will train it; only TSDAE needs a bottleneck.

    Raises:
        ValueError: for a checkpoint that cannot be trained, with the reason.
    """
    source = sources.find(base_model)
    path = str(source.transformer)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    config = _config(path, base_model)
    family = check_config(config, base_model)
    for key, value in family.overruled.items():
        setattr(config, key, value)
    if layers:
        cut_layers(config, layers, base_model)
    tokenizer = _tokenizer(path, config, base_model)
    sources.fetch_weights(source)
    keys = _keys(source.transformer, base_model)
    if config.model_type.startswith("deberta") and any(
        key.startswith("lm_predictions.lm_head.") for key in keys
    ):
        config.legacy = (
            False  # DeBERTa has two forms of head, and its published configurations do not say which
        )
    transformer, missing = _transformer(path, config, family, base_model)
    longest = longest_sentence(config, family)
    facts = Facts(
        pooling, min(max_length, longest), base_model=called or base_model, tied=tied, objective=objective
    )
    model = TSDAE(transformer, tokenizer, facts)
    model.spare = _poolers(source.transformer, keys, set(transformer.base_model.state_dict()))
    facts.loaded = _report(model, called or base_model, missing, source.left_out)
    if model.decodes:
        self_test(model)
    return model


def _config(path: str, name: str) -> Any:
    """The checkpoint's configuration; one of a family that cannot be trained is not even read by transformers."""
    family_of(json.loads((Path(path) / "config.json").read_text(encoding="utf-8")).get("model_type"), name)
    return AutoConfig.from_pretrained(path, trust_remote_code=False)


def _tokenizer(path: str, config: Any, name: str) -> Any:
    """The checkpoint's fast tokenizer, padding and cutting on the right whatever it did before.

    Raises:
        ValueError: for one that cannot be used, with the reason.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except (ValueError, OSError, ImportError, TypeError, AttributeError) as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[0]
        raise ValueError(f"{name} has no tokenizer that can be loaded: {reason}") from error
    if not tokenizer.is_fast:
        raise ValueError(
            f"{name} has only a slow tokenizer, which does not tell where words begin; choose another"
        )
    if tokenizer.pad_token is None:
        raise ValueError(f"{name} has no padding token, which batches need; choose a BERT-like checkpoint")
    special_tokens(tokenizer)
    largest = max(tokenizer.get_vocab().values())
    if largest >= config.vocab_size:
        raise ValueError(
            f"{name} has a tokenizer with ids up to {largest:,} but only {config.vocab_size:,} embeddings; "
            "its files do not belong together, or tokens were added without resizing the model"
        )
    tokenizer.padding_side = tokenizer.truncation_side = "right"
    return tokenizer


def _transformer(path: str, config: Any, family: Family, name: str) -> tuple[Any, list[str]]:
    """The masked-LM model in fp32 and the names of the weights that the checkpoint lacks.

    Raises:
        ValueError: when the weights are not those of the configuration.
    """
    try:
        transformer, info = AutoModelForMaskedLM.from_pretrained(
            path,
            config=config,
            dtype=torch.float32,
            attn_implementation=family.attention,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except (RuntimeError, OSError, ValueError) as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[0]
        raise ValueError(f"{name} has weights that do not fit its config.json: {reason}") from error
    missing = sorted(info["missing_keys"])
    lost = [key for key in missing if key.startswith(f"{transformer.base_model_prefix}.")]
    if 2 * len(lost) > len(transformer.base_model.state_dict()):
        raise ValueError(
            f"{name} has weights that do not fit its config.json: {len(lost)} of the transformer's are missing, "
            f"such as {lost[0]}"
        )
    return transformer, missing


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("model*.safetensors"))


def _keys(folder: Path, name: str) -> set[str]:
    """The names of a checkpoint's weights."""
    found: set[str] = set()
    for file in _files(folder):
        try:
            with safe_open(str(file), framework="pt") as opened:
                found.update(opened.keys())
        except SafetensorError as error:
            raise ValueError(f"{name} has damaged weights: {file.name} cannot be read ({error})") from error
    return found


def _poolers(folder: Path, keys: set[str], used: set[str]) -> dict[str, Tensor]:
    """The pooler's weights, which TSDAE does not use but the exported encoder should still have."""
    wanted = {key: key[key.index("pooler.") :] for key in keys if ".pooler." in f".{key}"}
    found: dict[str, Tensor] = {}
    for file in _files(folder) if wanted else []:
        with safe_open(str(file), framework="pt") as opened:
            for key in wanted.keys() & set(opened.keys()):
                if wanted[key] not in used:
                    found[wanted[key]] = opened.get_tensor(key).float()
    return found


def _report(model: TSDAE, base_model: str, missing: list[str], left_out: list[str]) -> str:
    """What was loaded and what is new, in one line."""
    config = model.transformer.config
    prefix = model.transformer.base_model_prefix + "."
    new_head = model.facts.new_head = any(not key.startswith(prefix) for key in missing)
    lost = [key for key in missing if key.startswith(prefix)]
    head = "masked-LM head new: this checkpoint has none" if new_head else "masked-LM head loaded"
    new = f"{len(model.bottleneck)} bottleneck layers new, {head}" if model.decodes else "no decoder"
    if model.facts.objective == "mlm":
        new = f"{new}, {head}"
    text = (
        f"{base_model}: {config.model_type}, {config.num_hidden_layers} layers, {config.hidden_size} wide, "
        f"{config.vocab_size:,} tokens; {new}"
    )
    if lost:
        text += f"; {len(lost)} weights of the transformer were missing and are new ({lost[0]})"
    if left_out:
        text += f"; {' and '.join(left_out)} left out: the pooled vector itself is trained"
    return text


def save(model: TSDAE, folder: Path) -> None:
    """Write `folder/encoder` and `folder/decoder`; each is whole or absent, whatever interrupts the writing."""
    left_out = _shared(model)
    state = {name: value for name, value in model.whole_state().items() if name not in left_out}
    flow = model.extra if isinstance(model.extra, Flow) else None
    if flow is None:
        state = {name: value for name, value in state.items() if not name.startswith("extra.")}
    prefix = f"transformer.{model.transformer.base_model_prefix}."
    body = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    rest = {key: value for key, value in state.items() if not key.startswith(prefix)}
    with new_folder(folder / "encoder") as encoder, new_folder(folder / "decoder") as decoder:
        _write_encoder(model, encoder, body | model.spare)
        if flow is not None:
            add_layers(encoder, flow.layers())
        elif model.taken_off is not None:
            centring.write(encoder, model.taken_off)
        save_file(_unshared(rest), decoder / "decoder.safetensors", metadata={"format": "pt"})
        facts = json.dumps(asdict(model.facts), indent=2)
        (decoder / "tsdae.json").write_text(facts, encoding="utf-8")


def _shared(model: TSDAE) -> dict[str, str]:
    """Names of weights that are the same as another one, such as a tied head's, with the name that is written.

    A body's name is preferred, since the encoder's folder must be whole.
    """
    body = f".{model.transformer.base_model_prefix}."
    names: dict[int, list[str]] = {}
    for name, weight in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(weight), []).append(name)
    ordered = [sorted(same, key=lambda name: body not in name) for same in names.values()]
    return {name: same[0] for same in ordered for name in same[1:]}


def _unshared(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Contiguous copies: safetensors refuses tensors that share memory."""
    return {key: value.contiguous().clone() for key, value in state.items()}


def _write_encoder(model: TSDAE, folder: Path, state: dict[str, Tensor]) -> None:
    """A sentence-transformers folder: transformer in the root, pooling beside it."""
    save_file(_unshared(state), folder / "model.safetensors", metadata={"format": "pt"})
    config = model.transformer.config
    written = type(config).from_dict(config.to_dict())
    written.architectures = [type(model.transformer.base_model).__name__]
    written.dtype = "float32"
    written.save_pretrained(folder)
    model.tokenizer.model_max_length = model.facts.max_length
    model.tokenizer.save_pretrained(folder)
    modules = "sentence_transformers.models."
    listed = [("", f"{modules}Transformer"), ("1_Pooling", f"{modules}Pooling")]
    described = [
        {"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind) in enumerate(listed)
    ]
    pooling = {
        "word_embedding_dimension": model.hidden_size,
        "pooling_mode_cls_token": model.facts.pooling == "cls",
        "pooling_mode_mean_tokens": model.facts.pooling == "mean",
        "pooling_mode_max_tokens": model.facts.pooling == "max",
    }
    (folder / "1_Pooling").mkdir()
    for name, data in (
        ("modules.json", described),
        ("1_Pooling/config.json", pooling),
        ("sentence_bert_config.json", {"max_seq_length": model.facts.max_length, "do_lower_case": False}),
        ("config_sentence_transformers.json", {"similarity_fn_name": "cosine", "prompts": {}}),
    ):
        (folder / name).write_text(json.dumps(data, indent=2), encoding="utf-8")
    (folder / "README.md").write_text(model_card(model.facts), encoding="utf-8")


def load(folder: Path, *, device: str = "cpu") -> TSDAE:
    """A model that `save` wrote: a run's folder or one of its checkpoints.

    Raises:
        ValueError: when `folder` holds no whole model.
    """
    encoder, decoder = folder / "encoder", folder / "decoder"
    if not (encoder / "model.safetensors").is_file() or not (decoder / "tsdae.json").is_file():
        raise ValueError(f"{folder} holds no trained model yet; it has one after its first checkpoint")
    transformers_logging.set_verbosity_error()
    facts = Facts(**json.loads((decoder / "tsdae.json").read_text(encoding="utf-8")))
    config = AutoConfig.from_pretrained(encoder, trust_remote_code=False)
    family = family_of(config.model_type)
    transformer = AutoModelForMaskedLM.from_config(
        config, attn_implementation=family.attention, dtype=torch.float32
    )
    tokenizer = AutoTokenizer.from_pretrained(encoder, trust_remote_code=False)
    model = TSDAE(transformer, tokenizer, facts)
    if facts.centring:
        model.taken_off = centring.read(encoder)
    if facts.objective == "bert_flow":
        model.extra = Flow(model.hidden_size)
    prefix = f"transformer.{transformer.base_model_prefix}."
    body = load_file(encoder / "model.safetensors")
    own = set(transformer.base_model.state_dict())
    model.spare = {key: value for key, value in body.items() if key not in own}
    state = {prefix + key: value for key, value in body.items() if key not in model.spare}
    state |= load_file(decoder / "decoder.safetensors")
    state |= {name: state[same] for name, same in _shared(model).items() if same in state}
    model.load_state_dict(state, strict=True)
    return model.to(device).eval()
