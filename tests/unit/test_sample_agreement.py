"""Agreement and morphology of generated sentences, checked by rules that know nothing of the generator."""

import itertools

import pytest
from sample_corpus.generate import generate_documents
from sample_corpus.lexicon import plural_of, verb_form
from sample_corpus.structure import starts_with_vowel_sound

_SINGULAR_PRONOUNS = {"he", "she", "it", "everyone", "someone", "nobody", "nothing", "something", "this", "that", "each"}
_PLURAL_FORMS = {"these", "those", "we", "they", "all", "some", "others", "both", "most", "many", "few"}
_SHARES = {"half", "percent", "third", "most", "majority", "rest"}


@pytest.fixture(scope="module")
def sentences():
    return [sentence for document in generate_documents(250, 23) for sentence in document.sentences]


def dependents(sentence, position, relation=None):
    """1-indexed positions of the SD dependents of a token."""
    return [
        index
        for index, token in enumerate(sentence.tokens, start=1)
        if token.sd_head == position and relation in (None, token.sd_relation)
    ]


def number_of(sentence, position):
    """ "sing", "plur" or "" (unknown) of a subject, by its head word and its dependents alone."""
    token = sentence.tokens[position - 1]
    if token.xpos in ("WDT", "WP"):
        return ""
    conjuncts = dependents(sentence, position, "conj")
    joined = [sentence.tokens[i - 1].form for i in dependents(sentence, position, "cc")]
    if conjuncts:
        return "plur" if joined == ["and"] else number_of(sentence, conjuncts[-1])
    if token.form.lower() in _SHARES:
        inner = [o for p in dependents(sentence, position, "prep") for o in dependents(sentence, p, "pobj")]
        return number_of(sentence, inner[0]) if inner else ""
    if token.lemma in ("I", "you"):
        return "plur"
    if token.form.lower() in _PLURAL_FORMS or token.xpos in ("NNS",):
        return "plur"
    if token.xpos == "CD":
        return "sing" if token.form.lower() == "one" else "plur"
    if token.form.lower() in _SINGULAR_PRONOUNS or token.xpos == "NN":
        return "sing"
    return ""


def finite_verb(sentence, head):
    """The finite verb of the clause headed by `head`: its first auxiliary, its copula, or itself."""
    group = [i for i in dependents(sentence, head) if sentence.tokens[i - 1].sd_relation in ("aux", "auxpass", "cop")]
    first = min([*group, head])
    finite = [i for i in [*group, head] if sentence.tokens[i - 1].xpos in ("VBZ", "VBP", "VBD", "MD")]
    return min(finite) if finite else first


def test_subjects_agree_with_their_verbs(sentences):
    checked = 0
    for sentence in sentences:
        for token in sentence.tokens:
            if token.sd_relation not in ("nsubj", "nsubjpass"):
                continue
            subject = next(i for i, t in enumerate(sentence.tokens, start=1) if t is token)
            verb = sentence.tokens[finite_verb(sentence, token.sd_head) - 1]
            number = number_of(sentence, subject)
            if number == "sing":
                assert verb.xpos != "VBP", sentence.text
                assert verb.form.lower() not in ("were", "are", "have", "'re") or verb.xpos == "VB", sentence.text
            if number == "plur":
                assert verb.xpos != "VBZ", sentence.text
                if token.lemma != "I":
                    assert verb.form.lower() not in ("was", "is", "has"), sentence.text
            checked += bool(number)
    assert checked > 2000


def test_articles_fit_the_following_sound(sentences):
    for sentence in sentences:
        for token, following in zip(sentence.tokens, sentence.tokens[1:], strict=False):
            if token.lemma == "a" and token.xpos == "DT":
                expected = "an" if starts_with_vowel_sound(following.form) else "a"
                assert token.form.lower() == expected, sentence.text


