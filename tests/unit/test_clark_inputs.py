"""Inputs and parameters of the rules of Clark et al. (2019)."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards
from small_config import SMALL

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.shown import shown
from attention_atlas.workflow.study_inputs import StudyInputs

INPUTS = StudyInputs(shipped(), "clark2019")
SMALLEST = StudyInputs(resolve(SMALL), "clark2019")
ITEMS = {item.id: item for item in shown("clark2019")}


def read_by(name, run, inputs=INPUTS):
    """Parameter -> tables below the study's folder that a table or figure reads in a run, of those that a run may lack."""
    tables = {name: table for name, table in inputs.read_by(ITEMS[name]).items() if callable(table)}
    folder = f"results/{run}/clark2019/"
    return {name: [path.removeprefix(folder) for path in table(wildcards(run))] for name, table in tables.items()}


@pytest.mark.parametrize(
    ("run", "folder", "count"),
    [
        ("sample", "minilm/sample-segments", 1),
        ("laptop", "minilm/wikitext2-segments", 4),
        ("open", "bert-base-uncased/wikitext2-segments", 4),
        ("paper", "bert-base-uncased/wikipedia-segments", 8),
    ],
)
def test_shards_of_a_role(run, folder, count):
    expected = [f"results/{run}/attention/{folder}/{shard}.safetensors" for shard in range(count)]
    assert INPUTS.shards("segments")(wildcards(run)) == expected
    assert INPUTS.first(INPUTS.shards("segments"))(wildcards(run)) == expected[:1]


def test_a_variant_names_another_corpus_or_another_model():
    recipe = wildcards("laptop", variant="recipe")
    assert INPUTS.pair(recipe, "segments") == ("minilm", "wikitext2-segments-clean")
    assert INPUTS.limit("segments")(recipe) == 1000
    casing = wildcards("paper", variant="casing")
    assert INPUTS.pair(casing, "dependencies") == ("bert-base-cased", "wsj-dev")
    assert INPUTS.card("dependencies")(casing) == "results/paper/models/bert-base-cased/card.json"
    # Its tokenizer is another one, so that it has examples of its own.
    assert INPUTS.examples("dependencies")(casing) == [
        f"results/paper/examples/bert-base-cased/wsj-dev/{shard}.parquet" for shard in range(7)
    ]


def test_tables_that_a_run_may_lack_are_read_where_it_names_what_they_need():
    assert read_by("options", "paper") == {
        "segment_ids": ["variants/segment_ids/surface.tsv"],
        "recipe": ["variants/recipe/surface.tsv"],
        "casing": ["variants/casing/surface.tsv"],
        "casing_dependencies": ["variants/casing/dependencies.tsv"],
        "coreference": ["coreference_options.tsv"],
        "probes": ["table3_seeds.tsv"],
    }
    assert not any(read_by("options", "one", SMALLEST).values())
    of_variants = {name: paths for name, paths in read_by("options", "laptop").items() if "variants" in str(paths)}
    assert {name: bool(paths) for name, paths in of_variants.items()} == {"segment_ids": True, "recipe": True}
    assert read_by("table2", "laptop") == {"random": ["variants/random/coreference.tsv"]}
    assert read_by("table2", "any") == {"random": []}
    assert read_by("dropped", "sample") == {"gap": ["gap_systems.tsv"]}


def test_files_are_those_of_a_role_where_a_run_names_it():
    first = INPUTS.if_named("coreference", INPUTS.shards("coreference"))
    assert first(wildcards()) == ["results/sample/attention/minilm/sample-coreference/0.safetensors"]
    assert SMALLEST.if_named("coreference", SMALLEST.shards("coreference"))(wildcards("one")) == []
    assert INPUTS.table_if("coreference", "coreference.tsv")(wildcards()) == ["results/sample/clark2019/coreference.tsv"]
    assert SMALLEST.table_if("coreference", "coreference.tsv")(wildcards("one")) == []


