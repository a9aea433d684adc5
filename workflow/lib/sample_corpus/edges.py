"""Edge-probing records on the sample corpus: eight tasks on the same sentences, all read from their layers by rule."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from nltk import Tree as Constituents

from attention_atlas.corpora.conllu import children, subtree
from attention_atlas.corpora.edges import EdgeRecord, constituent_targets, coreference_targets
from attention_atlas.corpora.layers import EdgeTarget, WordSpan
from sample_corpus.generate import Document, Mention, Sentence, Token

# Thematic role -> number of the argument (all verbs of the lexicon have their roles in the order subject, objects).
_NUMBERED = {"agent": "ARG0", "experiencer": "ARG0", "recipient": "ARG2", "source": "ARG2"}
_SUBJECTS, _PASSIVE_SUBJECTS, _CLAUSES = ("nsubj", "csubj"), ("nsubjpass", "csubjpass"), ("ccomp", "xcomp")
_RELATIVE_PRONOUNS = {"who", "which", "that", "whom"}
_TIME_TYPES = {"DATE", "TIME"}
_TIME_PREPOSITIONS = {"before", "after", "since", "until", "during", "within"}
_PLACE_PREPOSITIONS = set(
    "in on at near over under behind beside across through between above inside outside among below along around into".split()
)
_OTHER_PREPOSITIONS = {"with": "ARGM-MNR", "without": "ARGM-MNR", "for": "ARGM-PRP", "despite": "ARGM-ADV", "as": "ARGM-PRD"}
_TIME_ADVERBS = set(
    "now still already yet often finally ago usually early regularly once again meanwhile soon ever late first".split()
)
_PLACE_ADVERBS = set("there abroad away everywhere".split())
_QUESTIONS = {"why": "ARGM-CAU", "when": "ARGM-TMP", "how": "ARGM-MNR", "where": "ARGM-LOC"}
_TIME_NOUNS = set(
    "year month week day hour minute morning evening night noon midnight century spring summer autumn winter".split()
)
_CLAUSE_MARKS = {"because": "ARGM-CAU", "after": "ARGM-TMP", "before": "ARGM-TMP", "until": "ARGM-TMP", "while": "ARGM-TMP"}

_CREATION = set("build write bake make produce design create develop paint plant publish compose draw found record".split())
_DESTRUCTION = set("destroy cancel eat kill drink ruin burn demolish remove close".split())
_EFFECT = set(
    "cause affect damage destroy push force cut hurt ruin reduce raise stop change close cover break threaten".split()
)
_MOTION = set(
    "travel move walk come go return bring send carry drive run climb throw push leave deliver sail fall drop".split()
)
_TRANSFER = set("give sell buy offer pay send lend steal lose receive win get present".split())
_WHOLES = set("University half most number some many any few hundred dozen percent third one each all help loss".split())
_COLLECTIONS = set("group pair union family team board crowd row series list basket number dozen collection".split())
_NOUNS = {"NOUN", "PROPN"}
_NOMINALS = _NOUNS | {"PRON"}


def edge_lines(documents: Iterable[Document]) -> Iterator[str]:
    """One sentence per line with the targets of all eight tasks, each of which names its task."""
    for document in documents:
        for number, sentence in enumerate(document.sentences):
            yield edge_line(edge_record(document, number, sentence))


def edge_line(record: EdgeRecord) -> str:
    """A record as a line of JSON, including the newline."""
    targets = []
    for target in record.targets:
        spans: dict[str, Any] = {"span1": list(target.span1)}
        if target.span2 is not None:
            spans["span2"] = list(target.span2)
        label = target.labels[0] if len(target.labels) == 1 else list(target.labels)
        targets.append(spans | {"label": label} | ({"task": target.task} if target.task else {}))
    info = {"id": record.id} | ({} if record.document is None else {"document": record.document})
    return json.dumps({"text": " ".join(record.words), "targets": targets, "info": info}, ensure_ascii=False) + "\n"


def edge_record(document: Document, number: int, sentence: Sentence) -> EdgeRecord:
    """The targets of a sentence of a document, counted from 0, in the order of the paper's tasks."""
    tokens = sentence.tokens
    mentions = [mention for mention in document.mentions if mention.sentence == number]
    # What is mentioned once in a document is in no chain, as in OntoNotes.
    chained = [((m.start, m.stop), m.entity) for m in mentions if not m.singleton]
    below = children([token.sd_head for token in tokens])
    predicates = list(_predicates(sentence, below))
    targets = [EdgeTarget((k, k + 1), None, (token.xpos,), "pos") for k, token in enumerate(tokens)]
    targets += constituent_targets(Constituents.fromstring(sentence.brackets))
    for k, token in enumerate(tokens):
        head = token.ud_head - 1 if token.ud_head else k
        targets.append(EdgeTarget((k, k + 1), (head, head + 1), (token.ud_relation,), "dependencies"))
    targets += [EdgeTarget((e.start, e.stop), None, (e.type,), "entities") for e in sentence.entities]
    for predicate in predicates:
        targets += [EdgeTarget(predicate.span, a.span, (a.label,), "roles") for a in predicate.arguments]
    targets += coreference_targets(chained)
    persons = _persons(document, sentence, mentions)
    for predicate in predicates:
        targets += _protoroles(tokens, predicate, persons)
    targets += _relations(tokens, below)
    return EdgeRecord(sentence.id, tuple(token.form for token in tokens), tuple(targets), document.id)


