# Clark et al. (2019), What Does BERT Look At? Input: attention caches of a corpus of segments and of a treebank.
# Output: results/{run}/clark2019, see studies/clark2019/study.py.

from attention_atlas.workflow.inputs.clark2019 import Clark2019Inputs
from attention_atlas.workflow.names import one_of
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import gpus, memory, minutes

clark2019 = Clark2019Inputs(config)


wildcard_constraints:
    variant="segment_ids|recipe|casing|random",


rule clark2019_surface:
    input:
        shards=clark2019.shards("segments"),
        descriptions=clark2019.shards("segments", suffix="json"),
        card=clark2019.card("segments"),
    output:
        surface="results/{run}/clark2019/surface.tsv",
        options="results/{run}/clark2019/surface_options.tsv",
        summary="results/{run}/clark2019/surface_summary.tsv",
        claims="results/{run}/clark2019/surface_claims.tsv",
    log:
        "results/{run}/logs/clark2019/surface.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/surface.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=clark2019.map_memory("segments", 200),
        runtime=minutes(60),
    params:
        limit=clark2019.limit("segments"),
        options=clark2019.settings("options"),
        folds=clark2019.settings("folds"),
        resamples=clark2019.settings("resamples"),
        seed=clark2019.settings("seed"),
        code=script_digest("clark2019_surface.py"),
    script:
        "../scripts/clark2019_surface.py"


use rule clark2019_surface as clark2019_surface_variant with:
    output:
        surface="results/{run}/clark2019/variants/{variant}/surface.tsv",
        options="results/{run}/clark2019/variants/{variant}/surface_options.tsv",
        summary="results/{run}/clark2019/variants/{variant}/surface_summary.tsv",
        claims="results/{run}/clark2019/variants/{variant}/surface_claims.tsv",
    log:
        "results/{run}/logs/clark2019/variants/{variant}/surface.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/variants/{variant}/surface.tsv"


rule clark2019_dependencies:
    input:
        shards=clark2019.shards("dependencies"),
        descriptions=clark2019.shards("dependencies", suffix="json"),
        examples=clark2019.examples("dependencies"),
        card=clark2019.card("dependencies"),
    output:
        heads="results/{run}/clark2019/dependency_heads.tsv",
        dependencies="results/{run}/clark2019/dependencies.tsv",
        head_relations="results/{run}/clark2019/dependency_head_relations.tsv",
        options="results/{run}/clark2019/dependency_options.tsv",
        noop="results/{run}/clark2019/dependency_noop.tsv",
        summary="results/{run}/clark2019/dependency_summary.tsv",
        claims="results/{run}/clark2019/dependency_claims.tsv",
    log:
        "results/{run}/logs/clark2019/dependencies.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/dependencies.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=clark2019.map_memory("dependencies", 2000),
        runtime=minutes(60),
    params:
        limit=clark2019.limit("dependencies"),
        options=clark2019.settings("options"),
        min_count=clark2019.settings("min_count"),
        folds=clark2019.settings("folds"),
        resamples=clark2019.settings("resamples"),
        seed=clark2019.settings("seed"),
        code=script_digest("clark2019_dependencies.py"),
    script:
        "../scripts/clark2019_dependencies.py"


use rule clark2019_dependencies as clark2019_dependencies_variant with:
    output:
        heads="results/{run}/clark2019/variants/{variant}/dependency_heads.tsv",
        dependencies="results/{run}/clark2019/variants/{variant}/dependencies.tsv",
        head_relations="results/{run}/clark2019/variants/{variant}/dependency_head_relations.tsv",
        options="results/{run}/clark2019/variants/{variant}/dependency_options.tsv",
        noop="results/{run}/clark2019/variants/{variant}/dependency_noop.tsv",
        summary="results/{run}/clark2019/variants/{variant}/dependency_summary.tsv",
        claims="results/{run}/clark2019/variants/{variant}/dependency_claims.tsv",
    log:
        "results/{run}/logs/clark2019/variants/{variant}/dependencies.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/variants/{variant}/dependencies.tsv"


rule clark2019_figure1_weights:
    input:
        shards=clark2019.drawn_shards("segments", "figure1_segment"),
        descriptions=clark2019.drawn_shards(
            "segments", "figure1_segment", suffix="json"
        ),
        surface="results/{run}/clark2019/surface.tsv",
    output:
        tsv="results/{run}/clark2019/figure1_weights.tsv",
    log:
        "results/{run}/logs/clark2019/figure1_weights.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/figure1_weights.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=clark2019.map_memory("segments"),
        runtime=minutes(10),
    params:
        heads=clark2019.settings("figure1_heads"),
        segment=clark2019.settings("figure1_segment"),
        code=script_digest("clark2019_figure1_weights.py"),
    script:
        "../scripts/clark2019_figure1_weights.py"


