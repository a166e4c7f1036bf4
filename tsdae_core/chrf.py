"""chrF: how alike two texts are by the runs of characters they share (Popović 2015), for one sentence at a time."""

from __future__ import annotations

from collections import Counter

ORDER = 6
BETA = 2.0


def chrf(written: str, reference: str, *, order: int = ORDER, beta: float = BETA) -> float:
    """From 0 (no character in common) to 1 (the same text).

    The F-score of precision and recall of character n-grams, each averaged over n = 1 to `order` as far as both texts are
    long enough; recall weighs `beta` times as much. Spaces do not count, upper and lower case differ.

    >>> chrf("the cat", "the cat")
    1.0
    >>> round(chrf("ab", "abc", order=2), 4)  # precision 1, recall (2/3 + 1/2) / 2
    0.6364
    """
    one, other = "".join(written.split()), "".join(reference.split())
    precision = recall = 0.0
    counted = 0
    for size in range(1, order + 1):
        mine, theirs = _grams(one, size), _grams(other, size)
        if not mine or not theirs:
            break
        shared = (mine & theirs).total()
        precision += shared / mine.total()
        recall += shared / theirs.total()
        counted += 1
    if not counted or not precision + recall:
        return 0.0
    precision, recall = precision / counted, recall / counted
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def _grams(text: str, size: int) -> Counter[str]:
    return Counter(text[start : start + size] for start in range(len(text) - size + 1))
