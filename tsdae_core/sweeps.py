"""Sweeps: the same text trained with several values of some settings, one run for each, then one table.

A sweep is a folder WORKSPACE/.sweeps/NAME with sweep.json (what was asked, and which run has which values), the sentences set
aside for its table, and the table itself. Its runs are ordinary runs.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tsdae_core import run_queue, supervision
from tsdae_core.config import TrainConfig, checked, describe
from tsdae_core.jobs import Job
from tsdae_core.records import read_json, write_json
from tsdae_core.runs import create_run, list_runs, safe_name

SIZE = "corpus_size"
"""The one thing that can be varied and is no setting: how many sentences there are to train on."""

SEED = "seed"
MOST = 200
"""Runs of one sweep."""

ASIDE = 1000
"""Sentences set aside for the table, at most; at most a tenth of the text."""


@dataclass(frozen=True)
class Sweep(Job):
    """One sweep; as a job it is the making of its table."""

    def asked(self) -> dict[str, Any]:
        """name, vary (setting -> values), runs ([{run, values}]), tasks ([[kind, path]]), and what a corpus size counts."""
        return read_json(self.path / "sweep.json")

    def groups(self) -> list[tuple[dict[str, Any], list[str]]]:
        """(values without the seed, names of the runs that have them), in the order in which they were asked for."""
        found: dict[str, tuple[dict[str, Any], list[str]]] = {}
        for one in self.asked()["runs"]:
            values = {name: value for name, value in one["values"].items() if name != SEED}
            found.setdefault(json.dumps(values), (values, []))[1].append(one["run"])
        return list(found.values())


def values_of(name: str, text: str, *, most: int = 0) -> list[Any]:
    """What "0.3, 0.6" means for a setting, or for `SIZE`; a size such as 128..65536 doubles from the one to the other.

    Args:
        most: how many sentences there are to train on, 0 for unknown; a doubling size ends there.

    Raises:
        ValueError: for an unknown setting, or a value that it cannot have.
    """
    from_text = [part.strip() for part in text.split(",") if part.strip()]
    if name == SIZE:
        return list(dict.fromkeys(size for one in from_text for size in _sizes(one, most)))
    kind = describe(name).kind
    made: list[Any] = []
    for one in from_text:
        value: Any = one
        if kind is bool:
            value = {"true": True, "yes": True, "false": False, "no": False}.get(one.lower(), one)
        elif kind in (int, float):
            try:
                value = kind(one)
            except ValueError as error:
                raise ValueError(f"{name} must be numbers with commas between; got {one!r}") from error
        checked({name: value})
        made.append(value)
    return list(dict.fromkeys(made))


def _sizes(text: str, most: int) -> list[int]:
    """The sizes that "128" or "128..65536" stands for."""
    ends = [part.strip().replace("_", "") for part in text.split("..")]
    if len(ends) > 2 or not all(one.isdecimal() and int(one) for one in ends):
        raise ValueError(
            f"{SIZE} must be whole numbers of sentences, such as 128, 1024, or 128..65536 to double from one to the other; got {text!r}"
        )
    first, last = int(ends[0]), int(ends[-1])
    if first > last:
        raise ValueError(f"{SIZE} must be given with the smaller size first; got {text!r}")
    _fits(first, most)
    sizes = [first]
    while len(ends) == 2 and sizes[-1] * 2 <= min(last, most or last):
        sizes.append(sizes[-1] * 2)
    return sizes


def _fits(size: int, most: int) -> None:
    if most and size > most:
        raise ValueError(f"the text has {most:,} sentences to train on; {SIZE} can be no more, got {size:,}")


def trainable(rows: int, *, tasks: bool = False) -> int:
    """How many of a corpus' rows a sweep can train on; `tasks` when none are set aside, since its tasks come from files."""
    return rows - (0 if tasks else _count_aside(rows))


