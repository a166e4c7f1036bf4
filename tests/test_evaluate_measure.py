"""Metrics and tasks against scikit-learn, trec_eval and hand-made numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.metrics import average_precision_score, v_measure_score
from sklearn.neighbors import KNeighborsClassifier

from tsdae_core.evaluate import labels
from tsdae_core.evaluate.measure import average_precision, ndcg, reciprocal_rank
from tsdae_core.evaluate.systems import ByWords, VectorSystem, unit
from tsdae_core.evaluate.tasks import Lists, Pairs, Retrieval, Twins


def numbers(texts: Sequence[str], progress: Any = None) -> np.ndarray:
    """A vector for each text: the same text, the same eight numbers."""
    return np.stack([np.random.default_rng(list(text.encode())).normal(size=8) for text in texts]).astype(
        "f4"
    )


SYSTEM = VectorSystem("numbers", numbers)


def cosines(one: Sequence[str], other: Sequence[str]) -> np.ndarray:
    left, right = numbers(one).astype("f8"), numbers(other).astype("f8")
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    return left @ (right / np.linalg.norm(right, axis=1, keepdims=True)).T


def test_scored_pairs_give_scipys_spearman_of_the_cosines() -> None:
    left, right = [f"left {n}" for n in range(40)], [f"right {n}" for n in range(40)]
    gold = np.random.default_rng(1).integers(0, 6, 40).astype(float)
    found = Pairs("p", "pairs", left, right, gold, "spearman").run(SYSTEM)
    assert found.value() == pytest.approx(spearmanr(gold, np.diag(cosines(left, right))).statistic, abs=1e-6)


def test_paraphrases_give_sklearns_average_precision_of_the_cosines() -> None:
    left, right = [f"left {n}" for n in range(40)], [f"right {n}" for n in range(40)]
    gold = np.random.default_rng(2).integers(0, 2, 40)
    found = Pairs("p", "paraphrases", left, right, gold, "ap").run(SYSTEM)
    assert found.value() == pytest.approx(average_precision_score(gold, np.diag(cosines(left, right))))


def test_scores_that_are_all_the_same_are_worth_nothing() -> None:
    flat = VectorSystem("flat", lambda texts, progress: np.ones((len(texts), 2), "f4"))
    texts = [f"text {n}" for n in range(6)]
    assert Pairs("p", "pairs", texts, texts[::-1], np.arange(6.0), "spearman").run(flat).value() == 0
    assert Twins("t", "halves", texts, texts).run(flat).value("R@1") == 0
    lists = Lists("l", ["q"], [["a", "b", "c", "d"]], [np.array([1, 0, 0, 0])]).run(flat)
    assert (lists.value("MAP"), lists.value("MRR")) == (0.25, 0.25)


def test_retrieval_agrees_with_trec_eval_also_on_grades_and_on_documents_that_are_not_there() -> None:
    rng = np.random.default_rng(3)
    queries, documents = [f"query {n}" for n in range(15)], [f"document {n}" for n in range(300)]
    gains = [
        {int(row): float(rng.integers(1, 4)) for row in rng.choice(300, 5 + n, replace=False)}
        for n in range(15)
    ]
    lost = [n % 3 for n in range(15)]
    found = Retrieval("r", queries, documents, gains, [-1] * 15, lost=lost).run(SYSTEM)

    qrels = {
        f"q{n}": {f"d{row}": int(grade) for row, grade in wanted.items()}
        | {f"gone{i}": 1 for i in range(lost[n])}
        for n, wanted in enumerate(gains)
    }
    scores = cosines(queries, documents)
    run = {f"q{n}": {f"d{row}": float(scores[n, row]) for row in range(300)} for n in range(15)}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map_cut_100", "ndcg_cut_10"}).evaluate(run)
    per_query = found.metrics["MAP@100"][0].values, found.metrics["nDCG@10"][0].values
    for n in range(15):
        assert per_query[0][n] == pytest.approx(theirs[f"q{n}"]["map_cut_100"], abs=1e-6)
        assert per_query[1][n] == pytest.approx(theirs[f"q{n}"]["ndcg_cut_10"], abs=1e-6)


def test_a_document_that_is_the_query_itself_is_not_an_answer() -> None:
    task = Retrieval("r", ["same"], ["same", "other", "third"], [{1: 1.0}], [0])
    order = np.argsort(-cosines(["same"], ["other", "third"])[0])
    assert task.run(SYSTEM).value() == 1 / (1 + int(np.flatnonzero(order == 0)[0]))


def test_re_ranking_agrees_with_trec_eval() -> None:
    rng = np.random.default_rng(4)
    queries = [f"query {n}" for n in range(12)]
    candidates = [[f"candidate {n} {i}" for i in range(10)] for n in range(12)]
    relevant = [np.array([1, *rng.integers(0, 2, 9)]) for _ in range(12)]
    found = Lists("l", queries, candidates, relevant).run(SYSTEM)
    qrels = {f"q{n}": {f"c{i}": int(relevant[n][i]) for i in range(10)} for n in range(12)}
    run = {
        f"q{n}": {f"c{i}": float(cosines([queries[n]], candidates[n])[0, i]) for i in range(10)}
        for n in range(12)
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank"}).evaluate(run)
    assert found.value("MAP") == pytest.approx(np.mean([one["map"] for one in theirs.values()]))
    assert found.value("MRR") == pytest.approx(np.mean([one["recip_rank"] for one in theirs.values()]))


def test_metrics_of_one_ranking_by_hand() -> None:
    scores, relevant = np.array([0.9, 0.8, 0.7, 0.6]), np.array([0, 1, 0, 1])
    assert average_precision(relevant, scores) == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert average_precision(relevant, scores, total=4) == pytest.approx((1 / 2 + 2 / 4) / 4)
    assert reciprocal_rank(relevant, scores) == 1 / 2
    gain = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert ndcg(relevant, scores, wanted=[1, 1]) == pytest.approx(gain)
    assert ndcg(relevant, scores, wanted=[1, 1], k=3) == pytest.approx(
        (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    )
    assert ndcg(np.array([1]), np.array([0.5]), wanted=[1]) == 1


def test_twins_give_the_reciprocal_place_of_each_ones_other_half() -> None:
    queries, documents = [f"query {n}" for n in range(30)], [f"document {n}" for n in range(30)]
    scores = cosines(queries, documents)
    places = np.array([1 + int((row > row[n]).sum()) for n, row in enumerate(scores)])
    found = Twins("t", "damaged", queries, documents).run(SYSTEM)
    assert found.value("MRR") == pytest.approx((1 / places).mean())
    assert found.value("R@1") == pytest.approx((places == 1).mean())


@pytest.fixture(scope="module")
def labelled() -> labels.Labelled:
    return labels.labelled("l", [f"sentence {n}" for n in range(120)], [f"label {n % 4}" for n in range(120)])


def drawn_together(texts: Sequence[str], progress: Any = None) -> np.ndarray:
    """Vectors that lie near their label's own direction."""
    middle = np.eye(8)[[int(text.split()[1]) % 4 for text in texts]]
    return (numbers(texts) + 1.5 * middle).astype("f4")


