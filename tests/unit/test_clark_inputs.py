"""Inputs and parameters of the rules of Clark et al. (2019)."""

from shipped_runs import shipped, wildcards
from small_config import SMALL

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


def test_a_variant_names_another_corpus_or_another_model():
    recipe = wildcards("laptop", variant="recipe")
    assert INPUTS.pair(recipe, "segments") == ("minilm", "wikitext2-segments-clean")
    casing = wildcards("paper", variant="casing")
    assert INPUTS.pair(casing, "dependencies") == ("bert-base-cased", "wsj-dev")
    # Its tokenizer is another one, so that it has examples of its own.
    assert INPUTS.examples("dependencies")(casing)[0] == "results/paper/examples/bert-base-cased/wsj-dev/0.parquet"
    # The probes of the run's model come before those of random ones; the model in the path, on the corpus of the role.
    probes = INPUTS.of_group("probed", "results/{run}/clark2019/probes/{model}.tsv")(wildcards("open"))
    assert list(probes) == ["bert-base-uncased", *(f"bert-base-random-{number}" for number in (1, 2, 3))]
    (shard,) = INPUTS.shards("probe_training", suffix="json")(wildcards(model="minilm-random-1"))
    assert shard == "results/sample/attention/minilm-random-1/sample-trees-train/0.json"


def test_tables_that_a_run_may_lack_are_read_where_it_names_what_they_need():
    assert read_by("options", "paper") == {
        **{name: [f"variants/{name}/surface.tsv"] for name in ("segment_ids", "recipe", "casing")},
        "casing_dependencies": ["variants/casing/dependencies.tsv"],
        "coreference": ["coreference_options.tsv"],
        "probes": ["table3_seeds.tsv"],
    }
    assert not any(read_by("options", "one", SMALLEST).values())
    assert read_by("table2", "laptop") == {"random": ["variants/random/coreference.tsv"]}
    assert read_by("table2", "any") == {"random": []}
