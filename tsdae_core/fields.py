"""Fields of a pydantic model that carry the words and limits which the form and the command line show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field


def setting(
    default: Any,
    label: str,
    help: str,
    *,
    group: str = "Training",
    min: float | None = None,
    max: float | None = None,
    step: float | None = None,
    choices: Sequence[str] | None = None,
    advanced: bool = True,
) -> Any:
    """A field of `TrainConfig` together with the words and limits that the form and the command line show."""
    words: Any = {
        "label": label,
        "group": group,
        "step": step,
        "choices": list(choices or []),
        "advanced": advanced,
    }
    return Field(default, description=help, ge=min, le=max, json_schema_extra=words)


@dataclass(frozen=True)
class Setting:
    """What the form and the command line need to know of one field."""

    name: str
    default: Any
    label: str
    help: str
    group: str
    kind: type
    min: float | None
    max: float | None
    step: float | None
    choices: list[str]
    advanced: bool


def describe(model: type[BaseModel], name: str) -> Setting:
    """What is known of one field that `setting` made. Raises `ValueError` for a name that is none."""
    if name not in model.model_fields:
        raise ValueError(unknown(model, name))
    field = model.model_fields[name]
    extra: Any = field.json_schema_extra
    bounds = {type(limit).__name__: limit for limit in field.metadata}
    kind = field.annotation if isinstance(field.annotation, type) else str
    return Setting(
        name=name,
        default=field.default,
        label=extra["label"],
        help=field.description or "",
        group=extra["group"],
        kind=kind,
        min=getattr(bounds.get("Ge"), "ge", None),
        max=getattr(bounds.get("Le"), "le", None),
        step=extra["step"],
        choices=extra["choices"],
        advanced=extra["advanced"],
    )


def unknown(model: type[BaseModel], name: str) -> str:
    """Says that no field has this name, and which there are."""
    return f"there is no setting {name!r}; the settings are {', '.join(model.model_fields)}"


def sentence(model: type[BaseModel], item: Any) -> str:
    """One pydantic error in our words: which setting, what is allowed, what was given."""
    name = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return unknown(model, name)
    if not name:
        return str(item["msg"]).removeprefix("Value error, ")
    known = describe(model, name)
    limits = [f"at least {_plain(known.min)}"] if known.min is not None else []
    limits += [f"at most {_plain(known.max)}"] if known.max is not None else []
    allowed = " and ".join(limits) or f"a {known.kind.__name__}"
    whole = "a whole number, " if known.kind is int else ""
    got = "it is empty" if item["input"] is None else f"got {item['input']!r}"
    return f"{name} must be {whole}{allowed}; {got}"


def _plain(number: float) -> str:
    """A limit as people write it: 100,000,000 or 0.05."""
    return f"{int(number):,}" if number == int(number) else f"{number:g}"
