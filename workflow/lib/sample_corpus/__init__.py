"""The generator of English text with all its annotation."""

LABELLED_TASKS = ("mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli")
"""Tasks of GLUE that the generated corpus has; the reader (`attention_atlas.corpora.glue`) may know more."""
