"""When a number of a run is the same quantity as a published one."""

from __future__ import annotations

from attention_atlas.io.setting import Setting
from attention_atlas.published.compare import EXACT, NO, Measured

MODEL, SEGMENTS, COREFERENCE = "bert-base-uncased", "wikipedia-segments", "conll2012"
TREEBANK, TREEBANK_TRAINING = "wsj-sd-dev", "wsj-sd-train"
UD_EWT = "ud-ewt-dev"
"""The data of the third-party replication whose numbers are listed beside the paper's."""


def same(setting: Setting, corpus: str, needs_model: bool = True, best: str = EXACT) -> tuple[str, str]:
    """How comparable a number is, and why.

    Args:
        setting: what the run looks at.
        corpus: the published data set.
        needs_model: whether the number depends on the model.
        best: kind of comparison when model and data are the published ones.
    """
    faults = []
    if needs_model and setting.model_reference != MODEL:
        faults.append(f"another model ({setting.model})")
    if setting.corpus_reference != corpus:
        faults.append(f"another corpus ({setting.corpus})")
    if faults:
        return NO, " and ".join(faults)
    return best, "same model and data" if best == EXACT else "same model; data of the same making, or a value read off a figure"


def absent(why: str) -> Measured:
    """Our side of a value that a run does not compute."""
    return Measured(None, NO, why)
