"""What takes a run's encoder home: a copy of its sentence-transformers folder, or that folder as one zip file."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from tsdae_core.files import wants_folder
from tsdae_core.records import new_folder
from tsdae_core.runs import Run


def has_encoder(run: Run) -> bool:
    """Whether there is a whole encoder to take."""
    return (run.encoder_dir / "model.safetensors").is_file()


def run_of_encoder(folder: Path) -> Run | None:
    """The run whose encoder lies in `folder`; None for any other folder."""
    run = Run(folder.parent)
    return (
        run
        if folder.name == "encoder" and (run.path / "status.json").is_file() and has_encoder(run)
        else None
    )


def copy_encoder(run: Run, output: Path, *, step: int | None = None) -> None:
    """Copy the encoder, or a checkpoint's, to a folder that does not exist yet.

    Raises:
        ValueError: when there is no encoder or no such checkpoint, or something is in the way.
    """
    if step is None:
        _wants_encoder(run)
    source = run.encoder_dir if step is None else run.checkpoint(step).encoder_dir
    if not source.is_dir():
        had = ", ".join(str(one.step) for one in run.checkpoints()) or "none"
        raise ValueError(f"{run.name} has no checkpoint at step {step}; it has {had}")
    if output.exists():
        raise ValueError(f"{output} is already there; give a folder that does not exist yet")
    wants_folder(output)
    with new_folder(output) as folder:
        shutil.copytree(source, folder, dirs_exist_ok=True)


def zip_encoder(run: Run, folder: Path) -> Path:
    """The encoder as `RUN-encoder.zip` in `folder`, with one folder of that name inside. Weights do not get smaller, so they are only stored.

    Raises:
        ValueError: when there is no encoder.
    """
    _wants_encoder(run)
    name = f"{run.name}-encoder"
    target = folder / f"{name}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as packed:
        for file in sorted(run.encoder_dir.rglob("*")):
            if file.is_file():
                packed.write(file, f"{name}/{file.relative_to(run.encoder_dir).as_posix()}")
    return target


def _wants_encoder(run: Run) -> None:
    if not has_encoder(run):
        raise ValueError(f"{run.name} has no encoder yet; let it finish, or stop it, which saves it")
