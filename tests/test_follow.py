"""A task at every checkpoint: measured as they come, in order, without touching the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.conftest import make_sentences
from tsdae_core import launch, train
from tsdae_core.__main__ import main
from tsdae_core.config import checked
from tsdae_core.evaluate.follow import compute, curves_of, followed, points, start_following
from tsdae_core.runs import Run, create_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> Run:
    texts = make_sentences(200)
    table = pa.table({"sentence": texts, "line": range(200), "label": [text.split()[1] for text in texts]})
    config = checked({"base_model": str(tiny_model_folder), "max_steps": 6, "checkpoint_every": 2, "devices": "cpu",
                      "precision": "fp32", "max_length": 32, "learning_rate": 1e-2, "pooling": "mean"})  # fmt: skip
    run = create_run(tmp_path_factory.mktemp("followed"), config, table, name="seen")
    assert train.main(run.path) == 0
    return run


def test_every_checkpoint_is_measured_once_and_the_base_first(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "start_process", lambda job, command: None)
    workspace = run.path.parent
    before = sorted((file, file.stat().st_mtime_ns) for file in run.encoder_dir.rglob("*"))
    job = start_following(workspace, run, own="labels")
    compute(job)
    compute(job)  # as after a restart
    rows = points(job)
    assert [row["step"] for row in rows] == [0, 2, 4, 6]
    curve, *_ = curves_of(job)
    assert curve is not None and curve["x"] == [0, 2, 4, 6] and curve["metric"] == "kNN accuracy"
    assert curve["base"] == rows[0]["values"]["kNN accuracy"]
    assert job.status()["state"] == "finished" and followed(workspace, "seen")[0].name == job.name
    assert sorted((file, file.stat().st_mtime_ns) for file in run.encoder_dir.rglob("*")) == before


def test_the_curve_agrees_with_the_table_of_the_checkpoints_from_the_shell(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "task.tsv"
    rows = run.corpus().to_pylist()
    file.write_text("\n".join(f"{row['sentence']}\t{row['label']}" for row in rows))
    monkeypatch.setattr(launch, "start_process", lambda job, command: None)
    job = start_following(run.path.parent, run, kind="labels", files=[file])
    compute(job)
    asked = [
        "evaluate",
        "seen",
        "--checkpoints",
        "--task",
        f"labels:{file}",
        "--format",
        "csv",
        "--resamples",
        "0",
    ]
    assert main([*asked, "--workspace", str(run.path.parent)]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["base:seen", "seen@2", "seen@4", "seen@6"]
    shown = [float(line.split(",")[1]) for line in lines[1:]]
    curve, *_ = curves_of(job)
    assert curve is not None
    np.testing.assert_allclose(shown, curve["mean"], atol=0.01)


def test_a_checkpoint_can_be_taken_home_instead_of_the_result(run: Run, tmp_path: Path) -> None:
    workspace = ["--workspace", str(run.path.parent)]
    assert main(["export", "seen@4", str(tmp_path / "four"), *workspace]) == 0
    assert (tmp_path / "four" / "modules.json").is_file()
    assert main(["export", "seen@5", str(tmp_path / "five"), *workspace]) == 2
