"""The three ways to a text: a file, pasted text, an example. Each ends as a draft on disk, or as one sentence on why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tsdae_core.corpus import ReadOptions, from_text, peek, read_corpus
from tsdae_core.examples import EXAMPLES, load_example
from tsdae_core.ui.drafts import Draft, save_draft

NO_LABEL = ""
"""The choice of the label column that means: none."""

SHORTEST, LONGEST = ReadOptions().min_words, ReadOptions().max_characters
"""Words and characters; what a field means when it is emptied."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Wish:
    """What the user asks for: through which door, and how the text behind it is read."""

    door: str
    path: str | None
    text: str | None
    example: str
    column: str | None
    label: str | None
    split: bool
    shortest: float | None
    longest: float | None


def enter(workspace: Path, wish: Wish, progress: Progress | None = None) -> Draft:
    """The text behind the door as a draft. Raises `ValueError` with one sentence when it cannot be used."""
    if wish.door == "example":
        corpus, title = load_example(wish.example, progress), EXAMPLES[wish.example].title
    elif wish.door == "text":
        if not (wish.text or "").strip():
            raise ValueError("There is no text yet; paste some lines first.")
        corpus, title = from_text(wish.text or "", _options(wish, columns=False)), "pasted text"
    elif wish.path:
        path = Path(wish.path)
        corpus, title = read_corpus(path, _options(wish, columns=True)), path.name
    else:
        raise ValueError("There is no file; choose one first.")
    return save_draft(workspace, corpus.table, title=title, report=corpus.report.sentences())


def columns(path: str | None) -> tuple[list[str], str | None, str]:
    """A file's columns, the one that seems to hold the sentences, and the one that seems to hold labels ("" for none)."""
    try:
        seen = peek(Path(path)) if path else None
    except ValueError:
        seen = None  # reading it will say why
    if seen is None:
        return [], None, NO_LABEL
    return list(seen.columns), seen.text_column, seen.label_column or NO_LABEL


def _options(wish: Wish, *, columns: bool) -> ReadOptions:
    return ReadOptions(
        text_column=(wish.column or None) if columns else None,
        label_column=(wish.label or None) if columns else None,
        split_sentences=bool(wish.split),
        min_words=int(SHORTEST if wish.shortest is None else wish.shortest),
        max_characters=int(LONGEST if wish.longest is None else wish.longest),
    )
