"""A disk that is full: a plain sentence, a checkpoint that can be resumed from, nothing half-written that takes the last room."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.conftest import make_sentences
from tests.test_train import losses, make_run
from tsdae_core import train
from tsdae_core.__main__ import main
from tsdae_core.jobs import Job, work
from tsdae_core.rebuild import load_model
from tsdae_core.records import disk_is_full, new_folder, sweep, why, write_text
from tsdae_core.runs import Run

KB = 1024


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Makes a disk of so many bytes, or gives the one that there is another size."""
    place = tmp_path / "disk"
    place.mkdir()

    def of_size(size: int) -> Path:
        again = ["-o", "remount"] if place.is_mount() else []
        asked = ["mount", *again, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"only who may mount a disk can try this: {done.stderr.strip()}")
        return place

    yield of_size
    if place.is_mount():
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> None:
    """Take all room that is left."""
    with (place / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * KB)
        except OSError as error:
            assert disk_is_full(error)


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size + 4 * KB for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    "share", [0.65, 0.85]
)  # of a finished run: the second checkpoint fails early or late
def test_a_run_says_that_the_disk_is_full_and_goes_on_when_there_is_room(
    tmp_path: Path, tiny_model_folder: Path, disk: Callable[[int], Path], share: float
) -> None:
    steps = {"max_steps": 12, "checkpoint_every": 4, "probe_every": 6}
    whole = make_run(tmp_path / "whole", tiny_model_folder, make_sentences(200), **steps)
    assert train.main(whole.path) == 0
    place = disk(int(share * size_of(whole.path)))
    run = make_run(place, tiny_model_folder, make_sentences(200), **steps)
    assert train.main(run.path) == 1
    said = run.status()
    assert (said["state"], said["error"]) == ("failed", "The disk is full.")
    assert "Make room" in said["advice"]
    assert run.checkpoints(), "there is a checkpoint to go on from"
    assert load_model(run, step=run.checkpoints()[-1].step).decodes
    assert not [file for file in run.path.rglob(".*")], "nothing half-written is left"
    disk(64 * KB * KB)
    assert train.main(run.path) == 0
    assert losses(run) == losses(whole)


def test_a_status_is_written_when_not_a_byte_is_free(disk: Callable[[int], Path]) -> None:
    place = disk(256 * KB)
    job = Job(place / "job")
    job.path.mkdir()
    job.write_status(state="running", phase="A phase with a long name")
    fill(place)

    def write_more(job: Job) -> None:
        (job.path / "more").write_text("x" * KB)

    assert work(job, write_more) == 1
    said = Job(job.path).status()
    assert (said["state"], said["error"]) == ("failed", "The disk is full.")


def test_a_full_disk_spoils_no_old_file_that_has_no_room_for_the_new_one(disk: Callable[[int], Path]) -> None:
    place = disk(64 * KB)
    write_text(place / "facts.json", "old")
    fill(place)
    with pytest.raises(OSError, match="No space"):
        write_text(place / "facts.json", "x" * 20 * KB)
    assert (place / "facts.json").read_text() == "old"
    write_text(place / "facts.json", "new")
    assert (place / "facts.json").read_text() == "new"


def test_whoever_wrote_it_a_full_disk_is_told_in_the_same_words(disk: Callable[[int], Path]) -> None:
    place = disk(64 * KB)
    with pytest.raises(Exception, match="No space") as failed, new_folder(place / "model") as folder:
        save_file({"a": torch.zeros(KB * KB)}, folder / "a.safetensors")
    assert why(failed.value) == "The disk is full."
    assert list(place.iterdir()) == []
    assert why(ValueError("one\ntwo")) == "one"
    assert why(KeyError()) == "KeyError"


def test_the_command_line_tells_why_a_run_failed_and_names_no_encoder_that_is_not_there(
    tiny_model_folder: Path, disk: Callable[[int], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = disk(400 * KB)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(make_sentences(60)), encoding="utf-8")
    sizes = "--max-steps 3 --max-length 32 --devices cpu"
    options = ["--base-model", str(tiny_model_folder), *sizes.split()]
    assert main(["train", str(text), "--name", "full", "--workspace", str(place), *options]) == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("full: Failed. The disk is full. Make room")
    assert "Encoder" not in last
    assert Run(place / "full").state == "failed"


def test_a_file_that_cannot_be_written_is_one_sentence_on_the_command_line(
    tiny_model_folder: Path, disk: Callable[[int], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path, tiny_model_folder, make_sentences(60), max_steps=2)
    assert train.main(run.path) == 0
    place = disk(64 * KB)
    fill(place)
    capsys.readouterr()
    for asked in (
        ["export", run.name, str(place / "mine")],
        ["train", str(run.log_path), "--workspace", str(place)],
    ):
        workspace = [] if "--workspace" in asked else ["--workspace", str(tmp_path)]
        run.log_path.write_text("\n".join(make_sentences(60)), encoding="utf-8")
        assert main([*asked, *workspace]) == 1, asked
        assert capsys.readouterr().err.strip().splitlines()[-1] == "error: The disk is full."
    assert not (place / "mine").exists()


def test_what_a_killed_run_left_half_written_is_removed_when_it_goes_on(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    run = make_run(tmp_path, tiny_model_folder, make_sentences(60), max_steps=4, checkpoint_every=2)
    left = [run.path / ".encoder.0a1b2c", run.checkpoints_dir / ".step-2.0a1b2c"]
    for folder in left:
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"half")
    assert train.main(run.path) == 0
    assert not [folder for folder in left if folder.exists()]
    encoder = run.encoder_dir.rename(run.path / ".encoder.old-0a1b2c")  # killed between two renames
    sweep(run.path)
    assert run.encoder_dir.is_dir()
    assert not encoder.exists()
    assert [one.step for one in run.checkpoints()] == [2, 4]
