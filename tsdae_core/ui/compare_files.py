"""Systems that come as uploaded files: vectors that anything has made, and word vectors to be averaged."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from tsdae_core.runs import safe_name
from tsdae_core.ui.warm import heavy

FOLDER = ".systems"
KEPT = 20
"""Uploads that stay on disk."""

ABOUT = (
    "Vectors of the task's sentences: a .parquet file with the columns sentence and vector, or a .npy file and beside it a .txt "
    "file of the same name with a sentence per line. Or a .txt file of word vectors (GloVe), which are averaged."
)
ENDINGS = [".npy", ".txt", ".parquet", ".vec"]


def keep_systems(workspace: Path, files: Sequence[Path]) -> list[tuple[str, str]]:
    """(label, system) of the systems in uploaded files, which are copied, since an upload does not stay.

    Raises:
        ValueError: in one sentence, for a file that is none.
    """
    if not files:
        return []
    named = {Path(file).name: Path(file) for file in files}
    beside = {Path(name).with_suffix(".txt").name for name in named if name.endswith(".npy")}
    missing = sorted(beside - set(named))
    if missing:
        raise ValueError(
            f"Vectors in a .npy file need their sentences beside them: upload {missing[0]} with it."
        )
    home = workspace / FOLDER / _key(list(named.values()))
    if not home.is_dir():
        home.mkdir(parents=True)
        for name, file in named.items():
            shutil.copyfile(file, home / _safe(name))
    _forget_old(workspace / FOLDER)
    heavy()
    from tsdae_core.evaluate.systems import open_system  # noqa: PLC0415 (brings torch)

    found = []
    for name in named:
        if name not in beside:
            path = str((home / _safe(name)).resolve())
            system = path if name.endswith((".npy", ".parquet")) else f"glove:{path}"
            open_system(system, workspace)  # raises what is wrong with it
            found.append((name, system))
    return found


def _safe(name: str) -> str:
    return safe_name(Path(name).stem) + Path(name).suffix.lower()


def _key(files: Sequence[Path]) -> str:
    """The same files have the same folder."""
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(_safe(file.name).encode())
        with file.open("rb") as opened:
            while block := opened.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16]


def _forget_old(home: Path) -> None:
    found = sorted(home.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in found[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
