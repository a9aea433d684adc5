"""Universal Dependencies to Stanford Dependencies: one short sentence for every rule, and trees at random.

A sentence is written as tokens `word/TAG/head:ud` or `word/TAG/head:ud/head:stanford`; without a fourth part the
Stanford arc is the same as the UD arc. The expected trees are made by hand after the Stanford manual.
"""

import numpy as np
import pytest

from attention_atlas.corpora.conllu import Tree, tree_fault
from attention_atlas.corpora.stanford import to_stanford

UPOS = {
    "IN": "ADP", "TO": "PART", "DT": "DET", "PDT": "DET", "CD": "NUM", "PRP": "PRON", "PRP$": "PRON", "WP": "PRON",
    "WDT": "PRON", "EX": "PRON", "CC": "CCONJ", "RP": "ADP", "POS": "PART", "MD": "AUX", "UH": "INTJ", "$": "SYM",
    ",": "PUNCT", ".": "PUNCT", ":": "PUNCT", "-LRB-": "PUNCT", "-RRB-": "PUNCT", "NNP": "PROPN",
}  # fmt: skip
BY_FIRST_LETTERS = {"NN": "NOUN", "VB": "VERB", "JJ": "ADJ", "RB": "ADV", "WR": "ADV"}

RULES = """\
prep and pobj | I/PRP/2:nsubj sat/VBD/0:root on/IN/5:case/2:prep the/DT/5:det chair/NN/2:obl/3:pobj
stacked prepositions | It/PRP/2:nsubj came/VBD/0:root from/IN/6:case/2:prep behind/IN/6:case/3:pcomp the/DT/6:det
    house/NN/2:obl/4:pobj
adverb before a phrase | He/PRP/2:nsubj left/VBD/0:root just/RB/5:advmod/4:advmod before/IN/5:case/2:prep noon/NN/2:obl/4:pobj
stranded preposition | that/WDT/3:obl/4:pobj we/PRP/3:nsubj live/VBP/0:root in/IN/1:case/3:prep
stranded preposition without object | easy/JJ/0:root to/TO/3:mark/3:aux work/VB/1:advcl/1:xcomp with/IN/3:obl/3:prep
passive with an agent | Troops/NNS/3:nsubj:pass/3:nsubjpass were/VBD/3:aux:pass/3:auxpass beaten/VBN/0:root
    by/IN/5:case/3:prep Clinton/NNP/3:obl:agent/4:pobj
clausal subject of a passive | That/IN/3:mark she/PRP/3:nsubj lied/VBD/5:csubj:pass/5:csubjpass was/VBD/5:aux:pass/5:auxpass
    suspected/VBN/0:root
possessive | Bill/NNP/3:nmod:poss/3:poss 's/POS/1:case/1:possessive clothes/NNS/0:root
possessive at a preposition | Meet/VB/0:root at/IN/3:case/1:prep Sam/NNP/1:obl/2:pobj 's/POS/3:case/3:possessive
lone indirect object | I/PRP/2:nsubj told/VBD/0:root her/PRP/2:iobj/2:dobj
infinitive | She/PRP/2:nsubj likes/VBZ/0:root to/TO/4:mark/4:aux swim/VB/2:xcomp
adjective after an object | We/PRP/2:nsubj found/VBD/0:root it/PRP/2:obj/2:dobj easy/JJ/2:xcomp
infinitival complement | Something/NN/0:root easy/JJ/1:amod to/TO/4:mark/4:aux do/VB/2:ccomp/2:xcomp
question complement | I/PRP/2:nsubj know/VBP/0:root what/WP/5:obj/5:dobj to/TO/5:mark/5:aux do/VB/2:ccomp
ready to | I/PRP/3:nsubj am/VBP/3:cop ready/JJ/0:root to/TO/5:mark/5:aux leave/VB/3:advcl/3:xcomp ././3:punct
comma at the edge of a clause | When/WRB/3:advmod he/PRP/3:nsubj left/VBD/6:advcl ,/,/3:punct/6:punct we/PRP/6:nsubj
    slept/VBD/0:root
preposition before a gerund | He/PRP/2:nsubj won/VBD/0:root by/IN/4:mark/2:prep cheating/VBG/2:advcl/3:pcomp
preposition before a finite clause | doubts/NNS/0:root about/IN/5:mark/1:prep whether/IN/5:mark they/PRP/5:nsubj
    came/VBD/1:acl/2:pcomp
small clause | With/IN/4:mark/6:prep the/DT/3:det war/NN/4:nsubj over/RB/6:advcl/1:pcomp we/PRP/6:nsubj left/VBD/0:root
for with an infinitive | time/NN/0:root for/IN/5:mark us/PRP/5:nsubj to/TO/5:mark/5:aux go/VB/1:acl/1:infmod
participles | truffles/NNS/0:root picked/VBN/1:acl/1:partmod by/IN/4:case/2:prep hand/NN/2:obl/3:pobj
complement of a noun | the/DT/2:det fact/NN/0:root that/IN/5:mark you/PRP/5:nsubj lied/VBD/2:acl/2:ccomp
noun compound | Oil/NN/3:compound/3:nn price/NN/3:compound/3:nn futures/NNS/0:root
compound on a participle | gas/NN/3:compound/3:npadvmod -/:/1:punct/3:punct fired/VBN/4:amod plants/NNS/0:root
name headed by its last word | saw/VBD/0:root old/JJ/3:amod/5:amod Jennifer/NNP/1:obj/5:nn M./NNP/3:flat/5:nn
    Anderson/NNP/3:flat/1:dobj
name in a phrase | works/VBZ/0:root for/IN/3:case/1:prep John/NNP/1:obl/4:nn Smith/NNP/3:flat/2:pobj
name with a number | the/DT/2:det/2:det Boeing/NNP/0:root 747/CD/2:flat/2:num
quantifier | About/RB/2:advmod/2:quantmod 200/CD/3:nummod/3:num people/NNS/4:nsubj came/VBD/0:root
more than | More/JJR/3:advmod/2:mwe than/IN/1:fixed/3:quantmod 200/CD/4:nummod/4:num people/NNS/5:nsubj came/VBD/0:root
date | on/IN/3:case/0:root March/NNP/3:nmod:unmarked/1:pobj 28/CD/0:root/2:num ,/,/5:punct/2:punct
    2005/CD/3:nmod:unmarked/2:num
clock | at/IN/2:case/0:root 2/CD/0:root/3:num PM/NN/2:nmod:unmarked/1:pobj
negation | Bill/NNP/3:nsubj does/VBZ/3:aux drive/VB/0:root n't/RB/3:advmod/3:neg
coordination | big/JJ/0:root ,/,/3:punct/1:punct fat/JJ/1:conj ,/,/6:punct/1:punct and/CC/6:cc/1:cc honest/JJ/1:conj
coordinated phrases | lives/VBZ/0:root in/IN/3:case/1:prep Rome/NNP/1:obl/2:pobj and/CC/6:cc/2:cc in/IN/6:case/2:conj
    Paris/NNP/3:conj/5:pobj
phrase and adverb | lives/VBZ/0:root in/IN/3:case/1:prep Rome/NNP/1:obl/2:pobj and/CC/5:cc/2:cc elsewhere/RB/3:conj/2:conj
copula and phrase | Bill/NNP/6:nsubj/2:nsubj is/VBZ/6:cop/0:root not/RB/6:advmod/2:neg in/IN/6:case/2:prep the/DT/6:det
    house/NN/0:root/4:pobj today/NN/6:obl:unmarked/2:tmod ././6:punct/2:punct
copula and coordinated clause | He/PRP/4:nsubj/2:nsubj is/VBZ/4:cop/0:root in/IN/4:case/2:prep bed/NN/0:root/3:pobj
    and/CC/7:cc/2:cc she/PRP/7:nsubj works/VBZ/4:conj/2:conj
copula and that-clause | The/DT/2:det point/NN/6:nsubj:outer/3:nsubj is/VBZ/6:cop/0:root that/IN/6:mark we/PRP/6:nsubj
    lost/VBD/0:root/3:ccomp ././6:punct/3:punct
copula and infinitive | The/DT/2:det plan/NN/5:nsubj/3:nsubj is/VBZ/5:cop/0:root to/TO/5:mark/5:aux win/VB/0:root/3:xcomp
existential there | There/EX/2:expl is/VBZ/0:root a/DT/4:det ghost/NN/2:nsubj
extraposed that-clause | It/PRP/3:expl/3:nsubj is/VBZ/3:cop clear/JJ/0:root that/IN/6:mark we/PRP/6:nsubj
    lost/VBD/3:csubj/3:ccomp
extraposed infinitive | It/PRP/3:expl/3:nsubjpass was/VBD/3:aux:pass/3:auxpass decided/VBN/0:root to/TO/5:mark/5:aux
    go/VB/3:csubj/3:xcomp
according to | left/VBD/0:root according/VBG/4:case/1:prep to/IN/2:fixed/2:pcomp him/PRP/1:obl/3:pobj
as well as | dogs/NNS/0:root as/RB/5:cc/3:mwe well/RB/2:fixed/1:cc as/IN/2:fixed/3:mwe cats/NNS/1:conj
of course | of/IN/4:advmod/4:prep course/NN/1:fixed/1:pobj we/PRP/4:nsubj lost/VBD/0:root
time and measure | Last/JJ/2:amod night/NN/4:obl:unmarked/4:tmod I/PRP/4:nsubj swam/VBD/0:root 65/CD/6:nummod/6:num
    miles/NNS/4:obl:unmarked/4:npadvmod
a share | $/$/0:root 5/CD/1:nummod/1:num a/DT/4:det share/NN/1:nmod:unmarked/1:npadvmod
apposition and commas | Sam/NNP/6:nsubj ,/,/4:punct/1:punct my/PRP$/4:nmod:poss/4:poss brother/NN/1:appos
    ,/,/4:punct/6:punct left/VBD/0:root
parenthesis and interjection | Well/UH/3:discourse he/PRP/3:nsubj lost/VBD/0:root ,/,/6:punct/3:punct he/PRP/6:nsubj
    said/VBD/3:parataxis
relations without a counterpart | Guys/NNS/2:vocative/2:dep look/VB/0:root this/DT/2:dislocated/2:dep one/CD/2:list/2:dep
    a/DT/2:reparandum/2:dep x/NN/2:orphan/2:dep y/NN/2:dep z/NN/2:clf/2:dep
words written apart | with/IN/3:case/0:root out/IN/1:goeswith help/NN/0:root/1:pobj
unknown subtypes | der/DT/2:det:foo/2:det Hund/NN/3:nsubj:bar/3:nsubj bellt/VBZ/0:root laut/RB/3:advmod:baz/3:advmod
"""
SENTENCES = dict(rule.split(" | ") for rule in RULES.strip().replace("\n    ", " ").split("\n"))
"""Rule -> its sentence; a line that is indented goes on with the sentence before it."""


