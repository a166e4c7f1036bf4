"""How a training run keeps time, and how it learns that it should end."""

from __future__ import annotations

import signal
import sys
import time

import torch
from accelerate import Accelerator

from tsdae_core.runs import Run


class Clock:
    """Seconds of training, sentences per second without the pauses, and the time left with them."""

    def __init__(self, seconds: float, step: int):
        self.before, self.first_step, self.sentences = seconds, step, 0
        self.started, self.paused, self.said = time.monotonic(), 0.0, 0.0

    def seconds(self) -> float:
        return self.before + time.monotonic() - self.started

    def rate(self) -> float:
        return self.sentences / max(1e-9, time.monotonic() - self.started - self.paused)

    def left(self, total: int, step: int) -> float:
        return (time.monotonic() - self.started) / max(1, step - self.first_step) * (total - step)

    def due(self) -> bool:
        """True about twice a second."""
        if time.monotonic() - self.said < 0.5:
            return False
        self.said = time.monotonic()
        return True

    def pause(self) -> Pause:
        """What happens inside counts as time, but not against the speed."""
        return Pause(self)


class Pause:
    def __init__(self, clock: Clock):
        self.clock = clock

    def __enter__(self) -> None:
        self.entered = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self.clock.paused += time.monotonic() - self.entered


class Stop:
    """Whether somebody wants the run to end: a stop file, SIGTERM or Ctrl+C; all processes agree on the step."""

    def __init__(self, run: Run, accelerator: Accelerator):
        self.run, self.accelerator, self.terminated = run, accelerator, False
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)

    def _on_signal(self, number: int, _: object) -> None:
        if number == signal.SIGINT and self.terminated:
            raise KeyboardInterrupt
        self.terminated = True
        if number == signal.SIGINT and self.accelerator.is_main_process:
            sys.stderr.write("\nStopping; what was learned is saved. Ctrl+C again ends at once.\n")

    def asked(self) -> bool:
        return self.agree(self.terminated or (self.accelerator.is_main_process and self.run.stop_requested()))

    def agree(self, wanted: object) -> bool:
        """True on every process when it is on any."""
        if self.accelerator.num_processes == 1:
            return bool(wanted)
        flag = torch.tensor([1.0 if wanted else 0.0], device=self.accelerator.device)
        return bool(self.accelerator.reduce(flag, reduction="sum").item() > 0)
