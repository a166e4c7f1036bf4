"""Every verb of the command line can answer in JSON, and nothing else then stands on standard output."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import make_sentences
from tsdae_core import blind
from tsdae_core.__main__ import build_parser, main
from tsdae_core.runs import find_run

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
    known = {
        "changed",
        "hubs",
        "between",
        "reconstruct",
        "inside",
        "through",
        "train",
        "embed",
        "map",
        "export",
    }
    assert known <= set(verbs.choices)


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


SENTENCE = "The cat sees a small house."
"""Seven words, the full stop one of them."""


def states(tokens: list[dict[str, Any]]) -> str:
    return " ".join(token["t"] if token["s"] == "kept" else "-" for token in tokens)


def test_words_are_left_out_by_their_number_and_the_first_is_one(ask: Any) -> None:
    [row] = ask("reconstruct", "told", "--sentence", SENTENCE, "--delete", "2,5")
    assert states(row["original"]) == "The - sees a - house ."
    assert (
        states(ask("inside", "told", SENTENCE, "--delete", "1,7")["tokens"]) == "- cat sees a small house -"
    )
    rows = ask("through", "told", SENTENCE, "--delete", "6")
    assert {states(row["original"]) for row in rows} == {"The cat sees a small - ."}


def test_a_checkpoint_rebuilds_as_it_did_on_the_way(ask: Any) -> None:
    rows = ask("through", "told", SENTENCE)
    assert [row["step"] for row in rows] == [6, 12]
    for row in rows:
        [shown] = ask("reconstruct", f"told@{row.pop('step')}", "--sentence", SENTENCE)
        assert shown == row
    early, late = (ask("inside", f"told@{step}", SENTENCE, "--other", "the dog") for step in STEPS)
    assert early["bits"] != late["bits"]


def test_a_warm_draw_differs_and_the_seed_decides_it(ask: Any) -> None:
    def written(*words: object) -> str:
        [row] = ask("reconstruct", "told", "--sentence", SENTENCE, "--delete", 2, *words)
        return str(row["text"])

    drawn = [written("--temperature", 2, "--seed", seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert written() not in drawn
    assert written("--beams", 3) == written("--num-beams", 3)


def test_the_glass_box_sums_the_bits_of_every_token_and_the_end(ask: Any) -> None:
    told = ask("inside", "told", SENTENCE, "--seed", 3)
    for whose in ("own", "mean", "other"):
        assert 0 < sum(token[whose] for token in told["tokens"]) < told["bits"][whose]
    assert set(told["texts"]) == {"own", "mean", "other"}
    assert told["other"] in make_sentences(60), "a held-out sentence"
    assert ask("inside", "told", SENTENCE, "--other", SENTENCE)["other"] == SENTENCE


def test_text_answers_are_short_lines(trained: tuple[Path, Path], capsys: Any) -> None:
    for verb, begins in (("inside", "bits"), ("through", "damaged")):
        capsys.readouterr()
        assert main([verb, "told", SENTENCE, "--workspace", str(trained[0])]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith(begins)
        assert max(map(len, lines)) < 120


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


def test_a_search_by_several_tells_each_hits_place_by_the_others(
    ask: Any, trained: tuple[Path, Path]
) -> None:
    asked = ["search", "told", trained[1], "the cat", "-k", 60, "--label", "b"]
    told = ask(*asked, "--beside", "base", "--beside", "bm25", "--beside", "told@6")
    assert [one["system"] for one in told["columns"]] == ["told", "base:told", "bm25", "told@6"]
    own, base, lexical, _ = (one["hits"] for one in told["columns"])
    assert own == [hit | {"places": places["places"]} for hit, places in zip(ask(*asked), own, strict=True)]
    assert {hit["label"] for hit in [*own, *base, *lexical]} == {"b"}
    scores = {hit["row"]: hit["score"] for hit in base}  # equal scores share a place
    assert [base[hit["places"]["base:told"] - 1]["score"] for hit in own] == [
        scores[hit["row"]] for hit in own
    ]
    found = {hit["row"] for hit in lexical}
    assert all((hit["places"]["bm25"] is None) == (hit["row"] not in found) for hit in own)


def test_the_blind_tests_result_and_its_verdicts_can_be_taken_along(
    ask: Any, trained: tuple[Path, Path], tmp_path: Path
) -> None:
    [none] = ask("blind", "told")["texts"]
    assert (none["share"], none["verdicts"]) == (None, [])
    run = find_run(trained[0], "told")
    before, after = blind.encoders_of(run, trained[0])
    for row, choice in enumerate(["after", "after", "same", "before", "after"]):
        blind.judge(run, before=before, after=after, row=row, sentence="=1+1", choice=choice, judge="me")
    blind.judge(run, before=before, after="told#old", row=0, sentence="s", choice="before", judge="me")
    blind.judge(run, before=before, after=after, row=0, sentence="s", choice="after", text="more.txt#0")
    file = tmp_path / "verdicts.csv"
    told = ask("blind", "told", "--csv", file)
    own, other = told["texts"]
    assert (own["before"], own["after"], own["same"], own["share"]) == (1, 3, 1, 0.75)
    assert [own["low"], own["high"]] == list(blind.wilson(3, 4))
    assert (other["text"], other["after"], told["not_counted"]) == ("more.txt#0", 1, 1)
    lines = file.read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) == 7 and lines[0] == ",".join(blind.COLUMNS) and lines[1].startswith("'=1+1,after,me")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["changed", "told", "--by", "checkpoint", "--before", "told@6"], "leave out --before"),
        (["changed", "ghost"], "no run 'ghost'"),
        (["hubs", "bundled/none"], "no run"),
        (["between", "told", "a", "b", "--stops", "1"], "from 2 to 1,000"),
        (["between", "told", "a", " "], "a sentence is missing"),
        (["search", "told", "{text}", "a", "--beside", "ghost/none"], "no run"),
        (["search", "bm25", "{text}", "a", "--beside", "base"], "write base:RUN"),
        (
            ["search", "told", "{text}", "a", "--beside", "base", "--label", "c"],
            "no sentence has the label 'c'",
        ),
        (["search", "told", "{text}", " ", "--beside", "base"], "the query is empty"),
        (["blind", "ghost"], "no run 'ghost'"),
        (["blind", "told", "--csv", "/no/such/folder/out.csv"], "make it first"),
        (["reconstruct", "told@7"], "no checkpoint at step 7; it has 6, 12"),
        (["reconstruct", "ghost@6"], "no run 'ghost'"),
        (["reconstruct", "told", "--delete", "1"], "give it with --sentence"),
        (["reconstruct", "told", "--sentence", "a b", "--delete", "3"], "no word 3; its words are 1 a, 2 b"),
        (["reconstruct", "told", "--sentence", "a b", "--delete", "2,1"], "at least one word must stay"),
        (["reconstruct", "told", "--sentence", "a", "--delete", "1", "--noise", "swap"], "give no --noise"),
        (["reconstruct", "told", "--table", "--temperature", "1"], "writes greedily"),
        (["reconstruct", "told", "--sentence", "a", "--temperature", "0"], "above 0 is needed"),
        (["reconstruct", "told", "--sentence", "a", "--delete", "0"], "at least 1"),
        (["reconstruct", "told", "--beams", "2", "--temperature", "1"], "not allowed with"),
        (["inside", "told", " "], "no sentence to damage"),
        (["inside", "told@9", "a"], "no checkpoint at step 9"),
        (["through", "told@6", "a"], "no run 'told@6'"),
        (["through", "told", "a", "--noise", "burn"], "no noise 'burn'"),
    ],
)
def test_wrong_input_is_one_sentence(
    trained: tuple[Path, Path], words: list[str], sentence: str, capsys: Any
) -> None:
    try:
        filled = [word.format(text=trained[1]) for word in words]
        code = main([*filled, "--workspace", str(trained[0])])
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code == 2
    assert sentence in capsys.readouterr().err