rule clark2019_figure5_weights:
    input:
        shards=clark2019.drawn_shards("dependencies", "figure5_sentences"),
        descriptions=clark2019.drawn_shards(
            "dependencies", "figure5_sentences", suffix="json"
        ),
        examples=clark2019.drawn_shards(
            "dependencies", "figure5_sentences", "examples", "parquet"
        ),
        dependencies="results/{run}/clark2019/dependencies.tsv",
        coreference=clark2019.first_coreference,
    output:
        tsv="results/{run}/clark2019/figure5_weights.tsv",
    log:
        "results/{run}/logs/clark2019/figure5_weights.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/figure5_weights.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=clark2019.map_memory("dependencies", 8000),
        runtime=minutes(10),
    params:
        heads=clark2019.settings("figure5_heads"),
        sentences=clark2019.settings("figure5_sentences"),
        coreference_options=clark2019.settings("coreference_options"),
        code=script_digest("clark2019_figure5_weights.py"),
    script:
        "../scripts/clark2019_figure5_weights.py"


rule clark2019_gradients:
    input:
        card=clark2019.card("segments"),
        head=clark2019.mlm_head("segments", "safetensors"),
        facts=clark2019.mlm_head("segments", "json"),
        examples=clark2019.examples("segments"),
    output:
        tsv="results/{run}/clark2019/gradients.tsv",
        variants="results/{run}/clark2019/gradient_variants.tsv",
        claims="results/{run}/clark2019/gradient_claims.tsv",
    log:
        "results/{run}/logs/clark2019/gradients.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/gradients.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=clark2019.model_memory(),
        runtime=minutes(240),
        gpu=gpus(config),
    params:
        model=clark2019.model(),
        limit=clark2019.limit("segments"),
        options=clark2019.settings("gradients"),
        resamples=clark2019.settings("resamples"),
        seed=clark2019.settings("seed"),
        code=script_digest("clark2019_gradients.py"),
    script:
        "../scripts/clark2019_gradients.py"


rule clark2019_coreference:
    input:
        shards=clark2019.shards("coreference"),
        descriptions=clark2019.shards("coreference", suffix="json"),
        examples=clark2019.examples("coreference"),
        name_lists=clark2019.name_lists,
    output:
        table="results/{run}/clark2019/coreference.tsv",
        heads="results/{run}/clark2019/coreference_heads.tsv",
        options="results/{run}/clark2019/coreference_options.tsv",
        summary="results/{run}/clark2019/coreference_summary.tsv",
        claims="results/{run}/clark2019/coreference_claims.tsv",
    log:
        "results/{run}/logs/clark2019/coreference.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/coreference.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=clark2019.map_memory("coreference", 4000),
        runtime=minutes(120),
    params:
        limit=clark2019.limit("coreference"),
        options=clark2019.settings("coreference_options"),
        vary_options=True,
        folds=clark2019.settings("folds"),
        resamples=clark2019.settings("resamples"),
        seed=clark2019.settings("seed"),
        code=script_digest("clark2019_coreference.py"),
    script:
        "../scripts/clark2019_coreference.py"


use rule clark2019_coreference as clark2019_coreference_variant with:
    output:
        table="results/{run}/clark2019/variants/{variant}/coreference.tsv",
        heads="results/{run}/clark2019/variants/{variant}/coreference_heads.tsv",
        options="results/{run}/clark2019/variants/{variant}/coreference_options.tsv",
        summary="results/{run}/clark2019/variants/{variant}/coreference_summary.tsv",
        claims="results/{run}/clark2019/variants/{variant}/coreference_claims.tsv",
    log:
        "results/{run}/logs/clark2019/variants/{variant}/coreference.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/variants/{variant}/coreference.tsv"
    params:
        limit=clark2019.limit("coreference"),
        options=clark2019.settings("coreference_options"),
        vary_options=False,
        folds=clark2019.settings("folds"),
        resamples=clark2019.settings("resamples"),
        seed=clark2019.settings("seed"),
        code=script_digest("clark2019_coreference.py"),


rule clark2019_coreference_windows:
    input:
        shards=clark2019.shards("coreference"),
        descriptions=clark2019.shards("coreference", suffix="json"),
        examples=clark2019.examples("coreference"),
        window_shards=clark2019.shards("coreference_windows"),
        window_descriptions=clark2019.shards("coreference_windows", suffix="json"),
        window_examples=clark2019.examples("coreference_windows"),
        name_lists=clark2019.name_lists,
    output:
        table="results/{run}/clark2019/variants/windows/coreference.tsv",
    log:
        "results/{run}/logs/clark2019/variants/windows/coreference.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/variants/windows/coreference.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=clark2019.map_memory("coreference_windows", 4000),
        runtime=minutes(120),
    params:
        limits=clark2019.window_limits,
        divisions=clark2019.divisions,
        options=clark2019.settings("coreference_options"),
        folds=clark2019.settings("folds"),
        resamples=clark2019.settings("resamples"),
        seed=clark2019.settings("seed"),
        code=script_digest("clark2019_coreference_windows.py"),
    script:
        "../scripts/clark2019_coreference_windows.py"


