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
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from tsdae_core.base_models import resolve
from tsdae_core.families import family_of
from tsdae_core.model import TSDAE, Facts
from tsdae_core.runs import new_folder, put_in_place


def from_base(
    base_model: str, *, pooling: str = "cls", max_length: int = 128, tied: bool = True, layers: int = 0
) -> TSDAE:
    """Start from a checkpoint: its transformer, its masked-LM head if it has one, a new bottleneck.

    Args:
        base_model: the bundled model, a local folder (transformers or sentence-transformers) or a hub name.
        pooling: "cls", "mean" or "max".
        max_length: tokens per sentence; cut to what the checkpoint can take.
        tied: one transformer for both directions; False gives the decoder a copy of its own.
        layers: keep only the first so many; 0 keeps all.

    Raises:
        ValueError: for a checkpoint that cannot be trained, with the reason.
    """
    source = resolve(base_model)
    path, left_out = transformer_folder(source)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    config = AutoConfig.from_pretrained(path, trust_remote_code=False)
    family = family_of(config.model_type, base_model)
    if layers:
        if layers > config.num_hidden_layers:
            raise ValueError(
                f"{base_model} has {config.num_hidden_layers} layers; keeping {layers} is not possible"
            )
        config.num_hidden_layers = layers
    tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    for token in ("pad_token", "cls_token", "sep_token"):
        if token == "pad_token" and tokenizer.pad_token is None:
            raise ValueError(
                f"{base_model} has no padding token, which batches need; choose a BERT-like checkpoint"
            )
    tokenizer.padding_side = tokenizer.truncation_side = "right"
    transformer, info = AutoModelForMaskedLM.from_pretrained(
        path,
        config=config,
        dtype=torch.float32,
        attn_implementation=family.attention,
        use_safetensors=True,
        trust_remote_code=False,
        output_loading_info=True,
    )
    facts = Facts(pooling, min(max_length, _longest(config)), base_model=base_model, tied=tied)
    model = TSDAE(transformer, tokenizer, facts)
    model.spare = _unused(path, [key for key in info["unexpected_keys"] if ".pooler." in f".{key}"])
    facts.loaded = _report(model, base_model, list(info["missing_keys"]), left_out)
    return model


def transformer_folder(source: str) -> tuple[str, list[str]]:
    """Where a checkpoint's transformer lies, and the names of sentence-transformers modules that are left out."""
    modules = Path(source) / "modules.json"
    if not modules.is_file():
        return source, []
    listed = json.loads(modules.read_text(encoding="utf-8"))
    names = [str(module["type"]).rsplit(".", 1)[-1] for module in listed]
    if names[0] != "Transformer":
        raise ValueError(
            f"{source} begins with a {names[0]} module instead of a Transformer, so it cannot be trained"
        )
    left_out = [name for name in names[1:] if name not in ("Pooling", "Dropout")]
    return str(Path(source) / listed[0]["path"]), left_out


def _longest(config: Any) -> int:
    """Tokens a checkpoint can take; RoBERTa-like ones spend two positions on padding."""
    positions = int(getattr(config, "max_position_embeddings", 512) or 512)
    return positions - 2 if positions in (514, 130, 1026, 8194) else positions


def _unused(path: str, keys: list[str]) -> dict[str, Tensor]:
    """Weights that TSDAE does not use but that the exported encoder should still have, read from a local folder."""
    file = Path(path) / "model.safetensors"
    if not keys or not file.is_file():
        return {}
    with safe_open(str(file), framework="pt") as opened:
        found = {key: opened.get_tensor(key) for key in opened.keys() if key in keys}  # noqa: SIM118
    return {key[key.index("pooler.") :]: value.float() for key, value in found.items()}


def _report(model: TSDAE, base_model: str, missing: list[str], left_out: list[str]) -> str:
    """What was loaded and what is new, in one line."""
    config = model.transformer.config
    prefix = model.transformer.base_model_prefix + "."
    new_head = model.facts.new_head = any(not key.startswith(prefix) for key in missing)
    lost = [key for key in missing if key.startswith(prefix)]
    head = "masked-LM head new: this checkpoint has none" if new_head else "masked-LM head loaded"
    text = (
        f"{base_model}: {config.model_type}, {config.num_hidden_layers} layers, {config.hidden_size} wide, "
        f"{config.vocab_size:,} tokens; {len(model.bottleneck)} bottleneck layers new, {head}"
    )
    if lost:
        text += f"; {len(lost)} weights of the transformer were missing and are new ({lost[0]})"
    if left_out:
        text += f"; {' and '.join(left_out)} left out: TSDAE trains the pooled vector itself"
    return text


def save(model: TSDAE, folder: Path) -> None:
    """Write `folder/encoder` and `folder/decoder`; each is whole or absent, whatever interrupts the writing."""
    state = model.whole_state()
    prefix = f"transformer.{model.transformer.base_model_prefix}."
    body = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    rest = {key: value for key, value in state.items() if not key.startswith(prefix)}
    encoder = new_folder(folder / "encoder")
    _write_encoder(model, encoder, body | model.spare)
    decoder = new_folder(folder / "decoder")
    save_file(_unshared(rest), decoder / "decoder.safetensors", metadata={"format": "pt"})
    (decoder / "tsdae.json").write_text(json.dumps(asdict(model.facts), indent=2), encoding="utf-8")
    put_in_place(encoder, folder / "encoder")
    put_in_place(decoder, folder / "decoder")


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
    (folder / "README.md").write_text(_card(model.facts), encoding="utf-8")


def _card(facts: Facts) -> str:
    return f"""---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags: [sentence-transformers, tsdae]
---
# A TSDAE sentence encoder

Trained without labels by TSDAE (arXiv 2104.06979) from {facts.base_model}, {facts.pooling} pooling,
at most {facts.max_length} tokens. It is fitted to the text that it was trained on; on general sentence similarity it
may be no better than its base.

```python
from sentence_transformers import SentenceTransformer

vectors = SentenceTransformer("path/to/this/folder").encode(["A sentence."])
```
"""


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
    prefix = f"transformer.{transformer.base_model_prefix}."
    body = load_file(encoder / "model.safetensors")
    model.spare = {key: value for key, value in body.items() if key.startswith("pooler.")}
    state = {prefix + key: value for key, value in body.items() if key not in model.spare}
    state |= load_file(decoder / "decoder.safetensors")
    model.load_state_dict(state, strict=True)
    return model.to(device).eval()
