"""The layout is tested like the rest: imports point downwards, gradio has one home, files have one job."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE = ROOT / "tsdae_core"
MODULES = sorted(CORE.rglob("*.py"))

LEVELS = [
    [
        "methods",
        "presets",
        "fields",
        "config",
        "noise",
        "records",
        "jobs",
        "runs",
        "known_models",
        "model_files",
        "base_models",
        "alignment",
        "corpus",
        "pairs",
        "supervision",
        "readers",
        "columns",
        "encodings",
        "files",
        "json_rows",
        "report",
        "sentences",
        "examples",
        "reading",
        "verdict",
        "plan",
        "launch",
        "refused",
    ],
    [
        "token_cache",
        "batches",
        "families",
        "devices",
        "sources",
        "vocabulary",
        "masters",
        "halves",
        "scratch",
    ],
    [
        "bottleneck",
        "flow",
        "dense",
        "model",
        "self_test",
        "model_card",
        "centring",
        "storage",
        "generation",
        "pieces",
        "decoding",
        "glass",
        "sampling",
        "chrf",
        "rebuild",
        "probes",
        "checkpoints",
        "anchor",
        "objectives",
    ],
    [
        "steps",
        "prepare",
        "stopping",
        "preflight",
        "export",
        "run_queue",
        "recipes",
        "sweeps",
        "encoders",
        "vectors",
        "lexical",
        "explore",
        "changes",
        "change_line",
        "change_groups",
        "blind",
        "inside",
        "maps",
        "map_layout",
        "map_layers",
        "map_work",
        "map_live",
        "map_clusters",
        "map_systems",
        "map_sheet",
        "map_export",
        "map_picture",
        "train",
    ],
    ["evaluate"],
    ["ui"],
    [
        "commands",
        "command_parts",
        "command_explore",
        "command_map",
        "command_rebuild",
        "command_search",
        "command_train",
        "command_queue",
    ],
    ["__main__"],
]


def imports(path: Path) -> set[str]:
    """Every module that the file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def home(path: Path) -> str:
    return path.relative_to(CORE).parts[0].removesuffix(".py")


def test_every_module_has_a_place_in_the_order_of_imports() -> None:
    placed = {name for level in LEVELS for name in level} | {"__init__"}
    assert {home(path) for path in MODULES} <= placed


def test_imports_point_downwards_only() -> None:
    rank = {name: number for number, level in enumerate(LEVELS) for name in level}
    wrong = []
    for path in MODULES:
        if home(path) == "__init__":
            continue
        for name in imports(path):
            parts = name.split(".")
            if (
                parts[0] == "tsdae_core"
                and len(parts) > 1
                and parts[1] in rank
                and rank[parts[1]] > rank[home(path)]
            ):
                wrong.append(f"{home(path)} imports {parts[1]}")
    assert wrong == []


def test_gradio_lives_in_ui_and_the_page_never_imports_the_trainer() -> None:
    for path in MODULES:
        names = imports(path)
        if home(path) != "ui":
            assert not any(name.split(".")[0] == "gradio" for name in names), path
        else:
            assert not any(name.startswith(("tsdae_core.train", "tsdae_core.steps")) for name in names), path


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(CORE)))
def test_a_file_stays_below_four_hundred_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_the_light_modules_load_neither_torch_nor_gradio() -> None:
    code = (
        "import sys, tsdae_core, tsdae_core.launch, tsdae_core.corpus, tsdae_core.noise, tsdae_core.base_models\n"
        "heavy = {'torch', 'gradio', 'transformers', 'sklearn', 'umap'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_top_level_shows_only_what_belongs_there() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    top = {name.split("/")[0] for name in listed if name}
    visible = {name for name in top if not name.startswith(".")}
    assert visible <= {"app.py", "tsdae_core", "assets", "tests", "requirements.txt", "README.md", "LICENSE"}
