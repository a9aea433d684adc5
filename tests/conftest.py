"""Tests run side by side: one thread each, as small tensors gain nothing from more and wait for each other's processors."""

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
