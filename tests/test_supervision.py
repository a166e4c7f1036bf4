"""Pairs and labels: how they are read, what they teach, and that the supervised losses are those of sentence-transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import (
    CosineSimilarityLoss,
    MultipleNegativesRankingLoss,
)

from tests.conftest import make_sentences
from tests.corpora import write
from tests.test_train import losses
from tsdae_core import preflight, train
from tsdae_core.__main__ import main
from tsdae_core.batches import Batch, Batcher
from tsdae_core.config import TrainConfig, checked
from tsdae_core.corpus import ReadOptions, read_corpus, read_parquet, write_parquet
from tsdae_core.objectives.supervised import Supervised
from tsdae_core.pairs import find_pair, read_useb
from tsdae_core.runs import create_run, find_run
from tsdae_core.storage import from_base
from tsdae_core.supervision import fit, kind_of, lessons_of
from tsdae_core.token_cache import build_cache

ALL = slice(None)


def corpus_of(kind: str, count: int = 60) -> pa.Table:
    """A corpus of tiny sentences: labelled by their subject, or paired with the next one."""
    texts = make_sentences(count)
    table: dict[str, Any] = {"sentence": texts, "line": range(count)}
    if kind == "labels":
        return pa.table(table | {"label": [" ".join(text.split()[:2]) for text in texts]})
    seconds = [f"{text.split()[0]} {other}" for text, other in zip(texts, texts[1:] + texts[:1], strict=True)]
    scores = [str(place % 6) if kind == "scores" else None for place in range(count)]
    return pa.table(table | {"label": pa.array(scores, pa.string()), "second": seconds})


def made(base: Path, kind: str) -> tuple[Any, Supervised, Batch]:
    model = from_base(str(base), pooling="mean", objective="supervised").eval()
    lessons = lessons_of(corpus_of(kind))
    cache = build_cache(corpus_of(kind)["sentence"].to_pylist(), model.tokenizer, max_length=32)
    seconds = build_cache(lessons.seconds, model.tokenizer, max_length=32) if lessons.seconds else None
    batcher = Batcher(cache, model.tokenizer.pad_token_id, model.tokenizer.mask_token_id, "delete", 0.6, 7)
    objective = Supervised(batcher, lessons, seconds, temperature=0.05)
    batch, count = objective.batch(np.arange(16), epoch=0, mine=ALL)
    assert batch is not None and count == len(batch.indices)
    return model, objective, batch


@pytest.mark.parametrize("kind", ["scores", "positives", "labels"])
def test_the_supervised_losses_are_those_of_sentence_transformers(tiny_model_folder: Path, kind: str) -> None:
    model, objective, batch = made(tiny_model_folder, kind)
    targets = torch.tensor(lessons_of(corpus_of(kind)).targets).float()[batch.indices]
    if kind == "labels":  # one sentence of each label: then nobody's negatives are of the own label
        batch = batch.rows(torch.tensor([targets.tolist().index(label) for label in targets.unique()]))
    theirs = SentenceTransformer(str(tiny_model_folder), device="cpu").eval()
    pairs = [(batch.target, batch.target_mask), (batch.noisy, batch.noisy_mask)]
    features = [{"input_ids": ids, "attention_mask": mask} for ids, mask in pairs]
    loss = CosineSimilarityLoss(theirs) if kind == "scores" else MultipleNegativesRankingLoss(theirs)
    expected = loss(features, targets)
    ours = objective.loss(model, batch) / len(batch.indices)
    assert float(ours.detach()) == pytest.approx(float(expected.detach()), rel=1e-4)
    ours.backward()
    expected.backward()
    name = "layer.1.output.dense.weight"
    [a] = [w.grad for key, w in model.transformer.base_model.named_parameters() if key.endswith(name)]
    [b] = [w.grad for key, w in theirs.named_parameters() if key.endswith(name)]
    torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-6)


def test_a_labelled_sentence_is_to_find_its_partner_among_those_of_other_labels(
    tiny_model_folder: Path,
) -> None:
    model, objective, batch = made(tiny_model_folder, "labels")
    with torch.no_grad():
        firsts = model.encode(batch.target, batch.target_mask).double().numpy()
        seconds = model.encode(batch.noisy, batch.noisy_mask).double().numpy()
        ours = float(objective.loss(model, batch)) / len(batch.indices)
    labels = lessons_of(corpus_of("labels")).targets[batch.indices.numpy()]
    assert len(set(labels)) < len(labels)
    costs = []
    for row, first in enumerate(firsts):
        cosine = seconds @ first / np.linalg.norm(first) / np.linalg.norm(seconds, axis=1)
        others = [np.exp(cosine[at] / 0.05) for at in range(len(labels)) if labels[at] != labels[row]]
        own = np.exp(cosine[row] / 0.05)
        costs.append(-np.log(own / (own + sum(others))))
    assert ours == pytest.approx(np.mean(costs), rel=1e-4)


def test_every_sentence_meets_another_one_of_its_label(tiny_model_folder: Path) -> None:
    _, objective, _ = made(tiny_model_folder, "labels")
    labels = lessons_of(corpus_of("labels")).targets
    known = {tuple(objective.batcher.cache.whole(row)): row for row in range(60)}
    seen = set()
    for epoch in range(5):
        batch, _ = objective.batch(np.arange(60), epoch=epoch, mine=ALL)
        assert batch is not None
        for row, ids, mask in zip(batch.indices.tolist(), batch.noisy, batch.noisy_mask, strict=True):
            partner = known[tuple(ids[mask.bool()].tolist())]
            assert partner != row and labels[partner] == labels[row]
            seen.add((row, partner))
    assert len(seen) > 100, "partners change with the epoch"


def test_a_sentence_that_is_in_a_batch_already_is_no_wrong_partner_of_another(
    tiny_model_folder: Path,
) -> None:
    _, objective, batch = made(tiny_model_folder, "positives")
    ids = [tuple(objective.batcher.cache.whole(int(row))) for row in batch.indices]
    assert len(set(ids)) == len(ids)
    again, count = objective.batch(np.array([3, 3, 3, 9]), epoch=0, mine=ALL)
    assert again is not None and again.indices.tolist() == [3, 9] and count == 2


@pytest.mark.parametrize("kind", ["scores", "positives", "labels"])
def test_supervised_training_lowers_its_held_out_loss_whatever_it_learns_from(
    tmp_path: Path, tiny_model_folder: Path, kind: str
) -> None:
    config = checked({"objective": "supervised", "base_model": str(tiny_model_folder), "max_steps": 60, "batch_size": 16,
                      "learning_rate": 2e-3, "precision": "fp32", "devices": "cpu", "vocabulary": "corpus"})  # fmt: skip
    run = create_run(tmp_path, config, corpus_of(kind, 240))
    assert train.main(run.path) == 0, run.log_tail()
    curve = list(losses(run).values())
    assert np.mean(curve[-10:]) < 0.9 * np.mean(curve[:5])
    looks = [row["held_out"] for row in run.metrics()[0] if "held_out" in row]
    assert min(looks) < looks[0]
    assert not (kind != "labels" and any("same_label" in row for row in run.metrics()[0])), (
        "scores are no labels"
    )
    vectors = SentenceTransformer(str(run.encoder_dir), device="cpu").encode(["the cat sees a small house."])
    assert vectors.shape == (1, 32)


def test_scores_run_from_the_lowest_to_the_highest_of_the_file() -> None:
    lessons = lessons_of(corpus_of("scores", 12))
    assert lessons.targets.tolist() == [0, 0.2, 0.4, 0.6, 0.8, 1] * 2


def test_what_teaches_nothing_is_refused_in_one_sentence() -> None:
    plain = pa.table({"sentence": ["a", "b"], "line": [1, 2], "label": ["x", "y"]})
    with pytest.raises(ValueError, match="needs labels"):
        kind_of(plain)
    words = corpus_of("positives", 2).set_column(2, "label", pa.array(["entailment", "neutral"]))
    with pytest.raises(ValueError, match=r"must be a number.*'entailment'"):
        kind_of(words)
    same = corpus_of("positives", 2).set_column(2, "label", pa.array(["1", "1"]))
    with pytest.raises(ValueError, match="same score"):
        kind_of(same)
    found = preflight.check(checked({"objective": "supervised"}), plain)
    assert found[0].level == "error" and "needs labels" in found[0].text


def test_other_objectives_take_pairs_apart_and_supervised_ones_leave_out_what_has_no_label() -> None:
    apart = fit(corpus_of("scores", 20), "tsdae")
    assert apart.column_names == ["sentence", "line", "label"]
    assert len(set(apart["sentence"].to_pylist())) == apart.num_rows == 40
    some = pa.table({"sentence": list("abcdef"), "line": range(6), "label": ["x", "x", None, "y", "y", "z"]})
    assert fit(some, "supervised")["sentence"].to_pylist() == list("abde")
    assert fit(some, "mlm") is some


def test_pairs_are_read_from_two_columns_and_every_line_is_counted(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "pairs.tsv",
        "sentence1\tsentence2\tscore\na b\tc d\t1\na b\tc d\t2\ne\t\t3\ng h\ti j\t0.5\n",
    )
    corpus = read_corpus(file, ReadOptions("sentence1", "score", "sentence2"))
    assert corpus.table.select(["sentence", "second", "label"]).to_pylist() == [
        {"sentence": "a b", "second": "c d", "label": "1"},
        {"sentence": "g h", "second": "i j", "label": "0.5"},
    ]
    report = corpus.report
    assert (report.lines, report.kept, report.duplicate, report.blank) == (4, 2, 1, 1)
    assert "scores from 'score'" in " ".join(report.sentences())
    write_parquet(corpus.table, tmp_path / "kept.parquet")
    assert read_parquet(tmp_path / "kept.parquet").equals(corpus.table)
    with pytest.raises(ValueError, match="two different columns"):
        read_corpus(file, ReadOptions("sentence1", None, "sentence1"))
    assert find_pair(["pair_ID", "sentence_A", "sentence_B", "relatedness_score"]) == (
        "sentence_A", "sentence_B", "relatedness_score",
    )  # fmt: skip
    assert find_pair(["text", "label"]) is None


def test_a_data_set_of_usebs_training_folder_is_a_text_and_is_pairs(tmp_path: Path) -> None:
    (tmp_path / "unsupervised").mkdir()
    (tmp_path / "supervised").mkdir()
    write(tmp_path / "unsupervised", "train.txt", "one line\nanother line\n")
    write(tmp_path / "supervised", "train.org", "a b\nc d\n")
    write(tmp_path / "supervised", "train.para", "e f\ng h\n")
    assert read_useb(tmp_path, supervised=False, options=ReadOptions()).table["sentence"].to_pylist() == [
        "one line",
        "another line",
    ]
    pairs = read_useb(tmp_path, supervised=True, options=ReadOptions()).table
    assert kind_of(pairs) == "positives" and pairs["second"].to_pylist() == ["e f", "g h"]
    for name, text in {"train.s1": "a b\nc d\n", "train.s2": "e f\ng h\n", "train.lbl": "0.2\n0.8\n"}.items():
        write(tmp_path / "supervised", name, text)
    assert kind_of(read_useb(tmp_path, supervised=True, options=ReadOptions()).table) == "scores"
    write(tmp_path / "supervised", "train.lbl", "0.2\n")
    with pytest.raises(ValueError, match=r"train\.lbl 1"):
        read_useb(tmp_path, supervised=True, options=ReadOptions())


def test_the_shell_trains_on_pairs_that_it_finds_by_their_columns_names(
    tmp_path: Path, tiny_model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = corpus_of("scores", 60).to_pylist()
    lines = [
        "sentence1,sentence2,score",
        *(f"{row['sentence']},{row['second']},{row['label']}" for row in rows),
    ]
    file = write(tmp_path, "pairs.csv", "\n".join(lines))
    code = main(["train", str(file), "--objective", "supervised", "--base-model", str(tiny_model_folder), "--max-steps", "2",
                 "--devices", "cpu", "--workspace", str(tmp_path / "w")])  # fmt: skip
    said = capsys.readouterr().err
    assert code == 0 and "60 scored pairs" in said
    run = find_run(tmp_path / "w", "pairs")
    assert run.corpus().column_names == ["sentence", "line", "label", "second"]
    assert TrainConfig(**run.config().model_dump()).batch_size == 64
