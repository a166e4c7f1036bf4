"""Tiny random checkpoints of every family, made on the spot: two layers, 32 wide, about 200 tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedTokenizerFast

from tests.conftest import make_sentences

WORDPIECE = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]

SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("bert", "wordpiece", {}),
    "bert-untied-head": ("bert", "wordpiece", {"tie_word_embeddings": False}),
    "roberta": ("roberta", "bytes", {}),
    "roberta-late-padding": ("roberta", "bytes-late", {}),
    "xlm-roberta": ("xlm-roberta", "unigram", {}),
    "camembert": ("camembert", "unigram", {}),
    "data2vec-text": ("data2vec-text", "bytes", {}),
    "electra": ("electra", "wordpiece", {"embedding_size": 32}),
    "electra-narrow": ("electra", "wordpiece", {"embedding_size": 16}),
    "ernie": ("ernie", "wordpiece", {"use_task_id": True}),
    "roformer": ("roformer", "wordpiece", {"embedding_size": 32}),
    "roformer-narrow": ("roformer", "wordpiece", {"embedding_size": 16, "rotary_value": True}),
    "rembert": ("rembert", "unigram", {"input_embedding_size": 16, "output_embedding_size": 48}),
    "big_bird": ("big_bird", "unigram", {"attention_type": "block_sparse", "block_size": 4}),
    "megatron-bert": ("megatron-bert", "wordpiece", {}),
    "roberta-prelayernorm": ("roberta-prelayernorm", "bytes", {}),
    "xlm-roberta-xl": ("xlm-roberta-xl", "unigram", {}),
    "distilbert": ("distilbert", "wordpiece", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}),
    "albert": ("albert", "unigram", {"embedding_size": 16}),
    "albert-groups": ("albert", "unigram", {"embedding_size": 32, "num_hidden_groups": 2, "inner_group_num": 2}),
    "modernbert": ("modernbert", "bytes-last", {"local_attention": 4, "global_attn_every_n_layers": 2}),
    "nomic_bert": ("nomic_bert", "wordpiece", {}),
    "jina_embeddings_v3": ("jina_embeddings_v3", "unigram", {}),
    "gte": ("gte", "wordpiece", {}),
    "eurobert": ("eurobert", "bytes-last", {"num_key_value_heads": 2}),
    "mpnet": ("mpnet", "mpnet", {}),
    "ibert": ("ibert", "bytes", {"quant_mode": False}),
    "squeezebert": ("squeezebert", "wordpiece", {"embedding_size": 32, "q_groups": 2}),
    "luke": ("luke", "bytes", {"entity_vocab_size": 10, "entity_emb_size": 16}),
    "deberta": ("deberta", "bytes-deberta", {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "deberta-new-head": ("deberta", "bytes-deberta", {"legacy": False, "max_relative_positions": 16}),
    "deberta-v2": (
        "deberta-v2",
        "unigram-bert",
        {
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "position_buckets": 8,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "position_biased_input": False,
            "type_vocab_size": 0,
            "legacy": False,
        },
    ),
}  # fmt: skip
"""name -> (model type, kind of tokenizer, what its configuration says besides the sizes)."""


def make_checkpoint(
    folder: Path, model_type: str, tokenizer: str = "wordpiece", extra: dict[str, Any] | None = None
) -> Path:
    """A transformers folder with random weights and a masked-LM head.

    Weights are four times the usual size, so that differences between two models are no rounding errors.
    """
    fast = make_tokenizer(tokenizer)
    settings = SIZES | {
        "vocab_size": len(fast),
        "pad_token_id": fast.pad_token_id,
        "bos_token_id": fast.cls_token_id,
        "eos_token_id": fast.sep_token_id,
        "initializer_range": 0.08,
    }
    config = AutoConfig.for_model(model_type, **settings | (extra or {}))
    torch.manual_seed(0)
    AutoModelForMaskedLM.from_config(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def make_tokenizer(kind: str) -> PreTrainedTokenizerFast:
    """A tokenizer trained on the tests' grammar.

    Args:
        kind: "wordpiece", "bytes" (byte-level BPE) or "unigram" (Metaspace), the latter two with RoBERTa's special
            tokens and ids; "bytes-late": the padding behind a token that no text needs;
            "bytes-last": the special tokens behind all others, as in ModernBERT; "bytes-deberta" and
            "unigram-bert": with BERT's special tokens; "mpnet": WordPiece with RoBERTa's special tokens.
    """
    roberta = kind in ("bytes", "bytes-late", "unigram", "mpnet")
    special = ROBERTA if roberta else WORDPIECE
    if kind == "bytes-late":
        special = ["<unk>", "<s>", "</s>", "<pad>", "<mask>"]
    sentences = make_sentences(400)
    if kind in ("wordpiece", "mpnet"):
        unknown = "<unk>" if roberta else "[UNK]"
        tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        trainer: Any = trainers.WordPieceTrainer(vocab_size=200, special_tokens=special)
    elif kind.startswith("bytes"):
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=330,
            special_tokens=[] if kind == "bytes-last" else special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        unknown = "<unk>" if roberta else "[UNK]"
        trainer = trainers.UnigramTrainer(vocab_size=150, special_tokens=special, unk_token=unknown)
    tokenizer.train_from_iterator(sentences, trainer=trainer)
    tokenizer.add_special_tokens(special)
    first, last = ("<s>", "</s>") if roberta else ("[CLS]", "[SEP]")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} $B {last}",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (first, last)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        cls_token=first,
        sep_token=last,
        **{
            f"{name}_token": f"<{name}>" if roberta else f"[{name.upper()}]"
            for name in ("pad", "unk", "mask")
        },
    )
