"""Train and explore TSDAE sentence encoders (arXiv 2104.06979). Importing this package loads no torch and no gradio."""

from __future__ import annotations

from tsdae_core.config import PRESETS, TrainConfig
from tsdae_core.runs import Run, create_run, find_run, list_runs

__all__ = ["PRESETS", "Run", "TrainConfig", "create_run", "find_run", "list_runs"]
