# The atlas. Input: attention over its sentences. Output: results/{run}/atlas/models/{model}, measures of single heads of one
# model, head_scores.tsv, scores of its heads beside those of random weights, what they attend to, and what masking them does.
# Models with the same files, and those fine-tuned from one model, share the scores of random weights. The tables and figures of
# the atlas are declared in atlas/pages.py.

from attention_atlas.workflow.inputs.atlas import AtlasInputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import gpus, minutes

atlas = AtlasInputs(config)


rule atlas_of_model:
    input:
        shards=atlas.shards_in_path("sentences"),
        descriptions=atlas.shards_in_path("sentences", suffix="json"),
        examples=atlas.shards_in_path("sentences", "examples", "parquet"),
        card="results/{run}/models/{model}/card.json",
    output:
        surface="results/{run}/atlas/models/{model}/surface.tsv",
        heads="results/{run}/atlas/models/{model}/dependency_heads.tsv",
        dependencies="results/{run}/atlas/models/{model}/dependencies.tsv",
        head_relations="results/{run}/atlas/models/{model}/dependency_head_relations.tsv",
        types="results/{run}/atlas/models/{model}/head_types.tsv",
    log:
        "results/{run}/logs/atlas/models/{model}.log",
    benchmark:
        "results/{run}/benchmarks/atlas/models/{model}.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=atlas.map_memory("sentences", 2000),
        runtime=minutes(60),
    params:
        limit=atlas.limit("sentences"),
        min_count=atlas.settings("min_count"),
        folds=atlas.settings("folds"),
        resamples=atlas.settings("resamples"),
        seed=atlas.settings("seed"),
        code=script_digest("atlas_of_model.py"),
    script:
        "../scripts/atlas_of_model.py"


rule atlas_random_scores:
    input:
        examples=atlas.shards_in_path("sentences", "examples", "parquet"),
        card="results/{run}/models/{model}/card.json",
        tokenizer="results/{run}/models/{model}/tokenizer.json",
        pattern_files=atlas.pattern_files,
    output:
        "results/{run}/atlas/models/{model}/random_scores.safetensors",
    log:
        "results/{run}/logs/atlas/models/{model}/random_scores.log",
    benchmark:
        "results/{run}/benchmarks/atlas/models/{model}/random_scores.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=atlas.model_memory(),
        runtime=minutes(60),
        gpu=gpus(config),
    params:
        model=atlas.model_entry,
        limit=atlas.limit("sentences"),
        scores=atlas.settings("head_scores"),
        patterns=atlas.settings("patterns"),
        resamples=atlas.settings("resamples"),
        seed=atlas.settings("seed"),
        code=script_digest("atlas_random_scores.py"),
    script:
        "../scripts/atlas_random_scores.py"


rule atlas_head_scores:
    input:
        examples=atlas.shards_in_path("sentences", "examples", "parquet"),
        card="results/{run}/models/{model}/card.json",
        tokenizer="results/{run}/models/{model}/tokenizer.json",
        pattern_files=atlas.pattern_files,
        random_scores=atlas.random_scores,
    output:
        "results/{run}/atlas/models/{model}/head_scores.tsv",
    log:
        "results/{run}/logs/atlas/models/{model}/head_scores.log",
    benchmark:
        "results/{run}/benchmarks/atlas/models/{model}/head_scores.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=atlas.model_memory(),
        runtime=minutes(60),
        gpu=gpus(config),
    params:
        model=atlas.model_entry,
        limit=atlas.limit("sentences"),
        scores=atlas.settings("head_scores"),
        patterns=atlas.settings("patterns"),
        resamples=atlas.settings("resamples"),
        seed=atlas.settings("seed"),
        code=script_digest("atlas_head_scores.py"),
    script:
        "../scripts/atlas_head_scores.py"


rule atlas_relations:
    input:
        examples=atlas.shards_in_path("sentences", "examples", "parquet"),
        card="results/{run}/models/{model}/card.json",
        relations="results/{run}/atlas/models/{model}/dependency_head_relations.tsv",
        mlm_head=atlas.head_for_losses("safetensors"),
        mlm_head_facts=atlas.head_for_losses("json"),
    output:
        weights="results/{run}/atlas/models/{model}/relation_weights.tsv",
        effects="results/{run}/atlas/models/{model}/relation_effects.tsv",
    log:
        "results/{run}/logs/atlas/models/{model}/relations.log",
    benchmark:
        "results/{run}/benchmarks/atlas/models/{model}/relations.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=atlas.model_memory(),
        runtime=minutes(60),
        gpu=gpus(config),
    params:
        model=atlas.model_entry,
        limit=atlas.limit("sentences"),
        effects=atlas.settings("causal_effects"),
        resamples=atlas.settings("resamples"),
        seed=atlas.settings("seed"),
        code=script_digest("atlas_relations.py"),
    script:
        "../scripts/atlas_relations.py"


rule atlas_attended:
    input:
        shards=atlas.shards_in_path("sentences"),
        descriptions=atlas.shards_in_path("sentences", suffix="json"),
        examples=atlas.shards_in_path("sentences", "examples", "parquet"),
    output:
        pairs="results/{run}/atlas/models/{model}/attended_pairs.tsv",
        kinds="results/{run}/atlas/models/{model}/attended_kinds.tsv",
    log:
        "results/{run}/logs/atlas/models/{model}/attended.log",
    benchmark:
        "results/{run}/benchmarks/atlas/models/{model}/attended.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=atlas.map_memory("sentences", 200),
        runtime=minutes(60),
    params:
        limit=atlas.limit("sentences"),
        strongest_pairs=atlas.settings("strongest_pairs"),
        code=script_digest("atlas_attended.py"),
    script:
        "../scripts/atlas_attended.py"
