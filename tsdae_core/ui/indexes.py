"""Corpora as encoders see them, opened in the background: a page that is closed meanwhile loses nothing, and two that ask
for the same share the work."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from tsdae_core.runs import Run
from tsdae_core.ui.warm import heavy

KEPT = 4
"""Indexes that stay in memory."""


class Opening:
    """An index on its way: what is being done, how far it is, and in the end the index or why there is none."""

    def __init__(self, workspace: Path, run: Run, system: str):
        self.phase, self.done, self.total = "Loading the encoder", 0, 0
        self.index: Any = None
        self.error: Exception | None = None
        self.finished = threading.Event()
        work = threading.Thread(target=self._work, args=(workspace, run, system), daemon=True, name="index")
        work.start()

    def _work(self, workspace: Path, run: Run, system: str) -> None:
        heavy()
        from tsdae_core import explore  # noqa: PLC0415 (brings torch, which the page need not wait for)

        try:
            self.index = explore.open_index(
                system, run.corpus(), workspace=workspace, cache_dir=run.cache_dir, progress=self._tell
            )
        except Exception as error:
            self.error = error
        finally:
            self.finished.set()

    def _tell(self, done: int, total: int) -> None:
        self.phase, self.done, self.total = "Embedding your text", done, total

    def result(self) -> Any:
        """The index. Raises what went wrong."""
        self.finished.wait()
        if self.error is not None:
            raise self.error
        return self.index


_OPENED: OrderedDict[tuple[Any, ...], Opening] = OrderedDict()
_LOCK = threading.Lock()


def opening(workspace: Path, run: Run, system: str) -> Opening:
    """The index of the run's corpus by an encoder, being opened or kept for as long as neither changes.

    Raises:
        ValueError: when there is no such encoder.
    """
    heavy()
    from tsdae_core import explore  # noqa: PLC0415

    key = (explore.fingerprint(system, workspace), run.corpus_path, run.corpus_path.stat().st_mtime_ns)
    with _LOCK:
        found = _OPENED.get(key)
        if found is None or found.error is not None:
            found = _OPENED[key] = Opening(workspace, run, system)
        _OPENED.move_to_end(key)
        while len(_OPENED) > KEPT:
            _OPENED.popitem(last=False)
        return found
