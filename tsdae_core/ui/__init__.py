"""The page: the only home of gradio. `build_app` makes it, `LAUNCH` is how it is served."""

from __future__ import annotations

from tsdae_core.ui.app import LAUNCH, build_app

__all__ = ["LAUNCH", "build_app"]
