"""Names that figures of the study share; imports nothing heavy."""

PUBLISHED_MODEL = "BERT-base"
"""The model of the paper's figures."""
