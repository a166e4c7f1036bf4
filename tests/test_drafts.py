"""A loaded text outlives the page that loaded it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
import pytest

from tsdae_core.runs import list_runs
from tsdae_core.ui.drafts import DAYS, find_draft, keep_source, save_draft

TABLE = pa.table({"sentence": ["a b", "c d"], "line": pa.array([1, 2], pa.int64()), "label": ["x", "y"]})


def test_a_draft_is_found_again_with_its_sentences_title_and_report(tmp_path: Path):
    kept = save_draft(tmp_path, TABLE, title="my.csv", report=["2 kept"])
    found = find_draft(tmp_path, kept.key)
    assert found == kept
    assert found.title == "my.csv" and found.report == ["2 kept"]
    assert found.table().to_pydict() == TABLE.to_pydict()


def test_a_draft_is_no_run(tmp_path: Path):
    save_draft(tmp_path, TABLE, title="t")
    assert list_runs(tmp_path) == []


@pytest.mark.parametrize("key", ["", None, "../../etc/passwd", "a" * 16, "A" * 16, 7, ["a"], "0" * 15 + "/"])
def test_an_unknown_key_or_a_path_finds_nothing(tmp_path: Path, key: object):
    save_draft(tmp_path, TABLE, title="t")
    assert find_draft(tmp_path, key) is None  # type: ignore[arg-type]


def test_a_file_with_another_content_is_no_draft(tmp_path: Path):
    kept = save_draft(tmp_path, TABLE, title="t")
    kept.path.write_bytes(b"torn")
    assert find_draft(tmp_path, kept.key) is None


def test_drafts_nobody_used_for_two_weeks_are_removed(tmp_path: Path):
    old, recent = save_draft(tmp_path, TABLE, title="old"), save_draft(tmp_path, TABLE, title="recent")
    long_ago = time.time() - (DAYS + 1) * 86_400
    os.utime(old.path, (long_ago, long_ago))
    save_draft(tmp_path, TABLE, title="new")
    assert find_draft(tmp_path, old.key) is None
    assert find_draft(tmp_path, recent.key) == recent


def test_what_was_uploaded_is_kept_with_the_draft_and_for_as_long(tmp_path: Path):
    file = tmp_path / "my table.csv"
    file.write_text("a,b\n1,2\n")
    source = keep_source(tmp_path / "work", file)
    file.unlink()
    first = save_draft(tmp_path / "work", TABLE, title="t", reading={"door": "file"}, source=source)
    long_ago = time.time() - (DAYS + 1) * 86_400
    os.utime(source, (long_ago, long_ago))
    second = save_draft(tmp_path / "work", TABLE, title="t", source=keep_source(tmp_path / "work", source))
    save_draft(tmp_path / "work", TABLE, title="other")
    for key in (first.key, second.key):
        found = find_draft(tmp_path / "work", key)
        assert found is not None and found.source == source
    assert source.suffix == ".csv" and source.read_text() == "a,b\n1,2\n"
    assert find_draft(tmp_path / "work", first.key).reading == {"door": "file"}  # type: ignore[union-attr]
