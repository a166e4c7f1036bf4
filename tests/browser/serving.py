"""The app as the process that a user starts, for tests and pictures."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
OPTIONS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-background-networking"]
"""Chromium's: it draws without a graphics card and asks nobody."""


def chromium() -> str | None:
    """Where a Chromium lies on this machine."""
    return shutil.which("chromium") or shutil.which("google-chrome")


class App:
    """`python app.py` on a workspace and a free port of this machine; ended by `kill`, started again by `start`."""

    def __init__(self, workspace: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.workspace = workspace
        self.url = f"http://127.0.0.1:{self.port}/"
        self.start()

    def start(self, *, patience: float = 120.0) -> None:
        """Returns when the page answers; fails after `patience` seconds."""
        command = [sys.executable, "app.py", "--port", str(self.port), "--workspace", str(self.workspace)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
        )
        deadline = time.monotonic() + patience
        while True:
            try:
                urllib.request.urlopen(self.url, timeout=5).read()
                return
            except OSError:
                assert self.process.poll() is None, "the app ended at its start"
                assert time.monotonic() < deadline, "the app did not answer"
                time.sleep(0.2)

    def kill(self) -> None:
        """End it at once, without a chance to tidy up."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=30)
