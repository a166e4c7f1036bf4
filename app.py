"""Start the page: `python app.py`. Arguments in, `build_app(...).launch(...)` out; nothing else."""

from __future__ import annotations

import argparse
import os
import sys
from ipaddress import ip_address
from pathlib import Path

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when gradio is imported, so it stands before that
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, without the list of all arguments."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(_wrong(f"{message}; `python app.py --help` lists what can be given"))


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """The arguments, checked. Raises `ValueError` for what cannot be or would not be safe."""
    parser = _Parser(prog="python app.py", description="The page of TSDAE Studio.", allow_abbrev=False)
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on [127.0.0.1: this machine only]"
    )
    parser.add_argument("--port", type=int, default=7860, help="port [7860]")
    parser.add_argument(
        "--workspace", type=Path, default=Path("workspace"), help="folder of all runs [workspace]"
    )
    parser.add_argument("--auth", default="", metavar="USER:PASSWORD", help="ask for this name and password")
    parser.add_argument(
        "--share", action="store_true", help="also reachable through a public gradio.live address"
    )
    parser.add_argument("--read-only", action="store_true", help="nothing can be started, stopped or deleted")
    args = parser.parse_args(given)
    if not 1 <= args.port <= 65_535:
        raise ValueError(f"the port must be between 1 and 65535; got {args.port}")
    if args.workspace.exists() and not args.workspace.is_dir():
        raise ValueError(f"the workspace must be a folder; {args.workspace} is a file")
    user, colon, password = args.auth.partition(":")
    if args.auth and not (user and colon and password):
        raise ValueError("--auth must look like USER:PASSWORD, with both parts")
    if not args.auth and (args.share or not _loopback(args.host)):
        reach = (
            "--share opens the page to the internet"
            if args.share
            else f"{args.host} opens the page to others"
        )
        raise ValueError(f"{reach}, who could read your texts; add --auth USER:PASSWORD")
    args.auth = (user, password) if args.auth else None
    return args


def _loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def main(given: list[str] | None = None) -> int:
    """Serve the page until it is ended. Returns the exit code."""
    try:
        args = arguments(given)
        from tsdae_core.ui import LAUNCH, build_app  # noqa: PLC0415 (takes seconds; a wrong argument is told at once)

        args.workspace.mkdir(parents=True, exist_ok=True)
        page = build_app(args.workspace.resolve(), read_only=args.read_only)
        page.launch(
            server_name=args.host,
            server_port=args.port,
            auth=args.auth,
            share=args.share,
            blocked_paths=[str(args.workspace.resolve())],
            **LAUNCH,
        )
    except ValueError as error:
        return _wrong(str(error))
    except OSError as error:
        taken = "empty port" in str(error)
        return _wrong(f"port {args.port} is taken; give another one with --port" if taken else str(error))
    return 0


def _wrong(sentence: str) -> int:
    """Say what is wrong; the exit code of wrong input."""
    sys.stderr.write(f"error: {sentence.splitlines()[0]}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
