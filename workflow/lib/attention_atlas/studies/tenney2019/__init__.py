"""Tenney et al. (2019), BERT Rediscovers the Classical NLP Pipeline."""

from attention_atlas.workflow.shown import named

__getattr__, __dir__ = named(__name__)
