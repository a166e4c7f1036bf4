"""The results table: base model, BM25, averaged vectors and, with --train, every method of the paper, on public tasks.

    python -m tests.benchmarks.compare --data DIR [SYSTEM ...] [--workspace DIR] [--format text]
    python -m tests.benchmarks.compare --data DIR --train [TEXT] --workspace DIR [--sentences 16000] [--set SETTING=VALUE ...]

DIR holds some of: pit2015/test.tsv (topic id, topic, two tweets, votes, 1 or 0 or empty), stsb/stsb-en-test.csv (two
sentences, score), cacm/ in BEIR layout, stackoverflow-titles/data.tsv (label, title). Without SYSTEMs: the bundled model,
BM25 and the bundled model's input embeddings, averaged. Trained runs are compared by naming them. --train trains TSDAE, MLM, CT,
SimCSE and BERT-flow, each with its own settings from the paper, and TSDAE by our preset for such a base, from the same base and until
each has seen the same number of sentences; on TEXT, or without it on the tasks' own unlabelled text (tweets, titles, abstracts). What
the workspace holds already is not trained again; what was interrupted goes on.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tsdae_core.config import TrainConfig
from tsdae_core.evaluate.read import read_task
from tsdae_core.evaluate.render import FORMATS
from tsdae_core.evaluate.run import evaluate, named
from tsdae_core.evaluate.table import verdict
from tsdae_core.evaluate.tasks import Task
from tsdae_core.methods import METHODS
from tsdae_core.runs import find_run, list_runs

PRESET = "Tuned encoder"
TRAINED = {
    f"{METHODS[key].name}": ["--objective", key] for key in ("tsdae", "mlm", "ct", "simcse", "bert_flow")
} | {f"TSDAE, preset {PRESET}": ["--preset", PRESET]}
"""The rows that --train adds, with the options that make them."""

OWN_TEXT = Path()
SYSTEMS = ["base=bundled", "BM25=bm25", "averaged embeddings=words:bundled"]


def tasks_of(data: Path, scratch: Path) -> list[Task]:
    """The tasks that are there; files in other layouts are written anew in the documented ones."""
    found: list[Task] = []
    pit, stsb = data / "pit2015" / "test.tsv", data / "stsb" / "stsb-en-test.csv"
    titles = data / "stackoverflow-titles" / "data.tsv"
    if pit.is_file():
        rows = (line.split("\t") for line in pit.read_text(encoding="utf-8").splitlines())
        found += read_task(
            "paraphrases", write_tsv(scratch / "pit2015.tsv", [[r[2], r[3], r[5]] for r in rows])
        )
    if stsb.is_file():
        found += read_task("pairs", stsb, name="stsb")
    if (data / "cacm").is_dir():
        found += read_task("retrieval", data / "cacm")
    if titles.is_file():
        rows = (line.split("\t", 1) for line in titles.read_text(encoding="utf-8").splitlines())
        file = write_tsv(
            scratch / "stackoverflow.tsv", [["sentence", "label"], *([r[1], r[0]] for r in rows)]
        )
        found += read_task("labels", file)
    return found


def write_tsv(path: Path, rows: list[list[str]]) -> Path:
    """Rows as a tab-separated file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)
    return path


def unlabelled(data: Path) -> str:
    """The text that the tasks come with: tweets, abstracts and titles, as far as they are there, one per line."""
    lines: list[str] = []
    tweets, titles = (
        data / "pit2015" / "unlabelled_dev_sentences.txt",
        data / "stackoverflow-titles" / "text.txt",
    )
    for file in (tweets, titles):
        if file.is_file():
            lines += file.read_text(encoding="utf-8").splitlines()
    abstracts = data / "cacm" / "corpus.jsonl"
    if abstracts.is_file():
        rows = map(json.loads, abstracts.read_text(encoding="utf-8").splitlines())
        lines += [" ".join(f"{row.get('title', '')} {row.get('text', '')}".split()) for row in rows]
    return "\n".join(lines)


def run_name(row: str) -> str:
    """The run behind a row of the table."""
    return "compare-" + "-".join("".join(c if c.isalnum() else " " for c in row.lower()).split())


def trained(text: Path, workspace: Path, *, sentences: int, changes: list[str]) -> list[str]:
    """Train every method that is not there yet. Returns rows, "TSDAE=compare-tsdae" and so on.

    Raises:
        ValueError: when a training fails.
    """
    there = {run.name: run.status()["state"] for run in list_runs(workspace)}
    for row, options in TRAINED.items():
        if there.get(run_name(row)) == "finished":
            continue
        objective = options[1] if options[0] == "--objective" else "tsdae"
        size = METHODS[objective].defaults.get("batch_size", TrainConfig().batch_size)
        if options[0] == "--preset":
            size = TrainConfig.from_preset(PRESET).batch_size
        command = [sys.executable, "-m", "tsdae_core", "train", "--workspace", str(workspace)]
        if run_name(row) in there:
            command += ["--resume", run_name(row)]
        else:
            command += [str(text), *options, "--name", run_name(row)]
            command += ["--epochs", "0", "--max-steps", str(max(1, round(sentences / size)))]
            for change in changes:
                key, _, value = change.partition("=")
                command += [f"--{key.replace('_', '-')}", value]
        if subprocess.run(command, check=False).returncode:
            raise ValueError(f"training {row} failed; see above")
    return [f"{row}={run_name(row)}" for row in TRAINED]


def seconds(workspace: Path) -> str:
    """How long each method trained, looks included."""
    lines = []
    for row in TRAINED:
        metrics = find_run(workspace, run_name(row)).metrics()[0]
        spent = [one["time"] for one in metrics if "time" in one]
        lines.append(f"{row}: {metrics[-1]['step']:,} steps in {spent[-1]:,.0f} s of training")
    return "\n".join(lines)


def main() -> int:
    """Print the table, the seconds each row took, and what the tasks are."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("systems", nargs="*", default=SYSTEMS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--workspace", type=Path, default=Path("workspace"))
    parser.add_argument("--train", type=Path, metavar="TEXT", nargs="?", const=OWN_TEXT)
    parser.add_argument("--sentences", type=int, default=16_000, help="that each training sees")
    parser.add_argument(
        "--set", action="append", default=[], metavar="SETTING=VALUE", help="for all trainings"
    )
    parser.add_argument("--format", choices=list(FORMATS), default="text")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        tasks = tasks_of(arguments.data, Path(scratch))
    if not tasks:
        print(f"{arguments.data} holds none of the tasks that this benchmark knows", file=sys.stderr)
        return 2
    systems = list(arguments.systems)
    if arguments.train:
        text = arguments.train
        if text == OWN_TEXT:
            text = arguments.workspace / "own-text.txt"
            arguments.workspace.mkdir(parents=True, exist_ok=True)
            text.write_text(unlabelled(arguments.data), encoding="utf-8")
        systems += trained(text, arguments.workspace, sentences=arguments.sentences, changes=arguments.set)
        systems[0] = "base=base:compare-mlm" if arguments.systems == SYSTEMS else systems[0]
    rows = [named(text) for text in systems]
    started = time.monotonic()
    table = evaluate(rows, tasks, workspace=arguments.workspace, every=True)
    print(FORMATS[arguments.format](table))
    if arguments.train:
        print(f"\n{seconds(arguments.workspace)}")
    print(f"\n{verdict(table)}\n{time.monotonic() - started:.0f} s in all")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
