"""Michel et al. (2019), Are Sixteen Heads Really Better than One?"""

from attention_atlas.workflow.shown import named

__getattr__, __dir__ = named(__name__)
