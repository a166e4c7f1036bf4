"""Every verb of the command line can answer in JSON, and nothing else then stands on standard output."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import make_sentences
from tsdae_core.__main__ import build_parser, main

STEPS = ("6", "12")


def options(workspace: Path, base: Path) -> list[str]:
    given = {
        "--workspace": workspace, "--name": "told", "--base-model": base, "--max-steps": STEPS[1],
        "--checkpoint-every": STEPS[0], "--batch_size": 8, "--precision": "fp32", "--devices": "cpu", "--max-length": 32,
    }  # fmt: skip
    return [str(part) for pair in given.items() for part in pair]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny_model_folder: Path) -> tuple[Path, Path]:
    """A workspace with the run "told", and its text of 60 sentences with labels."""
    folder = tmp_path_factory.mktemp("json")
    text = folder / "told.tsv"
    rows = [f"{sentence}\t{'ab'[place % 2]}" for place, sentence in enumerate(make_sentences(60))]
    text.write_text("\n".join(["sentence\tlabel", *rows]))
    assert main(["train", str(text), *options(folder / "work", tiny_model_folder)]) == 0
    return folder / "work", text


@pytest.fixture
def ask(trained: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> Any:
    """`ask("runs")`: what the verb answers with --json."""

    def asked(*words: object) -> Any:
        capsys.readouterr()
        command = [str(word) for word in words]
        assert main([*command, "--json", "--workspace", str(trained[0])]) == 0
        return json.loads(capsys.readouterr().out)

    return asked


def test_every_verb_says_in_its_help_that_it_has_json() -> None:
    [verbs] = [one for one in build_parser()._actions if isinstance(one, argparse._SubParsersAction)]
    without = {name for name, parser in verbs.choices.items() if "--json" not in parser.format_help()}
    assert without <= {"sweep"}
    assert {"changed", "hubs", "between", "reconstruct", "train", "embed", "map", "export"} <= set(
        verbs.choices
    )


def test_training_tells_what_became_of_it(tmp_path: Path, tiny_model_folder: Path, capsys: Any) -> None:
    text = tmp_path / "one.txt"
    text.write_text("\n".join(make_sentences(40)))
    capsys.readouterr()
    assert main(["train", str(text), *options(tmp_path / "work", tiny_model_folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["name"], told["state"], told["step"]) == ("told", "finished", 12)
    assert Path(told["encoder"]).is_dir()


def test_what_changed_is_told_by_sentence_label_cluster_and_checkpoint(
    ask: Any, trained: tuple[Path, Path]
) -> None:
    told = ask("changed", "told", "-k", 5)
    assert (told["before"], told["after"], told["count"], told["of"]) == ("base:told", "told", 60, 60)
    assert len(told["sentences"]) == 5
    first = told["sentences"][0]
    assert len(first["kept"]) + len(first["lost"]) == told["nearest"] == 10
    assert len(first["gained"]) == len(first["lost"])
    assert {one["name"] for one in ask("changed", "told", "--by", "label")["groups"]} == {"a", "b"}
    points = ask("changed", "told", trained[1], "--by", "checkpoint")["points"]
    assert [one["step"] for one in points] == [0, 6, 12]
    assert points[0]["jaccard"] == 1 and points[-1]["jaccard"] == pytest.approx(told["jaccard"], abs=1e-3)
    same = ask("changed", "told", "--before", "told@6", "--after", "told@6")
    assert (same["jaccard"], same["stayed"]) == (1, 10)


def test_hubs_count_every_place_among_the_nearest_once(ask: Any) -> None:
    told = ask("hubs", "base:told", "-k", 60)
    assert sum(one["count"] for one in told["hubs"]) == 600
    assert [one["count"] for one in told["hubs"]] == sorted(
        (one["count"] for one in told["hubs"]), reverse=True
    )
    assert all(one["cosine"] >= 0.95 for one in told["near_duplicates"])


def test_the_way_between_two_sentences_begins_and_ends_at_them_and_a_sum_is_one_stop(ask: Any) -> None:
    first, second = make_sentences(60)[:2]
    stops = ask("between", "told", first, second, "--path", "arc", "--stops", 3)
    assert [one["share"] for one in stops] == [0, 0.5, 1]
    assert (stops[0]["nearest"], stops[-1]["nearest"]) == (first, second)
    [sum_of] = ask("between", "told", first, first, "--plus", second)
    assert sum_of["nearest"] == second


def test_the_table_of_many_is_over_a_file_or_the_held_out_and_the_worst_comes_first(
    ask: Any, trained: tuple[Path, Path]
) -> None:
    told = ask("reconstruct", "told", "--input", trained[1], "--table", "--count", 7)
    assert (len(told["rows"]), told["of"]) == (7, 60)
    scores = [row["chrf"] for row in told["rows"]]
    assert scores == sorted(scores)
    assert set(told["means"]) == {"exact", "recovered", "chrf", "loss", "stability"}
    held_out = ask("reconstruct", "told", "--table")
    assert 0 < held_out["of"] < 60


def test_files_that_are_written_are_told(ask: Any, trained: tuple[Path, Path], tmp_path: Path) -> None:
    told = ask("embed", "told", trained[1], tmp_path / "vectors.npy")
    assert (told["sentences"], told["size"]) == (60, 32)
    assert ask("export", "told", tmp_path / "taken")["output"] == str(tmp_path / "taken")
    few = tmp_path / "few.txt"
    few.write_text("\n".join(make_sentences(3)))  # so few need no layout, which takes seconds to load
    assert ask("map", "told", few, tmp_path / "map.csv")["output"] == str(tmp_path / "map.csv")


def test_a_search_finds_the_labels_of_a_file_by_itself(ask: Any, trained: tuple[Path, Path]) -> None:
    hits = ask("search", "told", trained[1], "the cat", "--label", "b", "-k", 3)
    assert [hit["label"] for hit in hits] == ["b"] * 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["changed", "told", "--by", "checkpoint", "--before", "told@6"], "leave out --before"),
        (["changed", "ghost"], "no run 'ghost'"),
        (["hubs", "bundled/none"], "no run"),
        (["between", "told", "a", "b", "--stops", "1"], "from 2 to 1,000"),
        (["between", "told", "a", " "], "a sentence is missing"),
    ],
)
def test_wrong_input_is_one_sentence(
    trained: tuple[Path, Path], words: list[str], sentence: str, capsys: Any
) -> None:
    assert main([*words, "--workspace", str(trained[0])]) == 2
    assert sentence in capsys.readouterr().err