def test_a_role_that_a_run_does_not_name_is_a_sentence():
    with pytest.raises(AtlasError, match=r"runs\.one\.clark2019 names no corpus for the role 'gap', which this file needs"):
        SMALLEST.shards("gap")(wildcards("one"))


def test_probes_of_the_runs_model_come_before_those_of_random_ones():
    probes = INPUTS.of_group("probed", "results/{run}/clark2019/probes/{model}.tsv")
    names = ["bert-base-uncased", *(f"bert-base-random-{number}" for number in (1, 2, 3))]
    assert list(probes(wildcards("open")).items()) == [(n, f"results/open/clark2019/probes/{n}.tsv") for n in names]
    # The model in the path, on the corpus of the role.
    random = wildcards(model="minilm-random-1")
    assert INPUTS.shards("probe_training", suffix="json")(random) == [
        "results/sample/attention/minilm-random-1/sample-trees-train/0.json"
    ]


def test_word_vectors_are_read_where_a_run_names_some(without_files):
    file = INPUTS.if_named("vectors", INPUTS.raw("vectors"))
    assert file(wildcards()) == []
    assert INPUTS.titles("vectors")(wildcards("paper")) == {"vectors": "GloVe 6B, 100 dimensions"}
    assert INPUTS.titles("vectors")(wildcards()) == {}
    with pytest.raises(AtlasError, match=r"corpus glove-6b-100d: .* does not exist\. Licence: PDDL"):
        file(wildcards("paper"))
    (without_files / "licensed").mkdir()
    (without_files / "licensed" / "glove.6B.100d.txt").touch()
    assert file(wildcards("paper")) == ["licensed/glove.6B.100d.txt"]


def test_labels():
    assert INPUTS.labels("dependencies")(wildcards("laptop"))["dependencies"] == {
        "run": "Laptop run (freely available corpora, MiniLM-L6)",
        "model": "minilm",
        "corpus": "UD English EWT dev, converted to Stanford Dependencies",
        "model_reference": "",
        "corpus_reference": "",
        "sample": False,
        "converted": True,
        "stand_in": False,
    }
    label = INPUTS.labels("dependencies")(wildcards("paper"))["dependencies"]
    assert (label["model_reference"], label["corpus_reference"]) == ("bert-base-uncased", "wsj-sd-dev")
    assert not label["converted"]
    labels = INPUTS.labels("gap", "vectors", "coreference")(wildcards())
    assert {role: label["corpus"] for role, label in labels.items()} == {
        "gap": "generated sample, ambiguous pronouns",
        "coreference": "generated sample, coreference",
    }
    assert all(label["sample"] for label in labels.values())


def test_a_table_of_what_was_left_out_counts_each_corpus_once():
    config = shipped_copy()
    config["runs"]["sample"]["limits"] = {"sample-trees": 600}
    by_corpus = StudyInputs(config, "clark2019").shards_by_corpus(wildcards())
    assert list(by_corpus) == [
        "generated sample, segments by the authors' recipe",
        "generated sample, Stanford Dependencies",
        "generated sample, coreference",
        "generated sample, ambiguous pronouns",
        "generated sample, further documents",
        "generated sample, further documents (minilm-random-1)",
        "generated sample, Stanford Dependencies (minilm-random-1)",
    ]
    folder = "results/sample/examples/minilm/sample-trees"
    assert by_corpus["generated sample, Stanford Dependencies"] == [
        [f"{folder}/0.parquet", f"{folder}/1.parquet"],
        [f"{folder}/0.dropped.tsv", f"{folder}/1.dropped.tsv"],
        600,
    ]


def test_an_artefact_in_the_report():
    assert INPUTS.about("table1") == {
        "caption": "../report/artifact.rst",
        "category": "Clark et al. (2019): What Does BERT Look At?",
        "labels": {
            "run": "{run}",
            "artefact": "Table 1",
            "shows": "The best head of each dependency relation, with intervals and held-out choice",
        },
    }
    with pytest.raises(KeyError, match="clark2019 declares no artefact table9"):
        INPUTS.about("table9")
