"""Guan et al. (2020), How Far Does BERT Look At."""

from attention_atlas.workflow.shown import named

__getattr__, __dir__ = named(__name__)
