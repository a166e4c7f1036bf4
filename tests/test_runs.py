"""Run folders: no torn reads, names never become paths, dead processes are seen."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from tsdae_core import launch
from tsdae_core.config import TrainConfig
from tsdae_core.runs import Job, Run, create_run, delete_run, find_run, list_runs, safe_name

TABLE = pa.table({"sentence": ["One.", "Two."], "line": [1, 2], "label": pa.nulls(2, pa.string())})


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return create_run(tmp_path, TrainConfig(), TABLE, name="first")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "job").mkdir()
    return Job(tmp_path / "job")


def wait_for_state(job: Job, state: str, *, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while job.state != state:
        assert time.monotonic() < deadline, f"still {job.state}"
        time.sleep(0.02)


def test_a_new_run_holds_settings_corpus_and_probes(tmp_path: Path) -> None:
    run = create_run(tmp_path, TrainConfig(max_steps=7), TABLE, name="my text.txt", probes=["Watch me."])
    assert run.name == "my-text.txt"
    assert run.config().max_steps == 7
    assert run.corpus()["sentence"].to_pylist() == ["One.", "Two."]
    assert run.probes() == ["Watch me."]
    assert run.state == "new"


def test_a_taken_name_gets_a_number_and_nothing_is_overwritten(tmp_path: Path) -> None:
    names = [create_run(tmp_path, TrainConfig(), TABLE, name="same").name for _ in range(3)]
    assert names == ["same", "same-2", "same-3"]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "..", ".hidden", "a/b", "a\\b", "", "x" * 300, "naïve ✓"]
)
def test_no_name_leaves_the_workspace(tmp_path: Path, name: str) -> None:
    run = create_run(tmp_path / "work", TrainConfig(), TABLE, name=name)
    assert run.path.parent == tmp_path / "work"
    assert run.name[0] not in ".-"
    assert len(safe_name(name)) <= 60


@pytest.mark.parametrize("name", ["../first", "/first", "first/", "", ".", "none"])
def test_a_name_that_is_no_run_is_refused(run: Run, name: str) -> None:
    with pytest.raises(ValueError, match="there is no run"):
        find_run(run.path.parent, name)


def test_runs_are_listed_newest_first_and_other_folders_are_not_runs(tmp_path: Path) -> None:
    for name in ("old", "new"):
        create_run(tmp_path, TrainConfig(), TABLE, name=name)
    (tmp_path / "stray").mkdir()
    (tmp_path / "file.txt").write_text("x")
    assert [one.name for one in list_runs(tmp_path)] == ["new", "old"]
    assert list_runs(tmp_path / "missing") == []


def test_a_corpus_without_sentences_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no sentences"):
        create_run(tmp_path, TrainConfig(), TABLE.slice(0, 0))
    assert list_runs(tmp_path) == []


def test_a_half_written_last_line_waits_and_a_torn_one_in_the_middle_is_passed_over(run: Run) -> None:
    run.append_metrics({"step": 1, "loss": 2.0})
    rows, offset = run.metrics()
    assert rows == [{"step": 1, "loss": 2.0}]
    path = run.path / "metrics.jsonl"
    with path.open("a") as file:
        file.write('{"step": 2, "lo')
    assert run.metrics(offset) == ([], offset)
    with path.open("a") as file:
        file.write('\n{"step": 3, "loss": 1.0}\n')
    assert [row["step"] for row in run.metrics(offset)[0]] == [3]


def test_cutting_after_a_step_forgets_what_came_later(run: Run) -> None:
    for step in range(1, 6):
        run.append_metrics({"step": step})
    run.cut_after(3)
    assert [row["step"] for row in run.metrics()[0]] == [1, 2, 3]


def test_a_status_is_never_read_half_written(run: Run) -> None:
    writer = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; from tsdae_core.runs import Job\n"
        "job = Job(Path(sys.argv[2]))\n"
        "for step in range(400): job.write_status(state='running', step=step, pad='x' * 20000)\n"
    )
    root = str(Path(__file__).parent.parent)
    process = subprocess.Popen([sys.executable, "-c", writer, root, str(run.path)])
    reads = 0
    while process.poll() is None:
        said = json.loads((run.path / "status.json").read_text())
        assert said.get("pad", "x" * 20000) == "x" * 20000
        reads += 1
    assert process.returncode == 0
    assert reads > 5


def test_a_killed_process_is_seen_as_crashed_even_as_a_zombie(job: Job) -> None:
    launch.start_process(job, [sys.executable, "-c", "import time; time.sleep(600)"])
    process = job.process()
    assert process is not None
    assert job.state == "starting"
    os.kill(process.pid, signal.SIGKILL)
    wait_for_state(job, "crashed")


def test_a_reused_process_number_is_not_taken_for_the_job(job: Job) -> None:
    job.write_process(os.getpid(), ["me"])
    assert job.process() is not None
    data = json.loads((job.path / "process.json").read_text())
    (job.path / "process.json").write_text(json.dumps(data | {"born": data["born"] - 100}))
    assert job.process() is None


def test_a_job_outlives_its_starter_and_writes_its_log_to_a_file(job: Job) -> None:
    starter = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; from tsdae_core import launch\n"
        "from tsdae_core.runs import Job\n"
        "code = 'import time; print(\"begun\", flush=True); time.sleep(600)'\n"
        "launch.start_process(Job(Path(sys.argv[2])), [sys.executable, '-c', code])\n"
    )
    root = str(Path(__file__).parent.parent)
    subprocess.run([sys.executable, "-c", starter, root, str(job.path)], check=True, timeout=60)
    try:
        deadline = time.monotonic() + 20
        while "begun" not in job.log_tail():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert job.process() is not None
        with pytest.raises(ValueError, match="already running"):
            launch.start_process(job, [sys.executable, "-c", ""])
    finally:
        launch.kill(job, patience=1)
    assert job.process() is None


def test_killing_ends_the_children_too(job: Job) -> None:
    code = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); time.sleep(600)"
    launch.start_process(job, [sys.executable, "-c", code])
    process = job.process()
    assert process is not None
    deadline = time.monotonic() + 20
    while not process.children():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child = process.children()[0]
    launch.kill(job, patience=2)
    assert not child.is_running() or child.status() == "zombie"


def test_a_run_ended_by_hand_says_so_and_at_which_step(run: Run) -> None:
    launch.start_process(run, [sys.executable, "-c", "import time; time.sleep(600)"])
    run.write_status(state="running", step=1234, total=2000, phase="Training", eta=70.0)
    launch.kill(run, patience=2)
    said = run.status()
    assert (said["state"], said["eta"], said["step"]) == ("stopped", 0.0, 1234)
    assert said["phase"].startswith("Ended by hand at step 1,234")


def test_a_process_that_saves_when_it_is_ended_has_the_last_word(job: Job) -> None:
    code = (
        "import pathlib, signal, sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from tsdae_core.runs import Job\n"
        "def end(*_):\n"
        "    job.write_status(state='stopped', phase='Ended at step 5')\n"
        "    sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "job = Job(pathlib.Path(sys.argv[2]))\n"
        "job.write_status(state='running', step=5)\n"
        "time.sleep(600)\n"
    )
    root = str(Path(__file__).parent.parent)
    launch.start_process(job, [sys.executable, "-c", code, root, str(job.path)])
    wait_for_state(job, "running")
    launch.kill(job, patience=60)
    assert job.status()["phase"] == "Ended at step 5"


def test_ending_what_has_ended_by_itself_changes_nothing(job: Job) -> None:
    job.write_process(2**22 - 1, ["gone"])
    job.write_status(state="running", step=5)
    launch.kill(job)
    assert job.state == "crashed"


def test_a_running_run_cannot_be_deleted(run: Run) -> None:
    run.write_process(os.getpid(), ["me"])
    with pytest.raises(ValueError, match="still running"):
        delete_run(run)
    (run.path / "process.json").unlink()
    delete_run(run)
    assert list_runs(run.path.parent) == []