rule clark2019_gap:
    input:
        shards=clark2019.shards("gap"),
        descriptions=clark2019.shards("gap", suffix="json"),
        examples=clark2019.examples("gap"),
    output:
        tsv="results/{run}/clark2019/gap.tsv",
        heads="results/{run}/clark2019/gap_heads.tsv",
        html=report("results/{run}/clark2019/gap.html", **clark2019.about("gap")),
    log:
        "results/{run}/logs/clark2019/gap.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/gap.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=clark2019.map_memory("gap", 100),
        runtime=minutes(60),
    params:
        limit=clark2019.limit("gap"),
        folds=clark2019.settings("folds"),
        resamples=clark2019.settings("resamples"),
        seed=clark2019.settings("seed"),
        label=clark2019.label("gap"),
        links=clark2019.links(html="gap.html"),
        code=script_digest("clark2019_gap.py"),
    script:
        "../scripts/clark2019_gap.py"


rule clark2019_word_vectors:
    input:
        card=clark2019.card("dependencies"),
        training=clark2019.examples("probe_training"),
        evaluation=clark2019.examples("dependencies"),
        file=clark2019.vectors_file(),
    output:
        vectors="results/{run}/clark2019/probes/vectors.safetensors",
        facts="results/{run}/clark2019/probes/vectors.json",
    log:
        "results/{run}/logs/clark2019/word_vectors.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/word_vectors.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(60),
    params:
        name=clark2019.model_name(),
        model=clark2019.model(),
        training_limit=clark2019.limit("probe_training"),
        evaluation_limit=clark2019.limit("dependencies"),
        encoding=clark2019.vectors_encoding,
        dimensions=clark2019.settings("probes", "dimensions"),
        code=script_digest("clark2019_word_vectors.py"),
    script:
        "../scripts/clark2019_word_vectors.py"


rule clark2019_probes:
    input:
        card="results/{run}/models/{model}/card.json",
        training=clark2019.shards_in_path("probe_training"),
        training_descriptions=clark2019.shards_in_path("probe_training", suffix="json"),
        training_examples=clark2019.shards_in_path(
            "probe_training", "examples", "parquet"
        ),
        evaluation=clark2019.shards_in_path("dependencies"),
        evaluation_descriptions=clark2019.shards_in_path("dependencies", suffix="json"),
        evaluation_examples=clark2019.shards_in_path(
            "dependencies", "examples", "parquet"
        ),
        vectors="results/{run}/clark2019/probes/vectors.safetensors",
        facts="results/{run}/clark2019/probes/vectors.json",
    output:
        table="results/{run}/clark2019/probes/{model}.tsv",
        summary="results/{run}/clark2019/probes/{model}.training.tsv",
    log:
        "results/{run}/logs/clark2019/probes/{model}.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/probes/{model}.tsv"
    # The name of a model may have a full stop, so that the summary of one could be the table of another.
    wildcard_constraints:
        model=one_of(config["models"]),
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=clark2019.model_memory(),
        runtime=minutes(480),
        gpu=gpus(config),
    params:
        run_model=clark2019.model_name(),
        training_limit=clark2019.limit("probe_training"),
        evaluation_limit=clark2019.limit("dependencies"),
        recipe=clark2019.probe_recipe,
        decodings=clark2019.settings("probes", "decodings"),
        code=script_digest("clark2019_probes.py"),
    script:
        "../scripts/clark2019_probes.py"


rule clark2019_head_distances:
    input:
        shards=clark2019.shards("segments"),
        descriptions=clark2019.shards("segments", suffix="json"),
    output:
        distances="results/{run}/clark2019/head_distances.tsv",
        blocks="results/{run}/clark2019/head_distance_blocks.tsv",
    log:
        "results/{run}/logs/clark2019/head_distances.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/head_distances.tsv"
    conda:
        "../../envs/model.yaml"
    threads: 2
    resources:
        mem_mb=clark2019.map_memory("segments"),
        runtime=minutes(240),
        gpu=gpus(config),
    params:
        limit=clark2019.limit("segments"),
        smoothing=clark2019.settings("clustering", "smoothing"),
        blocks=clark2019.settings("clustering", "blocks"),
        code=script_digest("clark2019_head_distances.py"),
    script:
        "../scripts/clark2019_head_distances.py"
