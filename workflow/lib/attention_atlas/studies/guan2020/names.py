"""Names of the compared models, of the assignments of types to their heads, and of the definitions of a sentence."""

from attention_atlas.studies.guan2020.ablation_rows import SEGMENTS, SENTENCEX, STOPS, WHOLE

FITS = ("reused", "refitted")
"""Assignment of types to the heads of a compared model: nearest type of the study's model, or clusters of the model itself."""
STUDY_MODEL = "squad"
"""Name of the study's model, which answers questions, among the compared models."""
SENTENCES = {
    SEGMENTS: "question and passage as the two sentences",
    SENTENCEX: "sentences of the passage, split by sentencex",
    STOPS: "sentences of the passage, split at full stops",
    WHOLE: "",
}
"""Definitions of a sentence, in words."""
_MODELS = {"pretrain": "Pre-trained", "squad": "SQuAD", "mrpc": "MRPC", "mnli": "MNLI", "qnli": "QNLI", "stsb": "STS-B"}


def model_title(name: str) -> str:
    """Title of a compared model in tables and figures."""
    return _MODELS.get(name, name)
