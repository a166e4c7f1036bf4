"""Sweeps: values become runs, runs a table and a curve, and the curve a sentence."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.conftest import make_sentences
from tests.test_queue import held, labelled, names
from tests.test_train import make_run
from tsdae_core import sweeps
from tsdae_core.__main__ import main
from tsdae_core.evaluate.sweep import curve_of, curves_of, label_of, left_out, read_table, rows_of
from tsdae_core.evaluate.table import Cell, Column, Row, Table
from tsdae_core.runs import find_run

__all__ = ["held"]


def test_values_are_read_as_the_settings_they_are_of() -> None:
    assert sweeps.values_of("noise_ratio", "0.3, 0.6,0.3") == [0.3, 0.6]
    assert sweeps.values_of("tied", "yes, no") == [True, False]
    assert sweeps.values_of("corpus_size", "128,65_536") == [128, 65536]
    for name, text, said in [("noise_ratio", "0.99", "at most 0.95"), ("noise", "blur", "must be one of"),
                             ("seed", "x", "commas between"), ("corpus_size", "-1", "whole numbers"), ("size", "1", "no setting")]:  # fmt: skip
        with pytest.raises(ValueError, match=said):
            sweeps.values_of(name, text)


def test_two_dots_between_two_sizes_double_as_far_as_the_text_goes() -> None:
    doubled = [128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]
    assert sweeps.values_of("corpus_size", "128..65536") == doubled
    assert sweeps.values_of("corpus_size", "128..65_536", most=2700) == [128, 256, 512, 1024, 2048]
    assert sweeps.values_of("corpus_size", "64, 128..512", most=512) == [64, 128, 256, 512]
    for text, said in [("128..", "whole numbers"), ("0..8", "whole numbers"), ("512..128", "smaller size first"), ("3000", "2,700 sentences"),
                       ("3000..65536", "2,700 sentences")]:  # fmt: skip
        with pytest.raises(ValueError, match=said):
            sweeps.values_of("corpus_size", text, most=2700)


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
        "Labelled sentences 64",
        "Labelled sentences 128",
    ]
    cells = [
        Row(label, ["s"], [Cell(40.0 + at)], 0.1) for at, (label, _) in enumerate(rows_of(made, tmp_path))
    ]
    curve = curve_of(made, Table([Column("t", "MAP", "labels", 9)], cells, []))
    assert curve is not None and curve["beside"] == [[run.name, 41.0]]
    assert (curve["title"], curve["series"]) == ("Labelled sentences to train on", "Supervised")
    assert curve["said"] == [
        f"{run.name} (MAP 41.0) is matched with 64 labelled sentences or fewer, the smallest number tried."
    ]


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


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (30.0, "no labels are needed to match seen (MAP 30.0): the untrained base has 40.0"),
        (44.0, "seen (MAP 44.0) is matched with 128 labelled sentences or fewer"),
        (
            51.0,
            "supervised encoder needs about 360 labelled sentences to match seen (MAP 51.0)",
        ),  # half way between 256 and 512
        (90.0, "seen (MAP 90.0) is not matched by 1,024 labelled sentences"),
    ],
)
def test_the_curve_says_how_many_labels_match_a_run(tmp_path: Path, value: float, said: str) -> None:
    sweep, sizes, means = sweeps.Sweep(tmp_path), [128, 256, 512, 1024], [45.0, 50.0, 52.0, 60.0]
    asked = {"runs": [{"run": f"r{size}", "values": {"corpus_size": size}} for size in sizes], "beside": ["seen"],
             "unit": "Labelled sentences"}  # fmt: skip
    (tmp_path / "sweep.json").write_text(json.dumps(asked))
    rows = [Row("Untrained base", ["b"], [Cell(40.0)], 0.1), Row("seen", ["s"], [Cell(value)], 0.1)]
    rows += [
        Row(f"Labelled sentences {size:,}", ["r"], [Cell(mean, 1.0)], 0.1)
        for size, mean in zip(sizes, means, strict=True)
    ]
    curve = curve_of(sweep, Table([Column("t", "MAP", "labels", 9)], rows, []))
    assert curve is not None and said.lower() in curve["said"][0].lower()


def test_a_curve_for_every_measure_and_a_word_on_every_run_that_is_left_out(
    tmp_path: Path, tiny_model_folder: Path, held: None
) -> None:
    made = sweeps.create_sweep(
        tmp_path, {"base_model": str(tiny_model_folder), "max_steps": 2}, {"noise_ratio": [0.3, 0.6]}, labelled(400), name="ratios"
    )  # fmt: skip
    first, second = (find_run(tmp_path, one["run"]) for one in made.asked()["runs"])
    first.write_status(state="failed", error="the disk is full")
    with pytest.raises(
        ValueError, match=f"no run .* has an encoder yet; {first.name} failed: the disk is full"
    ):
        rows_of(made, tmp_path)
    second.encoder_dir.mkdir()
    (second.encoder_dir / "model.safetensors").touch()
    assert left_out(made, tmp_path) == [f"Left out: {first.name}, which failed: the disk is full."]
    rows = [Row(label_of(values), ["r"], [Cell(50.0), Cell(60.0)], 0.1) for values, _ in made.groups()]
    curves = curves_of(made, Table([Column("t", "MAP", "x", 9), Column("t", "MRR", "x", 9)], rows, []))
    assert [(one["metric"], one["mean"]) for one in curves] == [("MAP", [50.0, 50.0]), ("MRR", [60.0, 60.0])]
