"""The page: the only home of gradio. `build_app` makes it, `LAUNCH` is how it is served."""

from __future__ import annotations

from tsdae_core.ui.app import LAUNCH, build_app
from tsdae_core.ui.warm import warm_up

__all__ = ["LAUNCH", "build_app", "warm_up"]
