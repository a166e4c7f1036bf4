"""The glass box: probabilities and costs per token, sampling, ways between vectors, checkpoints, tables over many sentences."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from tests.conftest import make_sentences
from tsdae_core.chrf import chrf
from tsdae_core.config import TrainConfig
from tsdae_core.generation import special
from tsdae_core.glass import costs, explained, whole_vectors
from tsdae_core.inside import (
    arc,
    arithmetic,
    between,
    decoded,
    line,
    many,
    side_by_side,
    stability,
    summary,
    through_time,
)
from tsdae_core.model import TSDAE
from tsdae_core.rebuild import rebuild
from tsdae_core.runs import create_run
from tsdae_core.sampling import sample
from tsdae_core.storage import from_base, save


@pytest.fixture
def model(tiny_model_folder: Path) -> TSDAE:
    torch.manual_seed(5)
    return from_base(str(tiny_model_folder), max_length=32).eval()


def test_the_costs_of_all_tokens_sum_to_the_loss(model: TSDAE) -> None:
    [shown] = rebuild(model, ["the cat sees a dog at night"], deleted=[set()])
    ids = model.tokenizer("the cat sees a dog at night", add_special_tokens=False)["input_ids"]
    [bits] = costs(model, whole_vectors(model, ["the cat sees a dog at night"]), [ids])
    assert len(bits) == len(ids) + 1
    assert sum(bits) * math.log(2) / len(bits) == pytest.approx(shown["loss"], abs=1e-3)


def test_costs_do_not_depend_on_the_sentences_beside(model: TSDAE) -> None:
    rows = [
        model.tokenizer(text, add_special_tokens=False)["input_ids"]
        for text in ("a dog", "the cat sees a dog at night")
    ]
    vectors = torch.randn(2, model.hidden_size)
    together = costs(model, vectors, rows)
    assert together[0] == pytest.approx(costs(model, vectors[:1], rows[:1])[0], abs=1e-4)


def test_each_rebuilt_token_tells_its_probability_and_what_else_was_likely(model: TSDAE) -> None:
    [shown] = rebuild(model, ["the old baker carries the red boat"], seed=2, explain=True)
    for token in shown["rebuilt"]:
        odds = [odd for _, odd in token["alt"]]
        assert len(odds) == 5
        assert odds == sorted(odds, reverse=True)
        assert token["p"] == odds[0], "greedy writing takes the likeliest token"
    [plain] = rebuild(model, ["the old baker carries the red boat"], seed=2)
    assert "p" not in plain["rebuilt"][0]


def test_probabilities_are_the_models(model: TSDAE) -> None:
    torch.manual_seed(1)
    vector, ids = torch.randn(1, model.hidden_size), [20, 30]
    prefix, _ = special(model)
    with torch.no_grad():
        states = model.decode(vector, torch.tensor([[*prefix, 20]]))
        odds = model.scores(states[0, -2:]).softmax(-1)
    [told] = explained(model, vector, [ids])
    assert [one["p"] for one in told] == pytest.approx([float(odds[0, 20]), float(odds[1, 30])], abs=1e-4)


def test_sampling_repeats_with_its_seed_and_follows_the_probabilities(model: TSDAE) -> None:
    torch.manual_seed(0)
    vectors = torch.randn(1, model.hidden_size) * 3
    drawn = sample(model, vectors.repeat(8, 1), seed=1, max_tokens=6)
    assert drawn == sample(model, vectors.repeat(8, 1), seed=1, max_tokens=6)
    assert drawn != sample(model, vectors.repeat(8, 1), seed=2, max_tokens=6)
    assert len({tuple(row) for row in drawn}) > 1
    cold = sample(model, vectors.repeat(4, 1), temperature=1e-4, seed=3, max_tokens=6)
    [greedy] = {tuple(row) for row in cold}
    [told] = explained(model, vectors, [list(greedy)])
    assert all(one["p"] == one["alt"][0][1] for one in told)
    with pytest.raises(ValueError, match="temperature must be above 0"):
        sample(model, vectors, temperature=0)


def test_side_by_side_tells_what_each_vector_saves(model: TSDAE) -> None:
    mean = whole_vectors(model, make_sentences(10)).mean(0)
    told = side_by_side(model, "the cat sees a dog", mean=mean, other="an empty bottle", deleted={1})
    assert [token["s"] for token in told["tokens"]] == ["kept", "deleted", "kept", "kept", "kept"]
    assert set(told["texts"]) == {"own", "mean", "other"}
    same = side_by_side(model, "the cat", mean=mean, other="the cat", deleted=set())
    assert same["bits"]["own"] == pytest.approx(same["bits"]["other"], abs=0.1)
    assert same["texts"]["own"] == same["texts"]["other"]


def test_the_arc_keeps_its_distance_from_the_origin_and_the_line_does_not() -> None:
    first, second = torch.tensor([3.0, 0.0]), torch.tensor([0.0, 3.0])
    assert arc(first, second, 0.5).norm() == pytest.approx(3)
    assert line(first, second, 0.5).tolist() == [1.5, 1.5]
    for way in (arc, line):
        assert way(first, second, 0.0).tolist() == pytest.approx([3, 0], abs=1e-6)
        assert way(first, second, 1.0).tolist() == pytest.approx([0, 3], abs=1e-6)
    assert arc(first, first * 2, 0.5).tolist() == pytest.approx([4.5, 0])


def test_the_ends_of_a_way_are_the_sentences_and_each_stop_has_a_nearest_one(model: TSDAE) -> None:
    texts = make_sentences(20)
    table = torch.nn.functional.normalize(whole_vectors(model, texts), dim=1).numpy()
    shares, vectors = between(model, texts[3], texts[8], path="arc", stops=5)
    told = decoded(model, vectors, texts, table)
    assert shares == [0, 0.25, 0.5, 0.75, 1]
    assert (told[0]["nearest"], told[-1]["nearest"]) == (texts[3], texts[8])
    assert told[0]["score"] == pytest.approx(1, abs=1e-3)
    assert (
        decoded(model, arithmetic(model, texts[0], texts[1], texts[1]), texts, table)[0]["nearest"]
        == texts[0]
    )
    with pytest.raises(ValueError, match="path must be one of line, arc"):
        between(model, "a", "b", path="spiral")
    with pytest.raises(ValueError, match="a sentence is missing"):
        between(model, "a", " ")


def test_the_table_over_many_sentences_has_the_worst_first(model: TSDAE) -> None:
    sentences = [*make_sentences(40), "  "]
    seen: list[tuple[int, int]] = []
    rows = many(model, sentences, told=lambda *far: seen.append(far))
    assert sorted(row["place"] for row in rows) == list(range(40))
    assert [row["chrf"] for row in rows] == sorted(row["chrf"] for row in rows)
    assert seen == [(32, 40), (40, 40)]
    for row in rows:
        assert row["source"] == sentences[row["place"]]
        assert -1 <= row["stability"] <= 1
    means = summary(rows)
    assert means["loss"] == pytest.approx(np.mean([row["loss"] for row in rows]))
    assert "recovered" in means


def test_a_sentence_that_is_not_damaged_is_perfectly_stable(model: TSDAE) -> None:
    [whole] = stability(model, ["the cat sees a dog"], noise="delete", ratio=0.0, seed=0)
    [damaged] = stability(model, ["the cat sees a dog"], noise="delete", ratio=0.6, seed=0)
    assert whole == pytest.approx(1, abs=1e-6)
    assert damaged < whole - 1e-6


def test_every_checkpoint_rebuilds_the_same_damage(model: TSDAE, tmp_path: Path) -> None:
    table = pa.table({"sentence": make_sentences(5), "line": range(5), "label": [""] * 5})
    run = create_run(tmp_path, TrainConfig(), table, name="steps")
    for step in (10, 5):
        save(model, run.checkpoint(step).path)
    shown = list(through_time(run, "the cat sees a dog at night", noise="delete", ratio=0.5, seed=3))
    assert [one["step"] for one in shown] == [5, 10]
    assert shown[0]["damaged"] == shown[1]["damaged"]


@pytest.mark.parametrize(
    ("written", "reference", "score"),
    [
        ("the same text", "the same text", 1.0),
        ("abc", "xyz", 0.0),
        ("", "abc", 0.0),
        ("a b c", "abc", 1.0),  # spaces do not count
        ("abcd", "abce", None),
        ("short", "a much longer sentence", None),
    ],
)
def test_chrf_is_the_papers(written: str, reference: str, score: float | None) -> None:
    if score is None:
        one, other = written.replace(" ", ""), reference.replace(" ", "")
        precisions, recalls = [], []
        for size in range(1, 7):
            mine = [one[at : at + size] for at in range(len(one) - size + 1)]
            theirs = [other[at : at + size] for at in range(len(other) - size + 1)]
            if mine and theirs:
                shared = sum(min(mine.count(gram), theirs.count(gram)) for gram in set(mine))
                precisions.append(shared / len(mine))
                recalls.append(shared / len(theirs))
        precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
        score = 5 * precision * recall / (4 * precision + recall)
    assert chrf(written, reference) == pytest.approx(score)
