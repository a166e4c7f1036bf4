"""Example corpora that need no download: sentences shipped with the app, and the docstrings of this Python.

The second is read from the source files of the user's own installation with `ast`; nothing is imported or run.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import random
import re
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tsdae_core.corpus import Corpus, ReadOptions, read_corpus

SHIPPED = Path(__file__).resolve().parent.parent / "assets" / "examples" / "topics.tsv"
MAX_SENTENCES = 70_000
MAX_FILE_BYTES = 200_000
SKIPPED_FOLDERS = re.compile(
    r"tests?|testing|_?testdata|__pycache__|\..*|.*\.(dist|egg)-info|site-packages|dist-packages|_?vendor(ed)?|node_modules|lib2to3"
)
FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the of to for in is and with from if or by on this that be are as at it its not all into when which use "
        "used using has have can will should must been than then only each any between",
    )
)
BOILERPLATE = re.compile(
    r"copyright|licen[sc]ed? |all rights reserved|spdx|generated|do not edit|alias for field|see help\(type|initialize self|"
    r"deprecated|todo|fixme|https?://|>>>|@param|:param|:return|-\*-|\$id|\bvim:",
    re.IGNORECASE,
)
ROLE = re.compile(r":[\w:+-]+:`~?([^`<]+?)(?:\s*<[^`>]*>)?`")
SENTENCE_END = re.compile(
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)(?<!\bcf\.)(?<=[.!?])\s+(?=[A-Z`\"'(])"
)


@dataclass(frozen=True)
class Example:
    """One entry of the list of examples on the page."""

    key: str
    title: str
    text: str


EXAMPLES = {
    example.key: example
    for example in (
        Example(
            "topics",
            "Twelve topics",
            "1,680 sentences on cooking, astronomy, law and nine more topics, written for this project; label: topic.",
        ),
        Example(
            "documentation",
            "Documentation of your Python packages",
            "First sentences of the docstrings in this Python's own packages, up to 70,000; label: package. "
            "Reading them takes about half a minute; nothing is imported and nothing leaves the machine.",
        ),
    )
}


def load_example(
    key: str, progress: Callable[[int, int], None] | None = None, *, folders: list[Path] | None = None
) -> Corpus:
    """The corpus of one of `EXAMPLES`.

    Args:
        progress: called with (files done, files in all) while docstrings are read.
        folders: where packages lie; None for this Python's own.

    Raises:
        ValueError: for a key that is not in `EXAMPLES`, or when no source files are installed.
    """
    if key == "topics":
        return read_corpus(SHIPPED, ReadOptions(text_column="sentence", label_column="topic"))
    if key != "documentation":
        raise ValueError(f"there is no example {key!r}; choose {' or '.join(EXAMPLES)}")
    rows = _installed(tuple(python_folders() if folders is None else folders), progress)
    if not rows:
        raise ValueError(
            "this Python has no source files with docstrings; choose the example with twelve topics"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "documentation.jsonl"
        lines = (json.dumps({"sentence": sentence, "package": package}) for package, sentence in rows)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return read_corpus(file, ReadOptions(text_column="sentence", label_column="package"))


_kept: dict[tuple[Path, ...], list[tuple[str, str]]] = {}


def _installed(
    folders: tuple[Path, ...], progress: Callable[[int, int], None] | None
) -> list[tuple[str, str]]:
    """Docstrings, read once per process: half a minute is too long to wait for each change of an option."""
    if folders not in _kept:
        _kept[folders] = documentation(list(folders), progress)
    return _kept[folders]


def documentation(
    folders: list[Path] | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    limit: int = MAX_SENTENCES,
    seed: int = 0,
) -> list[tuple[str, str]]:
    """First sentences of docstrings as (package, sentence), sorted by package; the same list for the same files.

    Files are read in turns over the packages, in an order drawn from `seed`, until `limit` sentences are found:
    that bounds the time, and a large installation still shows all its packages.

    Args:
        folders: where packages lie; None for this Python's own library and site-packages.
        progress: called with (files done, files in all).
    """
    files = _in_turns(_sources(python_folders() if folders is None else folders), random.Random(seed))
    found: dict[str, tuple[str, str]] = {}
    with _rare_collection():
        for done, (package, file) in enumerate(files):
            if progress and done % 50 == 0:
                progress(done, len(files))
            for sentence in _sentences(file):
                found.setdefault(sentence.casefold(), (package, sentence))
            if len(found) >= limit:
                break
    if progress:
        progress(len(files), len(files))
    return sorted(list(found.values())[:limit])


def python_folders() -> list[Path]:
    """This Python's standard library and its site-packages; never the working folder."""
    names = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    names += [sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")]
    return [folder for folder in dict.fromkeys(Path(name).resolve() for name in names) if folder.is_dir()]


def _sources(folders: list[Path]) -> dict[str, list[Path]]:
    """Python files by top-level package; folders of tests and of vendored copies are left out."""
    packages: dict[str, list[Path]] = {}
    for root in folders:
        for folder, inner, names in os.walk(root):
            inner[:] = sorted(name for name in inner if not SKIPPED_FOLDERS.fullmatch(name.lower()))
            for name in sorted(names):
                if name.endswith(".py") and not name.startswith("test_"):
                    file = Path(folder) / name
                    packages.setdefault(file.relative_to(root).parts[0].removesuffix(".py"), []).append(file)
    return packages


def _in_turns(packages: dict[str, list[Path]], rng: random.Random) -> list[tuple[str, Path]]:
    """All files, shuffled within their package and taken from the packages in turns."""
    order = []
    for package, files in sorted(packages.items()):
        rng.shuffle(files)
        order += [(turn, package, file) for turn, file in enumerate(files)]
    return [(package, file) for _, package, file in sorted(order, key=lambda entry: entry[0])]


def _sentences(file: Path) -> Iterator[str]:
    """The usable first sentences of one file's docstrings."""
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            return
        source = file.read_bytes()
        if b'"""' not in source and b"'''" not in source:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in other people's strings
            tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for text in _docstrings(tree):
        sentence = first_sentence(text)
        if sentence:
            yield sentence


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Let Python look for garbage less often: syntax trees are many small objects without cycles (a third faster)."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _docstrings(tree: ast.Module) -> Iterator[str]:
    """Docstrings of the module, its classes and functions; bodies of functions are not searched, which saves time."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        body = getattr(node, "body", None) or []
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and body:
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                text = first.value.value
                if isinstance(text, str):
                    yield text
        if isinstance(node, (ast.Module, ast.ClassDef, ast.If, ast.Try)):
            waiting.extend(reversed(body))  # so that they come in the order of the file


def first_sentence(docstring: str) -> str:
    """A docstring's first sentence as plain text; "" when there is none worth reading.

    >>> first_sentence("Return the :class:`~a.Node` of a tree. It may be None.")
    'Return the a.Node of a tree.'
    >>> first_sentence("foo(x, y) -> z")
    ''
    """
    paragraph = next((part for part in re.split(r"\n\s*\n", docstring[:2000].strip())), "")
    if re.search(r"^\s*[=\-~^#*]{3,}\s*$", paragraph, re.MULTILINE):
        return ""  # a heading with its underline
    text = ROLE.sub(r"\1", " ".join(paragraph.split())).replace("``", "").replace("`", "")
    text = SENTENCE_END.split(text, maxsplit=1)[0].strip()
    words = text.split()
    if not 4 <= len(words) <= 40 or len(text) > 300 or BOILERPLATE.search(text):
        return ""
    plain = sum(char.isascii() and (char.isalpha() or char == " ") for char in text)
    if plain < 0.8 * len(text) or not text[0].isupper() or text[-1] in ":,;(=":
        return ""
    return text if FUNCTION_WORDS.intersection(word.lower() for word in words) else ""
