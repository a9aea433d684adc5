"""Inputs and parameters of the rules of Clark et al. (2019)."""

from shipped_runs import shipped, wildcards

from attention_atlas.workflow.study_inputs import StudyInputs

INPUTS = StudyInputs(shipped(), "clark2019")


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
