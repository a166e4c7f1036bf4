"""Where a base model comes from: a local folder or the hub, and which folder in it holds the transformer.

Configuration and tokenizer come first and weights last, so that a model that cannot be trained is refused before
anything big is downloaded. Pickled weights are never fetched.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

from tsdae_core.base_models import hub_reachable, resolve

SMALL = ["*.json", "*.txt", "*.model"]
WEIGHTS = ["model.safetensors", "model-*.safetensors"]


@dataclass(frozen=True)
class Source:
    """A base model's files.

    Attributes:
        name: as the user gave it.
        folder: the model's; hub: whether it came from the hub, so that its weights may be still to come.
        transformer: the folder of its transformer.
        left_out: what else a sentence-transformers folder holds that TSDAE does not train, in words.
    """

    name: str
    folder: Path
    transformer: Path
    left_out: list[str]
    hub: bool


def find(name: str) -> Source:
    """Everything of a base model but its weights, which may still be on the hub.

    Raises:
        ValueError: when there is no such model or it is no transformer.
    """
    resolved = resolve(name)
    hub = not Path(resolved).is_dir()
    folder = _fetch(resolved, SMALL) if hub else Path(resolved)
    listed = _read(folder / "modules.json") or []
    names = [str(module["type"]).rsplit(".", 1)[-1] for module in listed]
    if names and names[0] != "Transformer":
        raise ValueError(
            f"{name} begins with a {names[0]} module instead of a Transformer, so it cannot be trained"
        )
    transformer = folder / (listed[0]["path"] if listed else "")
    if not (transformer / "config.json").is_file():
        raise ValueError(f"{name} is no transformer model: it has no config.json")
    left_out = [
        _in_words(kind, folder / module["path"])
        for kind, module in zip(names[1:], listed[1:], strict=True)
        if kind not in ("Pooling", "Dropout")
    ]
    return Source(name, folder, transformer, left_out, hub)


def fetch_weights(source: Source) -> None:
    """Download the weights if the model is one of the hub; safetensors only.

    Raises:
        ValueError: when there are none.
    """
    if source.hub:
        inside = source.transformer.relative_to(source.folder).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        _fetch(resolve(source.name), [prefix + pattern for pattern in WEIGHTS])
    if not any(source.transformer.glob("model*.safetensors")):
        raise ValueError(
            f"{source.name} offers no safetensors weights, only pickles, which can run code when they are loaded; "
            "choose another checkpoint, or convert it yourself where you trust it"
        )


def _fetch(name: str, patterns: list[str]) -> Path:
    # asked first: without a network the hub's client tries again for over a minute
    offline = not hub_reachable()
    try:
        return Path(snapshot_download(name, allow_patterns=patterns, local_files_only=offline))
    except LocalEntryNotFoundError as error:
        raise ValueError(
            f"{name} is not on this machine and the Hugging Face hub cannot be reached; "
            "give a local folder or the bundled model"
        ) from error
    except HfHubHTTPError as error:
        raise ValueError(
            f"the Hugging Face hub does not hand out {name} ({type(error).__name__}); check its name"
        ) from error


def _in_words(kind: str, folder: Path) -> str:
    """A module that is left out; a dense layer that changes the vector's length says so."""
    sizes = _read(folder / "config.json") or {}
    old, new = sizes.get("in_features"), sizes.get("out_features")
    return f"{kind} ({old} to {new} dimensions)" if kind == "Dense" and old != new else kind


def _read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
