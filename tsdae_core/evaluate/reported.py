"""Numbers that others report, to stand beside one's own: never measured here, and always marked as reported."""

from __future__ import annotations

PAPER = "TSDAE paper (arXiv 2104.06979)"
LISTED = f"{PAPER}, as Papers with Code lists it"
"""Not read in the paper itself."""

REPORTED: list[tuple[str, str, str]] = [
    ("TSDAE on AskUbuntu", "59.4 MAP", LISTED),
    ("TSDAE on CQADupStack", "14.5 MAP@100", LISTED),
    ("TSDAE on TwitterPara", "76.8 AP on Twitter URL, 69.2 on PIT", LISTED),
    ("TSDAE on SciDocs", "71.4, 73.9, 75.0, 75.6 MAP on cite, cocite, coread, coview", LISTED),
    ("TSDAE, then training on labels", "56.5, on average over its four domain tasks", PAPER),
    ("Training on labels, then TSDAE", "54.2, on average over the same tasks", PAPER),
    ("TSDAE on general sentence similarity", "66.0 Spearman, on average over the STS tasks", PAPER),
    ("Contrastive Tension on the same", "73.9 Spearman", PAPER),
    (
        "SBERT bert-base-nli-mean-tokens",
        "47.6, USEB's average on the test split",
        "README of the USEB toolkit",
    ),
]
"""What, its number with what it counts, and who reports it."""
