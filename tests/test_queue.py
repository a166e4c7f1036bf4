"""The queue, two-stage recipes and sweeps: what waits is done one after the other, by itself, and ends in a table."""

from __future__ import annotations

from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from tests.conftest import make_sentences
from tests.test_train import make_run, wait_until
from tsdae_core import launch, recipes, run_queue
from tsdae_core.__main__ import main
from tsdae_core.config import checked
from tsdae_core.jobs import ACTIVE
from tsdae_core.records import write_json
from tsdae_core.runs import Run, create_run, find_run, list_runs


def labelled(count: int) -> pa.Table:
    texts = make_sentences(count)
    labels = [" ".join(text.split()[:2]) for text in texts]
    return pa.table({"sentence": texts, "line": range(count), "label": labels})


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue's process is not started: only what is written is looked at."""
    monkeypatch.setattr(launch, "start_process", lambda job, command: None)


def names(workspace: Path) -> list[str]:
    return [entry for entry, _ in run_queue.waiting(workspace)]


def test_waiting_runs_are_reordered_and_taken_off(
    tmp_path: Path, tiny_model_folder: Path, held: None
) -> None:
    runs = [make_run(tmp_path, tiny_model_folder, make_sentences(40)) for _ in range(3)]
    a, b, c = (run.name for run in runs)
    run_queue.enqueue(tmp_path, [a, b, c])
    assert names(tmp_path) == [a, b, c]
    assert {run.state for run in runs} == {"queued"}
    run_queue.move(tmp_path, c, by=-1)
    assert names(tmp_path) == [a, c, b]
    run_queue.move(tmp_path, a, by=9)
    assert names(tmp_path) == [c, b, a]
    run_queue.halt(find_run(tmp_path, b))
    assert names(tmp_path) == [c, a] and find_run(tmp_path, b).state == "new"  # it was never started
    find_run(tmp_path, a).checkpoint(5).path.mkdir(parents=True)
    run_queue.halt(find_run(tmp_path, a))
    assert names(tmp_path) == [c] and find_run(tmp_path, a).state == "stopped"  # it was, and can go on
    with pytest.raises(ValueError, match="no longer waits"):
        run_queue.move(tmp_path, b, by=1)
    with pytest.raises(ValueError, match="no run 'x'"):
        run_queue.enqueue(tmp_path, ["x"])


def test_a_run_waits_for_the_encoder_that_it_starts_from_and_is_told_when_none_will_come(
    tmp_path: Path, tiny_model_folder: Path, held: None
) -> None:
    base = create_run(tmp_path, checked({"base_model": str(tiny_model_folder)}), labelled(40), name="base")
    settings = checked({"base_model": str(base.encoder_dir.resolve())})
    later = create_run(tmp_path, settings, labelled(40), name="later")
    run_queue.enqueue(tmp_path, ["later", "base"])
    found = run_queue.next_job(tmp_path)
    assert found is not None and found.name == "base"
    base.write_status(state="failed")
    assert run_queue.next_job(tmp_path) is None
    assert later.status()["state"] == "failed" and "encoder of base" in later.status()["error"]


def test_a_recipe_is_two_runs_the_second_from_the_encoder_of_the_first(
    tmp_path: Path, tiny_model_folder: Path, held: None
) -> None:
    config = checked(
        {
            "base_model": str(tiny_model_folder),
            "max_steps": 5,
            "layers": 1,
            "pooling": "mean",
            "max_length": 20,
        }
    )
    first, second = recipes.create(tmp_path, "target-labels", config, labelled(60), name="both")
    one, two = first.config(), second.config()
    assert (one.objective, two.objective) == ("tsdae", "supervised")
    assert two.base_model == str(first.encoder_dir.resolve()) and (one.layers, two.layers) == (1, 0)
    assert (two.max_length, two.pooling, two.batch_size) == (20, "mean", 64)
    assert names(tmp_path) == [first.name, second.name]
    first, second = recipes.create(tmp_path, "labels-target", config, labelled(60), name="both")
    assert (first.config().objective, second.config().objective) == ("supervised", "tsdae")
    assert (first.config().layers, second.config().layers) == (1, 0)
    plain = pa.table({"sentence": make_sentences(60), "line": range(60), "label": pa.nulls(60, pa.string())})
    before = len(list_runs(tmp_path))
    with pytest.raises(ValueError, match="needs labels"):
        recipes.create(tmp_path, "target-labels", config, plain, name="none")
    assert len(list_runs(tmp_path)) == before


@pytest.mark.slow
def test_the_queue_trains_both_stages_by_itself(tmp_path: Path, tiny_model_folder: Path) -> None:
    config = checked({"base_model": str(tiny_model_folder), "max_steps": 2, "devices": "cpu", "held_out": 8})
    runs = recipes.create(tmp_path, "target-labels", config, labelled(60), name="both")
    wait_until(lambda: not any(run.state in ACTIVE for run in runs), seconds=120)
    assert [run.state for run in runs] == ["finished", "finished"], runs[1].log_tail()
    assert str(runs[0].encoder_dir) in str(runs[1].status()["loaded"])
    wait_until(lambda: run_queue.queue_job(tmp_path).process() is None, seconds=30)
    assert run_queue.queue_job(tmp_path).state == "finished"


def test_a_paused_queue_starts_nothing_and_goes_on_when_it_is_told_to(
    tmp_path: Path, tiny_model_folder: Path, held: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    run = make_run(tmp_path, tiny_model_folder, make_sentences(40))
    run_queue.enqueue(tmp_path, [run.name])

    def done(one: Run) -> None:
        started.append(one.name)
        one.write_status(state="finished")

    monkeypatch.setattr(launch, "start", done)
    run_queue.pause(tmp_path)
    run_queue.work(tmp_path)
    assert not started and names(tmp_path) == [run.name]
    run_queue.resume(tmp_path)
    run_queue.work(tmp_path)
    assert started == [run.name] and names(tmp_path) == []


def test_a_paused_queue_stays_paused_when_more_comes_and_the_shell_says_so(
    tmp_path: Path,
    tiny_model_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    started: list[str] = []
    monkeypatch.setattr(launch, "start_process", lambda job, command: started.append(job.name))
    a, b = (make_run(tmp_path, tiny_model_folder, make_sentences(40)) for _ in range(2))
    run_queue.enqueue(tmp_path, [a.name])
    assert started == [run_queue.FOLDER]
    assert main(["queue", "--pause", "--workspace", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("Paused: nothing is started until `queue --resume`")
    run_queue.enqueue(tmp_path, [b.name])
    assert started == [run_queue.FOLDER] and names(tmp_path) == [a.name, b.name]
    assert main(["queue", "--resume", "--workspace", str(tmp_path)]) == 0
    assert len(started) == 2


def test_a_run_is_in_the_way_of_another_on_the_same_device(tmp_path: Path, tiny_model_folder: Path) -> None:
    run = make_run(tmp_path, tiny_model_folder, make_sentences(40))
    assert run_queue.in_the_way(tmp_path, "auto") == ""
    mine = psutil.Process()
    write_json(run.path / "process.json", {"pid": mine.pid, "born": mine.create_time(), "command": []})
    run.write_status(state="running", phase="Learning")
    assert run.state == "running"
    assert (
        run_queue.in_the_way(tmp_path, "auto")
        == run_queue.in_the_way(tmp_path, run.config().devices)
        == run.name
    )
    assert run.config().devices in ("auto", "cpu")
    if run.config().devices == "cpu":
        assert run_queue.in_the_way(tmp_path, "cuda:0") == ""
