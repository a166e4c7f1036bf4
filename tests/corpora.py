"""Looking at corpora in tests."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tsdae_core.corpus import Corpus


def texts(corpus: Corpus) -> list[str]:
    """The sentences, after the counts of the report were added up."""
    report = corpus.report
    dropped = report.blank + report.duplicate + report.too_short + report.too_long + report.malformed
    assert report.lines == dropped + report.kept
    assert report.kept == corpus.table.num_rows
    assert corpus.table.schema == pa.schema(
        [("sentence", pa.string()), ("line", pa.int64()), ("label", pa.string())]
    )
    return corpus.table["sentence"].to_pylist()


def labels(corpus: Corpus) -> list[str | None]:
    return corpus.table["label"].to_pylist()


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
