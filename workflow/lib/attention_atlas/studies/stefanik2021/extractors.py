"""Names and limits of the comparison of keyphrase extractors; imports nothing heavy."""

from attention_atlas.studies.stefanik2021.names import EXACT

MOST_PHRASES = 60
"""Largest number of phrases per document that a ranker may propose; development documents choose the number up to it.

A tagger has no such limit: this one is meant to lie well above the number of gold phrases of an abstract."""
OCCURRENCES = f"{EXACT}_all_occurrences"
"""Phrase F1 where every occurrence of a proposed phrase is marked in the text. `names.PHRASE` scores the tags themselves, which
may mark some occurrences of a phrase and not others, so the same tagger has two scores."""
OCCURRENCES_TITLE = "phrase F1, all occurrences"
