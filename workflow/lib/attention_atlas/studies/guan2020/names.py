"""Names of the types of heads, and of the models that they are compared across."""

FITS = ("reused", "refitted")
"""How the heads of a compared model get their types: by those of the study's own model, or by clusters of their own."""
OWN = "squad"
"""Name of the study's own model, which answers questions, among those that are compared."""
_MODELS = {"pretrain": "Pre-trained", "squad": "SQuAD", "mrpc": "MRPC", "mnli": "MNLI", "qnli": "QNLI", "stsb": "STS-B"}


def model_title(name: str) -> str:
    """What tables and figures call a compared model."""
    return _MODELS.get(name, name)
