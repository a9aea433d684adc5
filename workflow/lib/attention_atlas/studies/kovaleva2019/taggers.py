"""Whether spaCy and a model of it are installed, without loading them."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def missing_tagger(name: str) -> str:
    """Why a corpus without gold tags has no tags; empty where spaCy and its model (a package, or a folder) are installed."""
    if importlib.util.find_spec("spacy") is None:
        return f"no gold tags, and spaCy is not installed (pip install spacy, python -m spacy download {name})"
    if not Path(name).is_dir() and importlib.util.find_spec(name) is None:
        return f"no gold tags, and spaCy's model {name} is not installed (python -m spacy download {name})"
    return ""
