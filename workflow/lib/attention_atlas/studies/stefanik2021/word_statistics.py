"""Features of a word without any model: its position, frequency and form. A control for the contribution of attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from attention_atlas.corpora.keyphrases import stem

Floats = npt.NDArray[np.float64]
WORD_STATISTICS = (
    *("place", "first_place", "log_frequency", "log_inverse_document_frequency", "tf_idf", "length"),
    *("has_letters", "capitalised", "stop_word"),
)


def word_statistics(texts: Sequence[Sequence[str]]) -> Floats:
    """[word, `WORD_STATISTICS`] of the words of all texts, one text after the other.

    Positions of the word and of the first word with its stem are shares of the length of the text. Frequencies are of stems: in
    the text, and the number of texts with the stem.
    """
    stems = [[stem(word.lower()) for word in words] for words in texts]
    texts_with = Counter(name for names in stems for name in set(names))
    rows = []
    for words, names in zip(texts, stems, strict=True):
        counts, first = Counter(names), {name: place for place, name in reversed(list(enumerate(names)))}
        for place, (word, name) in enumerate(zip(words, names, strict=True)):
            frequency, rarity = np.log(counts[name]), np.log(len(texts) / texts_with[name])
            form = any(letter.isalpha() for letter in word), word[:1].isupper(), word.lower() in ENGLISH_STOP_WORDS
            places = place / len(words), first[name] / len(words)
            rows.append([*places, frequency, rarity, (1 + frequency) * rarity, len(word), *form])
    return np.array(rows, dtype=np.float64)
