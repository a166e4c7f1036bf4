"""Another file than the run's text: read, refused in words, searched, and known again."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from tests.conftest import make_sentences
from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run, create_run
from tsdae_core.ui import own_text
from tsdae_core.ui.columns import found
from tsdae_core.ui.own_text import choices, looked_at, read_own, titled
from tsdae_core.ui.search import label_choices, ready


@pytest.fixture
def run(tmp_path: Path, tiny_model_folder: Path) -> Run:
    """40 sentences; the result is the tiny model itself."""
    table = pa.table({"sentence": make_sentences(40), "line": range(40), "label": [""] * 40})
    config = TrainConfig(base_model=str(tiny_model_folder), pooling="cls", max_length=32)
    run = create_run(tmp_path / "runs", config, table, name="done")
    shutil.copytree(tiny_model_folder, run.encoder_dir)
    run.decoder_dir.mkdir()
    return run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Sentences that the run does not have, with labels."""
    rows = [f"{text}\t{'ab'[place % 2]}" for place, text in enumerate(make_sentences(90, seed=7)[:80])]
    path = tmp_path / "<img onerror=x> other.tsv"
    path.write_text("\n".join(["sentence\tlabel", *rows]))
    return path


def test_another_file_is_searched_with_its_labels_and_its_vectors_are_kept(run: Run, file: Path) -> None:
    workspace = run.path.parent
    draft = read_own(workspace, file)
    assert choices(workspace, ["", draft.key, draft.key, "../../etc"], "own") == [
        ("own", ""),
        (f"{file.name} (80 sentences)", draft.key),
    ]
    assert titled(draft) == f"{file.name} (80 sentences)"
    assert [value for _, value in label_choices(workspace, "done", draft.key).choices] == ["", "a", "b"]
    query = make_sentences(90, seed=7)[3]
    *_, shown = found(workspace, "done", query, key=draft.key, label="b")
    assert shown["in"] == draft.key
    assert [column["kind"] for column in shown["columns"]] == ["trained", "base", "words"]
    assert shown["columns"][0]["hits"][0]["sentence"] == query
    assert {hit["label"] for column in shown["columns"] for hit in column["hits"]} == {"b"}
    kept = {one.name: one.stat().st_mtime_ns for one in run.cache_dir.glob("vectors-*.npy")}
    *_, again = found(workspace, "done", query, key=read_own(workspace, file).key)
    assert again["columns"][0]["hits"][0]["sentence"] == query
    assert {one.name: one.stat().st_mtime_ns for one in run.cache_dir.glob("vectors-*.npy")} == kept


def test_the_same_sentences_are_known_again_by_another_upload(run: Run, file: Path, tmp_path: Path) -> None:
    workspace = run.path.parent
    packed = tmp_path / "packed" / f"{file.name}.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(file.read_bytes()))
    names = [looked_at(workspace, run, read_own(workspace, one).key).name for one in (file, file, packed)]
    assert names[0] == names[1] and names[0].startswith(file.name)
    assert names[2].split("#")[-1] == names[0].split("#")[-1]
    assert looked_at(workspace, run).name == ""


def test_a_file_that_cannot_be_used_is_refused_in_one_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    workspace = run.path.parent
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n")
    with pytest.raises(ValueError, match="sentence"):
        read_own(workspace, empty)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 no")
    with pytest.raises(ValueError):
        read_own(workspace, broken)
    monkeypatch.setattr(own_text, "MOST", 79)
    with pytest.raises(ValueError, match="80 sentences; up to 79 can be searched"):
        read_own(workspace, file)


def test_a_file_that_is_gone_or_a_path_for_a_key_is_told(run: Run, file: Path) -> None:
    workspace = run.path.parent
    draft = read_own(workspace, file)
    draft.path.unlink()
    for key in (draft.key, "../done/corpus", ["x"], "0" * 16):
        with pytest.raises(ValueError, match="not there any more"):
            looked_at(workspace, run, key)
    [told] = found(workspace, "done", "a dog", key=draft.key)
    assert told["error"] and "not there any more" in told["message"]
    assert ready(workspace, "done", draft.key)["error"]
