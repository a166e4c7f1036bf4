"""Vectors, what is kept of them, nearest neighbours and search, on a tiny model with real files."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sentence_transformers import SentenceTransformer

from tests.conftest import make_sentences
from tsdae_core import explore
from tsdae_core.config import TrainConfig
from tsdae_core.encoders import passes
from tsdae_core.runs import Run, create_run


def make_table(count: int) -> pa.Table:
    labels = ["even" if number % 2 == 0 else "odd" for number in range(count)]
    return pa.table({"sentence": make_sentences(count), "line": list(range(count)), "label": labels})


@pytest.fixture
def run(tmp_path: Path, tiny_model_folder: Path) -> Run:
    """A finished run over 40 sentences, whose result is the untrained tiny model itself."""
    config = TrainConfig(base_model=str(tiny_model_folder), pooling="cls", layers=1, max_length=32)
    run = create_run(tmp_path / "runs", config, make_table(40), name="done")
    shutil.copytree(tiny_model_folder, run.encoder_dir)
    run.decoder_dir.mkdir()
    return run


def unit_vectors(count: int, size: int, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(count, size))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def test_vectors_come_in_the_order_of_the_texts_and_equal_those_of_the_library(
    run: Run, tiny_model_folder: Path
) -> None:
    texts = ["a dog", *make_sentences(700), "the old baker likes the red boat in the garden", ""]
    encoder = explore.load_encoder("done", run.path.parent)
    seen: list[tuple[int, int]] = []
    ours = encoder.encode(texts, progress=lambda done, total: seen.append((done, total)), batch_size=16)
    reference = SentenceTransformer(str(tiny_model_folder), device="cpu").encode(
        texts, normalize_embeddings=True
    )
    assert ours.dtype == np.float32
    assert np.abs(ours - reference).max() < 1e-5
    assert seen[-1] == (len(texts), len(texts))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_base_has_the_pooling_and_the_layers_of_its_run(run: Run, tiny_model_folder: Path) -> None:
    base = explore.load_encoder("base:done", run.path.parent)
    plain = SentenceTransformer(str(tiny_model_folder), device="cpu")
    features = plain.tokenize(["a dog sees the red boat"])
    states = plain[0].auto_model(**features, output_hidden_states=True).hidden_states  # type: ignore[union-attr, operator]
    first_layer = states[1][0, 0].detach().numpy()
    expected = first_layer / np.linalg.norm(first_layer)
    assert np.abs(base.encode(["a dog sees the red boat"])[0] - expected).max() < 1e-5


def test_an_encoder_is_loaded_once_until_its_files_change(run: Run) -> None:
    first = explore.load_encoder("done", run.path.parent)
    assert explore.load_encoder("done", run.path.parent) is first
    weights = next(run.encoder_dir.rglob("*.safetensors"))
    os.utime(weights, ns=(1, 1))
    again = explore.load_encoder("done", run.path.parent)
    assert again is not first
    assert again.fingerprint != first.fingerprint


def test_a_run_that_was_renamed_keeps_its_fingerprint(run: Run) -> None:
    before = explore.fingerprint("done", run.path.parent)
    run.path.rename(run.path.with_name("other"))
    assert explore.fingerprint("other", run.path.parent) == before


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ("done@7", "no checkpoint at step 7"),
        ("base:nobody", "no run 'nobody'"),
        ("/no/such/folder", "/no/such/folder"),
    ],
)
def test_an_unknown_encoder_is_refused_in_one_sentence(run: Run, system: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        explore.load_encoder(system, run.path.parent)
    assert "\n" not in str(caught.value)


def test_vectors_are_computed_once_and_anew_for_other_texts(run: Run, tmp_path: Path) -> None:
    encoder = explore.load_encoder("done", run.path.parent)
    texts, calls = make_sentences(30), []
    first = explore.embed(encoder, texts, tmp_path, progress=lambda done, total: calls.append(done))
    again = explore.embed(encoder, texts, tmp_path, progress=lambda done, total: calls.append(done))
    assert calls == [30]
    assert np.array_equal(first, again)
    assert explore.embedded(encoder, texts[:-1], tmp_path) is None
    explore.embed(encoder, texts[:-1], tmp_path)
    assert len(list(tmp_path.glob("vectors-*.npy"))) == 2
    assert not list(tmp_path.glob(".*"))


def test_what_is_kept_cannot_be_changed_by_who_reads_it(run: Run, tmp_path: Path) -> None:
    encoder = explore.load_encoder("done", run.path.parent)
    explore.embed(encoder, ["a dog"], tmp_path)[:] = 0
    assert np.abs(explore.embed(encoder, ["a dog"], tmp_path)).sum() > 0


@pytest.mark.parametrize("block", [1, 7, 1024])
def test_neighbours_are_exact_whatever_the_block(block: int) -> None:
    vectors, queries = unit_vectors(300, 16), unit_vectors(20, 16, seed=1)
    scores, rows = explore.neighbours(queries, vectors, 5, block=block)
    cosines = queries @ vectors.T
    assert rows.tolist() == np.argsort(-cosines, axis=1)[:, :5].tolist()
    assert np.abs(scores - np.take_along_axis(cosines, rows, axis=1)).max() < 1e-6


def test_no_more_neighbours_than_vectors_and_none_for_no_query() -> None:
    vectors = unit_vectors(3, 8)
    assert explore.neighbours(vectors, vectors, 10)[1].shape == (3, 3)
    assert explore.neighbours(vectors[:0], vectors, 2)[0].shape == (0, 2)


def test_search_finds_the_sentence_itself_first_and_can_be_written_as_json(run: Run) -> None:
    query = make_sentences(40)[17]
    hits = explore.search(
        "done", run.corpus(), query, k=3, workspace=run.path.parent, cache_dir=run.cache_dir
    )
    assert json.loads(json.dumps(hits)) == hits
    assert [hit["rank"] for hit in hits] == [1, 2, 3]
    assert hits[0] | {"score": 1.0} == {"rank": 1, "row": 17, "score": 1.0, "sentence": query, "label": "odd"}
    assert hits[0]["score"] > 0.999
    assert hits[0]["score"] >= hits[1]["score"] >= hits[2]["score"]


def test_search_refuses_a_blank_query_before_anything_is_embedded(run: Run) -> None:
    with pytest.raises(ValueError, match="query is empty"):
        explore.search("done", run.corpus(), "  \n", k=3, workspace=run.path.parent, cache_dir=run.cache_dir)
    assert not run.cache_dir.exists()


def test_the_place_by_another_encoder_counts_all_sentences() -> None:
    scores = np.array([0.1, 0.9, 0.5, 0.9], dtype=np.float32)
    assert explore.ranks(scores, [0, 1, 2, 3]) == [4, 1, 3, 1]


def test_a_pass_takes_alike_texts_and_no_more_of_them_than_fit() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 500).tolist()
    found = [places.tolist() for places in passes(lengths, 32, tokens=256)]
    assert sorted(place for places in found for place in places) == list(range(500))
    assert max(map(len, found)) <= 32
    assert all(len(places) * max(lengths[place] for place in places) <= 256 for places in found)
    padded = sum(len(places) * max(lengths[place] for place in places) for places in found)
    assert padded < 1.1 * sum(lengths)
    assert [places.tolist() for places in passes([900, 2], 32, tokens=256)] == [[0], [1]]


def test_texts_longer_than_the_model_reads_equal_those_of_the_library(
    run: Run, tiny_model_folder: Path
) -> None:
    texts = [" ".join(["the red boat"] * 400), "a dog", "", "🙂 مرحبا"]
    ours = explore.load_encoder("done", run.path.parent).encode(texts, batch_size=2)
    theirs = SentenceTransformer(str(tiny_model_folder), device="cpu").encode(
        texts, normalize_embeddings=True
    )
    assert np.abs(ours - theirs).max() < 1e-5
