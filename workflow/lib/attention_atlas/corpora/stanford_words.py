"""Closed word lists for the conversion to Stanford Dependencies, all in lower case."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _phrases(phrases: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split()) for phrase in phrases.split(","))


NEGATIONS = _set("not n't n’t nt never")
POSSESSIVES = _set("'s ’s ' ’ s'")
PARTING_MARKS = _set(", ; : - -- – —")

MONTHS = _set(
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
DAY_HALVES = _set("am pm a.m. p.m. a.m p.m")
TIME_NOUNS = (
    MONTHS
    | _set("monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri sat sun")
    | _set("second minute hour day night morning afternoon evening noon midnight week weekend month quarter year yr")
    | _set("decade century time moment period today tomorrow yesterday tonight spring summer fall autumn winter season")
)

PHRASE_ADVERBS = _set("right well far just straight directly shortly exactly halfway")
"""Adverbs that modify the prepositional phrase after them rather than the verb before."""

ALWAYS_PREPOSITIONS = _set(
    "of by about at from into on upon with without in despite over through toward towards between against"
)
"""Words that are prepositions for the Penn Treebank before any clause ("of whether they came")."""

NEVER_PREPOSITIONS = _set("that if whether because while although though unless once so lest whereas when where how why")
"""Words that are subordinating conjunctions even before a participle ("while reading")."""

LAST_WORD_HEADS = _phrases("because of,b/c of,such as,instead of,due to,as well,more than,less than,fewer than,up to")
"""Multiword expressions headed by their last word."""

STACKED_PREPOSITIONS = _phrases("according to,prior to,as of,as to,as for,out of")
"""Pairs in which the second word heads a prepositional phrase inside that of the first."""