def parse(text: str) -> tuple[Tree, Tree]:
    """The UD tree and the expected Stanford tree of a sentence in the notation of this file."""
    tokens = [token.split("/") for token in text.split()]
    words, tags = tuple(token[0] for token in tokens), tuple(token[1] for token in tokens)
    facts = {
        "lemmas": tuple(word.lower().removesuffix("s") for word in words),
        "upos": tuple(UPOS.get(tag) or BY_FIRST_LETTERS[tag[:2]] for tag in tags),
        "xpos": tags,
    }
    sides = (zip(*(token[place].split(":", 1) for token in tokens), strict=True) for place in (2, -1))
    ud, stanford = (Tree("t", words, tuple(map(int, heads)), relations, **facts) for heads, relations in sides)
    return ud, stanford


def shown(tree: Tree) -> list[str]:
    """Readable arcs, so that a failure shows the words."""
    return [f"{tree.relations[i]}({(*tree.words, 'ROOT')[tree.heads[i] - 1]}, {w})" for i, w in enumerate(tree.words)]


@pytest.mark.parametrize("name", SENTENCES)
def test_rule(name):
    ud, expected = parse(SENTENCES[name])
    assert tree_fault(ud) is tree_fault(expected) is None, "the sentence of the test"
    converted = to_stanford(ud)
    assert shown(converted) == shown(expected)
    assert converted == expected


