"""Keys that registry entries of corpora have by default, for tests that build examples without a configuration; raw files."""

from pathlib import Path

FILE_ORDER = {"order": "file", "seed": 0, "skip": 0}
"""Records in the order of the file (the default is a seeded random one)."""
KEYPHRASES = {"stemmed": False, "document_names": []}
"""Keys of the reader keyphrases."""


def written(path: Path, content: str | bytes) -> Path:
    """The path of a file, once it has this content."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
    return path
