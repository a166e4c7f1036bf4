"""Does training help, and which label-free number tells? Trained on unlabelled text, scored on tasks with labels.

    python -m tests.benchmarks.quality --data DIR --out DIR [--quick] [--seeds 3] [--only TEXT]

DIR holds some of: banking77 (train.csv, test.csv: text, category), pit2015, stackoverflow-titles, cacm, stsb (see
`tests.benchmarks.compare`). Each run trains with the app's own command and is scored at every checkpoint; what is finished
is kept in --out and not done again, so the benchmark may be stopped and started. --quick: one seed, banking77, the whole
bundled model. At the end: the tables of scores (mean and deviation over the seeds), and per corpus the rank correlation
of each label-free number with the in-domain task, over all checkpoints, with a bootstrap interval.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from tests.benchmarks.compare import tasks_of, write_tsv
from tsdae_core.config import PRESETS
from tsdae_core.evaluate.labels import Labelled, same_label
from tsdae_core.evaluate.read import read_task
from tsdae_core.evaluate.run import evaluate
from tsdae_core.evaluate.systems import open_system
from tsdae_core.evaluate.tasks import Task
from tsdae_core.launch import WAITING
from tsdae_core.runs import Run

SHARED = ["--batch-size", "16", "--max-length", "64", "--vocabulary", "corpus"]
PLAIN = ["--decoder-warmup-steps", "0", "--anchor", "0", "--lr-schedule", "constant"]
BASES = {
    "whole, mean": ["--pooling", "mean", "--max-steps", "1000"],
    "3 layers, mean": ["--layers", "3", "--pooling", "mean", "--max-steps", "1000"],
    "3 layers, CLS": ["--layers", "3", "--pooling", "cls", "--max-steps", "1500"],
}
PLAIN_RATE = {"whole, mean": "3e-5", "3 layers, mean": "1e-4", "3 layers, CLS": "1e-4"}
IN_DOMAIN = {"banking77": "banking77", "stackoverflow-titles": "stackoverflow", "pit2015": "pit2015"}
NUMBERS = [
    "held_out", "bits", "bits_mean", "mrr", "recall_at_1", "alignment", "uniformity", "effective_rank",
    "mean_cosine", "written",
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One training: a corpus, a base, a recipe ("plain" or a preset's name), a seed."""

    corpus: str
    base: str
    recipe: str
    seed: int

    @property
    def name(self) -> str:
        """A run's name, letters and digits alone."""
        words = f"{self.corpus} {self.base} {self.recipe} {self.seed}"
        return "-".join("".join(c if c.isalnum() else " " for c in words).split()).lower()

    def options(self) -> list[str]:
        """The command line's options."""
        seed = ["--seed", str(self.seed), *BASES[self.base]]
        if self.recipe == "plain":
            return [*SHARED, *PLAIN, "--learning-rate", PLAIN_RATE[self.base], *seed]
        return ["--preset", self.recipe, *seed]


def texts_of(data: Path, corpus: str) -> list[str]:
    """The unlabelled training text of a corpus."""
    if corpus == "banking77":
        with (data / "banking77" / "train.csv").open(encoding="utf-8", newline="") as file:
            return [row["text"] for row in csv.DictReader(file)]
    if corpus == "pit2015":
        return (data / "pit2015" / "unlabelled_dev_sentences.txt").read_text(encoding="utf-8").splitlines()
    lines = (data / "stackoverflow-titles" / "data.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t", 1)[1] for line in lines]


def tasks(data: Path, scratch: Path) -> list[Task]:
    """Every task that is there, banking77's test sentences by intent before the others."""
    found: list[Task] = []
    if (data / "banking77").is_dir():
        with (data / "banking77" / "test.csv").open(encoding="utf-8", newline="") as file:
            rows = [[row["text"], row["category"]] for row in csv.DictReader(file)]
        found += read_task(
            "labels", write_tsv(scratch / "banking77.tsv", [["sentence", "label"], *rows]), name="banking77"
        )
    return found + tasks_of(data, scratch)


def score(systems: Sequence[str], chosen: Sequence[Task], workspace: Path) -> dict[str, dict[str, float]]:
    """Per system the main metric of each task, in percent; of labels the MAP alone, which needs no classifier."""
    wanted = {"paraphrases": "AP", "pairs": "Spearman", "retrieval": "MAP@100"}
    others = [task for task in chosen if not isinstance(task, Labelled)]
    scores: dict[str, dict[str, float]] = {name: {} for name in systems}
    for name in systems:
        system = open_system(name, workspace)
        for task in chosen:
            if isinstance(task, Labelled):
                gold = np.unique(task.labels, return_inverse=True)[1]
                found = same_label(system.index(task.texts), task.texts, gold)
                scores[name][task.name] = 100 * float(np.mean(found))
    if others:
        rows = [(name, [name]) for name in systems]
        table = evaluate(rows, others, workspace=workspace, every=True, resamples=10)
        for row in table.rows:
            for cell, column in zip(row.cells, table.columns, strict=True):
                if not column.average and column.metric == wanted.get(column.kind) and cell.mean is not None:
                    scores[row.label][column.task] = cell.mean
    return {name: dict(sorted(values.items())) for name, values in scores.items()}


def train(case: Case, text: Path, workspace: Path) -> None:
    """Train with the app's command; a run that was cut off goes on from its last checkpoint."""
    where = ["--workspace", str(workspace)]
    run = workspace / case.name
    if not run.is_dir():
        arguments = [str(text), "--name", case.name, *case.options(), *where]
    elif (run / "encoder").is_dir():
        return
    else:
        arguments = ["--resume", case.name, *where]
    command = [sys.executable, "-m", "tsdae_core", "train", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**WAITING, **os.environ})
    if done.returncode:
        sys.exit(f"{case.name} failed:\n{done.stderr[-2000:]}")


