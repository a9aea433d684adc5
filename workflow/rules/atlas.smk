# The atlas. Input: attention over its sentences, tables of single heads of all studies. Output: measures of their heads.

from attention_atlas.atlas.study import mlm_head, random_scores

atlas = StudyInputs(config, "atlas")
READ_BY_HEADS = "tables page_tables model shapes table_models skip_reasons random_weights resamples shuffles seed".split()
HEADS = "heads measures measures_long correlations matches matching".split()
on_sentences = {"examples": atlas.examples("sentences"), "card": "results/{run}/models/{model}/card.json"}


use rule measured as atlas_of_model with:
    input:
        **atlas.maps("sentences", examples=""),
        **on_sentences,
    output:
        surface="results/{run}/atlas/models/{model}/surface.tsv",
        head_relations="results/{run}/atlas/models/{model}/dependency_head_relations.tsv",
        types="results/{run}/atlas/models/{model}/head_types.tsv",
        pairs="results/{run}/atlas/models/{model}/attended_pairs.tsv",
        kinds="results/{run}/atlas/models/{model}/attended_kinds.tsv",
    pathvars:
        job="atlas/models/{model}",
    resources:
        **atlas.map_resources("sentences", 60, stored=2200),
    params:
        **atlas.parameters("sentences:of_model", "resamples", "seed", "strongest_pairs"),
        limit=atlas.limit("sentences"),


use rule measured_by_model as atlas_relations with:
    input:
        **on_sentences,
        relations="results/{run}/atlas/models/{model}/dependency_head_relations.tsv",
        mlm_head=lambda wildcards: mlm_head(config, wildcards.run, wildcards.model, "safetensors"),
        mlm_head_facts=lambda wildcards: mlm_head(config, wildcards.run, wildcards.model, "json"),
    output:
        weights="results/{run}/atlas/models/{model}/relation_weights.tsv",
        effects="results/{run}/atlas/models/{model}/relation_effects.tsv",
        ablation="results/{run}/atlas/models/{model}/head_ablation.tsv",
    pathvars:
        job="atlas/models/{model}/relations",
    resources:
        **atlas.model_resources(60),
    params:
        **atlas.parameters("relation_effects:relation_effects", "resamples", "seed", settings="causal_effects"),
        model=atlas.model_entry,
        limit=atlas.limit("sentences"),


use rule atlas_relations as atlas_random_scores with:
    input:
        **on_sentences,
        tokenizer="results/{run}/models/{model}/tokenizer.json",
    output:
        scores="results/{run}/atlas/models/{model}/random_scores.safetensors",
    pathvars:
        job="atlas/models/{model}/random_scores",
    params:
        **atlas.parameters("head_scores:random_scores", settings="head_scores"),


use rule atlas_random_scores as atlas_head_scores with:
    input:
        **on_sentences,
        tokenizer="results/{run}/models/{model}/tokenizer.json",
        null=lambda wildcards: random_scores(config, wildcards.run, wildcards.model),
    output:
        scores="results/{run}/atlas/models/{model}/head_scores.tsv",
    pathvars:
        job="atlas/models/{model}/head_scores",
    params:
        **atlas.parameters("head_scores:head_scores"),


use rule measured as atlas_heads with:
    input:
        leaves(atlas.of_run("tables")),
        leaves(atlas.of_run("page_tables")),
    output:
        **{name: f"results/{{run}}/atlas/{name}.tsv" for name in HEADS},
    pathvars:
        job="atlas/heads",
    group:
        "atlas_pages"
    params:
        **atlas.parameters("correlations:heads_of_run", *READ_BY_HEADS),
