"""The results table: best, seeds, significance, the verdict, and the table in every format."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from tsdae_core.evaluate.measure import Outcome, Part
from tsdae_core.evaluate.render import FORMATS
from tsdae_core.evaluate.run import named
from tsdae_core.evaluate.table import Asked, Table, build, p_value, verdict


def outcome(values: np.ndarray, metric: str = "MAP") -> Outcome:
    return Outcome({metric: (Part.mean(values),), "other": (Part.mean(values / 2),)}, 1.5)


def made(*rows: tuple[str, list[np.ndarray]], every: bool = False, kind: str = "retrieval") -> Table:
    asked = Asked(
        [("task", kind, "a note")],
        [label for label, _ in rows],
        [[f"{label}-{n}" for n in range(len(seeds))] for label, seeds in rows],
        [[[outcome(values) for values in seeds]] for _, seeds in rows],
    )
    return build(asked, every=every)


RNG = np.random.default_rng(0)
BASE = RNG.uniform(0, 1, 200)
BETTER = np.clip(BASE + RNG.normal(0.08, 0.1, 200), 0, 1)
SAME = BASE[RNG.permutation(200)]


def test_the_best_of_a_column_is_marked_and_ties_to_two_decimals_share_it() -> None:
    table = made(("a", [BASE]), ("b", [BETTER]), ("c", [BETTER + 1e-6]))
    assert [row.cells[0].best for row in table.rows] == [False, True, True]


def test_seeds_give_mean_and_sample_deviation() -> None:
    table = made(("a", [BASE]), ("b", [BETTER, BASE, BETTER * 0.5]))
    cell = table.rows[1].cells[0]
    seeds = [100 * values.mean() for values in (BETTER, BASE, BETTER * 0.5)]
    assert cell.mean == pytest.approx(np.mean(seeds))
    assert cell.deviation == pytest.approx(np.std(seeds, ddof=1))
    assert table.rows[0].cells[0].deviation is None
    assert table.rows[1].systems == ["b-0", "b-1", "b-2"]


def test_a_steady_gain_is_more_than_chance_and_a_shuffle_is_not() -> None:
    table = made(("a", [BASE]), ("better", [BETTER]), ("same", [SAME]))
    assert table.rows[0].cells[0].p is None
    assert table.rows[1].cells[0].differs
    assert not table.rows[2].cells[0].differs


def test_pairing_finds_a_small_steady_gain_that_unpaired_samples_would_hide() -> None:
    gain = BASE + 0.01
    assert made(("a", [BASE]), ("b", [gain])).rows[1].cells[0].differs
    spread = BASE.std() * np.sqrt(2 / len(BASE))
    assert 1.96 * spread > 0.01  # what an unpaired test would need


def test_the_p_value_is_right_under_no_difference() -> None:
    """About one in twenty comparisons of equal systems is called significant."""
    called = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        differences = rng.normal(0, 1, 60)
        counts = rng.multinomial(60, np.full(60, 1 / 60), size=400)
        called += p_value(counts @ differences / 60) < 0.05
    assert 1 <= called <= 16


@pytest.mark.parametrize("statistic", ["spearman", "ap"])
def test_a_resample_equals_the_statistic_of_the_units_drawn(statistic: str) -> None:
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 2 if statistic == "ap" else 5, 60)
    values = np.round(gold + rng.normal(0, 2, 60), 0 if statistic == "ap" else 1)  # with ties
    part = Part(statistic, values, gold)
    drawn = rng.integers(60, size=(20, 60))
    counts = np.stack([np.bincount(rows, minlength=60) for rows in drawn])
    assert part.resampled is not None
    expected = [part.value(rows) for rows in drawn]  # by scipy, by scikit-learn
    np.testing.assert_allclose(part.resampled(counts), expected, atol=1e-9)


def test_a_clustering_is_not_judged_by_resampling() -> None:
    gold = np.arange(40) % 2
    parts = [Part("v_measure", values, gold) for values in (gold, np.arange(40) % 3)]
    rows = [[[Outcome({"m": (part,)})]] for part in parts]
    table = build(Asked([("t", "labels", "")], ["a", "b"], [["a"], ["b"]], rows))
    assert [row.cells[0].p for row in table.rows] == [None, None]


def test_every_metric_is_a_column_when_asked_for() -> None:
    assert [column.metric for column in made(("a", [BASE]), every=True).columns] == ["MAP", "other"]
    assert [column.metric for column in made(("a", [BASE])).columns] == ["MAP"]


def test_useb_tasks_get_an_average_over_the_columns() -> None:
    outcomes = [[[outcome(BASE)], [outcome(BETTER)]], [[outcome(BETTER)], [outcome(BETTER)]]]
    asked = Asked([("x", "useb", ""), ("y", "useb", "")], ["a", "b"], [["a"], ["b"]], outcomes)
    table = build(asked)
    assert table.columns[-1].task == "Average"
    assert table.rows[0].cells[-1].mean == pytest.approx(50 * (BASE.mean() + BETTER.mean()))
    assert table.rows[1].cells[-1].best


def test_the_verdict_names_the_best_and_whether_it_may_be_chance() -> None:
    gain = 100 * (BETTER.mean() - BASE.mean())
    said = verdict(made(("Untrained base", [BASE]), ("Trained", [BETTER])))
    assert said == (
        f"Trained is best on task (MAP {100 * BETTER.mean():.1f}): {gain:.1f} above Untrained base, more than chance."
    )
    slightly = BASE.copy()
    slightly[0] += 0.01
    assert "may be chance" in verdict(made(("Untrained base", [BASE]), ("Trained", [slightly])))
    lost = verdict(made(("Untrained base", [BETTER]), ("Trained", [BASE])))
    assert (
        lost.startswith("Untrained base is best")
        and "Trained comes next" in lost
        and "more than chance" in lost
    )
    assert verdict(made(("alone", [BASE]))) == ""


def test_a_table_survives_json() -> None:
    table = made(("a", [BASE]), ("b", [BETTER, BASE]))
    assert Table.of_data(json.loads(FORMATS["json"](table))) == table


def test_the_formats_mark_the_best_and_escape_what_would_break_them() -> None:
    table = made(("a|b_50% & c", [BASE]), ("b", [BETTER]))
    best = f"{100 * BETTER.mean():.2f}"
    assert f"{best}*†" in FORMATS["text"](table)
    markdown = FORMATS["markdown"](table)
    assert f"**{best}**†" in markdown and r"| a\|b_50% & c |" in markdown
    latex = FORMATS["latex"](table)
    assert rf"\textbf{{{best}}}$^\dagger$" in latex and r"a|b\_50\% \& c" in latex
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"](table))))
    assert rows[0]["system"] == "a|b_50% & c"
    assert float(rows[1]["task MAP"]) == pytest.approx(100 * BETTER.mean(), abs=1e-3)
    assert float(rows[1]["task MAP p"]) < 0.05
    assert all("a note" in FORMATS[kind](table) for kind in ("text", "markdown", "latex", "json"))


def test_a_row_is_a_system_a_named_one_or_several_seeds() -> None:
    assert named("bm25") == ("bm25", ["bm25"])
    assert named("TSDAE=one, two") == ("TSDAE", ["one", "two"])
    with pytest.raises(ValueError, match="LABEL=SYSTEM"):
        named("TSDAE=one,,two")
