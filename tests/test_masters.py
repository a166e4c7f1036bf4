"""Steps in bf16 with fp32 weights beside it, and lookups whose gradient has few rows, learn what plain fp32 steps learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file

from tests.conftest import make_sentences
from tests.family_models import CASES, make_checkpoint
from tests.test_families import SENTENCES, make_batch
from tsdae_core import train
from tsdae_core.config import TrainConfig
from tsdae_core.families import FAMILIES
from tsdae_core.masters import Masters
from tsdae_core.model import TSDAE
from tsdae_core.prepare import prepare
from tsdae_core.runs import Run, create_run
from tsdae_core.steps import Steps, make_accelerator
from tsdae_core.storage import from_base
from tsdae_core.vocabulary import few_rows


def without_dropout(model: TSDAE) -> TSDAE:
    return model.eval()


MIXED = [case for case, (family, *_) in CASES.items() if FAMILIES[family].mixed_precision]


@pytest.mark.parametrize("case", MIXED)
def test_every_family_learns_in_bf16_about_what_it_learns_in_fp32(case: str, tmp_path: Path) -> None:
    base = str(make_checkpoint(tmp_path, *CASES[case]))
    ends = []
    for dtype in (torch.float32, torch.bfloat16):
        torch.manual_seed(0)
        model = without_dropout(from_base(base, pooling="mean"))
        masters = Masters(model, dtype)
        optimizer = torch.optim.AdamW(masters.by_name.values(), lr=4e-3)
        losses = []
        for step in range(12):
            batch = make_batch(model, SENTENCES, epoch=step)
            loss = model(batch)[0] / batch.scored
            loss.backward()
            masters.take_gradients()
            optimizer.step()
            masters.hand_back()
            losses.append(float(loss.detach()))
        ends.append((losses[0], losses[-1]))
    (first, last), (first_bf16, last_bf16) = ends
    assert first_bf16 == pytest.approx(first, rel=0.03)
    assert last_bf16 < 0.9 * first_bf16
    assert last_bf16 == pytest.approx(last, rel=0.15)


def steps_of(tmp_path: Path, base: Path, **changes: Any) -> tuple[Run, Steps]:
    sentences = make_sentences(64)
    table = pa.table({"sentence": sentences, "line": range(64), "label": pa.nulls(64, pa.string())})
    settings = {
        "base_model": str(base),
        "batch_size": 8,
        "held_out": 0,
        "devices": "cpu",
        "max_steps": 20,
        "learning_rate": 1e-3,
    }
    run = create_run(tmp_path, TrainConfig(**(settings | changes)), table, name="run")
    return run, prepare(run, run.config(), make_accelerator(run.config()))


@pytest.mark.parametrize("case", sorted(set(CASES) - set(MIXED)))
def test_a_family_that_cannot_have_bf16_trains_in_fp32(case: str, tmp_path: Path) -> None:
    _, steps = steps_of(tmp_path, make_checkpoint(tmp_path / "base", *CASES[case]), precision="bf16")
    assert steps.precision == "fp32"
    assert {weight.dtype for weight in steps.model.parameters()} == {torch.float32}


def test_what_learns_slowly_is_not_lost_to_the_coarseness_of_bf16(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    _, steps = steps_of(tmp_path, tiny_model_folder, precision="bf16")
    before = {name: weight.detach().clone() for name, weight in steps.learning().items()}
    name = "transformer.bert.encoder.layer.0.output.dense.weight"
    for _ in range(5):
        steps.step(range(8), epoch=0, rate=1e-6)
    moved = (steps.learning()[name] - before[name]).abs().mean()
    assert 1e-6 < float(moved) < 1e-5  # five steps of Adam; bf16 could not tell them from none


def test_a_run_in_bf16_saves_its_full_precision_weights_and_resumes_bit_by_bit(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    shared = {"precision": "bf16", "checkpoint_every": 10, "vocabulary": "corpus"}
    whole, _ = steps_of(tmp_path / "a", tiny_model_folder, **shared)
    assert train.main(whole.path) == 0
    broken, _ = steps_of(tmp_path / "b", tiny_model_folder, **shared)
    step = train.Steps.step
    calls: list[int] = []

    def until_13(self: Steps, *args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) > 13:
            raise RuntimeError("cut off")
        return step(self, *args, **options)

    train.Steps.step = until_13  # type: ignore[method-assign]
    try:
        assert train.main(broken.path) == 1
    finally:
        train.Steps.step = step  # type: ignore[method-assign]
    assert train.main(broken.path) == 0
    a, b = (load_file(run.encoder_dir / "model.safetensors") for run in (whole, broken))
    assert all(torch.equal(a[name], b[name]) for name in a)
    weight = a["encoder.layer.0.output.dense.weight"]
    assert weight.dtype == torch.float32
    assert not torch.equal(weight, weight.bfloat16().float())


@pytest.mark.parametrize("case", ["bert", "bert-untied-head", "roberta-late-padding", "albert", "modernbert"])
@pytest.mark.parametrize("vocabulary", ["full", "corpus"])
def test_looking_up_few_rows_gives_the_gradient_of_the_whole_embedding(
    case: str, vocabulary: str, tmp_path: Path
) -> None:
    model = without_dropout(from_base(str(make_checkpoint(tmp_path, *CASES[case])), pooling="cls"))
    batch = make_batch(model, SENTENCES)
    if vocabulary == "corpus":
        model.restrict(torch.unique(batch.target))
    gradients = []
    for few in (False, True):
        model.zero_grad()
        if few:
            ids = model.local(torch.cat([batch.noisy.flatten(), batch.target.flatten()]))
            with few_rows(model.transformer.get_input_embeddings(), ids):
                model(batch)[0].backward()
        else:
            model(batch)[0].backward()
        gradients.append(
            {
                name: weight.grad.clone()
                for name, weight in model.named_parameters()
                if weight.grad is not None
            }
        )
    assert gradients[0].keys() == gradients[1].keys()
    for name, plain in gradients[0].items():
        assert torch.allclose(plain, gradients[1][name], atol=1e-4, rtol=1e-4), name