@pytest.mark.parametrize(
    ("following", "vowel"),
    [("hour", True), ("honest", True), ("house", False), ("university", False), ("unusual", True), ("European", False),
     ("one", False), ("old", True), ("8", True), ("80", True), ("11", True), ("18", True), ("useful", False)],
)  # fmt: skip
def test_vowel_sounds(following, vowel):
    assert starts_with_vowel_sound(following) is vowel


def test_determiners_agree_with_nouns(sentences):
    for sentence in sentences:
        for token in sentence.tokens:
            if token.sd_relation != "det":
                continue
            noun = sentence.tokens[token.sd_head - 1]
            counted = any(t.sd_head == token.sd_head and t.sd_relation in ("num", "amod") for t in sentence.tokens)
            if token.form.lower() in ("a", "an", "this", "that", "each", "every", "another") and not counted:
                assert noun.xpos not in ("NNS", "NNPS"), sentence.text
            if token.form.lower() in ("these", "those", "both"):
                assert noun.xpos not in ("NN", "NNP"), sentence.text


def test_personal_pronouns_have_the_case_of_their_function(sentences):
    nominative, accusative = {"i", "he", "she", "we", "they"}, {"me", "him", "us", "them"}
    seen = set()
    for sentence in sentences:
        for token in sentence.tokens:
            form = token.form.lower()
            if token.xpos == "PRP" and token.sd_relation in ("nsubj", "nsubjpass"):
                assert form not in accusative, sentence.text
                seen.add(form)
            if token.xpos == "PRP" and token.sd_relation in ("dobj", "iobj", "pobj"):
                assert form not in nominative, sentence.text
                seen.add(form)
    assert {"i", "he", "she"} <= seen


def test_verb_forms_fit_their_auxiliaries(sentences):
    wanted = {"MD": {"VB"}, "have": {"VBN"}, "be": {"VBN", "VBG"}, "do": {"VB"}, "to": {"VB"}}
    checked = 0
    for sentence in sentences:
        for head in range(1, len(sentence.tokens) + 1):
            auxiliaries = dependents(sentence, head, "aux") + dependents(sentence, head, "auxpass")
            copulas = dependents(sentence, head, "cop")
            verbs = sorted([*auxiliaries, *copulas, *([] if copulas else [head])])
            for first, second in itertools.pairwise(verbs):
                governor, verb = sentence.tokens[first - 1], sentence.tokens[second - 1]
                assert verb.xpos in wanted["MD" if governor.xpos == "MD" else governor.lemma], sentence.text
                checked += 1
    assert checked > 800


@pytest.mark.parametrize(
    ("lemma", "tag", "form"),
    [("stop", "VBD", "stopped"), ("carry", "VBD", "carried"), ("watch", "VBZ", "watches"), ("lie", "VBG", "lying"),
     ("write", "VBN", "written"), ("go", "VBZ", "goes"), ("admit", "VBG", "admitting"), ("open", "VBG", "opening"),
     ("agree", "VBG", "agreeing"), ("read", "VBD", "read"), ("run", "VBD", "ran"), ("play", "VBZ", "plays"),
     ("travel", "VBD", "travelled"), ("begin", "VBN", "begun"), ("visit", "VBD", "visited"), ("have", "VBZ", "has")],
)  # fmt: skip
def test_inflection(lemma, tag, form):
    assert verb_form(lemma, tag) == form


@pytest.mark.parametrize(("singular", "plural"), [("city", "cities"), ("box", "boxes"), ("day", "days"), ("match", "matches")])
def test_plurals(singular, plural):
    assert plural_of(singular) == plural


def test_sentences_begin_with_a_capital_and_end_with_a_mark(sentences):
    for sentence in sentences:
        first = next(token for token in sentence.tokens if token.form != '"')
        assert first.form[0].isupper() or first.form[0].isdigit(), sentence.text
        assert sentence.text[-1] in '.?"', sentence.text
        assert sentence.text.count('"') % 2 == 0
