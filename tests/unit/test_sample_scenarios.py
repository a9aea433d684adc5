"""Every scenario can be written in full: no line, alternative or collocation uses a word that the lexicon lacks."""

import random

import pytest
from sample_corpus import discourse
from sample_corpus.grammar.base import Frame, Style
from sample_corpus.grammar.speech import English
from sample_corpus.lexicon import collocations, lexicon
from sample_corpus.notation import Group, expand, parse
from sample_corpus.reference import Discourse, Entity
from sample_corpus.structure import finish_surface, read_layers, spaces_after

from attention_atlas.errors import AtlasError


def grammar_for(cast=None, domain="news", seed=0, tense="past"):
    """A grammar with a small cast, for single lines."""
    return English(random.Random(seed), Discourse(cast or {}, domain), Style(True, 0.0), Frame(tense=tense))


def text_of(root):
    """Running text of a built sentence."""
    finish_surface(root)
    layers = read_layers(root)
    words = [leaf.form for leaf in layers.words]
    return "".join(w + " " * s for w, s in zip(words, spaces_after(layers.words), strict=True)).strip()


def relations(root, scheme):
    """{word: (head word, relation)} of a built sentence."""
    finish_surface(root)
    layers = read_layers(root)
    heads, labels = getattr(layers, f"{scheme}_heads"), getattr(layers, f"{scheme}_relations")
    forms = [leaf.form for leaf in layers.words]
    return {form: (forms[h - 1] if h else "ROOT", r) for form, h, r in zip(forms, heads, labels, strict=True)}


@pytest.mark.parametrize("scenario", discourse.scenarios(), ids=lambda s: s.name)
def test_every_line_can_be_written(scenario):
    for seed in range(4):
        rng = random.Random(seed)
        variables = {}
        for name, options in scenario.choices.items():
            variables[name] = expand(rng.choice(options), variables, rng)
        used = set()
        cast = {
            key: discourse._entity(key, expand(text, variables, rng), scenario.domain, rng, used)
            for key, text in scenario.cast.items()
        }
        grammar = English(rng, Discourse(cast, scenario.domain), Style(True, 0.2), Frame(tense=scenario.tense))
        for pool in scenario.paragraphs:
            for line in pool:
                root = grammar.line(parse(expand(line.removeprefix("! "), variables, rng)))
                assert text_of(root)


def test_collocations_use_known_words():
    words, table = lexicon(), collocations()
    for noun, (adjectives, compounds) in table.nouns.items():
        assert noun in words.nouns
        assert set(adjectives) <= words.adjectives.keys(), noun
        assert set(compounds) <= words.nouns.keys(), noun
    for verb, adverbs in table.verbs.items():
        assert verb in words.verbs
        assert set(adverbs) <= words.adverbs.keys(), verb
    assert table.synonyms["adjectives"].keys() <= words.adjectives.keys()
    assert table.synonyms["verbs"].keys() <= words.verbs.keys()


def test_notation_parses_groups_and_possessives():
    assert parse("the town 's plan [that : S | see] (to go)") == (
        "the", "town", "'s", "plan", Group("[", ("that", ":", "S", "|", "see")), Group("(", ("to", "go")),
    )  # fmt: skip
    assert parse("the workers' hall") == ("the", "workers", "'", "hall")
    with pytest.raises(AtlasError, match="never closed"):
        parse("a man [who | sleep")
    with pytest.raises(AtlasError, match="unmatched"):
        parse("a man who | sleep]")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("the teacher | not open | the old door", "The teacher did not open the old door."),
        ("the {children} | pass see | by an honest judge", "The children were seen by an honest judge."),
        ("the plan | be | older than the town", "The plan was older than the town."),
        ("nobody | know | (where : the boy | sleep)", "Nobody knew where the boy slept."),
        ("it! | be | possible | (that the train | stop)", "It was possible that the train stopped."),
        ("the man [who | perf take | the key] | go out", "The man who had taken the key went out."),
        ("the boy [whose dog | bark] | will come", "The boy whose dog barked will come."),
        ("there | be | two keys | in the box", "There were two keys in the box."),
        ("the box [that : the boy | look | for] | be | empty", "The box that the boy looked for was empty."),
        ("most of the keys | be | in the box", "Most of the keys were in the box."),
        ("neither the boy nor the girls | be | sad", "Neither the boy nor the girls were sad."),
    ],
)
def test_lines_become_the_expected_text(line, text):
    grammar = grammar_for()
    grammar.elaborating = False
    grammar.synonym = lambda kind, form: form
    assert text_of(grammar.line(parse(expand(line, {}, random.Random(0))))) == text


def test_heads_differ_between_the_schemes_where_they_should():
    grammar = grammar_for()
    grammar.elaborating = False
    sd = relations(grammar.line(parse("the key | be | in the box")), "sd")
    assert sd["was"] == ("ROOT", "root")
    assert sd["in"] == ("was", "prep")
    assert sd["box"] == ("in", "pobj")
    assert sd["key"] == ("was", "nsubj")
    ud = relations(grammar.line(parse("the key | be | in the box")), "ud")
    assert ud["box"] == ("ROOT", "root")
    assert ud["was"] == ("box", "cop")
    assert ud["in"] == ("box", "case")
    assert ud["key"] == ("box", "nsubj")


def test_a_word_that_the_lexicon_lacks_is_named():
    with pytest.raises(AtlasError, match="'blorp'"):
        grammar_for().line(parse("the blorp | sleep"))
    with pytest.raises(AtlasError, match="'blorp'"):
        grammar_for().line(parse("the boy | blorp"))
    with pytest.raises(AtlasError, match="@nobody_here"):
        grammar_for().line(parse("@nobody_here | sleep"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tell @x : sleep", "a command has no addressee"),
        ("the boy and [who | sleep] | sleep", "a noun phrase is missing"),
        ("the boy | know | (where : the girl : sleep)", "a wh-clause needs one colon"),
        ("ask @x to (the girl) : whether the boy | sleep", "a word is missing"),
    ],
)
def test_a_line_that_cannot_be_read_is_an_error(line, message):
    grammar = grammar_for({"x": Entity("x", "person", "he", ("Tom", "Hale"), ("Hale",))})
    with pytest.raises(AtlasError, match=message):
        grammar.line(parse(line))
