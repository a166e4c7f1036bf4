"""The queue, two-stage recipes and sweeps: what waits is done one after the other, by itself, and ends in a table."""

from __future__ import annotations

import json
import time
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from tests.conftest import make_sentences
from tests.test_train import make_run, wait_until
from tsdae_core import launch, recipes, run_queue, sweeps
from tsdae_core.__main__ import main
from tsdae_core.config import checked
from tsdae_core.evaluate.sweep import curve_of, label_of, read_table, rows_of
from tsdae_core.evaluate.table import Cell, Column, Row, Table
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
    assert names(tmp_path) == [c, a] and find_run(tmp_path, b).state == "stopped"
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


def test_values_are_read_as_the_settings_they_are_of() -> None:
    assert sweeps.values_of("noise_ratio", "0.3, 0.6,0.3") == [0.3, 0.6]
    assert sweeps.values_of("tied", "yes, no") == [True, False]
    assert sweeps.values_of("corpus_size", "128,65_536") == [128, 65536]
    for name, text, said in [("noise_ratio", "0.99", "at most 0.95"), ("noise", "blur", "must be one of"),
                             ("seed", "x", "commas between"), ("corpus_size", "-1", "whole numbers"), ("size", "1", "no setting")]:  # fmt: skip
        with pytest.raises(ValueError, match=said):
            sweeps.values_of(name, text)


def test_every_combination_is_one_run_and_seeds_stand_together() -> None:
    every = sweeps.combinations({"seed": [1, 2], "pooling": ["cls", "mean"], "noise": []})
    assert every == [{"pooling": p, "seed": s} for p in ("cls", "mean") for s in (1, 2)]
    with pytest.raises(ValueError, match="at least one setting"):
        sweeps.combinations({})
    with pytest.raises(ValueError, match="at most 200"):
        sweeps.combinations({"seed": range(201)})


def test_a_sweep_sets_sentences_aside_that_no_run_trains_on(
    tmp_path: Path, tiny_model_folder: Path, held: None
) -> None:
    made = sweeps.create_sweep(
        tmp_path, {"base_model": str(tiny_model_folder), "max_steps": 2}, {"corpus_size": [50, 100], "seed": [1, 2]},
        labelled(400), name="sizes",
    )  # fmt: skip
    asked = made.asked()
    [[kind, path]] = asked["tasks"]
    aside = {line.split("\t")[0] for line in Path(path).read_text().splitlines()[1:]}
    assert kind == "labels" and len(aside) == 40
    runs = [find_run(tmp_path, one["run"]) for one in asked["runs"]]
    assert [run.corpus().num_rows for run in runs] == [50, 50, 100, 100]
    texts = [set(run.corpus()["sentence"].to_pylist()) for run in runs]
    assert not any(aside & text for text in texts) and texts[0] != texts[1]
    assert names(tmp_path) == [*(run.name for run in runs), ".sweeps/sizes"]
    assert [values for values, _ in made.groups()] == [{"corpus_size": 50}, {"corpus_size": 100}]
    with pytest.raises(ValueError, match="no more, got 500"):
        sweeps.create_sweep(tmp_path, {}, {"corpus_size": [500]}, labelled(400), name="sizes")
    assert [one.name for one in sweeps.list_sweeps(tmp_path)] == ["sizes"]


