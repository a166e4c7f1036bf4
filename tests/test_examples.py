"""The shipped sentences are what they claim to be; docstrings are read from source files and from nothing else."""

from __future__ import annotations

import gc
import random
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import pytest

from tsdae_core.examples import EXAMPLES, SHIPPED, documentation, first_sentence, load_example, python_folders


@pytest.fixture(scope="module")
def shipped() -> list[tuple[str, str]]:
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "topic\tsentence"
    return [(topic, sentence) for topic, sentence in (line.split("\t") for line in lines[1:])]


@pytest.fixture
def installation(tmp_path: Path) -> Path:
    """Two packages, one module, and things that must be left out."""
    root = tmp_path / "site-packages"
    for folder in ("alpha/inner", "alpha/tests", "beta", "beta/_vendor", "alpha-1.0.dist-info"):
        (root / folder).mkdir(parents=True)
    (root / "alpha/__init__.py").write_text(
        '"""Tools for the measurement of rivers. Second sentence."""\n'
        "raise SystemExit('imported')\n"
        "class River:\n"
        '    """A river with a source and a mouth."""\n'
        "    def flow(self):\n"
        "        '''Return the flow in cubic metres.\n\n        More words.\n        '''\n"
        "    async def drain(self):\n"
        '        """Empty the river into the sea."""\n'
        "    def again(self):\n"
        '        """Return the FLOW in cubic metres."""\n'
    )
    (root / "alpha/inner/deep.py").write_text('"""Look below the surface of a lake."""\nx = "\\d"\n')
    (root / "alpha/tests/test_a.py").write_text('"""This is in a folder of tests."""')
    (root / "beta/__init__.py").write_text('def f():\n    """>>> f() is the one and only"""\n')
    (root / "beta/broken.py").write_text('"""This file does not parse at all."""\ndef (:\n')
    (root / "beta/null.py").write_bytes(b'"""This file holds a null byte."""\0\xff\xfe')
    (root / "beta/good.py").write_bytes('"""Draw a line from the café to the bar."""'.encode("latin-1"))
    (root / "beta/fine.py").write_text('"""Draw a line from here to there."""', encoding="utf-8")
    (root / "beta/_vendor/copy.py").write_text('"""This is a copy of another package."""')
    (root / "solo.py").write_text('"""A module of its own in one file."""')
    return root


def test_at_least_1560_sentences_are_shipped_on_twelve_topics_of_equal_size(shipped: list[tuple[str, str]]):
    topics = Counter(topic for topic, _ in shipped)
    assert len(shipped) >= 1560
    assert len(topics) == 12
    assert set(topics.values()) == {len(shipped) // 12}


def test_no_shipped_sentence_occurs_twice(shipped: list[tuple[str, str]]):
    assert len({sentence.casefold() for _, sentence in shipped}) == len(shipped)


def test_shipped_sentences_are_sentences_of_4_to_22_words(shipped: list[tuple[str, str]]):
    for _, sentence in shipped:
        assert 4 <= len(sentence.split()) <= 22, sentence
        assert sentence[0].isupper() or sentence[0].isdigit(), sentence
        assert sentence[-1] in ".?!", sentence
        assert " ".join(sentence.split()) == sentence
    lengths = Counter(len(sentence.split()) for _, sentence in shipped)
    assert max(lengths.values()) < len(shipped) / 4, "many lengths, not one"


def test_shipped_sentences_do_not_follow_a_template(shipped: list[tuple[str, str]]):
    starts = Counter(" ".join(sentence.lower().split()[:5]) for _, sentence in shipped)
    assert max(starts.values()) <= 2
    for topic in {topic for topic, _ in shipped}:
        own = [sentence for other, sentence in shipped if other == topic]
        firsts = Counter(sentence.split()[0] for sentence in own)
        assert len(firsts) >= 40 and max(firsts.values()) < len(own) / 2, topic
    words = {word.strip(".,;:!?'").lower() for _, sentence in shipped for word in sentence.split()}
    assert len(words) > 4000


def test_the_topics_load_as_a_corpus_with_labels(shipped: list[tuple[str, str]]):
    corpus = load_example("topics")
    assert corpus.table.column("sentence").to_pylist() == [sentence for _, sentence in shipped]
    assert corpus.table.column("label").to_pylist() == [topic for topic, _ in shipped]
    assert corpus.report.kept == len(shipped)
    assert f"{len(shipped):,}" in EXAMPLES["topics"].text


def test_an_unknown_example_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="choose topics or documentation"):
        load_example("novels")