class _Argument(NamedTuple):
    """An argument of a predicate: its head word (from 0), all its words, and its role as in PropBank."""

    head: int
    span: WordSpan
    label: str


class _Predicate(NamedTuple):
    """A verb (from 0) with its arguments."""

    word: int
    arguments: list[_Argument]

    @property
    def span(self) -> WordSpan:
        return self.word, self.word + 1


def _predicates(sentence: Sentence, below: Sequence[Sequence[int]]) -> Iterator[_Predicate]:
    tokens = sentence.tokens
    types = {place: entity.type for entity in sentence.entities for place in range(entity.start, entity.stop)}
    for word, token in enumerate(tokens):
        roles = token.slots.get("roles", ())
        if not roles or roles == ("auxiliary",) or token.sd_relation in ("aux", "auxpass", "cop"):
            continue
        predicate = _Predicate(word, [])
        for head, label in _labelled(tokens, below, word, roles, types):
            span = subtree(below, head + 1)
            if span[0] <= word < span[1]:
                span = (head, head + 1)
            predicate.arguments.append(_Argument(head, span, label))
        if predicate.arguments:
            yield predicate


def _labelled(
    tokens: Sequence[Token], below: Sequence[Sequence[int]], word: int, roles: Sequence[str], types: dict[int, str]
) -> Iterator[tuple[int, str]]:
    """Head words of a verb's arguments with their roles, in the order of the words."""
    token = tokens[word]
    dependents = [place - 1 for place in below[word + 1]]
    passive = any(tokens[place].sd_relation in ("auxpass", *_PASSIVE_SUBJECTS) for place in dependents) or (
        token.sd_relation == "partmod" and token.xpos == "VBN"
    )
    objects = [role for role in roles[1:] if role != "recipient"]
    object_label = _NUMBERED.get(objects[0], "ARG1") if objects else "ARG1"
    agent_label = _NUMBERED.get(roles[0], "ARG1")
    subject_label = object_label if passive else agent_label
    if not passive and subject_label == object_label:
        object_label = "ARG2"
    both = {"dobj", *_CLAUSES} & {tokens[place].sd_relation for place in dependents}
    arguments: list[tuple[int, str]] = []
    for place in dependents:
        relation, lemma = tokens[place].sd_relation, tokens[place].lemma
        if relation in (*_SUBJECTS, *_PASSIVE_SUBJECTS):
            relative = token.sd_relation == "rcmod" and lemma in _RELATIVE_PRONOUNS
            arguments.append((place, f"R-{subject_label}" if relative else subject_label))
            if relative:
                arguments.append((token.sd_head - 1, subject_label))
        elif relation in ("dobj", *_CLAUSES) and not passive:
            # The recipient of a message, next to its content.
            arguments.append((place, "ARG2" if relation == "dobj" and len(both) > 1 else object_label))
        elif relation == "iobj":
            arguments.append((place, "ARG2"))
        elif label := _modifier(tokens, below, place, passive, agent_label, types):
            arguments.append((place, label))
    # A coordinated verb without a subject shares that of the verb before it.
    if token.sd_relation == "conj" and not any(tokens[p].sd_relation in (*_SUBJECTS, *_PASSIVE_SUBJECTS) for p in dependents):
        before = tokens[token.sd_head - 1]
        shared = [p - 1 for p in below[token.sd_head] if tokens[p - 1].sd_relation in _SUBJECTS]
        arguments += [(place, subject_label) for place in shared if before.upos == "VERB"]
    if token.sd_relation == "partmod" and tokens[token.sd_head - 1].upos in _NOMINALS:
        arguments.append((token.sd_head - 1, subject_label))
    return iter(sorted(arguments))


