"""Search by words: BM25, the measure that a sentence encoder has to beat.

Legend: N sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

CHUNK = 10_000
"""Sentences between two reports of progress."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")


def words(text: str) -> list[str]:
    """Lower-case runs of letters and digits; signs of Chinese and Japanese one by one.

    >>> words("Don't panic, 42!")
    ['don', 't', 'panic', '42']
    """
    return _WORD.findall(text.lower())


class BM25:
    """Lucene's BM25 (k1 1.5, b 0.75) of N sentences; no stop words and no stemming, so it works in any language.

    `progress` is called with sentences read and sentences in all.
    """

    def __init__(self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None):
        import bm25s  # noqa: PLC0415 (only who searches by words needs it)

        self.count = len(texts)
        self.engine: Any = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
        tokens = []
        for first in range(0, len(texts), CHUNK):
            tokens += [words(text) for text in texts[first : first + CHUNK]]
            if progress:
                progress(len(tokens), len(texts))
        self.known: set[str] = {word for sentence in tokens for word in sentence}
        if self.known:
            self.engine.index(tokens, show_progress=False)

    def scores(self, query: str) -> np.ndarray:
        """(N,) float32; 0 for a sentence that shares no word with the query."""
        asked = [word for word in words(query) if word in self.known]
        if not asked:
            return np.zeros(self.count, np.float32)
        return np.asarray(self.engine.get_scores(asked), np.float32)
