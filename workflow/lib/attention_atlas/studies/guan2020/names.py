"""Names of the compared models, and of the assignments of types to their heads."""

FITS = ("reused", "refitted")
"""Assignment of types to the heads of a compared model: nearest type of the study's model, or clusters of the model itself."""
STUDY_MODEL = "squad"
"""Name of the study's model, which answers questions, among the compared models."""
_MODELS = {"pretrain": "Pre-trained", "squad": "SQuAD", "mrpc": "MRPC", "mnli": "MNLI", "qnli": "QNLI", "stsb": "STS-B"}


def model_title(name: str) -> str:
    """Title of a compared model in tables and figures."""
    return _MODELS.get(name, name)
