"""Published numbers of BERT-base and BERT-large by task and layer, in the form of this study's figures."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from attention_atlas.published.drawn import published_rows
from attention_atlas.published.values import load_published

_LAYERS = {"large": 24, "base": 12}
"""Published model -> its layers. Only BERT-large has published mixing weights."""


@dataclass(frozen=True)
class PublishedModel:
    """A published model that is drawn beside a model of a run.

    Attributes:
        size: base or large.
        layers: of the published model.
        drawn_layers: of the model that it is drawn beside.
    """

    size: str
    layers: int
    drawn_layers: int

    @property
    def label(self) -> str:
        """Its name in a legend."""
        place = "" if self.layers == self.drawn_layers else f", {self.layers} layers scaled to {self.drawn_layers}"
        return f"published: BERT-{self.size}{place}"

    def depth(self, layers: pd.Series) -> pd.Series:
        """Layers of the published model, from 0 on, at the same relative depth of the drawn one."""
        return layers * self.drawn_layers / self.layers

    def depth_of_gains(self, layers: pd.Series) -> pd.Series:
        """The same for layers that gain F1 and for expected layers: there is none below 1, so layer 1 is drawn at layer 1."""
        return 1 + (layers - 1) * (self.drawn_layers - 1) / (self.layers - 1)

    def values(self, quantity: str) -> pd.DataFrame:
        """Published values of a quantity of all tasks: task, value, and layer where it has one."""
        ids = [name for name in load_published("tenney2019") if name.startswith("t19.") and name.endswith(quantity)]
        rows = published_rows("tenney2019", [name for name in ids if name.split(".")[1] == self.size])
        return rows if len(rows) else pd.DataFrame(columns=["id", "value", "task", "layer"])

    def divergences(self, name: str) -> dict[str, float]:
        """Task -> published divergence from equal weights (`K_s`) or shares (`K_delta`), in bits; empty where there is none."""
        rows = self.values(f".{name}")
        return dict(zip(rows["task"], rows["value"], strict=True))

    def weights(self) -> pd.DataFrame:
        """Mixing weights: task, layer and value as drawn, so that equal weights of both models are the same height."""
        rows = self.values(".mix_weights")
        return rows.assign(layer=self.depth(rows["layer"]), value=rows["value"] * (self.layers + 1) / (self.drawn_layers + 1))

    def shares(self) -> pd.DataFrame:
        """Gains of layers in F1 as a share of the largest gain over layer 0: task, layer and value as drawn.

        Equal shares of both models are the same height.
        """
        rows = self.values(".f1_by_layer").sort_values(["task", "layer"])
        scores = rows.groupby("task")["value"]
        span = scores.transform("max") - scores.transform("first")
        shares = rows.assign(value=scores.diff() / span * self.layers / self.drawn_layers)
        return shares[shares["layer"] > 0].assign(layer=lambda frame: self.depth_of_gains(frame["layer"]))


def published_beside(layers: int, size: str = "") -> PublishedModel:
    """The published model to be drawn beside a model: the one with as many layers, else BERT-large, as in the paper's figures.

    Args:
        layers: of the run's model.
        size: base or large; empty to choose by the number of layers.
    """
    name = size or next((name for name, count in _LAYERS.items() if count == layers), "large")
    return PublishedModel(name, _LAYERS[name], layers)
