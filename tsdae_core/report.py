"""What was found while a file was read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from tsdae_core.encodings import LOST


@dataclass
class Report:
    """What was found in a file: lines = blank + duplicate + too_short + too_long + malformed + kept.

    With sentences split, `lines` counts sentences, and a blank or malformed line counts as one. `undecodable` counts
    characters; `malformed_lines` holds the numbers of the first few.
    """

    format: str
    encoding: str
    columns: list[str] = field(default_factory=list)
    text_column: str | None = None
    label_column: str | None = None
    split: bool = False
    lines: int = 0
    blank: int = 0
    duplicate: int = 0
    too_short: int = 0
    too_long: int = 0
    malformed: int = 0
    kept: int = 0
    undecodable: int = 0
    malformed_lines: list[int] = field(default_factory=list)
    second_column: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """The report in plain English, one sentence per item."""
        what = self.format[:1].upper() + self.format[1:]
        said = [f"{what}, in {self.encoding}." if self.encoding else f"{what}."]
        if len(self.columns) > 1:
            what = "scores" if self.second_column else "labels"
            label = f", {what} from {self.label_column!r}" if self.label_column else ""
            pair = f" and {self.second_column!r}" if self.second_column else ""
            said.append(f"{len(self.columns)} columns; sentences from {self.text_column!r}{pair}{label}.")
        said.append(f"{self._count(self.lines)} read, {self.kept:,} kept.")
        return said + self.dropped()

    def dropped(self) -> list[str]:
        """What was not kept, and what was lost: one sentence per reason that occurs."""
        numbers = ", ".join(f"{number:,}" for number in self.malformed_lines)
        where = f" ({'line' if self.malformed == 1 else 'first at'} {numbers})" if numbers else ""
        reasons = [
            (self.blank, "blank", "blank"),
            (self.duplicate, "a duplicate of an earlier one", "duplicates of earlier ones"),
            (self.too_short, "too short", "too short"),
            (self.too_long, "too long", "too long"),
            (self.malformed, f"malformed and left out{where}", f"malformed and left out{where}"),
        ]
        said = [
            f"{self._count(number)} {f'was {one}' if number == 1 else f'were {many}'}."
            for number, one, many in reasons
            if number
        ]
        if self.undecodable == 1:
            said.append(f"1 character could not be decoded; {LOST} stands for it.")
        elif self.undecodable:
            said.append(f"{self.undecodable:,} characters could not be decoded; {LOST} stands for each.")
        return said

    def _count(self, number: int) -> str:
        unit = (
            "pair"
            if self.second_column
            else "sentence"
            if self.split
            else "row"
            if len(self.columns) > 1
            else "line"
        )
        return f"{number:,} {unit}" + ("" if number == 1 else "s")
