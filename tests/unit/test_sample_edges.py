"""Edge-probing records of the sample corpus against the layers that they are read from, and by hand."""

from collections import Counter

import pytest
from sample_corpus.edges import edge_record
from sample_corpus.generate import generate_documents

from attention_atlas.corpora.edges import edge_line
from attention_atlas.corpora.layers import EDGE_TASKS

DOCUMENTS = list(generate_documents(60, 2019))
RECORDS = [(d, k, s, edge_record(d, k, s)) for d in DOCUMENTS for k, s in enumerate(d.sentences)]


def of(record, task):
    return [target for target in record.targets if target.task == task]


def labels(task):
    return Counter(label for *_, record in RECORDS for target in of(record, task) for label in target.labels)


def test_every_task_has_targets_with_spans_in_their_sentences():
    for document, _, sentence, record in RECORDS:
        assert record.words == tuple(token.form for token in sentence.tokens)
        assert edge_line(record).count("\n") == 1
        assert record.document == document.id
        assert {target.task for target in record.targets} <= set(EDGE_TASKS)
    for task in EDGE_TASKS:
        counts = labels(task)
        assert len(counts) > 1, task
        assert sum(counts.values()) > 100, task
        spans = {target.span2 is not None for *_, record in RECORDS for target in of(record, task)}
        assert spans == {task in ("dependencies", "roles", "coreference", "protoroles", "relations")}


def test_tags_dependencies_and_entities_are_those_of_the_layers():
    for _, _, sentence, record in RECORDS:
        assert [target.labels[0] for target in of(record, "pos")] == [token.xpos for token in sentence.tokens]
        for place, (target, token) in enumerate(zip(of(record, "dependencies"), sentence.tokens, strict=True)):
            head = token.ud_head - 1 if token.ud_head else place
            assert (target.span1[0], target.span2[0], target.labels) == (place, head, (token.ud_relation,))
        assert [(t.span1, t.labels[0]) for t in of(record, "entities")] == [
            ((entity.start, entity.stop), entity.type) for entity in sentence.entities
        ]
        assert len(of(record, "constituents")) == sentence.brackets.count("(") - len(sentence.tokens)


def test_coreference_pairs_mentions_of_chains_within_a_sentence():
    for document, number, _, record in RECORDS:
        chained = [m for m in document.mentions if m.sentence == number and not m.singleton]
        assert len(of(record, "coreference")) == len(chained) * (len(chained) - 1) // 2
        same = sum(a.entity == b.entity for k, a in enumerate(chained) for b in chained[k + 1 :])
        assert sum(t.labels == ("1",) for t in of(record, "coreference")) == same


def sentence_with(text):
    records = [record for *_, s, record in RECORDS if s.text.startswith(text)]
    if not records:
        pytest.fail(f"no sentence begins {text!r}: the generator has changed; take another one")
    return records[0]


def labelled_spans(record, task):
    words = record.words
    return {(" ".join(words[slice(*t.span1)]), " ".join(words[slice(*t.span2)]), *t.labels) for t in of(record, task)}


def test_roles_follow_from_the_verbs_and_their_voice():
    record = sentence_with("On Friday, a simple phone designed for children was presented by")
    assert {
        ("designed", "phone", "ARG1"),
        ("designed", "for children", "ARGM-PRP"),
        ("presented", "On Friday", "ARGM-TMP"),
        ("presented", "a simple phone designed for children", "ARG1"),
    } <= labelled_spans(record, "roles")
    assert any(
        role == "ARG0" and words.startswith("by Halden Devices") for verb, words, role in labelled_spans(record, "roles")
    )
    record = sentence_with("The dust in the oldest layers suggests that")
    assert {
        ("suggests", "The dust in the oldest layers", "ARG0"),
        ("suggests", "that the climate can change within seven years", "ARG1"),
        ("change", "can", "ARGM-MOD"),
        ("change", "within seven years", "ARGM-TMP"),
    } <= labelled_spans(record, "roles")
    record = sentence_with("A lonely widow, who lived across the street")
    assert {
        ("lived", "widow", "ARG0"),
        ("lived", "who", "R-ARG0"),
        ("lived", "across the street", "ARGM-LOC"),
    } <= labelled_spans(record, "roles")


def test_properties_are_those_of_persons_and_causes():
    record = sentence_with("Paul Ortiz, a retired baker from Glenmoor, said")
    by_argument = {(verb, words): set(names) for verb, words, *names in labelled_spans(record, "protoroles")}
    speaker = next(names for (verb, words), names in by_argument.items() if verb == "said" and words.startswith("Paul Ortiz"))
    assert {"instigation", "volition", "sentient", "awareness"} <= speaker
    flood = by_argument["destroyed", "the flood"]
    assert "instigation" in flood
    assert "volition" not in flood
    gone = next(names for (verb, words), names in by_argument.items() if verb == "destroyed" and words.startswith("almost"))
    assert "change_of_state" in gone
    assert "existed_after" not in gone


def test_relations_are_found_by_their_words_and_others_are_as_many():
    record = sentence_with("Paul Ortiz, a retired baker from Glenmoor, said")
    assert ("baker", "Glenmoor", "Entity-Origin(e1,e2)") in labelled_spans(record, "relations")
    counts = labels("relations")
    assert counts["Other"] <= sum(counts.values()) / 2 + 1
    assert len(counts) > 6
    for *_, record in RECORDS:
        for target in of(record, "relations"):
            assert target.span1 < target.span2, "e1 comes first"