def cases(arguments: argparse.Namespace) -> Iterator[Case]:
    """What is to be trained, the quickest insight first."""
    corpora = [name for name in IN_DOMAIN if (arguments.data / name).is_dir()]
    bases = list(BASES)
    seeds = arguments.seeds
    if arguments.quick:
        corpora, bases, seeds = corpora[:1], bases[:1], 1
    for seed in range(seeds):
        for corpus in corpora:
            for base in bases:
                for recipe in ("plain", arguments.preset):
                    case = Case(corpus, base, recipe, seed)
                    if arguments.only in case.name:
                        yield case


def of_base(case: Case, system: str, out: Path, chosen: Sequence[Task]) -> dict[str, float]:
    """The scores of what a case starts from: no corpus, recipe or seed changes them."""
    file = out / "results" / "bases" / f"{'-'.join(case.base.replace(',', '').split())}.json"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(score([system], chosen, out / "runs")[system]), encoding="utf-8")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def results(case: Case, data: Path, out: Path, chosen: Sequence[Task]) -> dict[str, Any]:
    """Scores of the base and of every checkpoint, with the label-free numbers of the look nearest to each."""
    file = out / "results" / f"{case.name}.json"
    if file.is_file():
        return dict(json.loads(file.read_text(encoding="utf-8")))
    text = out / f"{case.corpus}.txt"
    text.write_text("\n".join(texts_of(data, case.corpus)), encoding="utf-8")
    workspace = out / "runs"
    train(case, text, workspace)
    run = workspace / case.name
    steps = [one.step for one in Run(run).checkpoints()]
    middle = [f"{case.name}@{step}" for step in steps[:-1]]
    inside = [task for task in chosen if task.name.startswith(IN_DOMAIN[case.corpus])]
    untrained = f"base:{case.name}"
    scores = (
        {untrained: of_base(case, untrained, out, chosen)}
        | score([case.name], chosen, workspace)
        | (score(middle, inside, workspace) if middle else {})
    )
    looks = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    looks = [row for row in looks if "held_out" in row]
    points = []
    for step, name in [
        (0, untrained),
        *zip(steps[:-1], middle, strict=True),
        (steps[-1], case.name),
    ]:
        near = min(looks, key=lambda row: abs(row["step"] - step))
        numbers = {key: near[key] for key in NUMBERS if key in near}
        points.append({"step": step, "scores": scores[name], "numbers": numbers})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"case": vars(case), "points": points}, indent=1), encoding="utf-8")
    return {"case": vars(case), "points": points}


def tables(found: Sequence[dict[str, Any]]) -> str:
    """Scores as Markdown, one table per corpus and base."""
    lines = []
    for corpus, base in dict.fromkeys((one["case"]["corpus"], one["case"]["base"]) for one in found):
        mine = [one for one in found if (one["case"]["corpus"], one["case"]["base"]) == (corpus, base)]
        names = list(mine[0]["points"][0]["scores"])
        lines += [
            f"\nTrained on {corpus}; {base}",
            "| recipe | " + " | ".join(names) + " | lowest in domain on the way |",
        ]
        lines.append("|---" * (len(names) + 2) + "|")
        rows = {"base": [mine[0]["points"][0]]}
        for recipe in dict.fromkeys(one["case"]["recipe"] for one in mine):
            rows[recipe] = [one["points"][-1] for one in mine if one["case"]["recipe"] == recipe]
        inside = next((name for name in names if name.startswith(IN_DOMAIN[corpus])), names[0])
        for label, ends in rows.items():
            way = [
                point["scores"][inside]
                for one in mine
                if one["case"]["recipe"] == label
                for point in one["points"]
                if inside in point["scores"]
            ]
            cells = [_mean([end["scores"][name] for end in ends]) for name in names]
            lines.append(f"| {label} | " + " | ".join(cells) + f" | {f'{min(way):.1f}' if way else ''} |")
    return "\n".join(lines)


def _mean(values: Sequence[float]) -> str:
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"


def correlations(found: Sequence[dict[str, Any]]) -> str:
    """Per corpus, Spearman's correlation of each number with the in-domain score over all checkpoints, 95 % interval."""
    lines = []
    for corpus in dict.fromkeys(one["case"]["corpus"] for one in found):
        points = [p for one in found if one["case"]["corpus"] == corpus for p in one["points"]]
        inside = next(n for n in points[0]["scores"] if n.startswith(IN_DOMAIN[corpus]))
        lines.append(f"\n{corpus}: {len(points)} checkpoints, rank correlation with {inside}")
        for number in NUMBERS:
            pairs = [(p["numbers"][number], p["scores"][inside]) for p in points if number in p["numbers"]]
            if len(pairs) >= 8:
                low, middle, high = _interval(np.array(pairs))
                lines.append(f"  {number:16} {middle:+.2f}  ({low:+.2f} to {high:+.2f})")
    return "\n".join(lines)


def _interval(pairs: np.ndarray) -> tuple[float, float, float]:
    rng = np.random.default_rng(0)
    drawn = [spearmanr(*pairs[rng.integers(len(pairs), size=len(pairs))].T).statistic for _ in range(500)]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return float(low), float(spearmanr(*pairs.T).statistic), float(high)


def main() -> int:
    """Train, score, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--preset", choices=list(PRESETS), default="Small corpus")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        chosen = tasks(arguments.data, Path(scratch))
        found = []
        for case in cases(arguments):
            print(case.name, file=sys.stderr, flush=True)
            found.append(results(case, arguments.data, arguments.out, chosen))
    print(tables(found))
    print(correlations(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
