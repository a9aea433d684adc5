"""The whole grammar: all construction families in one class."""

from __future__ import annotations

from sample_corpus.grammar.speech import Speech


class English(Speech):
    """Writes English sentences, with every gold layer in their structure, from lines of the scenario notation."""
