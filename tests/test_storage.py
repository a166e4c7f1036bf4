"""Checkpoints as they are found in the world: handled, or refused in one sentence before any weights are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import huggingface_hub.constants
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from transformers import AutoModel, AutoModelForMaskedLM, PreTrainedTokenizerFast

from tests.conftest import make_sentences
from tests.family_models import CASES, make_checkpoint, make_tokenizer
from tests.test_families import make_batch
from tsdae_core.families import FAMILIES
from tsdae_core.refused import REFUSED
from tsdae_core.storage import from_base, load, save


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint(tmp_path_factory.mktemp("bert"), "bert")


@pytest.fixture
def copy(bert: Path, tmp_path: Path) -> Path:
    return copytree(bert, tmp_path / "model")


def change_json(file: Path, **changes: Any) -> None:
    data = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(data | changes), encoding="utf-8")


def sentence_encoder(folder: Path, base: Path, *more: torch.nn.Module) -> Path:
    modules = [Transformer(str(base), max_seq_length=32), Pooling(32, pooling_mode="mean"), *more]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder))
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(ValueError) as caught:
        from_base(str(folder))
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("model_type", [*REFUSED, "gemma2", "pegasus", "vit", "somebodys-own"])
def test_a_family_that_cannot_work_is_refused_from_its_config_alone(model_type: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"never read")
    message = refusal(tmp_path)
    assert f"is a {model_type} model, which TSDAE cannot train: " in message
    assert message.endswith(" works.")


def test_a_family_that_nobody_has_tried_is_refused_with_those_that_work(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "ultrabert"}), encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"never read")
    assert "has not been made to work here; bert, roberta" in refusal(tmp_path)


def test_no_family_is_both_offered_and_refused() -> None:
    assert not FAMILIES.keys() & REFUSED.keys()


@pytest.mark.parametrize(
    ("case", "changes", "reason"),
    [
        ("bert", {"is_decoder": True}, "trained as a decoder"),
        ("bert", {"position_embedding_type": "relative_key"}, "no longer has its relative positions"),
        ("deberta-v2", {"conv_kernel_size": 3}, "its convolution sees the words to come"),
        ("ibert", {"quant_mode": True}, "its integer mode does not train"),
    ],
)
def test_a_form_of_a_good_family_that_cannot_work_is_refused_from_its_config(
    case: str, changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    make_checkpoint(tmp_path, *CASES[case])
    change_json(tmp_path / "config.json", **changes)
    (tmp_path / "model.safetensors").write_bytes(b"never read")
    assert reason in refusal(tmp_path)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path], None]:
    """Puts a folder into an own hub cache under a name; nothing else can be reached."""
    cache = tmp_path / "hub"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)

    def put(name: str, folder: Path) -> None:
        stored = cache / f"models--{name.replace('/', '--')}"
        copytree(folder, stored / "snapshots" / "0123")
        (stored / "refs").mkdir()
        (stored / "refs" / "main").write_text("0123", encoding="utf-8")

    return put


def test_a_model_of_the_hub_loads_from_the_cache_with_its_modules_looked_at(
    hub: Callable[[str, Path], None], bert: Path, tmp_path: Path
) -> None:
    hub("somebody/encoder", sentence_encoder(tmp_path / "st", bert, Dense(32, 16)))
    model = from_base("somebody/encoder")
    assert "Dense (32 to 16 dimensions) left out" in model.facts.loaded


def test_a_hub_model_that_cannot_work_is_refused_when_only_its_config_is_there(
    hub: Callable[[str, Path], None], tmp_path: Path
) -> None:
    (tmp_path / "llama").mkdir()
    (tmp_path / "llama" / "config.json").write_text(json.dumps({"model_type": "llama"}), encoding="utf-8")
    hub("somebody/llama", tmp_path / "llama")
    with pytest.raises(ValueError, match="somebody/llama is a llama model, which TSDAE cannot train"):
        from_base("somebody/llama")


def test_a_hub_model_with_pickled_weights_only_is_refused(
    hub: Callable[[str, Path], None], copy: Path
) -> None:
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    hub("somebody/pickled", copy)
    with pytest.raises(ValueError, match="no safetensors weights, only pickles"):
        from_base("somebody/pickled")


@pytest.mark.usefixtures("hub")
def test_a_hub_model_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(ValueError, match="somebody/else is not on this machine and the Hugging Face hub"):
        from_base("somebody/else")


def test_a_tokenizer_that_pads_and_cuts_on_the_left_is_turned_round(
    bert: Path, copy: Path, tmp_path: Path
) -> None:
    change_json(copy / "tokenizer_config.json", padding_side="left", truncation_side="left")
    model, plain = from_base(str(copy)), from_base(str(bert))
    assert model.tokenizer.padding_side == model.tokenizer.truncation_side == "right"
    save(model, tmp_path / "saved")
    texts = ["a dog.", "the old baker carries two green apples before lunch."]
    theirs = SentenceTransformer(str(tmp_path / "saved" / "encoder"), device="cpu")
    assert theirs.tokenizer.padding_side == "right"
    batch = make_batch(plain, texts)
    with torch.no_grad():
        expected = plain.eval().encode(batch.target, batch.target_mask)
    torch.testing.assert_close(torch.from_numpy(theirs.encode(texts)), expected, atol=1e-5, rtol=0)


def test_a_tokenizer_whose_padding_is_its_end_token_still_learns_to_end(copy: Path) -> None:
    tokenizer = make_tokenizer("wordpiece")
    tokenizer.pad_token = tokenizer.sep_token
    tokenizer.save_pretrained(copy)
    model = from_base(str(copy))
    batch = make_batch(model, ["a dog.", "the old baker carries two green apples before lunch."])
    ends = (batch.target == tokenizer.sep_token_id) & batch.target_mask.bool()
    assert ends.sum(1).tolist() == [1, 1]
    vector = model.encode(batch.noisy, batch.noisy_mask)
    assert len(model.reconstruction_loss(vector, batch, reduction="none")) == batch.scored


def test_a_tokenizer_without_padding_is_refused(copy: Path) -> None:
    tokenizer = make_tokenizer("wordpiece")
    tokenizer.pad_token = None
    tokenizer.save_pretrained(copy)
    assert "no padding token" in refusal(copy)


def test_a_tokenizer_without_start_and_end_tokens_is_refused(copy: Path) -> None:
    inner = make_tokenizer("wordpiece")
    bare = inner.backend_tokenizer
    bare.post_processor = None
    bare_fast = PreTrainedTokenizerFast(tokenizer_object=bare, pad_token="[PAD]", mask_token="[MASK]")
    bare_fast.save_pretrained(copy)
    assert "no start token before and no end token behind a sentence" in refusal(copy)


def test_a_tokenizer_with_more_tokens_than_the_model_has_embeddings_is_refused(copy: Path) -> None:
    tokenizer = make_tokenizer("wordpiece")
    tokenizer.add_tokens(["zebra"])
    tokenizer.save_pretrained(copy)
    assert "only" in refusal(copy) and "tokens were added without resizing" in refusal(copy)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_checkpoints_are_trained_and_saved_in_fp32(
    dtype: torch.dtype, bert: Path, tmp_path: Path
) -> None:
    half = AutoModelForMaskedLM.from_pretrained(bert).to(dtype)
    half.save_pretrained(tmp_path / "half")
    make_tokenizer("wordpiece").save_pretrained(tmp_path / "half")
    model = from_base(str(tmp_path / "half"))
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    save(model, tmp_path / "saved")
    assert {w.dtype for w in load_file(tmp_path / "saved" / "encoder" / "model.safetensors").values()} == {
        torch.float32
    }
    assert SentenceTransformer(str(tmp_path / "saved" / "encoder"), device="cpu").dtype == torch.float32
    assert {weight.dtype for weight in load(tmp_path / "saved").parameters()} == {torch.float32}


def test_dense_and_normalize_behind_the_pooling_are_left_out_with_a_word(bert: Path, tmp_path: Path) -> None:
    folder = sentence_encoder(tmp_path / "st", bert, Dense(32, 16), Normalize())
    model = from_base(str(folder))
    assert "Dense (32 to 16 dimensions) and Normalize left out" in model.facts.loaded
    batch = make_batch(model, make_sentences(2))
    assert model.encode(batch.noisy, batch.noisy_mask).shape == (2, 32)


@pytest.mark.parametrize("kind", ["WordEmbeddings", "CLIPModel", "StaticEmbedding", "BoW"])
def test_a_sentence_encoder_without_a_transformer_is_refused(kind: str, copy: Path) -> None:
    module = {"idx": 0, "name": "0", "path": "", "type": f"sentence_transformers.models.{kind}"}
    (copy / "modules.json").write_text(json.dumps([module]), encoding="utf-8")
    assert f"begins with a {kind} module instead of a Transformer" in refusal(copy)


@pytest.mark.parametrize("with_list", [True, False])
def test_the_old_layout_with_a_transformer_folder_is_loaded(
    with_list: bool, bert: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    copytree(bert, old / "0_Transformer")
    if with_list:
        module = {
            "idx": 0,
            "name": "0",
            "path": "0_Transformer",
            "type": "sentence_transformers.models.Transformer",
        }
        (old / "modules.json").write_text(json.dumps([module]), encoding="utf-8")
    model, plain = from_base(str(old)), from_base(str(bert))
    own = plain.transformer.state_dict()
    assert all(torch.equal(value, own[name]) for name, value in model.transformer.state_dict().items())


def test_a_folder_with_pickled_weights_only_is_refused(copy: Path) -> None:
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    assert "a pickle that can run code" in refusal(copy)


def test_weights_of_another_size_or_another_model_are_refused(copy: Path, tmp_path: Path) -> None:
    change_json(copy / "config.json", hidden_size=64)
    assert "weights that do not fit its config.json" in refusal(copy)
    change_json(copy / "config.json", hidden_size=32)
    save_file({"something.else": torch.ones(2)}, copy / "model.safetensors", metadata={"format": "pt"})
    assert "weights that do not fit its config.json" in refusal(copy)
    (copy / "model.safetensors").write_bytes(b"broken")
    assert "damaged weights: model.safetensors cannot be read" in refusal(copy)


def test_a_missing_head_is_reported_and_a_missing_layer_too(bert: Path, tmp_path: Path) -> None:
    body = AutoModel.from_pretrained(bert, add_pooling_layer=False)
    body.save_pretrained(tmp_path / "body")
    make_tokenizer("wordpiece").save_pretrained(tmp_path / "body")
    assert "masked-LM head new: this checkpoint has none" in from_base(str(tmp_path / "body")).facts.loaded
    assert "masked-LM head loaded" in from_base(str(bert)).facts.loaded
    change_json(tmp_path / "body" / "config.json", num_hidden_layers=3)
    assert (
        "weights of the transformer were missing and are new"
        in from_base(str(tmp_path / "body")).facts.loaded
    )


def test_debertas_newer_head_is_found_in_the_weights(tmp_path: Path) -> None:
    make_checkpoint(tmp_path, *CASES["deberta-new-head"])
    change_json(tmp_path / "config.json", legacy=True)
    model = from_base(str(tmp_path))
    assert "masked-LM head loaded" in model.facts.loaded
    assert not model.transformer.config.legacy


def test_positions_that_count_from_the_padding_are_not_promised(tmp_path: Path) -> None:
    make_checkpoint(tmp_path / "roberta", *CASES["roberta"])
    make_checkpoint(tmp_path / "bert", *CASES["bert"])
    assert from_base(str(tmp_path / "roberta"), max_length=512).facts.max_length == 62
    assert from_base(str(tmp_path / "bert"), max_length=512).facts.max_length == 64


def test_more_layers_than_there_are_or_half_a_group_of_shared_ones_are_refused(
    bert: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="has 2 layers; keeping 3 is not possible"):
        from_base(str(bert), layers=3)
    model_type, tokenizer, extra = CASES["albert-groups"]
    make_checkpoint(tmp_path, model_type, tokenizer, extra | {"num_hidden_layers": 4})
    with pytest.raises(ValueError, match="in groups of 2; keep a multiple of that, not 3"):
        from_base(str(tmp_path), layers=3)


def test_the_poolers_weights_stay_in_the_exported_encoder(bert: Path, tmp_path: Path) -> None:
    with_pooler = AutoModel.from_pretrained(bert)
    with_pooler.save_pretrained(tmp_path / "base")
    make_tokenizer("wordpiece").save_pretrained(tmp_path / "base")
    save(from_base(str(tmp_path / "base")), tmp_path / "saved")
    saved = load_file(tmp_path / "saved" / "encoder" / "model.safetensors")
    assert torch.equal(saved["pooler.dense.weight"], with_pooler.pooler.dense.weight)
    assert load(tmp_path / "saved").spare.keys() == {"pooler.dense.weight", "pooler.dense.bias"}
