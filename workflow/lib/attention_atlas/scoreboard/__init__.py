"""The scoreboard: published values and claims of all studies beside ours."""

from attention_atlas.workflow.shown import named

__getattr__, __dir__ = named(__name__)
