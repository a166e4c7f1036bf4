"""The three ways to a text: a file, pasted text, an example. Each ends as a draft on disk, or as one sentence on why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tsdae_core.corpus import ReadOptions, from_text, peek, read_corpus
from tsdae_core.examples import EXAMPLES, load_example
from tsdae_core.ui.drafts import Draft, keep_source, save_draft

NO_LABEL = ""
"""The choice of the label column that means: none."""

SHORTEST, LONGEST = ReadOptions().min_words, ReadOptions().max_characters
"""Words and characters; what a field means when it is emptied."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Wish:
    """What the user asks for: through which door ("file", "text", "example"; "" for the same as before), and how the text
    behind it is read."""

    door: str
    path: str | None
    text: str | None
    example: str
    column: str | None
    label: str | None
    second: str | None
    split: bool
    shortest: float | None
    longest: float | None


def enter(
    workspace: Path, wish: Wish, progress: Progress | None = None, *, before: Draft | None = None
) -> Draft:
    """The text behind the door as a draft.

    Args:
        before: the text that was loaded before. What was uploaded or pasted for it is read again when the wish brings
            nothing of its own, as after a reload of the page.

    Raises:
        ValueError: with one sentence when the text cannot be used.
    """
    wish, title = _as_before(wish, before)
    source = None
    if wish.door == "example":
        corpus, title = load_example(wish.example, progress), EXAMPLES[wish.example].title
    elif wish.door == "text":
        if not (wish.text or "").strip():
            raise ValueError("There is no text yet; paste some lines first.")
        corpus, title = from_text(wish.text or "", _options(wish, columns=False)), "pasted text"
    elif wish.path:
        path = Path(wish.path)
        corpus, title = read_corpus(path, _options(wish, columns=True)), title or path.name
        source = keep_source(workspace, path)
    else:
        raise ValueError("There is no file; choose one first.")
    reading = asdict(replace(wish, path=None))
    return save_draft(
        workspace,
        corpus.table,
        title=title,
        report=corpus.report.sentences(),
        reading=reading,
        source=source,
    )


def can_read_again(draft: Draft | None) -> bool:
    """Whether another way of reading makes another text: an example is read in one way only."""
    return draft is not None and (draft.source is not None or bool(draft.reading.get("text")))


def _as_before(wish: Wish, before: Draft | None) -> tuple[Wish, str]:
    """The wish with what it lacks taken from the text before, and that text's title; "" when nothing was taken."""
    if wish.door or before is None:
        return wish, ""
    kept = str(before.source) if before.source else None
    return replace(
        wish, door=before.reading.get("door", ""), path=kept, text=before.reading.get("text")
    ), before.title


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
        second_column=(wish.second or None) if columns else None,
        split_sentences=bool(wish.split),
        min_words=int(SHORTEST if wish.shortest is None else wish.shortest),
        max_characters=int(LONGEST if wish.longest is None else wish.longest),
    )
