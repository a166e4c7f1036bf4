"""Start the page: `python app.py`."""

from __future__ import annotations

import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

import argparse
from pathlib import Path

from tsdae_core.ui import LAUNCH, build_app


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=7860)
    parser.add_argument("--workspace", type=Path, default=Path("workspace"))
    args = parser.parse_args()
    build_app(args.workspace).launch(server_name=args.host, server_port=args.port, **LAUNCH)


if __name__ == "__main__":
    main()
