# Guan et al. (2020), How Far Does BERT Look At. Input: attention caches of questions on passages, and models that answer them.
# Output: results/{run}/guan2020, see studies/guan2020/study.py.

from attention_atlas.workflow.inputs.guan2020 import Guan2020Inputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import gpus, memory, minutes

guan2020 = Guan2020Inputs(config)


rule guan2020_features:
    input:
        shards=guan2020.sampled_shards("safetensors"),
        descriptions=guan2020.sampled_shards("json"),
        examples=guan2020.sampled_shards("parquet", "examples"),
        card="results/{run}/models/{model}/card.json",
    output:
        "results/{run}/guan2020/features/{model}/{corpus}.safetensors",
    log:
        "results/{run}/logs/guan2020/features/{model}/{corpus}.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/features/{model}/{corpus}.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        # 21 features under four options, and copies of them, in float32.
        mem_mb=guan2020.map_memory("questions", 4 * 4 * 21 * 3),
        runtime=minutes(60),
    params:
        samples=guan2020.settings("samples"),
        code=script_digest("guan2020_features.py"),
    script:
        "../scripts/guan2020_features.py"


rule guan2020_head_types:
    input:
        features=guan2020.base_features,
    output:
        types="results/{run}/guan2020/head_types.tsv",
        plane="results/{run}/guan2020/head_type_plane.tsv",
        layers="results/{run}/guan2020/head_type_layers.tsv",
        summary="results/{run}/guan2020/head_type_summary.tsv",
        agreement="results/{run}/guan2020/head_type_agreement.tsv",
    log:
        "results/{run}/logs/guan2020/head_types.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/head_types.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(30),
    params:
        options=guan2020.settings("features"),
        method=guan2020.settings("method"),
        fits=guan2020.settings("fits"),
        perplexity=guan2020.settings("perplexity"),
        seed=guan2020.settings("seed"),
        label=guan2020.label("questions"),
        code=script_digest("guan2020_head_types.py"),
    script:
        "../scripts/guan2020_head_types.py"


rule guan2020_maps:
    input:
        shards=guan2020.first_shard("questions"),
        descriptions=guan2020.first_shard("questions", suffix="json"),
        types="results/{run}/guan2020/head_types.tsv",
    output:
        maps="results/{run}/guan2020/maps.tsv",
        grid="results/{run}/guan2020/map_grid.tsv",
    log:
        "results/{run}/logs/guan2020/maps.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/maps.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=guan2020.map_memory("questions"),
        runtime=minutes(10),
    params:
        limit=guan2020.sampled_records,
        code=script_digest("guan2020_maps.py"),
    script:
        "../scripts/guan2020_maps.py"


rule guan2020_ablations:
    input:
        card=guan2020.card("questions"),
        types="results/{run}/guan2020/head_types.tsv",
        examples=guan2020.shard("questions", "examples", "parquet"),
    output:
        "results/{run}/guan2020/ablations/shards/{shard}.parquet",
    log:
        "results/{run}/logs/guan2020/ablations/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/ablations/{shard}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=guan2020.model_memory(),
        runtime=minutes(1440),
        gpu=gpus(config),
    params:
        model=guan2020.model(),
        limit=guan2020.limit("questions"),
        settings=guan2020.settings("ablations"),
        seed=guan2020.settings("seed"),
        code=script_digest("guan2020_ablations.py"),
    script:
        "../scripts/guan2020_ablations.py"


rule guan2020_answers:
    input:
        card=guan2020.card("questions"),
        types="results/{run}/guan2020/head_types.tsv",
        examples=guan2020.examples("questions"),
        answers=guan2020.per_shard(
            "questions",
            "results/{run}/guan2020/ablations/shards/{shard}.parquet",
        ),
    output:
        answers="results/{run}/guan2020/answers.parquet",
        heads="results/{run}/guan2020/answer_heads.tsv",
        baselines="results/{run}/guan2020/answer_baselines.tsv",
    log:
        "results/{run}/logs/guan2020/answers.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/answers.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=memory(6000),
        runtime=minutes(240),
    params:
        limit=guan2020.limit("questions"),
        settings=guan2020.settings("ablations"),
        seed=guan2020.settings("seed"),
        code=script_digest("guan2020_answers.py"),
    script:
        "../scripts/guan2020_answers.py"
