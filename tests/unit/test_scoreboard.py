"""The scoreboard and the atlas: tables of the studies of a run; values and claims counted by verdict."""

import pandas as pd
import pytest
from small_config import shipped, shipped_copy, wildcards

from attention_atlas.atlas.study import head_sources, random_scores
from attention_atlas.errors import AtlasError
from attention_atlas.published.compare import COLUMNS, VERDICTS
from attention_atlas.scoreboard.tables import CLAIM_VERDICTS, CLAIMS, claims, comparison, scoreboard
from attention_atlas.workflow.study_inputs import StudyInputs

SAMPLE_SOURCES = {table for table in head_sources() if table.partition("/")[0] in shipped()["runs"]["sample"]}
"""Tables of single heads of the studies that the sample run has."""


def comparison_of(**obstacles_by_verdict):
    """A comparison table: verdict -> obstacle of each value."""
    pairs = [(verdict.replace("_", " "), words) for verdict, all_words in obstacles_by_verdict.items() for words in all_words]
    facts = ["Table 1", "q", "1", "2", 0.5, 2.5, 9, "no", "why"]
    return pd.DataFrame([[f"v{k}", *facts, *pair] for k, pair in enumerate(pairs)], columns=list(COLUMNS))


def test_values_claims_and_obstacles_are_counted_by_study():
    first = comparison_of(match=["", ""], differs=[""], not_comparable=["other hardware", "another model", "other hardware"])
    comparisons = {"a2019": first, "b2020": comparison_of(not_computed=["not measured"] * 2, not_comparable=["another model"])}
    rows = [["x", "1", "holds"], ["y", "2", "does not hold"], ["z", "3", "not tested"], ["w", "4", "undecided"]]
    tested = pd.DataFrame([*rows, ["v", "5", "holds"]], columns=CLAIMS[1:4]).reindex(columns=CLAIMS[1:])
    # The last claim is none of the paper's, and not counted.
    tested["source"] = ["paper"] * 4 + ["added"]
    values, all_claims = comparison(comparisons, False), claims({"a2019": tested}, False)
    summary = scoreboard(values.frame, all_claims.frame, False).frame.set_index("study")
    by_verdict = [verdict.replace(" ", "_") for verdict in VERDICTS]
    counts = {study: {name: int(n) for name, n in row.items() if n} for study, row in summary[by_verdict].iterrows()}
    assert counts == {
        "a2019": {"match": 2, "differs": 1, "not_comparable": 3},
        "b2020": {"not_computed": 2, "not_comparable": 1},
        "all": {"match": 2, "differs": 1, "not_comparable": 4, "not_computed": 2},
    }
    of_claims = ["claims", *CLAIM_VERDICTS.values()]
    assert summary[of_claims].to_numpy().tolist() == [[4, 1, 1, 1, 1], [0, 0, 0, 0, 0], [4, 1, 1, 1, 1]]
    assert summary.loc["a2019", "obstacles"] == "other hardware (2); another model (1)"
    with pytest.raises(AtlasError, match="a2019: the column 'id' is missing"):
        comparison({"a2019": pd.DataFrame({"x": [1]})}, True)


# --- inputs -----------------------------------------------------------------------------------------------------------


def of_atlas(name: str, run: str = "sample", config=None):
    """What a run gives to a parameter of the atlas."""
    return StudyInputs(config or shipped(), "atlas").of_run(name)(wildcards(run))


def test_tables_of_a_model_of_another_shape_are_skipped():
    config = shipped_copy()
    config["models"]["other"] = config["models"]["minilm-glue-mnli-42"] | {"heads": 6}
    config["runs"]["sample"]["michel2019"]["classifier"] = "other"
    reason = "its model other has 6 layers of 6 heads"
    skipped = ("michel2019/figure1", "michel2019/head_importance")
    assert of_atlas("skip_reasons", config=config) == dict.fromkeys(skipped, reason)
    assert set(of_atlas("tables", config=config)) == SAMPLE_SOURCES - set(skipped)


def test_what_no_study_of_the_run_makes_is_measured_on_the_atlas_sentences():
    tables, models = of_atlas("tables", "any"), of_atlas("table_models", "any")
    folder = "results/any/atlas/models/minilm"
    # The run has Clark et al. without a corpus of segments, and nothing of Guan et al.
    assert tables["guan2020/head_types"] == f"{folder}/head_types.tsv"
    assert tables["clark2019/dependency_head_relations"] == "results/any/clark2019/dependency_head_relations.tsv"
    assert models["clark2019/surface"] == "minilm, on the atlas's sentences"
    # Relations are those on the atlas's sentences where the study reads others, or those of a model of another shape.
    for changes in ({"seed": 7}, {"model": "bert-base-uncased"}):
        config = shipped_copy()
        config["runs"]["any"]["clark2019"] |= changes
        tables = of_atlas("tables", "any", config)
        assert tables["clark2019/dependency_head_relations"] == f"{folder}/dependency_head_relations.tsv"


def test_random_controls_and_their_scores():
    shared, config = "results/sample/atlas/models/minilm/random_scores.safetensors", shipped_copy()
    config["models"]["other"] = config["models"]["minilm"] | {"source": {"path": "models/other"}}
    paths = [random_scores(config, "sample", model) for model in ("minilm", "minilm-squad", "minilm-random-1", "other")]
    assert paths == [shared] * 3 + [shared.replace("minilm", "other")], "shared by models that read the same examples"
    config["runs"]["sample"]["atlas"]["compared"] = ["minilm-glue-mnli-random-42", "minilm-random-2"]
    assert list(of_atlas("random_weights", config=config).values()) == [False, False, True], "a trained model is no control"
