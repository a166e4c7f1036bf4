"""Which text is looked at: the run's own, or another file that was uploaded for it.

An uploaded file becomes a draft on disk, so that the choice survives a reload and a link to it shows the same. Vectors are kept in
the run's cache by model and sentences: the same file uploaded again is not embedded again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import gradio as gr
import pyarrow as pa

from tsdae_core.corpus import read_labelled
from tsdae_core.records import why
from tsdae_core.runs import Run
from tsdae_core.ui.components import component
from tsdae_core.ui.drafts import Draft, find_draft, save_draft
from tsdae_core.ui.shell import LIGHT, QUIET, Picker, Shell
from tsdae_core.ui.texts import sentence

KINDS = [".txt", ".csv", ".tsv", ".jsonl", ".json", ".parquet", ".gz"]
RUNS_OWN = ""
"""The key that means the run's own text."""

MOST = 1_000_000
"""Sentences of a file that is searched."""

GONE = "The file that was searched is not there any more; it is forgotten after two weeks. This is the run's own text."

INTO_URL = """(value) => {
  const url = new URL(window.location);
  value ? url.searchParams.set("NAME", value) : url.searchParams.delete("NAME");
  window.history.replaceState(window.history.state, "", url);
}"""
"""What a component holds, in the page's address under NAME."""


@dataclass(frozen=True)
class Looked:
    """A text that is searched.

    Attributes:
        path: Parquet with the columns sentence, line and label; never changes.
        cache_dir: where its vectors and neighbour graphs are kept.
        title: the file's name; "" for the run's own text.
    """

    path: Path
    cache_dir: Path
    title: str = ""

    @property
    def edition(self) -> tuple[Path, int]:
        """Changes when the text does: a run may be deleted and another one take its name."""
        return self.path, 0 if self.title else self.path.stat().st_mtime_ns

    def table(self) -> pa.Table:
        """All sentences: columns sentence, line, label."""
        return _table(*self.edition)

    @property
    def name(self) -> str:
        """What verdicts on its sentences are kept under: the same for the same sentences; "" for the run's own text."""
        return _name(self) if self.title else ""


@lru_cache(maxsize=4)
def _table(path: Path, time: int) -> pa.Table:
    import pyarrow.parquet as pq  # noqa: PLC0415

    return pq.read_table(path, memory_map=True)


@lru_cache(maxsize=8)
def _name(looked: Looked) -> str:
    from tsdae_core import blind  # noqa: PLC0415 (brings torch, which the page need not wait for)

    return blind.text_name(looked.title, looked.table()["sentence"].to_pylist())


def looked_at(workspace: Path, run: Run, key: Any = RUNS_OWN) -> Looked:
    """The text behind a key from the browser. Raises `ValueError` when there is none (any more)."""
    if not key:
        return Looked(run.corpus_path, run.cache_dir)
    draft = find_draft(workspace, key)
    if draft is None:
        raise ValueError("that file is not there any more; choose it again, or the run's own text")
    return Looked(draft.path, run.cache_dir, draft.title)


def of_file(path: Path, run: Run) -> Looked:
    """The text of a draft's file, whether that is there still or not."""
    draft = find_draft(path.parent.parent, path.stem)
    return Looked(path, run.cache_dir, draft.title if draft else path.stem)


def read_own(workspace: Path, file: Path) -> Draft:
    """An uploaded file as a text to search. Raises `ValueError` with one sentence when it cannot be used."""
    corpus = read_labelled(file)
    count = corpus.table.num_rows
    if count > MOST:
        raise ValueError(
            f"{file.name} has {count:,} sentences; up to {MOST:,} can be searched: split the file"
        )
    return save_draft(workspace, corpus.table, title=file.name, report=corpus.report.sentences())


def choices(workspace: Path, keys: Sequence[str], own: str) -> list[tuple[str, str]]:
    """The run's own text, called `own`, and of the keys those that are still there."""
    drafts = [find_draft(workspace, key) for key in dict.fromkeys(keys) if key]
    return [(own, RUNS_OWN), *((titled(draft), draft.key) for draft in drafts if draft)]


def titled(draft: Draft) -> str:
    """A file's name and its size."""
    return f"{draft.title} ({draft.table().num_rows:,} sentences)"


@dataclass(frozen=True)
class Chooser:
    """Components to choose the text with: `where` holds its key."""

    where: gr.Dropdown
    told: gr.HTML


def build(
    shell: Shell, elem_id: str, *, label: str, own: str = "the run's own text", in_url: str = ""
) -> Chooser:
    """A dropdown of texts and a button that uploads another one; what was uploaded on one tab can be chosen on all.

    Args:
        elem_id: of the dropdown; the button's is `elem_id`-file, that of what is said about a file `elem_id`-told.
        label: what the text is chosen for.
        own: what the run's own text is called.
        in_url: the name under which the choice stands in the page's address; "" for not at all.
    """
    with gr.Row(elem_classes="near-ask own-text"):
        where = Picker(
            choices(shell.workspace, [], own),
            value=RUNS_OWN,
            label=label,
            show_label=False,
            container=False,
            scale=0,
            min_width=300,
            elem_id=elem_id,
        )
        file = gr.UploadButton(
            "Another file",
            file_types=KINDS,
            size="md",
            scale=0,
            min_width=130,
            visible=not shell.read_only,
            elem_id=f"{elem_id}-file",
        )
        told = component("told", {}, uses=["dom"], elem_id=f"{elem_id}-told", elem_classes=["own-told"])

    def on_choices(last: str, key: str, draft: str) -> gr.Dropdown:
        return gr.Dropdown(choices=choices(shell.workspace, [key, last, draft], own))

    def on_reading() -> dict[str, Any]:
        return {"text": "Reading the file …"}

    def on_file(path: str | None) -> tuple[Any, ...]:
        try:
            if not path:
                return gr.skip(), gr.skip(), {}
            draft = read_own(shell.workspace, Path(path))
        except (ValueError, OSError) as error:
            return gr.skip(), gr.skip(), {"text": sentence(why(error)), "error": True}
        return (
            draft.key,
            gr.Dropdown(choices=choices(shell.workspace, [draft.key], own), value=draft.key),
            gr.skip(),
        )

    def on_told(key: str) -> dict[str, Any]:
        draft = find_draft(shell.workspace, key)
        if draft is None:
            return {}
        os.utime(draft.path)  # in use: it is not forgotten
        return {"text": " ".join(draft.report)}

    def on_load(request: gr.Request, last: str, draft: str) -> tuple[Any, ...]:
        key = request.query_params.get(in_url, "") if in_url else ""
        there = find_draft(shell.workspace, key) is not None
        known = gr.Dropdown(
            choices=choices(shell.workspace, [key, last, draft], own), value=key if there else RUNS_OWN
        )
        return known, {"text": GONE, "error": True, "gone": in_url} if key and not there else gr.skip()

    given = [shell.own, where, shell.draft]
    file.upload(on_reading, None, told, **LIGHT).then(on_file, file, [shell.own, where, told], **QUIET)
    where.focus(on_choices, given, where, **LIGHT)
    where.change(on_told, where, told, **LIGHT)
    if in_url:
        where.change(None, where, None, js=INTO_URL.replace("NAME", in_url), **QUIET)
    shell.app.load(on_load, [shell.own, shell.draft], [where, told], **LIGHT)
    return Chooser(where, told)
