"""The atlas: one row per head over all studies, correlations between measures, and findings across papers."""

from attention_atlas.workflow.shown import named

__getattr__, __dir__ = named(__name__)
