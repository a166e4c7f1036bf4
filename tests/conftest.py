"""Small real models and corpora, made on the spot."""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = (
    "1"  # before numeric libraries are loaded, and for the processes that tests start
)

import random
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Tiny models are many times faster on one thread; what draws maps leaves more behind."""
    torch.set_num_threads(1)


SUBJECTS = ["the cat", "a dog", "my friend", "the old baker", "a quiet child", "the captain"]
VERBS = ["sees", "likes", "paints", "carries", "follows", "repairs"]
OBJECTS = [
    "the red boat",
    "a small house",
    "two green apples",
    "the long letter",
    "an empty bottle",
    "the blue door",
]
PLACES = ["in the garden", "near the river", "at night", "before lunch", "after school", "on the hill"]


def make_sentences(count: int, seed: int = 0) -> list[str]:
    """Distinct short sentences of a tiny grammar, with 1,296 possible ones."""
    every = [f"{a} {b} {c} {d}." for a in SUBJECTS for b in VERBS for c in OBJECTS for d in PLACES]
    random.Random(seed).shuffle(every)
    return every[:count]


def make_tokenizer() -> BertTokenizerFast:
    """A WordPiece tokenizer that knows the grammar's words and all ASCII letters."""
    words = sorted({word for sentence in make_sentences(1296) for word in sentence.rstrip(".").split()})
    letters = [chr(code) for code in range(33, 127)]
    pieces = [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]
    vocabulary = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *pieces, *words])
    ids = {word: number for number, word in enumerate(vocabulary)}
    return BertTokenizerFast(vocab=ids, do_lower_case=True, model_max_length=64)


@pytest.fixture(scope="session")
def tiny_model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers folder with a random two-layer BERT, mean pooling and 32 dimensions."""
    folder = tmp_path_factory.mktemp("tiny")
    raw = tmp_path_factory.mktemp("raw")
    tokenizer = make_tokenizer()
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(raw)
    tokenizer.save_pretrained(raw)
    transformer = Transformer(str(raw), max_seq_length=64)
    SentenceTransformer(modules=[transformer, Pooling(32, pooling_mode="mean")], device="cpu").save(
        str(folder)
    )
    return folder