def test_docstrings_are_read_without_importing_and_labelled_by_package(installation: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = documentation([installation])
    assert rows[:-1] == [
        ("alpha", "A river with a source and a mouth."),
        ("alpha", "Empty the river into the sea."),
        ("alpha", "Look below the surface of a lake."),
        ("alpha", "Return the flow in cubic metres."),
        ("alpha", "Tools for the measurement of rivers."),
        ("beta", "Draw a line from here to there."),
    ]
    assert rows[-1] == ("solo", "A module of its own in one file.")


def test_a_limit_takes_from_all_packages_and_the_same_every_time(installation: Path):
    few = documentation([installation], limit=3, seed=1)
    assert len(few) == 3
    assert few == documentation([installation], limit=3, seed=1)
    assert {package for package, _ in few} >= {"beta", "solo"} or {package for package, _ in few} >= {
        "alpha",
        "solo",
    }


def test_progress_ends_at_the_total_and_the_garbage_collector_is_as_before(installation: Path):
    seen: list[tuple[int, int]] = []
    before = gc.get_threshold()
    documentation([installation], lambda done, total: seen.append((done, total)))
    assert seen[0][0] == 0 and seen[-1][0] == seen[-1][1] > 0
    assert gc.get_threshold() == before


@pytest.mark.parametrize(
    ("docstring", "sentence"),
    [
        ("Return the :class:`~a.Node` of a ``tree``.  It may be None.", "Return the a.Node of a tree."),
        ("Return a name, e.g. Alice. Or not.", "Return a name, e.g. Alice."),
        ("First line of a text\n    that goes on.\n\nRest.", "First line of a text that goes on."),
        ("Too short.", ""),
        ("", ""),
        ("   \n ", ""),
        ("f(x, y, z) -> the sum of all", ""),
        (">>> print('this is a test')", ""),
        ("The title of a page\n===================", ""),
        ("Copyright by the authors of this file.", ""),
        ("Alias for field number 3", ""),
        ("Gibt die Anzahl der Zeilen zurück.", ""),
        ("Generated by the protocol buffer compiler.", ""),
        ("返回一个 新的 列表 对象 of the", ""),
        ("Accept any of the following values:", ""),
        ("The " + "very " * 60 + "long one.", ""),
    ],
)
def test_first_sentences_are_plain_english_prose(docstring: str, sentence: str):
    assert first_sentence(docstring) == sentence


def test_only_libraries_are_read_never_the_working_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    folders = python_folders()
    assert tmp_path not in folders
    assert Path(warnings.__file__).resolve().parent in folders
    assert Path(pytest.__file__).resolve().parent.parent in folders


def test_this_python_gives_thousands_of_sentences_in_bounded_time():
    before, start = set(sys.modules), time.monotonic()
    rows = documentation(limit=5_000)
    assert time.monotonic() - start < 60
    assert set(sys.modules) - before <= {"warnings"}
    assert len(rows) == 5_000
    assert len({package for package, _ in rows}) > 50
    sample = random.Random(0).sample(rows, 500)
    assert all(4 <= len(sentence.split()) <= 40 for _, sentence in sample)


def test_the_documentation_loads_as_a_corpus(installation: Path, tmp_path: Path):
    table = load_example("documentation", folders=[installation]).table
    assert table.column("label").to_pylist() == ["alpha"] * 5 + ["beta"] + ["solo"]
    assert table.column("sentence")[5].as_py() == "Draw a line from here to there."
    with pytest.raises(ValueError, match="no source files"):
        load_example("documentation", folders=[tmp_path / "nothing"])
