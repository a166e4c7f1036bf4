"""Base models known by name: those worth offering, each with a word, and those that people try in vain."""

from __future__ import annotations

from tsdae_core.config import BUNDLED_MODEL

NEW_MODEL = "4 layers, 256 wide"
"""A size instead of a checkpoint: a new model, made from the run's own text."""

KNOWN = {
    BUNDLED_MODEL: "Comes with the app: 6 layers, 384 wide, English, already a sentence encoder; quick on a CPU.",
    "bert-base-uncased": "The paper's: 12 layers, 768 wide, English, lower case. TSDAE starts from it by default.",
    "bert-base-cased": "The same size as the paper's, but it keeps upper case: for text where case carries meaning.",
    "bert-large-uncased": "24 layers, 1024 wide, English: three times the weights of the base size.",
    "distilbert-base-uncased": "6 layers distilled from bert-base-uncased: about half the time.",
    "roberta-base": "12 layers, English, case kept, byte-level words: rare names and code never become unknown.",
    "distilroberta-base": "6 layers distilled from roberta-base.",
    "xlm-roberta-base": "About 100 languages. Its 250,000-token vocabulary needs much more memory.",
    "bert-base-multilingual-cased": "BERT for about 100 languages, case kept, 120,000 tokens.",
    "microsoft/mpnet-base": "12 layers, English: what all-mpnet-base-v2 was trained from.",
    "albert-base-v2": "12 layers that share one set of weights: a small file, no faster than BERT.",
    "google/electra-base-discriminator": "Trained to spot replaced words; it has no masked-LM head, so that is new.",
    "answerdotai/ModernBERT-base": "22 layers, English, up to 8,192 tokens per text.",
    "kwang2049/TSDAE-askubuntu": "By the paper's authors: bert-base-uncased after TSDAE on AskUbuntu. CLS pooling.",
    "kwang2049/TSDAE-cqadupstack": "By the paper's authors: bert-base-uncased after TSDAE on CQADupStack. CLS pooling.",
    "kwang2049/TSDAE-scidocs2nli_stsb": "By the paper's authors: TSDAE on SciDocs, then labelled NLI and STSb. CLS pooling.",
    NEW_MODEL: "From nothing: a new BERT of that size and a tokenizer, both from your text alone. Any size can be typed.",
}
"""Names worth offering, each with a word on what it is good for."""

NOT_TRAINED = {
    "facebook/bart-base": "bart",
    "facebook/bart-large": "bart",
    "t5-small": "t5",
    "t5-base": "t5",
    "t5-large": "t5",
    "google-t5/t5-small": "t5",
    "google-t5/t5-base": "t5",
    "google-t5/t5-large": "t5",
    "gpt2": "gpt2",
    "openai-community/gpt2": "gpt2",
    "xlnet-base-cased": "xlnet",
    "xlnet/xlnet-base-cased": "xlnet",
}
"""Type of models that people try, the paper's encoder-decoders among them, and that cannot be trained: not offered, but told
before anything is fetched."""
