"""Checkpoints: all that a resume needs, so that a run that was killed goes on as if it had not been.

A checkpoint is a whole model (encoder/ and decoder/), the optimizer's moments and the random states as safetensors,
and the position in the data as JSON. Only the newest one keeps its optimizer, which is twice the size of the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from tsdae_core.model import TSDAE
from tsdae_core.runs import Checkpoint, Run, new_folder
from tsdae_core.storage import save

EXTRA = "extra."
"""How the names of weights begin that only training needs (`TSDAE.extra`)."""

MOMENTS = ("step", "exp_avg", "exp_avg_sq", "square_avg")
"""What AdamW and RMSprop remember of a weight."""


def newest(run: Run) -> Checkpoint | None:
    """The newest checkpoint that can be resumed from."""
    found = [one for one in run.checkpoints() if one.optimizer_path.is_file() and one.progress_path.is_file()]
    return found[-1] if found else None


def write(
    run: Run,
    model: TSDAE,
    *,
    optimizer: torch.optim.Optimizer,
    learning: Mapping[str, nn.Parameter],
    progress: Any,
) -> Checkpoint:
    """Save the whole state at `progress.step`, then drop the optimizer of older checkpoints.

    `learning` names the weights that the optimizer moves.
    """
    target = run.checkpoint(progress.step)
    state: dict[str, Tensor] = {"rng.cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["rng.cuda"] = torch.cuda.get_rng_state()
    names = {id(weight): name for name, weight in learning.items()}
    for name, extra in learning.items():  # weights that are no part of the saved model
        if name.startswith(EXTRA):
            state[name] = extra.detach().cpu().contiguous().clone()
    for weight, moments in optimizer.state.items():
        for key, value in moments.items():
            state[f"{key}.{names[id(weight)]}"] = torch.as_tensor(value).detach().cpu().contiguous().clone()
    with new_folder(target.path) as folder:
        filled = Checkpoint(folder)
        save(model, filled.path)
        save_file(state, filled.optimizer_path)
        filled.progress_path.write_text(json.dumps(asdict(progress)), encoding="utf-8")
    for older in run.checkpoints():
        if older.step < progress.step:
            older.optimizer_path.unlink(missing_ok=True)
    return target


def extra_of(checkpoint: Checkpoint) -> dict[str, Tensor]:
    """The weights of `TSDAE.extra` in a checkpoint."""
    state = load_file(checkpoint.optimizer_path)
    return {name.removeprefix(EXTRA): value for name, value in state.items() if name.startswith(EXTRA)}


def resume(
    checkpoint: Checkpoint, *, optimizer: torch.optim.Optimizer, learning: Mapping[str, nn.Parameter]
) -> dict[str, Any]:
    """Put optimizer and random states back; the model itself was loaded from the checkpoint already.

    Returns:
        the saved progress, as keyword arguments.
    """
    state = load_file(checkpoint.optimizer_path)
    torch.set_rng_state(state["rng.cpu"])
    if torch.cuda.is_available() and "rng.cuda" in state:
        torch.cuda.set_rng_state(state["rng.cuda"])
    for name, weight in learning.items():
        for key in MOMENTS:
            saved = state.get(f"{key}.{name}")
            if saved is not None:
                optimizer.state[weight][key] = saved.to(torch.float32 if key == "step" else weight.dtype).to(
                    weight.device
                )
    return dict(json.loads(checkpoint.progress_path.read_text(encoding="utf-8")))
