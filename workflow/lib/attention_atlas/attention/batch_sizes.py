"""Batch sizes of model passes and training, which determine the resources of jobs (see `workflow.resources`)."""

EXTRACTION_TOKENS = 2048  # padded tokens of a batch of forward passes
GRADIENT_TOKENS = 1024  # padded tokens of a batch of backward passes
LOSS_TOKENS = 1024  # padded tokens of a batch with losses; a model with a head computes vocabulary scores for every token
SEARCH_TOKENS = 1024
"""Padded tokens of the sentences in a batch of a search: few, because the longest translation of a batch, which under a mask
may repeat itself to the end, keeps all others waiting."""
PROBE_CHUNK = 512  # sentences in memory while probes are trained
