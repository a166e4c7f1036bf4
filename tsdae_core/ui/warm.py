"""Load what the first click would wait for, after the page is up and while nobody waits."""

from __future__ import annotations

import contextlib
import threading
import time

from tsdae_core import base_models

PAUSE = 2.0
"""Seconds left to the first page, which needs the processor more."""


def warm_up() -> threading.Thread:
    """Import torch and check the bundled weights in the background."""
    thread = threading.Thread(target=_warm, daemon=True, name="warm-up")
    thread.start()
    return thread


def _warm() -> None:
    time.sleep(PAUSE)
    with contextlib.suppress(ValueError):  # told where the model is chosen
        base_models.bundled_folder()
    import tsdae_core.rebuild  # noqa: F401, PLC0415 (brings torch and transformers)
