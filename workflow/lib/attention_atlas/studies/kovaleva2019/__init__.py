"""Kovaleva et al. (2019), Revealing the Dark Secrets of BERT."""

from attention_atlas.workflow.shown import named

__getattr__, __dir__ = named(__name__)