def test_any_tree_stays_a_tree_over_the_same_words():
    random = np.random.default_rng(11)
    bank = [parse(text)[0] for text in SENTENCES.values()]
    tokens = [token for tree in bank for token in zip(tree.words, tree.upos, tree.xpos, tree.relations, strict=True)]
    relations = sorted({token[3] for token in tokens} | {"flat:name", "compound:nn", "obl:tmod", "case:loc"})
    changed = 0
    for _ in range(1500):
        size = int(random.integers(1, 13))
        words, upos, xpos, arcs = zip(*(tokens[k] for k in random.integers(0, len(tokens), size)), strict=True)
        arcs = [relation if random.random() < 0.5 else str(random.choice(relations)) for relation in arcs]
        order = random.permutation(size) + 1
        heads = [0] * size
        for place in range(1, size):
            heads[order[place] - 1] = int(order[random.integers(0, place)])
        arcs[order[0] - 1] = "root"
        tree = Tree("t", words, tuple(heads), tuple(arcs), upos=upos, xpos=xpos)
        converted = to_stanford(tree)
        assert tree_fault(converted) is None, tree
        assert (converted.words, converted.xpos) == (tree.words, tree.xpos)
        assert all(":" not in relation and relation for relation in converted.relations)
        assert converted.relations.count("root") == 1
        changed += converted.heads != tree.heads
    assert changed > 250
