"""Inputs and parameters of the atlas and the scoreboard: tables of the studies of a run."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards
from small_config import SMALL, changed, give_model

from attention_atlas.atlas.overview import compared_models
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.inputs.atlas import AtlasInputs, head_sources
from attention_atlas.workflow.inputs.scoreboard import ScoreboardInputs
from attention_atlas.workflow.targets import built_tables

INPUTS = AtlasInputs(shipped())
SENTENCES = {
    "clark2019/surface": "surface",
    "clark2019/dependency_head_relations": "dependency_head_relations",
    "guan2020/head_types": "head_types",
}
"""Tables that the atlas can make on its own sentences."""
SAMPLE_SOURCES = {table for table in head_sources() if table.partition("/")[0] in shipped()["runs"]["sample"]}
"""Tables of single heads of the studies that the sample run has."""


def with_classifier(entry: dict) -> AtlasInputs:
    """Inputs of a sample run whose classifier has another shape."""
    config = shipped_copy()
    config["models"]["other"] = config["models"]["minilm-glue-mnli-42"] | entry
    config["runs"]["sample"]["michel2019"]["classifier"] = "other"
    return AtlasInputs(config)


def test_tables_of_single_heads_are_those_that_the_studies_make():
    tables = INPUTS.head_tables(wildcards())
    assert set(tables) == SAMPLE_SOURCES
    assert tables["clark2019/dependency_head_relations"] == "results/sample/clark2019/dependency_head_relations.tsv"
    assert tables["guan2020/head_types"] == "results/sample/guan2020/head_types.tsv"
    assert sorted(INPUTS.head_files(wildcards())) == sorted(tables.values())
    assert INPUTS.skipped_tables(wildcards()) == {}
    # Other tables measure no single heads.
    assert "clark2019/table1" in built_tables(shipped(), "sample")
    assert "clark2019/table1" not in tables


def test_tables_say_whose_heads_they_measure():
    models = INPUTS.head_models(wildcards())
    assert models["clark2019/surface"] == "minilm"
    assert models["guan2020/head_types"] == "minilm-squad"
    assert models["michel2019/figure1"] == "minilm-glue-mnli-42"
    assert models["kovaleva2019/figure8"] == "family minilm-glue"
    # Classes are those of the whole family, by the heads of its base.
    assert models["kovaleva2019/head_classes"] == "minilm"
    assert models["stefanik2021/ablation"] == "family minilm-keyphrases"
    studies = INPUTS.study_models(wildcards())
    assert studies["kovaleva2019"] == "minilm, family minilm-glue"
    assert studies["clark2019"] == "minilm"


@pytest.mark.parametrize("entry", [{"layers": 4}, {"heads": 6}])
def test_tables_of_a_model_of_another_shape_are_skipped(entry):
    inputs = with_classifier(entry)
    layers, heads = entry.get("layers", 6), entry.get("heads", 12)
    reason = f"its model other has {layers} layers of {heads} heads"
    assert inputs.skipped_tables(wildcards()) == {
        "michel2019/figure1": reason,
        "michel2019/head_importance": reason,
    }
    assert set(inputs.head_tables(wildcards())) == SAMPLE_SOURCES - {"michel2019/figure1", "michel2019/head_importance"}
    assert "michel2019" not in inputs.study_models(wildcards())
    assert inputs.shape(wildcards()) == [6, 12]


def test_what_no_study_of_the_run_makes_is_measured_on_the_atlas_sentences():
    tables = INPUTS.head_tables(wildcards("any"))
    folder = "results/any/atlas/models/minilm"
    # The run has Clark et al. without a corpus of segments, and nothing of Guan et al.
    assert tables["clark2019/surface"] == f"{folder}/surface.tsv"
    assert tables["guan2020/head_types"] == f"{folder}/head_types.tsv"
    assert tables["clark2019/dependency_head_relations"] == "results/any/clark2019/dependency_head_relations.tsv"
    models = INPUTS.head_models(wildcards("any"))
    assert models["clark2019/surface"] == "minilm, on the atlas's sentences"
    assert models["clark2019/dependency_head_relations"] == "minilm"
    assert tables["atlas/head_scores"] == f"{folder}/head_scores.tsv"
    assert models["atlas/head_scores"] == "minilm", "sentences are a part of what it is measured on"
    assert INPUTS.study_models(wildcards("any"))["clark2019"] == "minilm, on the atlas's sentences, minilm"


def test_tables_of_another_shape_are_replaced_by_those_on_the_sentences():
    config = shipped_copy()
    config["runs"]["any"]["clark2019"]["model"] = "bert-base-uncased"
    inputs = AtlasInputs(config)
    assert set(inputs.skipped_tables(wildcards("any"))) == {
        *("clark2019/dependency_head_relations", "clark2019/coreference_heads")
    }
    tables = inputs.head_tables(wildcards("any"))
    assert tables["clark2019/dependency_head_relations"] == "results/any/atlas/models/minilm/dependency_head_relations.tsv"
    assert "clark2019/coreference_heads" not in tables
    assert inputs.head_models(wildcards("any"))["clark2019/dependency_head_relations"] == "minilm, on the atlas's sentences"


def test_an_atlas_without_sentences_shows_none():
    inputs = AtlasInputs(resolve(changed("runs/one/atlas", {})))
    assert inputs.shown_sentences("attention", "json")(wildcards("one")) == []
    assert inputs.page_label(wildcards("one")) is None
    assert set(inputs.head_tables(wildcards("one"))) & {"guan2020/head_types"} == set()
    assert INPUTS.shown_sentences("attention", "json")(wildcards()) == "results/sample/attention/minilm/sample-trees/0.json"
    assert INPUTS.page_label(wildcards())["corpus"] == "generated sample, Stanford Dependencies"


def test_the_page_shows_the_relations_of_each_head():
    assert INPUTS.relation_file(wildcards()) == "results/sample/clark2019/dependency_head_relations.tsv"
    without_sentences = AtlasInputs(resolve(changed("runs/one/atlas", {})))
    assert without_sentences.relation_file(wildcards("one")) == []


def test_values_lead_to_their_table_and_to_the_figure_that_the_run_has(tmp_path):
    sources = INPUTS.measure_sources(wildcards())
    assert sources["entropy"] == ["results/sample/clark2019/surface.tsv", "results/sample/clark2019/figure4.svg"]
    assert sources["relation_margin"][1] == "results/sample/clark2019/table1.html"
    assert sources["sink"] == ["results/sample/atlas/models/minilm/head_scores.tsv"], "of no study"
    assert not {"relation_margin_low", "sink_null_low", "sink_q"} & set(sources)
    assert sources["sentence_entropy"] == sources["sink"], "also of measures that repeat others"
    assert sources["disabled_mrpc"] == sources["disabled"]
    (tmp_path / "mine.py").write_text("def pairs(example):\n    return None\n", encoding="utf-8")
    chosen = {"sentences": "trees", "patterns": [f"{tmp_path}/mine.py:pairs"]}
    with_pattern = AtlasInputs(resolve(changed("runs/one/atlas", chosen)))
    scores = ["results/one/atlas/models/tiny/head_scores.tsv"]
    assert with_pattern.measure_sources(wildcards("one"))["pattern_mine_pairs"] == scores
    linked = {path for paths in sources.values() for path in paths}
    assert set(INPUTS.source_files(wildcards())) == {path for path in linked if not path.endswith(".svg")}
    # Without segments of Clark et al. there is no Figure 4.
    assert INPUTS.measure_sources(wildcards("any"))["entropy"] == ["results/any/atlas/models/minilm/surface.tsv"]


def test_the_page_reads_every_compared_model_and_the_sentences_that_it_shows():
    first, second, _ = INPUTS.page_models(wildcards())
    assert first["name"] == "minilm"
    assert second["sentences"]["shard"] == "results/sample/attention/minilm-squad/sample-trees/0.safetensors"
    assert second["evidence"]["pairs"] == "results/sample/atlas/models/minilm-squad/attended_pairs.tsv"
    assert INPUTS.page_table("series.tsv", "series")(wildcards()) == "results/sample/atlas/series.tsv"
    assert INPUTS.page_table("series.tsv", "series")(wildcards("any")) == []
    without = AtlasInputs(resolve(changed("runs/one/atlas", {"sentences": "trees"})))
    assert (without.page_models(wildcards("one")), without.page_files(wildcards("one"))) == ([], [])
    assert without.page_table("matches.tsv", "compared")(wildcards("one")) == []


def test_compared_models_and_their_files():
    compared = INPUTS.compared_tables(wildcards())
    assert [(model["name"], model["random_weights"]) for model in compared] == [
        ("minilm", False),
        ("minilm-squad", False),
        ("minilm-random-1", True),
    ]
    assert compared[2] | {"layers": 6, "heads": 12} == compared[2]
    names = SENTENCES | {"clark2019/dependencies": "dependencies", "atlas/head_scores": "head_scores"}
    assert compared[1]["tables"] == {
        table: f"results/sample/atlas/models/minilm-squad/{name}.tsv" for table, name in names.items()
    }
    assert len(INPUTS.compared_files(wildcards())) == 15


def test_models_that_read_the_same_examples_share_the_scores_of_random_weights():
    shared = "results/sample/atlas/models/minilm/random_scores.safetensors"
    for model in ("minilm", "minilm-squad", "minilm-random-1"):
        assert INPUTS.random_scores(wildcards(model=model)) == shared
    config = shipped_copy()
    config["models"]["other"] = config["models"]["minilm"] | {"source": {"path": "models/other"}}
    folder = "results/sample/atlas/models/other"
    assert AtlasInputs(config).random_scores(wildcards(model="other")) == f"{folder}/random_scores.safetensors"


def test_a_model_that_is_trained_from_random_weights_is_no_random_control():
    config = shipped_copy()
    del config["runs"]["sample"]["atlas"]["series"]
    config["runs"]["sample"]["atlas"]["compared"] = ["minilm-glue-mrpc-random-42", "minilm-random-2"]
    compared = AtlasInputs(config).compared_tables(wildcards())
    assert [model["random_weights"] for model in compared] == [False, False, True]


def test_the_scoreboard_takes_every_comparison_and_all_claims():
    scoreboard = ScoreboardInputs(shipped())
    studies = ["clark2019", "guan2020", "kovaleva2019", "michel2019", "tenney2019", "stefanik2021"]
    assert scoreboard.tables("comparison")(wildcards()) == {
        study: f"results/sample/{study}/comparison.tsv" for study in studies
    }
    assert list(scoreboard.tables("claims")(wildcards())) == studies
    assert len(scoreboard.files(wildcards())) == 12
    assert scoreboard.reads_sample(wildcards())
    for run in ("laptop", "paper"):
        assert not scoreboard.reads_sample(wildcards(run))


def test_the_scoreboard_has_no_study_that_the_run_cannot_compare(without_files):
    # Without a corpus of segments there is no comparison of Clark et al.
    assert ScoreboardInputs(shipped()).tables("comparison")(wildcards("any")) == {}

    def compared() -> dict[str, str]:
        small = ScoreboardInputs(resolve(changed("runs/one/scoreboard", {}, SMALL)))
        return small.tables("comparison")(wildcards("one"))

    assert compared() == {}
    (without_files / "nowhere").mkdir()
    (without_files / "nowhere" / "trees.conllu").touch()
    assert compared() == {}
    give_model(without_files, SMALL["models"]["tiny"])
    assert compared() == {"clark2019": "results/one/clark2019/comparison.tsv"}


def test_models_of_a_series_are_compared_even_when_the_model_of_the_run_changes():
    config = shipped_copy()
    config["runs"]["sample"]["atlas"] |= {"compared": ["minilm-random-1"], "series": ["minilm", "minilm-squad"]}
    assert compared_models(config, "sample") == ["minilm", "minilm-random-1", "minilm-squad"]
    config["runs"]["sample"]["model"] = "minilm-squad"
    assert compared_models(config, "sample") == ["minilm-squad", "minilm-random-1", "minilm"]
