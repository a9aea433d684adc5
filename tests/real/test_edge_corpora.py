"""Edge-probing records from real corpora: counts, labels, and nothing misaligned."""

from collections import Counter
from pathlib import Path

from edge_records import read_edge_records

from attention_atlas.corpora.sources import fetch
from attention_atlas.workflow.config import read_configuration

ROOT = Path(__file__).parents[2]


def of(records, task):
    return [target for record in records for target in record.targets if target.task == task]


def labels_of(records, task):
    return Counter(label for target in of(records, task) for label in target.labels)


def test_proto_roles_stand_on_the_words_that_they_were_asked_of(mirror):
    beside = mirror / "spr2_uds/en-ud-v1-dev.conllu"
    records = list(read_edge_records("decomp", ["protoroles"], mirror / "spr2_uds/protoroles_raw.zip", beside))
    assert (len(records), len(of(records, "protoroles")) > 500) == (291, True)
    assert [records[0].words[target.span1[0]] for target in records[0].targets] == ["comes", "comes"]
    labels = labels_of(records, "protoroles")
    assert labels["existed_during"] > labels["change_of_possession"] > 0


def test_the_entities_of_the_mirror_have_the_content_of_the_repository(mirror, tmp_path):
    source = read_configuration(ROOT)["corpora"]["litbank-entities-training"]["source"]
    fetch(source, tmp_path / "raw", mirror)
    records = list(read_edge_records("entities", ["entities"], tmp_path / "raw"))
    assert len(records) > 8000
    assert set(labels_of(records, "entities")) == {"PER", "FAC", "GPE", "LOC", "VEH", "ORG"}


def test_relations_of_semeval_are_read_and_parted(mirror):
    (training,) = (mirror / "semeval2010_task8/SemEval2010_task8_training").glob("TRAIN_FILE*")
    records = list(read_edge_records("semeval", ["relations"], training))
    labels = labels_of(records, "relations")
    assert (len(records), len(labels), labels["Other"]) == (8000, 19, 1410)
