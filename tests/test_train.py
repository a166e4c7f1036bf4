"""Training: it learns, stops, resumes exactly, survives being killed, and says what went wrong."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file

from tests.conftest import make_sentences
from tsdae_core import launch, train
from tsdae_core.config import checked
from tsdae_core.rebuild import load_model, rebuild
from tsdae_core.runs import Run, create_run
from tsdae_core.storage import from_base


def make_run(workspace: Path, base: Path, sentences: list[str], **changes: Any) -> Run:
    defaults = {
        "base_model": str(base), "max_steps": 12, "batch_size": 8, "learning_rate": 3e-3, "max_length": 32,
        "precision": "fp32", "held_out": 16, "devices": "cpu",
    }  # fmt: skip
    table = pa.table(
        {
            "sentence": sentences,
            "line": list(range(len(sentences))),
            "label": pa.nulls(len(sentences), pa.string()),
        }
    )
    return create_run(workspace, checked(defaults | changes), table)


def losses(run: Run) -> dict[int, float]:
    return {row["step"]: row["loss"] for row in run.metrics()[0] if "loss" in row}


def wait_until(condition: Any, *, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def test_a_few_hundred_steps_on_short_sentences_rebuild_most_of_them_exactly(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    sentences = make_sentences(40)
    run = make_run(tmp_path, tiny_model_folder, sentences, max_steps=500, batch_size=20, learning_rate=5e-3,
                   held_out=0, noise_ratio=0.1, vocabulary="corpus", probe_every=250)  # fmt: skip
    assert train.main(run.path) == 0
    model = load_model(run)
    rebuilt = rebuild(model, sentences, ratio=0.0)
    assert sum(one["exact"] for one in rebuilt) > 30
    curve = losses(run)
    assert curve[500] < 0.3 * curve[1]


def test_a_finished_run_holds_an_encoder_a_decoder_metrics_samples_and_a_plain_status(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    run = make_run(tmp_path, tiny_model_folder, make_sentences(200))
    assert train.main(run.path) == 0
    said = run.status()
    assert said["state"] == "finished"
    assert said["step"] == said["total"] == 12
    assert (run.encoder_dir / "modules.json").is_file()
    assert sorted(losses(run)) == list(range(1, 13))
    looks = [row for row in run.metrics()[0] if "held_out" in row]
    assert looks[0]["step"] == 0
    assert looks[-1]["step"] == 12
    assert {"shuffled", "bits", "kept"} <= looks[-1].keys()
    sample = run.samples()[0][-1]["sentences"]
    assert len(sample) == 6
    assert {"original", "damaged", "rebuilt", "text", "loss", "recovered", "exact"} <= sample[0].keys()


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {
            "vocabulary": "corpus",
            "decoder_warmup_steps": 7,
            "pooling": "mean",
            "anchor": 2.0,
            "batch_size": 8,
        },
    ],
)
def test_a_run_killed_and_resumed_gives_the_same_losses_and_the_same_encoder_as_one_in_one_go(
    tmp_path: Path, tiny_model_folder: Path, extra: dict[str, Any]
) -> None:
    sentences = make_sentences(60)
    whole = make_run(tmp_path / "whole", tiny_model_folder, sentences, max_steps=20, **extra)
    broken = make_run(
        tmp_path / "broken", tiny_model_folder, sentences, max_steps=20, checkpoint_every=10, **extra
    )
    assert train.main(whole.path) == 0

    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    step = train.Steps.step
    calls = []

    def counted(self: Any, *args: Any, **options: Any) -> Any:
        calls.append(1)
        return die() if len(calls) > 13 else step(self, *args, **options)

    train.Steps.step = counted  # the process dies between two steps, past its checkpoint
    try:
        assert train.main(broken.path) == 1
    finally:
        train.Steps.step = step
    assert broken.checkpoints()[-1].step == 10
    torch.manual_seed(999)
    assert train.main(broken.path) == 0
    assert losses(broken) == losses(whole)
    one, other = (load_file(run.encoder_dir / "model.safetensors") for run in (whole, broken))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_process_killed_with_sigkill_is_seen_as_crashed_and_resumes_from_its_checkpoint(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    run = make_run(
        tmp_path,
        tiny_model_folder,
        make_sentences(300),
        max_steps=100_000,
        checkpoint_every=20,
        probe_every=1000,
    )
    launch.start(run)
    try:
        wait_until(lambda: len(run.checkpoints()) > 0 or run.state == "failed", seconds=120)
        process = run.process()
        assert process is not None, run.log_tail()
        os.kill(process.pid, signal.SIGKILL)
        wait_until(lambda: run.state == "crashed")
        launch.start(run)
        wait_until(lambda: any(row.get("event") == "resumed" for row in run.metrics()[0]), seconds=120)
        assert run.state in ("running", "starting")
        launch.stop(run)
        wait_until(lambda: run.state == "stopped", seconds=60)
    finally:
        launch.kill(run)
    assert (run.encoder_dir / "model.safetensors").is_file()
    steps = [row["step"] for row in run.metrics()[0] if "loss" in row]
    assert steps == sorted(set(steps)), "no step is told twice after a resume"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["terminated", "Ctrl+C"])
def test_ending_the_process_saves_like_a_stop(
    tmp_path: Path, tiny_model_folder: Path, number: signal.Signals
) -> None:
    run = make_run(tmp_path, tiny_model_folder, make_sentences(300), max_steps=100_000, probe_every=1000)
    launch.start(run)
    try:
        wait_until(lambda: len(losses(run)) > 3 or run.state == "failed", seconds=120)
        psutil.Process(json.loads((run.path / "process.json").read_text())["pid"]).send_signal(number)
        wait_until(lambda: run.state == "stopped", seconds=60)
    finally:
        launch.kill(run)
    assert (run.encoder_dir / "model.safetensors").is_file()


def test_decoder_first_leaves_every_weight_of_the_base_as_it_was(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    run = make_run(tmp_path, tiny_model_folder, make_sentences(100), max_steps=11, decoder_warmup_steps=10,
                   learning_rate=0.0, new_learning_rate=1e-3)  # fmt: skip
    assert train.main(run.path) == 0
    base = from_base(str(tiny_model_folder)).state_dict()
    trained = load_model(run).state_dict()
    body = [name for name in base if name.startswith("transformer.bert.") and "position_ids" not in name]
    assert all(torch.equal(base[name], trained[name]) for name in body)
    assert not torch.equal(base["bottleneck.0.norm.bias"], trained["bottleneck.0.norm.bias"])


def test_early_stopping_keeps_the_model_with_the_lowest_held_out_loss(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    run = make_run(tmp_path, tiny_model_folder, make_sentences(60), max_steps=400, learning_rate=1e-2, probe_every=10,
                   early_stopping_patience=2)  # fmt: skip
    assert train.main(run.path) == 0
    looks = {row["step"]: row["held_out"] for row in run.metrics()[0] if "held_out" in row}
    best = min(looks, key=lambda step: looks[step])
    assert max(looks) < 400, "it stopped early"
    assert f"step {best:,}" in run.status()["phase"]


def test_a_loss_that_is_no_number_ends_the_run_with_advice_and_the_last_good_checkpoint(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    run = make_run(tmp_path, tiny_model_folder, make_sentences(60), max_steps=12, checkpoint_every=2)
    step = train.Steps.step

    def poisoned(self: Any, *args: Any, **options: Any) -> Any:
        poisoned.count += 1
        return step(self, *args, **options) * (float("nan") if poisoned.count == 5 else 1.0)

    poisoned.count = 0
    train.Steps.step = poisoned
    try:
        assert train.main(run.path) == 1
    finally:
        train.Steps.step = step
    said = run.status()
    assert said["state"] == "failed"
    assert "step 5" in said["error"]
    assert "lower learning rate" in said["advice"]
    assert run.checkpoints()[-1].step == 4


def test_an_anchor_keeps_the_encoder_nearer_to_its_base(tmp_path: Path, tiny_model_folder: Path) -> None:
    drift = {}
    for anchor in (0.0, 50.0):
        run = make_run(
            tmp_path, tiny_model_folder, make_sentences(100), max_steps=40, anchor=anchor, vocabulary="corpus"
        )
        assert train.main(run.path) == 0
        texts = make_sentences(20)
        base, trained = from_base(str(tiny_model_folder), max_length=32).eval(), load_model(run)
        with torch.no_grad():
            both = [model.encode(*_inputs(model, texts)) for model in (base, trained)]
        drift[anchor] = 1 - torch.nn.functional.cosine_similarity(*both).mean().item()
    assert drift[50.0] < 0.5 * drift[0.0]


def _inputs(model: Any, texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    encoded = model.tokenizer(texts, return_tensors="pt", padding=True)
    return encoded["input_ids"], encoded["attention_mask"]


@pytest.mark.parametrize("noise", ["swap", "mask", "replace", "add"])
def test_every_noise_of_the_paper_trains(tmp_path: Path, tiny_model_folder: Path, noise: str) -> None:
    run = make_run(tmp_path, tiny_model_folder, make_sentences(100), max_steps=30, noise=noise)
    assert train.main(run.path) == 0
    curve = losses(run)
    assert curve[30] < curve[1]


def test_two_processes_reach_the_losses_and_weights_of_one(
    tmp_path: Path, tiny_model_folder: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    results = {}
    for devices in ("cpu", "cpu*2"):
        run = make_run(
            tmp_path,
            _without_dropout(tiny_model_folder, tmp_path),
            make_sentences(61),
            max_steps=10,
            devices=devices,
        )
        launch.start(run)
        assert launch.wait(run, timeout=180) == "finished", run.log_tail(80)
        assert run.log_tail(200).count("Training finished.") == (2 if devices == "cpu*2" else 1)
        results[devices] = losses(run), load_file(run.encoder_dir / "model.safetensors")
    (one, weights), (two, others) = results["cpu"], results["cpu*2"]
    assert one == pytest.approx(two, abs=2e-4)
    for name in weights:
        torch.testing.assert_close(weights[name], others[name], atol=2e-3, rtol=0)


def _without_dropout(folder: Path, tmp_path: Path) -> Path:
    """A copy of the model that draws nothing at random, so that one process and two can be compared."""
    target = tmp_path / "calm"
    if not target.exists():
        target.mkdir()
        for path in folder.rglob("*"):
            if path.is_file():
                (target / path.relative_to(folder)).parent.mkdir(parents=True, exist_ok=True)
                (target / path.relative_to(folder)).write_bytes(path.read_bytes())
        config = json.loads((target / "config.json").read_text())
        config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        (target / "config.json").write_text(json.dumps(config))
    return target


def test_a_run_that_is_ended_while_it_loads_says_stopped_and_can_be_resumed(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    run = make_run(tmp_path, tiny_model_folder, make_sentences(60))
    launch.start(run)
    deadline = time.monotonic() + 120
    while run.status().get("phase", "") != "Loading the model and preparing the text":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process = run.process()
    assert process is not None
    process.terminate()
    while run.process() is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert run.status()["state"] in ("stopped", "finished")
    assert train.main(run.path) == 0
    assert run.status()["state"] == "finished"
