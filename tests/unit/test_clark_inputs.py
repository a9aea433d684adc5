"""Inputs and parameters of the rules of Clark et al. (2019)."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards
from small_config import SMALL

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.inputs.clark2019 import Clark2019Inputs

INPUTS = Clark2019Inputs(shipped())
SMALLEST = Clark2019Inputs(resolve(SMALL))


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
    assert INPUTS.first_shard("segments")(wildcards(run)) == expected[0]
    assert INPUTS.shard("segments")(wildcards(run, shard=count - 1)) == expected[-1]


def test_figures_draw_from_the_first_shard_unless_the_run_names_what_to_draw():
    drawn = INPUTS.drawn_shards("segments", "figure1_segment", suffix="json")
    assert drawn(wildcards("paper")) == ["results/paper/attention/bert-base-uncased/wikipedia-segments/0.json"]
    config = shipped_copy()
    config["runs"]["paper"]["clark2019"] |= {"figure1_segment": "x", "figure5_sentences": {"det": ["y"]}}
    named = Clark2019Inputs(config)
    roles = {"segments": "figure1_segment", "dependencies": "figure5_sentences"}
    for role, setting in roles.items():
        assert named.drawn_shards(role, setting)(wildcards("paper")) == named.shards(role)(wildcards("paper"))
    examples = named.drawn_shards("dependencies", "figure5_sentences", "examples", "parquet")(wildcards("paper"))
    assert examples == named.examples("dependencies")(wildcards("paper"))
    assert len(examples) == 7


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


def test_tables_of_variants():
    folder = "results/paper/clark2019/variants"
    assert INPUTS.variant_tables(wildcards("paper")) == {
        "segment_ids": {"surface": f"{folder}/segment_ids/surface.tsv"},
        "recipe": {"surface": f"{folder}/recipe/surface.tsv"},
        "casing": {"surface": f"{folder}/casing/surface.tsv", "dependencies": f"{folder}/casing/dependencies.tsv"},
    }
    assert INPUTS.variant_files(wildcards("open")) == [
        f"results/open/clark2019/variants/{name}/{table}.tsv"
        for name, table in (
            ("segment_ids", "surface"),
            ("recipe", "surface"),
            ("casing", "surface"),
            ("casing", "dependencies"),
        )
    ]
    assert SMALLEST.variant_files(wildcards("one")) == []


def test_the_coreference_head_is_drawn_where_a_run_has_chains():
    assert INPUTS.first_coreference(wildcards()) == [
        "results/sample/attention/minilm/sample-coreference/0.safetensors",
        "results/sample/examples/minilm/sample-coreference/0.parquet",
        "results/sample/clark2019/coreference.tsv",
    ]
    assert SMALLEST.first_coreference(wildcards("one")) == []
    assert INPUTS.table_if("coreference", "coreference.tsv")(wildcards()) == ["results/sample/clark2019/coreference.tsv"]
    assert SMALLEST.table_if("coreference", "coreference.tsv")(wildcards("one")) == []


def test_divisions_into_windows_are_those_of_the_corpora():
    assert INPUTS.divisions(wildcards()) == ["first", "all"]
    corpora = shipped()["corpora"]
    limits = [corpora[name]["limit"] for name in ("sample-coreference", "sample-coreference-all")]
    assert INPUTS.window_limits(wildcards()) == limits


def test_lists_of_names_are_inputs_where_a_run_names_them():
    assert INPUTS.name_lists(wildcards()) == []
    config = shipped_copy()
    config["runs"]["sample"]["clark2019"]["first_names"] = {"masculine": "data/male.txt", "feminine": "data/female.txt"}
    assert Clark2019Inputs(config).name_lists(wildcards()) == ["data/male.txt", "data/female.txt"]


def test_a_role_that_a_run_does_not_name_is_a_sentence():
    with pytest.raises(AtlasError, match=r"runs\.one\.clark2019 names no corpus for the role 'gap', which this file needs"):
        SMALLEST.shards("gap")(wildcards("one"))


def test_probes_of_the_runs_model_and_of_random_ones():
    assert INPUTS.probe_table("tsv")(wildcards("open")) == "results/open/clark2019/probes/bert-base-uncased.tsv"
    assert INPUTS.training_summary(wildcards()) == ["results/sample/clark2019/probes/minilm.training.tsv"]
    assert SMALLEST.training_summary(wildcards("one")) == []
    assert INPUTS.random_probe_tables("training.tsv")(wildcards("open")) == [
        f"results/open/clark2019/probes/bert-base-random-{number}.training.tsv" for number in (1, 2, 3)
    ]
    assert INPUTS.probe_recipe(wildcards()) == {
        **{"batch": 8, "epochs": 6, "learning_rate": 0.02, "order": "shuffled", "seeds": [0, 1, 2]},
        **{"development_share": 0.1, "patience": 2, "development_seed": 0, "duplicates": "corrected"},
    }
    as_published = {"batch": 1, "epochs": 1, "order": "file", "duplicates": "released_code", "development_share": 0}
    assert INPUTS.probe_recipe(wildcards("paper")).items() >= as_published.items()
    # The model in the path, on the corpus of the role.
    random = wildcards(model="minilm-random-1")
    assert INPUTS.shards_in_path("probe_training", suffix="json")(random) == [
        "results/sample/attention/minilm-random-1/sample-trees-train/0.json"
    ]


def test_word_vectors_are_read_where_a_run_names_some(without_files):
    assert INPUTS.vectors_file()(wildcards()) == []
    assert INPUTS.vectors_encoding(wildcards()) == ""
    assert INPUTS.vectors_encoding(wildcards("paper")) == "utf-8"
    assert INPUTS.title_if("vectors")(wildcards("paper")) == "GloVe 6B, 100 dimensions"
    assert INPUTS.title_if("vectors")(wildcards()) == ""
    with pytest.raises(AtlasError, match=r"corpus glove-6b-100d: .* does not exist\. Licence: PDDL"):
        INPUTS.vectors_file()(wildcards("paper"))
    (without_files / "licensed").mkdir()
    (without_files / "licensed" / "glove.6B.100d.txt").touch()
    assert INPUTS.vectors_file()(wildcards("paper")) == ["licensed/glove.6B.100d.txt"]


def test_labels():
    assert INPUTS.label("dependencies")(wildcards("laptop")) == {
        "run": "Laptop run (freely available corpora, MiniLM-L6)",
        "model": "minilm",
        "corpus": "UD English EWT dev, converted to Stanford Dependencies",
        "model_reference": "",
        "corpus_reference": "",
        "sample": False,
        "converted": True,
        "stand_in": False,
    }
    label = INPUTS.label("dependencies")(wildcards("paper"))
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
    by_corpus = Clark2019Inputs(config).shards_by_corpus(wildcards())
    assert list(by_corpus) == [
        "generated sample, segments by the authors' recipe",
        "generated sample, Stanford Dependencies",
        "generated sample, coreference",
        "generated sample, coreference in all windows",
        "generated sample, ambiguous pronouns",
        "generated sample, further documents",
        "generated sample, further documents (minilm-random-1)",
        "generated sample, Stanford Dependencies (minilm-random-1)",
        "generated sample, segments by the authors' recipe (minilm-random-1)",
        "generated sample, coreference (minilm-random-1)",
        "generated sample, segments with 0/1 segment ids",
        "generated sample, segments by the clean recipe",
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