def _modifier(
    tokens: Sequence[Token], below: Sequence[Sequence[int]], place: int, passive: bool, agent: str, types: dict[int, str]
) -> str:
    """Role of a modifier of a verb; empty where the dependent is no modifier."""
    token = tokens[place]
    relation, lemma = token.sd_relation, token.lemma.lower()
    if relation == "neg":
        return "ARGM-NEG"
    if relation == "aux" and token.xpos == "MD":
        return "ARGM-MOD"
    if relation in ("tmod", "npadvmod") and types.get(place) in _TIME_TYPES:
        return "ARGM-TMP"
    if relation == "advmod":
        if lemma in _QUESTIONS:
            return _QUESTIONS[lemma]
        if lemma in _TIME_ADVERBS:
            return "ARGM-TMP"
        if lemma in _PLACE_ADVERBS:
            return "ARGM-LOC"
        return "ARGM-MNR" if lemma.endswith("ly") or lemma == "fast" else "ARGM-ADV"
    if relation == "advcl":
        marks = [tokens[p - 1].lemma.lower() for p in below[place + 1] if tokens[p - 1].sd_relation in ("mark", "advmod")]
        return next((_CLAUSE_MARKS[mark] for mark in marks if mark in _CLAUSE_MARKS), "ARGM-ADV")
    if relation != "prep":
        return ""
    objects = [p - 1 for p in below[place + 1] if tokens[p - 1].sd_relation == "pobj"]
    if not objects:
        return ""
    if lemma == "by" and passive:
        return agent
    timed = types.get(objects[0]) in _TIME_TYPES or tokens[objects[0]].lemma in _TIME_NOUNS
    if lemma in _TIME_PREPOSITIONS or timed:
        return "ARGM-TMP"
    if lemma in _PLACE_PREPOSITIONS:
        return "ARGM-LOC"
    if lemma in ("to", "from"):
        return "ARGM-DIR"
    return _OTHER_PREPOSITIONS.get(lemma, "ARG2" if lemma in ("of", "about", "against") else "")


def _persons(document: Document, sentence: Sentence, mentions: Sequence[Mention]) -> set[int]:
    """Words that stand for persons: heads of their mentions and words of their names."""
    person_words = {mention.head for mention in mentions if document.gender.get(mention.entity) in ("he", "she", "they")}
    for entity in sentence.entities:
        if entity.type == "PERSON":
            person_words.update(range(entity.start, entity.stop))
    return person_words


def _protoroles(tokens: Sequence[Token], predicate: _Predicate, persons: set[int]) -> Iterator[EdgeTarget]:
    """Properties of the numbered arguments of a verb, by its role, its verb, and whether it is a person."""
    lemma = tokens[predicate.word].lemma
    for argument in predicate.arguments:
        if argument.label not in ("ARG0", "ARG1", "ARG2"):
            continue
        person = argument.head in persons
        clause = tokens[argument.head].sd_relation in _CLAUSES
        created = argument.label == "ARG1" and lemma in _CREATION
        destroyed = argument.label == "ARG1" and lemma in _DESTRUCTION
        moved = lemma in _MOTION and argument.label in ("ARG0", "ARG1") and not clause
        holds = {
            "awareness": person and not destroyed,
            "change_of_location": moved,
            "change_of_possession": argument.label == "ARG1" and lemma in _TRANSFER and not clause,
            "change_of_state": destroyed or (argument.label == "ARG1" and lemma in _EFFECT and not clause),
            "existed_after": not destroyed and not clause,
            "existed_before": not created and not clause,
            "existed_during": not clause,
            "instigation": argument.label == "ARG0",
            "sentient": person,
            "volition": person and argument.label == "ARG0",
            "was_for_benefit": person and argument.label == "ARG2",
        }
        labels = tuple(name for name, true in holds.items() if true)
        yield EdgeTarget(predicate.span, argument.span, labels, "protoroles")


