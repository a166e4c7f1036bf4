"""Start the page: `python app.py`, then open the address that it prints. Runs go on when the page is stopped."""

from __future__ import annotations

import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when gradio is imported
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # see launch.WAITING; read when torch is imported

import argparse
import ipaddress
import socket
import sys
from pathlib import Path
from typing import NoReturn

from tsdae_core.ui import LAUNCH, build_app, warm_up


class _Parser(argparse.ArgumentParser):
    """argparse, but wrong input is one sentence."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"app.py: {message}\n")
        sys.exit(2)


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="app.py", description="TSDAE Studio: train sentence encoders and watch them learn.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on [127.0.0.1]")
    parser.add_argument("--port", type=int, default=7860, help="port to listen on [7860]")
    parser.add_argument(
        "--workspace", type=Path, default=Path("workspace"), help="folder of all runs [workspace]"
    )
    parser.add_argument("--auth", metavar="USER:PASSWORD", help="ask for this name and password")
    parser.add_argument(
        "--share", action="store_true", help="a public address through Gradio's servers; needs --auth"
    )
    parser.add_argument("--read-only", action="store_true", help="nothing can be started, stopped or deleted")
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Serve the page until Ctrl-C. Wrong input ends with one sentence and exit code 2."""
    parser = build_parser()
    args = parser.parse_args(arguments)
    workspace = args.workspace.expanduser().resolve()
    try:
        auth = login(args.auth)
        if auth is None and (args.share or not is_loopback(args.host)):
            raise ValueError("a page that others can reach needs a login; add --auth USER:PASSWORD")
        check_port(args.host, args.port)
        workspace.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(
            f"{workspace} cannot be used for runs ({error.strerror}); give a folder that you may write to"
        )
    except ValueError as error:
        parser.error(str(error))
    page = build_app(workspace, read_only=args.read_only)
    try:
        _, local, shared = page.launch(
            server_name=args.host,
            server_port=args.port,
            auth=auth,
            share=args.share,
            blocked_paths=[str(workspace)],
            prevent_thread_lock=True,
            quiet=True,
            **LAUNCH,
        )
    except OSError as error:
        parser.error(str(error))
    sys.stdout.write(f"TSDAE Studio is at {shared or local}  (Ctrl-C stops the page; runs go on)\n")
    sys.stdout.flush()
    warm_up()
    page.block_thread()


def login(text: str | None) -> tuple[str, str] | None:
    """("USER", "PASSWORD") of "USER:PASSWORD". Raises `ValueError` for anything else."""
    if text is None:
        return None
    user, _, password = text.partition(":")
    if not user or not password:
        raise ValueError("--auth needs a name and a password with a colon between them: USER:PASSWORD")
    return user, password


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_port(host: str, port: int) -> None:
    """Raise `ValueError` with what to do when nothing can listen there."""
    if not 1 <= port <= 65535:
        raise ValueError(f"--port must be between 1 and 65535; got {port}")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(
            f"cannot listen on {host}, port {port} ({reason}); stop the program that uses it, or choose another --port"
        ) from error


if __name__ == "__main__":
    main()
