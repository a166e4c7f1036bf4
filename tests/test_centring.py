"""A share of the text's mean vector is taken off by the exported encoder, and by nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from sentence_transformers import SentenceTransformer

from tests.conftest import make_sentences
from tsdae_core import centring, inside
from tsdae_core.config import TrainConfig, checked
from tsdae_core.probes import HeldOut
from tsdae_core.runs import Run, create_run, find_run
from tsdae_core.steps import make_accelerator
from tsdae_core.storage import from_base, load, save
from tsdae_core.token_cache import build_cache
from tsdae_core.train import train
from tsdae_core.verdict import same_label_shares


def test_the_mean_is_that_of_the_vectors_and_the_exported_encoder_is_less_by_it(
    tiny_model_folder: Path, tmp_path: Path
) -> None:
    texts = make_sentences(70)
    model = from_base(str(tiny_model_folder), pooling="mean", max_length=32).train()
    plain, centred = tmp_path / "plain", tmp_path / "centred"
    save(model, plain)
    vectors = SentenceTransformer(str(plain / "encoder")).encode(texts)
    mean = centring.mean_vector(model, build_cache(texts, model.tokenizer, max_length=32))
    assert model.training
    assert np.allclose(mean, vectors.mean(0), atol=1e-5)
    model.taken_off, model.facts.centring = 0.5 * mean, 0.5
    save(model, centred)
    assert np.allclose(
        SentenceTransformer(str(centred / "encoder")).encode(texts),
        vectors - 0.5 * vectors.mean(0),
        atol=1e-5,
    )
    again = load(centred)
    assert again.taken_off is not None
    assert torch.allclose(again.taken_off, model.taken_off)
    table = torch.nn.functional.normalize(
        torch.tensor(SentenceTransformer(str(centred / "encoder")).encode(texts)), dim=1
    )
    for vectors_found in (
        inside.between(again, texts[3], texts[8])[1],
        inside.arithmetic(again, texts[3], texts[5], texts[5]),
    ):
        found = inside.decoded(again, vectors_found, texts, table.numpy())
        assert found[0]["nearest"] == texts[3]
        assert found[0]["score"] == 1, "the decoder's vectors and the encoder's are compared in one space"
    save(again, tmp_path / "again")
    assert np.allclose(
        SentenceTransformer(str(tmp_path / "again" / "encoder")).encode(texts[:3]),
        (vectors - 0.5 * vectors.mean(0))[:3],
        atol=1e-5,
    )


def test_a_long_text_is_sampled_evenly(tiny_model_folder: Path) -> None:
    texts = [make_sentences(1)[0]] * 30 + [make_sentences(2)[1]] * 30
    model = from_base(str(tiny_model_folder), pooling="cls", max_length=32).eval()
    cache = build_cache(texts, model.tokenizer, max_length=32)
    whole = centring.mean_vector(model, cache)
    assert torch.allclose(centring.mean_vector(model, cache, most=10), whole, atol=1e-5)


def trained(folder: Path, model: Path, **changes: object) -> Run:
    texts = make_sentences(800)
    table = pa.table(
        {"sentence": texts, "line": list(range(800)), "label": [text.split()[1] for text in texts]}
    )
    config = checked(
        {"base_model": str(model), "pooling": "mean", "max_steps": 6, "batch_size": 8, "precision": "fp32", "devices": "cpu",
         "max_length": 32, "held_out": 60, "probe_every": 3, "checkpoint_every": 3, "learning_rate": 1e-3} | changes
    )  # fmt: skip
    run = create_run(folder, config, table, name=f"c{str(changes.get('centring', 0))[-1]}")
    train(run, make_accelerator(config))
    return find_run(folder, run.name)


def test_training_and_decoding_are_the_same_with_and_without_it_and_every_checkpoint_has_it(
    tiny_model_folder: Path, tmp_path: Path
) -> None:
    plain, centred = (trained(tmp_path, tiny_model_folder, centring=share) for share in (0.0, 0.5))
    losses = [[row["loss"] for row in run.metrics()[0] if "loss" in row] for run in (plain, centred)]
    assert losses[0] == losses[1]
    for one, other in zip(
        load(plain.path).state_dict().items(), load(centred.path).state_dict().items(), strict=True
    ):
        assert torch.equal(one[1], other[1]), one[0]
    for step in (3, 6):
        modules = json.loads((centred.checkpoint(step).encoder_dir / "modules.json").read_text())
        assert modules[-1]["path"] == "2_Dense"
    assert "50% of its text's mean" in (centred.encoder_dir / "README.md").read_text()
    looks = [
        [row["same_label"] for row in run.metrics()[0] if "same_label" in row] for run in (plain, centred)
    ]
    assert looks[0][0] == looks[1][0], "the base has no mean taken off"


def test_the_labels_of_held_out_sentences_are_compared_after_it() -> None:
    vectors = np.random.default_rng(0).standard_normal((40, 8)).astype(np.float32) + 2
    labels = [str(row % 2) for row in range(40)]

    class Rows:
        indices = torch.arange(40)

    seen = HeldOut([Rows()], None, labels)  # type: ignore[list-item]
    each = seen.same_label(torch.tensor(vectors), 0.5)["same_label_each"]
    assert each == same_label_shares(vectors - 0.5 * vectors.mean(0), labels)
    assert each != seen.same_label(torch.tensor(vectors))["same_label_each"]


def test_the_papers_preset_has_none_and_bert_flow_ignores_it() -> None:
    assert TrainConfig.from_preset("Paper").centring == 0
    assert TrainConfig.from_preset("Tuned encoder").centring == 0.5
    assert TrainConfig.from_preset("Tuned encoder", objective="bert_flow").centring == 0