def _relations(tokens: Sequence[Token], below: Sequence[Sequence[int]]) -> Iterator[EdgeTarget]:
    """Relations of pairs of nouns in the manner of SemEval-2010 task 8; e1 is the noun that comes first.

    Pairs that match a rule, and as many pairs of nouns that match none, as "Other".
    """
    related: dict[tuple[int, int], str] = {}
    for place, token in enumerate(tokens):
        if token.sd_relation == "pobj" and tokens[token.sd_head - 1].sd_relation == "prep":
            governor = tokens[token.sd_head - 1].sd_head - 1
            if label := _prepositional(tokens, below, governor, tokens[token.sd_head - 1].lemma, token):
                first = governor if tokens[governor].upos in _NOUNS else _child(tokens, below, governor, "nsubj")
                if first is not None and first < place and tokens[first].upos in _NOUNS and token.upos in _NOUNS:
                    related[first, place] = label
        if token.slots.get("roles", ())[:2] == ("agent", "theme"):
            related |= _verbal(tokens, below, place)
    nouns = [place for place, token in enumerate(tokens) if token.upos in _NOUNS and token.sd_relation != "nn"]
    pairs = [(one, two) for k, one in enumerate(nouns) for two in nouns[k + 1 :]]
    unrelated = [pair for pair in pairs if pair not in related][: len(related)]
    for one, two in sorted([*related, *unrelated]):
        label = related.get((one, two), "Other")
        yield EdgeTarget((one, one + 1), (two, two + 1), (label,), "relations")


def _child(tokens: Sequence[Token], below: Sequence[Sequence[int]], word: int, relation: str) -> int | None:
    return next((place - 1 for place in below[word + 1] if tokens[place - 1].sd_relation == relation), None)


def _prepositional(
    tokens: Sequence[Token], below: Sequence[Sequence[int]], governor: int, preposition: str, noun: Token
) -> str:
    head = tokens[governor]
    if head.upos in _NOUNS:
        if preposition == "from":
            return "Entity-Origin(e1,e2)"
        if preposition == "about":
            return "Message-Topic(e1,e2)"
        if preposition == "of" and head.lemma in _COLLECTIONS and noun.xpos in ("NNS", "NNPS"):
            return "Member-Collection(e2,e1)"
        if preposition == "of" and head.lemma not in _WHOLES | _TIME_NOUNS:
            return "Component-Whole(e1,e2)"
    if head.upos == "VERB" and head.lemma in _MOTION and preposition in ("to", "into", "onto"):
        return "Entity-Destination(e1,e2)"
    return ""


def _verbal(tokens: Sequence[Token], below: Sequence[Sequence[int]], verb: int) -> dict[tuple[int, int], str]:
    """The relation of subject and object of a verb, or of the subject of its passive and the agent."""
    lemma = tokens[verb].lemma
    kind = "Product-Producer" if lemma in _CREATION else "Cause-Effect" if lemma in _EFFECT else ""
    subject, object_ = (_child(tokens, below, verb, relation) for relation in ("nsubj", "dobj"))
    agent = None
    if subject is None or object_ is None:
        by = next((p - 1 for p in below[verb + 1] if tokens[p - 1].lemma == "by" and tokens[p - 1].sd_relation == "prep"), None)
        agent = _child(tokens, below, by, "pobj") if by is not None else None
        subject = _child(tokens, below, verb, "nsubjpass")
        pair = (subject, agent)
    else:
        pair = (subject, object_)
    one, two = pair
    if not kind or one is None or two is None or not all(tokens[place].upos in _NOUNS for place in (one, two)) or one > two:
        return {}
    # A product comes second, an effect too: in the passive they come first.
    forward = (kind == "Cause-Effect") == (agent is None)
    return {(one, two): f"{kind}({'e1,e2' if forward else 'e2,e1'})"}
