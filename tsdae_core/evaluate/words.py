"""Sentences as the average of their words' vectors.

Legend: N sentences, V words, H vector size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Words:
    """Word vectors.

    Attributes:
        ids: a text's row numbers; unknown words are left out.
        table: (V, H).
    """

    ids: Callable[[str], list[int]]
    table: np.ndarray

    def average(self, texts: Sequence[str]) -> np.ndarray:
        """(N, H) float32; zeros for a text without a known word."""
        vectors = np.zeros((len(texts), self.table.shape[1]), np.float32)
        for row, text in enumerate(texts):
            found = self.ids(text)
            if found:
                vectors[row] = self.table[found].mean(axis=0)
        return vectors


def glove(path: Path) -> Words:
    """Word vectors from a text file, as GloVe's and word2vec's: a word and its numbers per line, spaces between.

    Raises:
        ValueError: in one sentence, for a file that is missing or has a line of another width.
    """
    if not path.is_file():
        raise ValueError(f"there is no file {path}; give a text file with a word and its numbers per line")
    rows: dict[str, int] = {}
    table: list[np.ndarray] = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            word, *numbers = line.rstrip("\n ").split(" ")
            if number == 1 and len(numbers) == 1:  # word2vec's first line: how many words, how many numbers
                continue
            try:
                vector = np.array(numbers, np.float32)
            except ValueError:
                vector = np.zeros(0, np.float32)
            if not vector.size or (table and vector.size != table[0].size):
                want = f"{table[0].size} numbers as the first line has" if table else "numbers"
                raise ValueError(
                    f"{path.name}, line {number}: a line must be a word and {want}, spaces between"
                )
            if word not in rows:
                rows[word] = len(table)
                table.append(vector)
    if not table:
        raise ValueError(f"{path.name} holds no word vectors; a line must be a word and its numbers")

    def ids(text: str) -> list[int]:
        found = (rows.get(word) for word in re.findall(r"\w+|[^\w\s]", text.lower()))
        return [row for row in found if row is not None]

    return Words(ids, np.stack(table))
