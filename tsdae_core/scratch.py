"""A base model from nothing: a BERT of a given size with random weights and a WordPiece tokenizer trained on the run's text.

For texts that no checkpoint knows: another language, a notation, a code. It learns only what the text teaches.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from tokenizers.implementations import BertWordPieceTokenizer
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast  # type: ignore[attr-defined]

from tsdae_core.base_models import new_size
from tsdae_core.runs import Run, new_folder

MOST_TOKENS = 30_522  # BERT's own vocabulary
HEAD = 64  # width of one attention head, as in BERT
LONGEST = 512
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def base_of(run: Run) -> str:
    """What the run starts from: its setting, or the folder of the model that was made for it from its text.

    Raises:
        ValueError: for an impossible size.
    """
    config = run.config()
    size = new_size(config.base_model)
    if size is None:
        return config.base_model
    if not run.base_dir.is_dir():
        make(run, run.corpus()["sentence"].to_pylist(), layers=size[0], width=size[1], seed=config.seed)
    return str(run.base_dir)


def make(run: Run, sentences: Sequence[str], *, layers: int, width: int, seed: int) -> None:
    """Write the untrained model and its tokenizer into the run's `base/`.

    Made once and kept: the library that trains the tokenizer breaks ties between pieces differently each time.
    """
    trained = BertWordPieceTokenizer(lowercase=True)
    trained.train_from_iterator(
        iter(sentences),
        vocab_size=MOST_TOKENS,
        min_frequency=2,
        show_progress=False,
        special_tokens=[*SPECIAL],
    )
    tokenizer = BertTokenizerFast(vocab=trained.get_vocab(), do_lower_case=True, model_max_length=LONGEST)
    heads = max(1, width // HEAD)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        max_position_embeddings=LONGEST,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BertForMaskedLM(config)
    with new_folder(run.base_dir) as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
