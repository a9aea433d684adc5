"""Štefánik, Attention Semantics: attention as a keyphrase detector."""
