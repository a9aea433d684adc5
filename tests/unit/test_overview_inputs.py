"""Inputs and parameters of the atlas and the scoreboard: tables of the studies of a run."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards
from small_config import SMALL, changed, give_model

from attention_atlas.atlas.study import head_sources, random_scores
from attention_atlas.workflow.artifacts import built_tables
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.study_inputs import StudyInputs

SENTENCES = {
    "clark2019/surface": "surface",
    "clark2019/dependency_head_relations": "dependency_head_relations",
    "guan2020/head_types": "head_types",
}
"""Tables that the atlas can make on its own sentences."""
SAMPLE_SOURCES = {table for table in head_sources() if table.partition("/")[0] in shipped()["runs"]["sample"]}
"""Tables of single heads of the studies that the sample run has."""


def of_atlas(name: str, run: str = "sample", config=None):
    """What a run gives to a parameter of the atlas."""
    return StudyInputs(config or shipped(), "atlas").of_run(name)(wildcards(run))


def of_scoreboard(config, name: str, run: str = "sample"):
    """What a run gives to a parameter of the scoreboard."""
    return StudyInputs(config, "scoreboard").of_run(name)(wildcards(run))


def with_classifier(entry: dict) -> dict:
    """A sample run whose classifier has another shape."""
    config = shipped_copy()
    config["models"]["other"] = config["models"]["minilm-glue-mnli-42"] | entry
    config["runs"]["sample"]["michel2019"]["classifier"] = "other"
    return config


def test_tables_of_single_heads_are_those_that_the_studies_make():
    tables = of_atlas("tables")
    assert set(tables) == SAMPLE_SOURCES
    assert tables["clark2019/dependency_head_relations"] == "results/sample/clark2019/dependency_head_relations.tsv"
    assert tables["guan2020/head_types"] == "results/sample/guan2020/head_types.tsv"
    assert of_atlas("skip_reasons") == {}
    # Other tables measure no single heads.
    assert "clark2019/table1" in built_tables(shipped(), "sample")
    assert "clark2019/table1" not in tables


def test_tables_say_whose_heads_they_measure():
    models = of_atlas("table_models")
    assert models["clark2019/surface"] == "minilm"
    assert models["guan2020/head_types"] == "minilm-squad"
    assert models["michel2019/figure1"] == "minilm-glue-mnli-42"
    assert models["kovaleva2019/figure8"] == "family minilm-glue"
    # Classes are those of the whole family, by the heads of its base.
    assert models["kovaleva2019/head_classes"] == "minilm"
    assert models["stefanik2021/ablation"] == "family minilm-keyphrases"


@pytest.mark.parametrize("entry", [{"layers": 4}, {"heads": 6}])
def test_tables_of_a_model_of_another_shape_are_skipped(entry):
    config = with_classifier(entry)
    layers, heads = entry.get("layers", 6), entry.get("heads", 12)
    reason = f"its model other has {layers} layers of {heads} heads"
    assert of_atlas("skip_reasons", config=config) == {
        "michel2019/figure1": reason,
        "michel2019/head_importance": reason,
    }
    assert set(of_atlas("tables", config=config)) == SAMPLE_SOURCES - {"michel2019/figure1", "michel2019/head_importance"}
    assert of_atlas("shapes", config=config)["minilm"] == [6, 12]


def test_what_no_study_of_the_run_makes_is_measured_on_the_atlas_sentences():
    tables = of_atlas("tables", "any")
    folder = "results/any/atlas/models/minilm"
    # The run has Clark et al. without a corpus of segments, and nothing of Guan et al.
    assert tables["clark2019/surface"] == f"{folder}/surface.tsv"
    assert tables["guan2020/head_types"] == f"{folder}/head_types.tsv"
    assert tables["clark2019/dependency_head_relations"] == "results/any/clark2019/dependency_head_relations.tsv"
    models = of_atlas("table_models", "any")
    assert models["clark2019/surface"] == "minilm, on the atlas's sentences"
    assert models["clark2019/dependency_head_relations"] == "minilm"
    assert tables["atlas/head_scores"] == f"{folder}/head_scores.tsv"
    assert models["atlas/head_scores"] == "minilm", "sentences are a part of what it is measured on"


def test_relations_are_those_on_the_atlas_sentences_where_the_study_reads_others():
    config = shipped_copy()
    config["runs"]["any"]["clark2019"]["seed"] = 7
    tables = of_atlas("tables", "any", config)
    assert tables["clark2019/dependency_head_relations"] == "results/any/atlas/models/minilm/dependency_head_relations.tsv"


def test_tables_of_another_shape_are_replaced_by_those_on_the_sentences():
    config = shipped_copy()
    config["runs"]["any"]["clark2019"]["model"] = "bert-base-uncased"
    assert set(of_atlas("skip_reasons", "any", config)) == {
        *("clark2019/dependency_head_relations", "clark2019/coreference_heads")
    }
    tables = of_atlas("tables", "any", config)
    assert tables["clark2019/dependency_head_relations"] == "results/any/atlas/models/minilm/dependency_head_relations.tsv"
    assert "clark2019/coreference_heads" not in tables
    assert of_atlas("table_models", "any", config)["clark2019/dependency_head_relations"] == "minilm, on the atlas's sentences"


def test_an_atlas_without_sentences_shows_none():
    config = resolve(changed("runs/one/atlas", {}))
    names = ("attention", "examples", "dropped", "pairs", "kinds", "relations", "page_tables")
    assert [of_atlas(name, "one", config) for name in names] == [{}] * len(names)
    assert set(of_atlas("tables", "one", config)) & {"guan2020/head_types"} == set()
    trees = [f"results/sample/attention/minilm/sample-trees/0.{suffix}" for suffix in ("safetensors", "json")]
    assert of_atlas("attention")["minilm"] == trees


def test_the_page_shows_the_relations_of_each_head():
    assert of_atlas("relations")["minilm"] == "results/sample/clark2019/dependency_head_relations.tsv"


def test_the_page_reads_every_compared_model_and_the_sentences_that_it_shows():
    second = "minilm-random-1"
    for name in ("attention", "examples", "dropped", "pairs", "kinds", "relations", "page_tables"):
        assert list(of_atlas(name)) == ["minilm", second], name
    assert of_atlas("attention")[second][0] == f"results/sample/attention/{second}/sample-trees/0.safetensors"
    assert of_atlas("pairs")[second] == f"results/sample/atlas/models/{second}/attended_pairs.tsv"
    without = resolve(changed("runs/one/atlas", {"sentences": "trees"}))
    assert of_atlas("page_tables", "one", without) == {}
    assert list(of_atlas("attention", "one", without)) == ["tiny"]


def test_compared_models_and_their_files():
    assert of_atlas("random_weights") == {"minilm": False, "minilm-random-1": True}
    assert of_atlas("shapes") == {"minilm": [6, 12], "minilm-random-1": [6, 12]}
    names = SENTENCES | {"atlas/head_scores": "head_scores"}
    assert of_atlas("page_tables")["minilm-random-1"] == {
        table: f"results/sample/atlas/models/minilm-random-1/{name}.tsv" for table, name in names.items()
    }


def test_models_that_read_the_same_examples_share_the_scores_of_random_weights():
    shared = "results/sample/atlas/models/minilm/random_scores.safetensors"
    for model in ("minilm", "minilm-squad", "minilm-random-1"):
        assert random_scores(shipped(), "sample", model) == shared
    config = shipped_copy()
    config["models"]["other"] = config["models"]["minilm"] | {"source": {"path": "models/other"}}
    assert random_scores(config, "sample", "other") == shared.replace("minilm", "other")


def test_a_model_that_is_trained_from_random_weights_is_no_random_control():
    config = shipped_copy()
    config["runs"]["sample"]["atlas"]["compared"] = ["minilm-glue-mrpc-random-42", "minilm-random-2"]
    assert list(of_atlas("random_weights", config=config).values()) == [False, False, True]


def test_the_scoreboard_takes_every_comparison_and_all_claims():
    papers = ["clark2019", "guan2020", "kovaleva2019", "michel2019", "tenney2019", "stefanik2021"]
    for name, file in (("comparisons", "comparison"), ("claims_of", "claims")):
        assert of_scoreboard(shipped(), name) == {study: f"results/sample/{study}/{file}.tsv" for study in papers}
    assert [of_scoreboard(shipped(), "generated", run) for run in ("sample", "laptop", "paper")] == [True, False, False]


def test_the_scoreboard_has_no_study_that_the_run_cannot_compare(without_files):
    # Without a corpus of segments there is no comparison of Clark et al.
    assert of_scoreboard(shipped(), "comparisons", "any") == {}

    def compared() -> dict[str, str]:
        return of_scoreboard(resolve(changed("runs/one/scoreboard", {}, SMALL)), "comparisons", "one")

    assert compared() == {}
    (without_files / "nowhere").mkdir()
    (without_files / "nowhere" / "trees.conllu").touch()
    assert compared() == {}
    give_model(without_files, SMALL["models"]["tiny"])
    assert compared() == {"clark2019": "results/one/clark2019/comparison.tsv"}
