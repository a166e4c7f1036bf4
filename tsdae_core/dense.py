"""Dense layers behind the pooling of a sentence-transformers folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from safetensors.torch import save_file

from tsdae_core.flow import Layer

RELU, NOTHING = "torch.nn.modules.activation.ReLU", "torch.nn.modules.linear.Identity"


def layer_file(folder: Path) -> Path:
    """The weights of the first layer that was added behind transformer and pooling."""
    return folder / "2_Dense" / "model.safetensors"


def add_layers(folder: Path, layers: Sequence[Layer]) -> None:
    """Append `layers` to the modules of a sentence-transformers folder; its vectors go through them in this order."""
    listed = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    for layer in layers:
        number = len(listed)
        home = folder / f"{number}_Dense"
        home.mkdir()
        outputs, inputs = layer.weight.shape
        said = {
            "in_features": inputs,
            "out_features": outputs,
            "bias": True,
            "activation_function": RELU if layer.relu else NOTHING,
        }
        (home / "config.json").write_text(json.dumps(said, indent=2), encoding="utf-8")
        weights = {"linear.weight": layer.weight.contiguous(), "linear.bias": layer.bias.contiguous()}
        save_file(weights, home / "model.safetensors", metadata={"format": "pt"})
        listed.append(
            {
                "idx": number,
                "name": str(number),
                "path": home.name,
                "type": "sentence_transformers.models.Dense",
            }
        )
    (folder / "modules.json").write_text(json.dumps(listed, indent=2), encoding="utf-8")
