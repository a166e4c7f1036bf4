"""Systems from uploaded files, and what the Compare tab is told of a sweep."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import make_sentences
from tests.test_queue import held, labelled, names
from tests.test_train import make_run
from tests.test_ui import shell_of
from tsdae_core import run_queue
from tsdae_core.evaluate.systems import open_system
from tsdae_core.evaluate.table import Cell, Column, Row, Table
from tsdae_core.sweeps import Sweep, create_sweep
from tsdae_core.ui import compare
from tsdae_core.ui.compare_feeds import feeds, rows_of, shown_choices
from tsdae_core.ui.compare_files import keep_systems

__all__ = ["held"]


def test_uploaded_vectors_and_word_vectors_become_systems_that_stay(tmp_path: Path) -> None:
    upload = tmp_path / "upload"
    upload.mkdir()
    np.save(upload / "a service.npy", np.eye(2, 3, dtype=np.float32))
    (upload / "a service.txt").write_text("one\ntwo\n")
    (upload / "glove.txt").write_text("cat 1 0\ndog 0 1\n")
    files = sorted(upload.iterdir())
    found = dict(keep_systems(tmp_path / "w", files))
    assert list(found) == ["a service.npy", "glove.txt"]
    for file in files:
        file.unlink()
    vectors = open_system(found["a service.npy"], tmp_path / "w").vectors(["two"])
    assert vectors is not None and vectors.tolist() == [[0, 1, 0]]
    words = open_system(found["glove.txt"], tmp_path / "w").vectors(["cat dog"])
    assert words is not None and words.tolist() == [[0.5, 0.5]]


def test_a_file_that_is_no_system_is_one_sentence(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.eye(2))
    with pytest.raises(ValueError, match=r"upload v\.txt with it"):
        keep_systems(tmp_path / "w", [tmp_path / "v.npy"])
    (tmp_path / "words.txt").write_text("just a text\n")
    with pytest.raises(ValueError, match="a word and"):
        keep_systems(tmp_path / "w", [tmp_path / "words.txt"])


def test_a_sweep_is_offered_and_its_table_comes_with_its_curve(tmp_path: Path) -> None:
    home = tmp_path / ".sweeps" / "sizes"
    home.mkdir(parents=True)
    runs = [{"run": f"r{size}", "values": {"corpus_size": size}} for size in (128, 1024)]
    (home / "sweep.json").write_text(json.dumps({"name": "sizes", "runs": runs}))
    Sweep(home).write_status(state="queued")
    assert shown_choices(tmp_path) == [("The run above", ""), ("Sweep sizes", "sweep:sizes")]
    state, _ = feeds(tmp_path)
    assert "0 of 2 runs are trained" in state(["sweep:sizes", ""])["phase"]
    rows = [Row("Untrained base", ["b"], [Cell(40.0)], 1.0)]
    rows += [Row(f"Sentences {size:,}", ["r"], [Cell(50.0, 1.0, [49.0, 51.0])], 1.0) for size in (128, 1024)]
    (home / "table.json").write_text(json.dumps(Table([Column("t", "MAP", "labels", 9)], rows, []).data()))
    said = state(["sweep:sizes", ""])
    assert said["curves"][0]["x"] == [128, 1024] and said["curves"][0]["base"] == 40.0
    assert "table" not in state(["sweep:sizes", said["shown"]])
    assert "error" in state(["sweep:../x", ""])


def test_further_encoders_may_be_one_row_of_several_seeds(tmp_path: Path, tiny_model_folder: Path) -> None:
    run = make_run(tmp_path, tiny_model_folder, make_sentences(40))
    copy = tmp_path / "copy"
    shutil.copytree(tiny_model_folder, copy)
    rows = rows_of(tmp_path, run, ["base"], [f"seeds={tiny_model_folder},{copy}", " "])
    assert rows[1:] == [("seeds", [str(tiny_model_folder), str(copy)])]
    with pytest.raises(ValueError, match="nobody"):
        rows_of(tmp_path, run, ["base"], ["seeds=base:nobody,base:nothing"])


def test_a_sweeps_table_can_be_made_again_and_stopped_from_the_page(
    tmp_path: Path, tiny_model_folder: Path, held: None
) -> None:
    settings = {"base_model": str(tiny_model_folder), "max_steps": 2}
    sweep = create_sweep(tmp_path, settings, {"seed": [1, 2]}, labelled(400), name="seeds")
    shell = shell_of(tmp_path)
    assert compare.make_table(shell, "sweep:seeds") == "The table of seeds is on its way already."
    run_queue.halt(sweep)
    assert sweep.state == "new"
    assert compare.make_table(shell, "sweep:seeds") == ""
    assert sweep.state == "queued" and names(tmp_path)[-1] == ".sweeps/seeds"
    assert compare.stop(shell, "sweep:seeds", "seeds") == "" and sweep.state == "stopped"
    assert compare.make_table(shell, "sweep:other").startswith("There is no sweep 'other'")
    assert compare.make_table(shell_of(tmp_path, read_only=True), "sweep:seeds") == compare.READ_ONLY
    assert compare.start(shell, "", [], [], "damaged", "pairs", None).startswith("Choose a run above")
