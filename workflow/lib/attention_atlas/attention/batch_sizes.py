"""Batch sizes of model passes and training, which determine the resources of jobs (see `costs`)."""

EXTRACTION_TOKENS = 2048
"""Padded tokens of a batch of forward passes."""
GRADIENT_TOKENS = 1024
"""Padded tokens of a batch of backward passes."""
LOSS_TOKENS = 1024
"""Padded tokens of a batch with losses; a model with a head computes vocabulary scores for every token."""
PROBE_CHUNK = 512
"""Sentences in memory while probes are trained."""