def test_neighbours_votes_agree_with_sklearn_where_no_vote_is_a_draw(labelled: labels.Labelled) -> None:
    system = VectorSystem("drawn", drawn_together)
    vectors, gold = unit(drawn_together(labelled.texts)), np.unique(labelled.labels, return_inverse=True)[1]
    right = labels.nearest_right(system.index(labelled.texts), labelled.texts, gold)
    compared = 0
    for own in range(len(gold)):
        others = np.arange(len(gold)) != own
        model = KNeighborsClassifier(10, metric="cosine", algorithm="brute").fit(
            vectors[others], gold[others]
        )
        shares = model.predict_proba(vectors[own : own + 1])[0]
        if np.sum(shares == shares.max()) == 1:
            compared += 1
            assert right[own] == (shares.argmax() == gold[own])
    assert compared > 60


def test_same_label_map_and_v_measure_agree_with_sklearn(labelled: labels.Labelled) -> None:
    found = labelled.run(VectorSystem("drawn", drawn_together))
    vectors, gold = unit(drawn_together(labelled.texts)), np.unique(labelled.labels, return_inverse=True)[1]
    scores = vectors @ vectors.T
    precisions = []
    for own in range(len(gold)):
        others = np.arange(len(gold)) != own
        precisions.append(average_precision_score(gold[others] == gold[own], scores[own][others]))
    assert found.value("Same-label MAP") == pytest.approx(np.mean(precisions), abs=1e-4)
    groups = KMeans(4, n_init=3, random_state=0).fit_predict(vectors)
    assert found.value("V-measure") == pytest.approx(v_measure_score(gold, groups))


def test_labels_that_vectors_follow_are_told_and_random_ones_are_not(labelled: labels.Labelled) -> None:
    good, chance = labelled.run(VectorSystem("drawn", drawn_together)), labelled.run(SYSTEM)
    for metric in ("kNN accuracy", "Linear probe", "V-measure", "Same-label MAP"):
        assert good.value(metric) > chance.value(metric) + 0.1, metric
    assert 0.1 < chance.value("Linear probe") < 0.45


def test_a_system_without_vectors_leaves_out_what_needs_them(labelled: labels.Labelled) -> None:
    assert set(labelled.run(ByWords()).metrics) == {"kNN accuracy", "Same-label MAP"}


def test_bm25_agrees_with_lucenes_formula() -> None:
    documents = ["the cat sat on the mat", "a dog sat", "the the the cat", "birds sing at dawn"]
    words = [document.split() for document in documents]
    average = sum(map(len, words)) / len(words)

    def weight(word: str, document: list[str]) -> float:
        has = sum(word in other for other in words)
        idf = math.log(1 + (len(words) - has + 0.5) / (has + 0.5))
        often = document.count(word)
        return idf * often / (often + 1.5 * (1 - 0.75 + 0.75 * len(document) / average))

    expected = [sum(weight(word, document) for word in ["the", "cat"]) for document in words]
    index = ByWords().index(documents)
    [scores] = index.some(["The cat, unheard!"], [np.arange(4)])
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    values, rows = index.top(["the cat"], 2)
    assert rows[0].tolist() == np.argsort(expected)[::-1][:2].tolist()
    np.testing.assert_allclose(values[0], sorted(expected)[::-1][:2], rtol=1e-5)
