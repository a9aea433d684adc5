"""Clark et al. (2019), What Does BERT Look At?"""

from attention_atlas.workflow.shown import named

__getattr__, __dir__ = named(__name__)
PREDICTED = "predicted"
"""Queries that a mean gradient of Figure 3 is over: those of the predicted tokens."""
