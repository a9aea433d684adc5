"""Edge-probing records from real corpora: counts, labels, and nothing misaligned."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from edge_records import read_edge_records

from attention_atlas.corpora.edges import coin_flips
from attention_atlas.corpora.sources import fetch
from attention_atlas.workflow.config import read_configuration

ROOT = Path(__file__).parents[2]


def of(records, task):
    return [target for record in records for target in record.targets if target.task == task]


def labels_of(records, task):
    return Counter(label for target in of(records, task) for label in target.labels)


def test_the_treebank_gives_a_target_a_word(mirror):
    records = list(read_edge_records("conllu", ["pos", "dependencies"], mirror / "ud_english_ewt/en_ewt-ud-dev.conllu"))
    words = sum(len(record.words) for record in records)
    assert len(of(records, "pos")) == len(of(records, "dependencies")) == words
    labels = labels_of(records, "dependencies")
    assert labels["root"] == len(records)
    determiners = [r.words[t.span1[0]].lower() for r in records for t in r.targets if t.labels == ("det",)]
    assert Counter(determiners).most_common(1)[0][0] == "the"


def test_every_predicate_of_the_proposition_bank_is_there(mirror):
    records = list(read_edge_records("propositions", ["roles"], mirror / "up_english_ewt/en_ewt-up-dev.conllu"))
    assert len(records) == 2002
    labels = labels_of(records, "roles")
    assert labels["ARG1"] > labels["ARG0"] > labels["ARG2"]
    # One continuation of a predicate (C-V) is annotated on the predicate itself.
    assert sum(target.span1 == target.span2 for target in of(records, "roles")) == 1


def test_proto_roles_stand_on_the_words_that_they_were_asked_of(mirror):
    beside = mirror / "spr2_uds/en-ud-v1-dev.conllu"
    records = list(read_edge_records("decomp", ["protoroles"], mirror / "spr2_uds/protoroles_raw.zip", beside))
    targets = of(records, "protoroles")
    labels = labels_of(records, "protoroles")
    assert len(records) == 291
    first = records[0]
    assert [first.words[target.span1[0]] for target in first.targets] == ["comes", "comes"]
    # Predicates are verbs nearly always; a misalignment would spread them over all words.
    assert len(targets) > 500
    assert labels["existed_during"] > labels["change_of_possession"] > 0


def test_the_entities_of_the_mirror_have_the_content_of_the_repository(mirror, tmp_path):
    source = read_configuration(ROOT)["corpora"]["litbank-entities-training"]["source"]
    fetch(source, tmp_path / "raw", mirror)
    records = list(read_edge_records("entities", ["entities"], tmp_path / "raw"))
    assert len(records) > 8000
    assert set(labels_of(records, "entities")) == {"PER", "FAC", "GPE", "LOC", "VEH", "ORG"}


def test_relations_of_semeval_are_read_and_parted(mirror):
    folder = mirror / "semeval2010_task8"
    (training,) = (folder / "SemEval2010_task8_training").glob("TRAIN_FILE*")
    records = list(read_edge_records("semeval", ["relations"], training))
    assert len(records) == 8000
    labels = Counter(record.targets[0].labels[0] for record in records)
    assert len(labels) == 19
    assert labels["Other"] == 1410
    held = sum(flag for _, flag in coin_flips(records))
    # The authors' corrected table: 6,851 to train on, 1,149 to develop.
    assert held == 1149
