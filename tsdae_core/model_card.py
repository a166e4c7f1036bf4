"""The README that goes with an exported encoder."""

from __future__ import annotations

from tsdae_core.methods import METHODS
from tsdae_core.model import Facts


def model_card(facts: Facts) -> str:
    method = METHODS[facts.objective]
    centred = ""
    if facts.centring:
        centred = f" A dense layer takes {facts.centring:.0%} of its text's mean vector off every vector."
    return f"""---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags: [sentence-transformers, {facts.objective}]
---
# A {method.name} sentence encoder

Trained without labels by {method.name} ({method.cite}) from {facts.base_model}, {facts.pooling} pooling,
at most {facts.max_length} tokens.{centred} It is fitted to the text that it was trained on; on general sentence similarity it
may be no better than its base.

```python
from sentence_transformers import SentenceTransformer

vectors = SentenceTransformer("path/to/this/folder").encode(["A sentence."])
```
"""
