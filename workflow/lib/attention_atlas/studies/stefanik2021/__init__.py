"""Štefánik (2021), Attention Semantics."""

from attention_atlas.workflow.shown import named

__getattr__, __dir__ = named(__name__)
