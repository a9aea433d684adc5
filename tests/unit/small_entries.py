"""Keys that registry entries of corpora have by default, for tests that build examples without a configuration."""

FILE_ORDER = {"order": "file", "seed": 0, "skip": 0}
"""Records in the order of the file (the default is a seeded random one)."""
KEYPHRASES = {"stemmed": False, "document_names": []}
"""Keys of the reader keyphrases."""