def test_a_tsdae_run_stands_beside_supervised_runs_on_ever_more_labelled_sentences(
    tmp_path: Path, tiny_model_folder: Path, held: None
) -> None:
    run = make_run(tmp_path, tiny_model_folder, make_sentences(40))
    settings = {"objective": "supervised", "base_model": str(tiny_model_folder)}
    vary = {"corpus_size": [64, 128]}
    with pytest.raises(ValueError, match="'nobody' is no run"):
        sweeps.create_sweep(tmp_path, settings, vary, labelled(400), name="labels", beside=["nobody"])
    made = sweeps.create_sweep(tmp_path, settings, vary, labelled(400), name="labels", beside=[run.name])
    for one in made.asked()["runs"]:
        folder = find_run(tmp_path, one["run"]).encoder_dir
        folder.mkdir()
        (folder / "model.safetensors").touch()
    assert [label for label, _ in rows_of(made, tmp_path)] == [
        "Untrained base",
        run.name,
        "Sentences 64",
        "Sentences 128",
    ]
    cells = [
        Row(label, ["s"], [Cell(40.0 + at)], 0.1) for at, (label, _) in enumerate(rows_of(made, tmp_path))
    ]
    curve = curve_of(made, Table([Column("t", "MAP", "labels", 9)], cells, []))
    assert curve is not None and curve["beside"] == [[run.name, 41.0]]


def test_a_varied_objective_brings_its_own_settings(
    tmp_path: Path, tiny_model_folder: Path, held: None
) -> None:
    made = sweeps.create_sweep(
        tmp_path, {"base_model": str(tiny_model_folder)}, {"objective": ["tsdae", "ct"]}, labelled(400), name="m", preset="Quick look"
    )  # fmt: skip
    configs = [find_run(tmp_path, one["run"]).config() for one in made.asked()["runs"]]
    assert [one.optimizer for one in configs] == ["adamw", "rmsprop"]


def test_a_sweep_from_the_shell_ends_in_a_table_with_mean_and_deviation_over_seeds(
    tmp_path: Path, tiny_model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = labelled(300).to_pylist()
    file = tmp_path / "text.tsv"
    file.write_text("\n".join(["sentence\tlabel", *(f"{row['sentence']}\t{row['label']}" for row in rows)]))
    options = [f"--set={key}={value}" for key, value in
               {"base_model": tiny_model_folder, "max_steps": 3, "devices": "cpu", "held_out": 8, "learning_rate": 0.003}.items()]  # fmt: skip
    asked = [
        "sweep",
        str(file),
        "--vary",
        "noise_ratio=0.6",
        "--vary",
        "seed=1,2",
        *options,
        "--wait",
        "--workspace",
        str(tmp_path / "w"),
    ]
    started = time.monotonic()
    assert main([*asked, "--json", "--beside", "bm25"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert [row["label"] for row in table["rows"]] == ["Untrained base", "bm25", "Words deleted 0.6"]
    cell = table["rows"][2]["cells"][0]
    assert len(cell["seeds"]) == 2 and cell["deviation"] is not None, time.monotonic() - started
    [sweep] = sweeps.list_sweeps(tmp_path / "w")
    assert read_table(sweep) is not None and sweep.state == "finished"
    assert main(["queue", "--workspace", str(tmp_path / "w"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["waiting"] == []
    assert len(rows_of(sweep, tmp_path / "w")[2][1]) == 2


def test_one_varied_number_makes_a_curve_and_anything_else_does_not(tmp_path: Path) -> None:
    sweep = sweeps.Sweep(tmp_path)

    def table(vary: list[dict[str, object]]) -> Table:
        runs = [{"run": f"r{place}", "values": values} for place, values in enumerate(vary)]
        (tmp_path / "sweep.json").write_text(json.dumps({"runs": runs}))
        rows = [
            Row(label_of(values), ["r"], [Cell(50.0 + place, 1.5, [])], 0.1)
            for place, values in enumerate(vary)
        ]
        return Table(
            [Column("t", "MAP", "labels", 9)], [Row("Untrained base", ["b"], [Cell(40.0)], 0.1), *rows], []
        )

    sizes = table([{"corpus_size": 1024}, {"corpus_size": 128}])
    curve = curve_of(sweep, sizes)
    assert curve is not None
    assert (curve["x"], curve["mean"], curve["base"], curve["logarithmic"]) == (
        [128, 1024],
        [51.0, 50.0],
        40.0,
        True,
    )
    assert curve_of(sweep, table([{"noise": "swap"}, {"noise": "mask"}])) is None
    assert curve_of(sweep, table([{"tied": True}, {"tied": False}])) is None
