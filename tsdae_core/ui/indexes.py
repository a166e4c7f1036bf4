"""What takes a while and is shared: corpora as encoders see them, and comparisons of two encoders, worked out in the
background. A page that is closed meanwhile loses nothing, and two that ask for the same share the work."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tsdae_core.runs import Run
from tsdae_core.ui.own_text import Looked, looked_at
from tsdae_core.ui.warm import heavy

WORDS = "bm25"
"""The system that compares words, see `explore.open_index`."""

KEPT = 8
"""Results that stay in memory."""

SURE = 3.0
"""Seconds of work after which its pace is trusted."""

Tell = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


class Cancelled(ValueError):
    """Somebody did not want to wait."""


class Opening:
    """Something on its way: what is being done, how far it is, and in the end the result or why there is none.

    Set `cancelled` and it ends at the next thing that it tells.
    """

    def __init__(self, work: Callable[[Tell], Any], phase: str):
        self.phase, self.done, self.total = phase, 0, 0
        self.since = time.monotonic()
        self.cancelled = False
        self.found: Any = None
        self.error: Exception | None = None
        self.finished = threading.Event()
        threading.Thread(target=self._work, args=(work,), daemon=True, name="opening").start()

    def _work(self, work: Callable[[Tell], Any]) -> None:
        heavy()
        try:
            self.found = work(self._tell)
        except Exception as error:
            self.error = error
        finally:
            self.finished.set()

    def _tell(self, phase: str, done: int, total: int) -> None:
        if self.cancelled:
            raise Cancelled("This was cancelled; asked again, it begins anew.")
        if phase != self.phase:
            self.since = time.monotonic()
        self.phase, self.done, self.total = phase, done, total

    @property
    def left(self) -> float | None:
        """Seconds that what is being done will still take, at its pace so far; None while that cannot be told."""
        spent = time.monotonic() - self.since
        if not 0 < self.done <= self.total or spent < SURE:
            return None
        return spent / self.done * (self.total - self.done)

    def far(self) -> dict[str, Any]:
        """How far it is, for the page."""
        return {"phase": self.phase, "done": self.done, "total": self.total, "left": self.left}

    def result(self) -> Any:
        """What was found. Raises what went wrong."""
        self.finished.wait()
        if self.error is not None:
            raise self.error
        return self.found


_OPENED: OrderedDict[tuple[Any, ...], Opening] = OrderedDict()
_LOCK = threading.Lock()


def shared(key: tuple[Any, ...], work: Callable[[Tell], Any], phase: str) -> Opening:
    """The work of that key: the one that was begun already, or a new one; begun anew after an error."""
    with _LOCK:
        found = _OPENED.get(key)
        if found is None or (found.error is not None and found.finished.is_set()):
            found = _OPENED[key] = Opening(work, phase)
        _OPENED.move_to_end(key)
        while len(_OPENED) > KEPT:
            _OPENED.popitem(last=False)
        return found


def cancel(path: Path) -> None:
    """End all work on the corpus at `path` that is still on its way."""
    with _LOCK:
        for key, one in _OPENED.items():
            one.cancelled |= path in key and not one.finished.is_set()


def opening(workspace: Path, run: Run, system: str, *, looked: Looked | None = None) -> Opening:
    """The index of a text by a system, being opened or kept for as long as neither changes; None means the run's own text.

    Raises:
        ValueError: when there is no such system.
    """
    heavy()
    from tsdae_core import explore  # noqa: PLC0415 (brings torch, which the page need not wait for)

    text = looked or looked_at(workspace, run)

    def work(tell: Tell) -> Any:
        def working(done: int, total: int) -> None:
            tell("Counting words" if system == WORDS else "Embedding your text", done, total)

        return explore.open_index(
            system, text.table(), workspace=workspace, cache_dir=text.cache_dir, progress=working
        )

    print_of = WORDS if system == WORDS else explore.fingerprint(system, workspace)
    phase = "Counting words" if system == WORDS else "Loading the encoder"
    return shared((print_of, *text.edition), work, phase)


def comparing(workspace: Path, run: Run, before: str, after: str, *, looked: Looked | None = None) -> Opening:
    """`changes.changed` of a text between two systems, and the rows of the text that were compared.

    Raises:
        ValueError: when there is no such system.
    """
    heavy()
    from tsdae_core import changes, explore, maps  # noqa: PLC0415

    text = looked or looked_at(workspace, run)

    def work(tell: Tell) -> Any:
        corpus = text.table()
        rows = maps.sample(corpus.num_rows, 0)
        found = changes.changed(
            [before, after], corpus.take(rows), workspace=workspace, cache_dir=text.cache_dir, told=tell
        )
        return rows, found

    prints = tuple(explore.fingerprint(system, workspace) for system in (before, after))
    key = ("changes", *prints, *text.edition)
    return shared(key, work, "Loading the encoders")