def _count_aside(count: int) -> int:
    return min(ASIDE, count // 10)


def combinations(vary: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of the values; the seeds of one combination stand together.

    Raises:
        ValueError: when nothing varies, or too much.
    """
    given = {name: list(values) for name, values in vary.items() if values}
    if not given:
        raise ValueError("a sweep needs at least one setting with values, such as noise_ratio=0.3,0.6,0.9")
    given = {name: given[name] for name in sorted(given, key=lambda name: name == SEED)}
    every = [dict(zip(given, values, strict=True)) for values in itertools.product(*given.values())]
    if len(every) > MOST:
        raise ValueError(f"these values make {len(every):,} runs; a sweep has at most {MOST}")
    return every


def create_sweep(
    workspace: Path,
    changes: Mapping[str, Any],
    vary: Mapping[str, Sequence[Any]],
    corpus: pa.Table,
    *,
    name: str,
    preset: str = "",
    tasks: Sequence[tuple[str, str]] = (),
    beside: Sequence[str] = (),
) -> Sweep:
    """Make all runs and put them and the table into the queue.

    Args:
        changes: the settings that all runs share, as far as they differ from the preset's.
        vary: setting (or `SIZE`) -> values.
        corpus: the text; a part of it that no run trains on is set aside for the table when `tasks` is empty.
        name: of the sweep; its runs are called after it.
        preset: what all runs start from; "" for the paper's values. A varied objective brings its own settings.
        tasks: (kind, path) of tasks from files, see `evaluate.kinds`.
        beside: further systems for the table, such as a TSDAE run when it is asked how many labelled sentences a supervised one needs
            to match it (objective supervised, `SIZE` varied).

    Raises:
        ValueError: when it cannot be; then nothing is made.
    """
    every = combinations(vary)
    for one in beside:
        _wants_system(workspace, one)
    configs = [_config(preset, {**changes, **one}) for one in every]
    test, rest = (None, corpus) if tasks else _aside(corpus)
    sizes = [int(one.get(SIZE, rest.num_rows)) for one in every]
    _fits(max(sizes), rest.num_rows)
    for config in configs:
        supervision.fit(rest, config.objective)
    home = _home(workspace, name)
    try:
        wanted = list(tasks) or [_write_test(test, home)]
        rows = [
            {"run": _run(workspace, config, rest, values, sweep=home.name), "values": values}
            for config, values in zip(configs, every, strict=True)
        ]
        asked = {"name": home.name, "vary": {key: list(value) for key, value in vary.items() if value},
                 "runs": rows, "unit": _unit(rest, configs), "beside": list(beside), "tasks": [list(task) for task in wanted], "workspace": str(workspace.resolve())}  # fmt: skip
        write_json(home / "sweep.json", asked)
    except Exception:
        shutil.rmtree(home)
        raise
    sweep = Sweep(home)
    sweep.write_status(state="new", phase="Made")
    run_queue.enqueue(workspace, [*(str(row["run"]) for row in rows), f"{run_queue.SWEEPS}/{home.name}"])
    return sweep


def _unit(corpus: pa.Table, configs: Sequence[TrainConfig]) -> str:
    """What a corpus size counts, in words."""
    if any(config.objective != "supervised" for config in configs):
        return "Sentences"
    return {"labels": "Labelled sentences", "scores": "Scored pairs"}.get(
        supervision.kind_of(corpus), "Pairs"
    )


def _config(preset: str, values: dict[str, Any]) -> TrainConfig:
    given = {name: value for name, value in values.items() if name != SIZE}
    return TrainConfig.from_preset(preset, **given) if preset else checked(given)


def _wants_system(workspace: Path, name: str) -> None:
    """Refuse what can be no system now, rather than when the table is made. Raises `ValueError`."""
    run = name.removeprefix("base:")
    runs = {one.name for one in list_runs(workspace)}
    known = {run, run.rpartition("@")[0]} & runs or name in ("bm25", "bundled") or Path(name).exists()
    if not known and not name.startswith(("glove:", "words:")) and "/" not in name:
        raise ValueError(f"{name!r} is no run, file or model that the table could compare with")


def list_sweeps(workspace: Path) -> list[Sweep]:
    """All sweeps, newest first."""
    found = [path.parent for path in (workspace / run_queue.SWEEPS).glob("*/sweep.json")]
    return [Sweep(path) for path in sorted(found, key=lambda path: -(path / "sweep.json").stat().st_mtime)]


def find_sweep(workspace: Path, name: str) -> Sweep:
    """The sweep of that name; only ever looked up. Raises `ValueError` when there is none."""
    for sweep in list_sweeps(workspace):
        if sweep.name == name:
            return sweep
    raise ValueError(f"there is no sweep {name!r} in {workspace}")


def _home(workspace: Path, name: str) -> Path:
    home = workspace / run_queue.SWEEPS
    home.mkdir(parents=True, exist_ok=True)
    taken = {path.name for path in home.iterdir()} | {run.name for run in list_runs(workspace)}
    wanted = safe_name(name)[:40] or "sweep"
    free = next(one for one in (wanted, *(f"{wanted}-{n}" for n in range(2, 10_000))) if one not in taken)
    (home / free).mkdir()
    return home / free


def _run(workspace: Path, config: TrainConfig, rest: pa.Table, values: dict[str, Any], *, sweep: str) -> str:
    """One run of the sweep; a smaller text is drawn by the run's seed."""
    table = rest
    if SIZE in values:
        some = np.random.default_rng(config.seed).permutation(rest.num_rows)[: int(values[SIZE])]
        table = rest.take(pa.array(np.sort(some)))
    called = "-".join(f"{_short(key)}-{Path(str(value)).name}" for key, value in values.items())
    return create_run(workspace, config, table, name=f"{sweep}-{called}").name


def _short(name: str) -> str:
    return {"noise_ratio": "ratio", "corpus_size": "size", "base_model": "base"}.get(name, name)


def _aside(corpus: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Rows for the table, and the rest."""
    count = corpus.num_rows
    rows = np.random.default_rng(0).permutation(count)[: _count_aside(count)]
    out = np.zeros(count, bool)
    out[rows] = True
    return corpus.filter(pa.array(out)), corpus.filter(pa.array(~out))


def _write_test(test: pa.Table | None, home: Path) -> tuple[str, str]:
    """The rows set aside as a task's file: their labels or scores if they have any, else damaged sentences (a proxy).

    Raises:
        ValueError: when they are too few to say anything.
    """
    if test is None or test.num_rows < 20:
        raise ValueError(
            "the text is too small to set sentences aside for the table; give at least 200 sentences, or a task"
        )
    kind, names = "damaged", ["sentence"]
    try:
        what = supervision.kind_of(test)
        kind, names = {"labels": ("labels", ["sentence", "label"]),
                       "scores": ("pairs", ["sentence", supervision.SECOND, "label"])}.get(what, (kind, names))  # fmt: skip
    except ValueError:
        pass
    lines = [
        [str(row[name]) for name in names] for row in test.to_pylist() if all(row[name] for name in names)
    ]
    header = {"labels": ["sentence", "label"], "pairs": ["sentence1", "sentence2", "score"]}.get(kind)
    path = home / "aside.tsv" if header else home / "aside.txt"
    text = "\n".join("\t".join(cells) for cells in ([header] if header else []) + lines)
    path.write_text(text + "\n", encoding="utf-8")
    return kind, str(path.resolve())
