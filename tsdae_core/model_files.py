"""The JSON files of a model, in a folder or in the hub's local cache; nothing is downloaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from huggingface_hub import try_to_load_from_cache
from huggingface_hub.utils import HFValidationError


def transformer_path(read: Callable[[str], Any]) -> str:
    """Where in a model its transformer lies: the root, or what a sentence-transformers list of modules says."""
    modules = read("modules.json")
    first = modules[0] if isinstance(modules, list) and modules else {}
    return str(first.get("path", "")) if isinstance(first, dict) else ""


def read_folder(folder: Path) -> Callable[[str], Any]:
    """A reader of a folder's JSON files; None for one that is not there."""
    return lambda file: read_json(folder / file)


def read_cached(name: str) -> Callable[[str], Any]:
    """A reader of a hub model's JSON files in the local cache; None for one that is not there."""
    return lambda file: read_json(cached(name, file))


def cached(name: str, file: str) -> Path | None:
    try:
        found = try_to_load_from_cache(name, file)
    except HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None


def read_json(file: Path | None) -> Any:
    if file is None or not file.is_file():
        return None
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} is not valid JSON ({error}); the model cannot be used") from error
