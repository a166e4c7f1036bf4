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
    heavy()


_ONE_AT_A_TIME = threading.Lock()


def heavy() -> None:
    """Import torch and transformers, unless that was done; every event that needs them calls this first.

    Two threads that import transformers for the first time at once find each other's half-made modules.
    """
    with _ONE_AT_A_TIME:
        import tsdae_core.explore  # noqa: PLC0415
        import tsdae_core.rebuild  # noqa: F401, PLC0415
