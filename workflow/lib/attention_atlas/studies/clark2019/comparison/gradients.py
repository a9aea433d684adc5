"""Figure 3 beside the published one: the paper gives a picture and one claim on it."""

from __future__ import annotations

import pandas as pd

from attention_atlas.io.setting import Setting
from attention_atlas.published.compare import QUALITATIVE, Measured

_SMALL = 0.1


def gradient_rows(figure3: pd.DataFrame, setting: Setting) -> dict[str, Measured]:
    """The layer from which the gradient of attention to [SEP] is very small: at most a tenth of its largest layer mean.

    The paper names layer 5 of 12; the claim holds where such a layer is in the first half of the model.

    Args:
        figure3: figure3.tsv.
        setting: model and segments of the run.
    """
    shown = figure3[(figure3["masking"] == "masked") & (figure3["measure"] == "per_weight") & (figure3["target"] == "sep")]
    if shown.empty:
        return {}
    means = shown.groupby("layer")["value"].mean()
    large = means.index[means > _SMALL * means.max()]
    first = int(large.max()) + 1
    found = first <= int(means.index.max())
    what = (
        "from some layer of the first half on, the gradient of attention to [SEP] is at most a tenth of its largest layer mean"
    )
    ours = Measured(
        first if found else "none",
        QUALITATIVE,
        f"claim, put to {setting.model}: {what}",
        n=int(shown["n"].max()),
        holds=found and first <= int(means.index.max()) / 2,
    )
    return {"txt_grad_layer": ours}
