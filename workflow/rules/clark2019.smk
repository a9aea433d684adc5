# Clark et al. (2019), What Does BERT Look At? Input: attention caches of a corpus of segments and of a treebank.
# Output: results/{run}/clark2019, see workflow/resources/artifacts.yaml.

STUDY = "clark2019"


wildcard_constraints:
    variant="segment_ids|recipe|casing",


rule clark2019_surface:
    input:
        shards=shards_of(STUDY, "segments"),
        descriptions=shards_of(STUDY, "segments", suffix="json"),
        card=card_of(STUDY, "segments"),
    output:
        surface="results/{run}/clark2019/surface.tsv",
        options="results/{run}/clark2019/surface_options.tsv",
        summary="results/{run}/clark2019/segments.tsv",
    log:
        "results/{run}/logs/clark2019/surface.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/surface.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=maps_memory(STUDY, "segments", kept=200),
        runtime=minutes(60),
    params:
        limit=limit_for(STUDY, "segments"),
        options=settings(STUDY, "options"),
        resamples=settings(STUDY, "resamples"),
        seed=settings(STUDY, "seed"),
        code=script_digest("clark2019_surface.py"),
    script:
        "../scripts/clark2019_surface.py"


use rule clark2019_surface as clark2019_surface_variant with:
    output:
        surface="results/{run}/clark2019/variants/{variant}/surface.tsv",
        options="results/{run}/clark2019/variants/{variant}/surface_options.tsv",
        summary="results/{run}/clark2019/variants/{variant}/segments.tsv",
    log:
        "results/{run}/logs/clark2019/variants/{variant}/surface.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/variants/{variant}/surface.tsv"


rule clark2019_dependencies:
    input:
        shards=shards_of(STUDY, "dependencies"),
        descriptions=shards_of(STUDY, "dependencies", suffix="json"),
        examples=shards_of(STUDY, "dependencies", "examples", "parquet"),
        card=card_of(STUDY, "dependencies"),
    output:
        heads="results/{run}/clark2019/dependency_heads.tsv",
        relations="results/{run}/clark2019/relations.tsv",
        options="results/{run}/clark2019/dependency_options.tsv",
        noop="results/{run}/clark2019/noop.tsv",
        summary="results/{run}/clark2019/treebank.tsv",
    log:
        "results/{run}/logs/clark2019/dependencies.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/dependencies.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=maps_memory(STUDY, "dependencies", kept=2000),
        runtime=minutes(60),
    params:
        limit=limit_for(STUDY, "dependencies"),
        options=settings(STUDY, "options"),
        min_count=settings(STUDY, "min_count"),
        folds=settings(STUDY, "folds"),
        resamples=settings(STUDY, "resamples"),
        seed=settings(STUDY, "seed"),
        code=script_digest("clark2019_dependencies.py"),
    script:
        "../scripts/clark2019_dependencies.py"


use rule clark2019_dependencies as clark2019_dependencies_variant with:
    output:
        heads="results/{run}/clark2019/variants/{variant}/dependency_heads.tsv",
        relations="results/{run}/clark2019/variants/{variant}/relations.tsv",
        options="results/{run}/clark2019/variants/{variant}/dependency_options.tsv",
        noop="results/{run}/clark2019/variants/{variant}/noop.tsv",
        summary="results/{run}/clark2019/variants/{variant}/treebank.tsv",
    log:
        "results/{run}/logs/clark2019/variants/{variant}/dependencies.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/variants/{variant}/dependencies.tsv"


rule clark2019_table1:
    input:
        relations="results/{run}/clark2019/relations.tsv",
    output:
        tsv="results/{run}/clark2019/table1.tsv",
        html=report("results/{run}/clark2019/table1.html", **about(STUDY, "table1")),
    log:
        "results/{run}/logs/clark2019/table1.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/table1.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(STUDY, "dependencies"),
        code=script_digest("clark2019_table1.py", "published/clark2019.yaml"),
    script:
        "../scripts/clark2019_table1.py"


rule clark2019_positions:
    input:
        surface="results/{run}/clark2019/surface.tsv",
    output:
        tsv="results/{run}/clark2019/positions.tsv",
        html=report(
            "results/{run}/clark2019/positions.html", **about(STUDY, "positions")
        ),
    log:
        "results/{run}/logs/clark2019/positions.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/positions.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(STUDY, "segments"),
        code=script_digest("clark2019_positions.py"),
    script:
        "../scripts/clark2019_positions.py"


rule clark2019_noop:
    input:
        noop="results/{run}/clark2019/noop.tsv",
    output:
        html=report("results/{run}/clark2019/noop.html", **about(STUDY, "noop")),
    log:
        "results/{run}/logs/clark2019/noop.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/noop.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(STUDY, "dependencies"),
        code=script_digest("clark2019_noop.py"),
    script:
        "../scripts/clark2019_noop.py"


rule clark2019_options:
    input:
        dependency_options="results/{run}/clark2019/dependency_options.tsv",
        surface_options="results/{run}/clark2019/surface_options.tsv",
        surface="results/{run}/clark2019/surface.tsv",
        relations="results/{run}/clark2019/relations.tsv",
        variants=variant_files(STUDY),
    output:
        tsv="results/{run}/clark2019/options.tsv",
        html=report("results/{run}/clark2019/options.html", **about(STUDY, "options")),
    log:
        "results/{run}/logs/clark2019/options.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/options.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        variants=variant_tables(STUDY),
        setting=setting_for(STUDY, "dependencies"),
        code=script_digest("clark2019_options.py"),
    script:
        "../scripts/clark2019_options.py"


rule clark2019_dropped:
    input:
        example_files(STUDY),
    output:
        tsv="results/{run}/clark2019/dropped.tsv",
        html=report("results/{run}/clark2019/dropped.html", **about(STUDY, "dropped")),
    log:
        "results/{run}/logs/clark2019/dropped.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/dropped.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        corpora=shards_by_corpus(STUDY),
        line=run_title,
        title="Clark et al. 2019: what was left out",
        code=script_digest("dropped.py"),
    script:
        "../scripts/dropped.py"


rule clark2019_figure1_weights:
    input:
        shard=first_shard_of(STUDY, "segments"),
        description=first_shard_of(STUDY, "segments", suffix="json"),
        surface="results/{run}/clark2019/surface.tsv",
    output:
        tsv="results/{run}/clark2019/figure1.tsv",
    log:
        "results/{run}/logs/clark2019/figure1_weights.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/figure1_weights.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=maps_memory(STUDY, "segments"),
        runtime=minutes(10),
    params:
        heads=settings(STUDY, "figure1_heads"),
        code=script_digest("clark2019_figure1_weights.py"),
    script:
        "../scripts/clark2019_figure1_weights.py"


rule clark2019_figure1:
    input:
        weights="results/{run}/clark2019/figure1.tsv",
    output:
        svg=report("results/{run}/clark2019/figure1.svg", **about(STUDY, "figure1")),
        png="results/{run}/clark2019/figure1.png",
        pdf="results/{run}/clark2019/figure1.pdf",
    log:
        "results/{run}/logs/clark2019/figure1.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/figure1.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(STUDY, "segments"),
        code=script_digest("clark2019_figure1.py"),
    script:
        "../scripts/clark2019_figure1.py"


rule clark2019_figure2:
    input:
        surface="results/{run}/clark2019/surface.tsv",
    output:
        tsv="results/{run}/clark2019/figure2.tsv",
        svg=report("results/{run}/clark2019/figure2.svg", **about(STUDY, "figure2")),
        png="results/{run}/clark2019/figure2.png",
        pdf="results/{run}/clark2019/figure2.pdf",
    log:
        "results/{run}/logs/clark2019/figure2.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/figure2.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(STUDY, "segments"),
        code=script_digest("clark2019_figure2.py"),
    script:
        "../scripts/clark2019_figure2.py"


rule clark2019_figure4:
    input:
        surface="results/{run}/clark2019/surface.tsv",
        summary="results/{run}/clark2019/segments.tsv",
    output:
        tsv="results/{run}/clark2019/figure4.tsv",
        svg=report("results/{run}/clark2019/figure4.svg", **about(STUDY, "figure4")),
        png="results/{run}/clark2019/figure4.png",
        pdf="results/{run}/clark2019/figure4.pdf",
    log:
        "results/{run}/logs/clark2019/figure4.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/figure4.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(STUDY, "segments"),
        code=script_digest("clark2019_figure4.py"),
    script:
        "../scripts/clark2019_figure4.py"


rule clark2019_figure5_weights:
    input:
        shard=first_shard_of(STUDY, "dependencies"),
        description=first_shard_of(STUDY, "dependencies", suffix="json"),
        examples=first_shard_of(STUDY, "dependencies", "examples", "parquet"),
        relations="results/{run}/clark2019/relations.tsv",
        coreference=first_coreference(STUDY),
    output:
        tsv="results/{run}/clark2019/figure5.tsv",
    log:
        "results/{run}/logs/clark2019/figure5_weights.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/figure5_weights.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=maps_memory(STUDY, "dependencies", kept=8000),
        runtime=minutes(10),
    params:
        heads=settings(STUDY, "figure5_heads"),
        coreference_options=settings(STUDY, "coreference_options"),
        code=script_digest("clark2019_figure5_weights.py"),
    script:
        "../scripts/clark2019_figure5_weights.py"


rule clark2019_figure5:
    input:
        weights="results/{run}/clark2019/figure5.tsv",
    output:
        svg=report("results/{run}/clark2019/figure5.svg", **about(STUDY, "figure5")),
        png="results/{run}/clark2019/figure5.png",
        pdf="results/{run}/clark2019/figure5.pdf",
    log:
        "results/{run}/logs/clark2019/figure5.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/figure5.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(STUDY, "dependencies"),
        coreference=title_if(STUDY, "coreference"),
        code=script_digest("clark2019_figure5.py"),
    script:
        "../scripts/clark2019_figure5.py"


rule clark2019_gradients:
    input:
        card=card_of(STUDY, "segments"),
        head=head_of(STUDY, "segments", "safetensors"),
        facts=head_of(STUDY, "segments", "json"),
        examples=shards_of(STUDY, "segments", "examples", "parquet"),
    output:
        tsv="results/{run}/clark2019/figure3.tsv",
        variants="results/{run}/clark2019/figure3_variants.tsv",
        html=report(
            "results/{run}/clark2019/figure3_variants.html",
            **about(STUDY, "figure3_variants"),
        ),
    log:
        "results/{run}/logs/clark2019/gradients.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/gradients.tsv"
    conda:
        "../../envs/model.yaml"
    threads: role_threads(STUDY, "segments", lambda shape: 9)
    resources:
        mem_mb=gradient_memory(STUDY, "segments"),
        runtime=minutes(240),
        gpu=gpus,
    params:
        model=model_of(STUDY),
        limit=limit_for(STUDY, "segments"),
        options=settings(STUDY, "gradients"),
        resamples=settings(STUDY, "resamples"),
        seed=settings(STUDY, "seed"),
        setting=setting_for(STUDY, "segments"),
        code=script_digest("clark2019_gradients.py"),
    script:
        "../scripts/clark2019_gradients.py"


rule clark2019_figure3:
    input:
        table="results/{run}/clark2019/figure3.tsv",
    output:
        svg=report("results/{run}/clark2019/figure3.svg", **about(STUDY, "figure3")),
        png="results/{run}/clark2019/figure3.png",
        pdf="results/{run}/clark2019/figure3.pdf",
    log:
        "results/{run}/logs/clark2019/figure3.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/figure3.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(STUDY, "segments"),
        code=script_digest("clark2019_figure3.py"),
    script:
        "../scripts/clark2019_figure3.py"


rule clark2019_coreference:
    input:
        shards=shards_of(STUDY, "coreference"),
        descriptions=shards_of(STUDY, "coreference", suffix="json"),
        examples=shards_of(STUDY, "coreference", "examples", "parquet"),
    output:
        table="results/{run}/clark2019/table2.tsv",
        heads="results/{run}/clark2019/coreference_heads.tsv",
        options="results/{run}/clark2019/coreference_options.tsv",
        summary="results/{run}/clark2019/coreference.tsv",
    log:
        "results/{run}/logs/clark2019/coreference.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/coreference.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=maps_memory(STUDY, "coreference", kept=4000),
        runtime=minutes(120),
    params:
        limit=limit_for(STUDY, "coreference"),
        options=settings(STUDY, "coreference_options"),
        folds=settings(STUDY, "folds"),
        resamples=settings(STUDY, "resamples"),
        seed=settings(STUDY, "seed"),
        code=script_digest("clark2019_coreference.py"),
    script:
        "../scripts/clark2019_coreference.py"


use rule clark2019_coreference as clark2019_coreference_windows with:
    input:
        shards=shards_of(STUDY, "coreference_windows"),
        descriptions=shards_of(STUDY, "coreference_windows", suffix="json"),
        examples=shards_of(STUDY, "coreference_windows", "examples", "parquet"),
    output:
        table="results/{run}/clark2019/variants/windows/table2.tsv",
        heads="results/{run}/clark2019/variants/windows/coreference_heads.tsv",
        options="results/{run}/clark2019/variants/windows/coreference_options.tsv",
        summary="results/{run}/clark2019/variants/windows/coreference.tsv",
    log:
        "results/{run}/logs/clark2019/variants/windows/coreference.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/variants/windows/coreference.tsv"
    params:
        limit=limit_for(STUDY, "coreference_windows"),
        options=settings(STUDY, "coreference_options"),
        folds=settings(STUDY, "folds"),
        resamples=settings(STUDY, "resamples"),
        seed=settings(STUDY, "seed"),
        code=script_digest("clark2019_coreference.py"),


rule clark2019_table2:
    input:
        table="results/{run}/clark2019/table2.tsv",
        options="results/{run}/clark2019/coreference_options.tsv",
        summary="results/{run}/clark2019/coreference.tsv",
        windows=with_role(STUDY, "coreference_windows", "variants/windows/table2.tsv"),
    output:
        html=report("results/{run}/clark2019/table2.html", **about(STUDY, "table2")),
        options="results/{run}/clark2019/table2_options.tsv",
        options_html=report(
            "results/{run}/clark2019/table2_options.html",
            **about(STUDY, "table2_options"),
        ),
    log:
        "results/{run}/logs/clark2019/table2.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/table2.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(STUDY, "coreference"),
        code=script_digest("clark2019_table2.py", "published/clark2019.yaml"),
    script:
        "../scripts/clark2019_table2.py"


rule clark2019_gap:
    input:
        shards=shards_of(STUDY, "gap"),
        descriptions=shards_of(STUDY, "gap", suffix="json"),
        examples=shards_of(STUDY, "gap", "examples", "parquet"),
    output:
        tsv="results/{run}/clark2019/gap.tsv",
        heads="results/{run}/clark2019/gap_heads.tsv",
        html=report("results/{run}/clark2019/gap.html", **about(STUDY, "gap")),
    log:
        "results/{run}/logs/clark2019/gap.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/gap.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=maps_memory(STUDY, "gap", kept=100),
        runtime=minutes(60),
    params:
        limit=limit_for(STUDY, "gap"),
        folds=settings(STUDY, "folds"),
        resamples=settings(STUDY, "resamples"),
        seed=settings(STUDY, "seed"),
        setting=setting_for(STUDY, "gap"),
        code=script_digest("clark2019_gap.py"),
    script:
        "../scripts/clark2019_gap.py"


rule clark2019_word_vectors:
    input:
        card=card_of(STUDY, "dependencies"),
        training=shards_of(STUDY, "probe_training", "examples", "parquet"),
        evaluation=shards_of(STUDY, "dependencies", "examples", "parquet"),
        file=vectors_file(STUDY),
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
        name=study_model_name(STUDY),
        model=model_of(STUDY),
        training_limit=limit_for(STUDY, "probe_training"),
        evaluation_limit=limit_for(STUDY, "dependencies"),
        encoding=vectors_encoding(STUDY),
        dimensions=settings(STUDY, "probes", "dimensions"),
        code=script_digest("clark2019_word_vectors.py"),
    script:
        "../scripts/clark2019_word_vectors.py"


rule clark2019_probes:
    input:
        card="results/{run}/models/{model}/card.json",
        training=probed("probe_training", STUDY),
        training_descriptions=probed("probe_training", STUDY, suffix="json"),
        training_examples=probed("probe_training", STUDY, "examples", "parquet"),
        evaluation=probed("dependencies", STUDY),
        evaluation_descriptions=probed("dependencies", STUDY, suffix="json"),
        evaluation_examples=probed("dependencies", STUDY, "examples", "parquet"),
        vectors="results/{run}/clark2019/probes/vectors.safetensors",
        facts="results/{run}/clark2019/probes/vectors.json",
    output:
        table="results/{run}/clark2019/probes/{model}.tsv",
        summary="results/{run}/clark2019/probes/{model}.training.tsv",
    log:
        "results/{run}/logs/clark2019/probes/{model}.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/probes/{model}.tsv"
    conda:
        "../../envs/model.yaml"
    threads: role_threads(STUDY, "probe_training", lambda shape: 2)
    resources:
        mem_mb=probe_memory(STUDY, "probe_training"),
        runtime=minutes(480),
        gpu=gpus,
    params:
        own=study_model_name(STUDY),
        training_limit=limit_for(STUDY, "probe_training"),
        evaluation_limit=limit_for(STUDY, "dependencies"),
        recipe=probe_recipe(STUDY),
        decodings=settings(STUDY, "probes", "decodings"),
        code=script_digest("clark2019_probes.py"),
    script:
        "../scripts/clark2019_probes.py"


rule clark2019_table3:
    input:
        own=probe_tables(STUDY, "tsv"),
        training=probe_tables(STUDY, "training.tsv"),
        random=random_probe_tables(STUDY),
        examples=shards_of(STUDY, "dependencies", "examples", "parquet"),
    output:
        tsv="results/{run}/clark2019/table3.tsv",
        seeds="results/{run}/clark2019/table3_seeds.tsv",
        html=report("results/{run}/clark2019/table3.html", **about(STUDY, "table3")),
    log:
        "results/{run}/logs/clark2019/table3.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/table3.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(20),
    params:
        limit=limit_for(STUDY, "dependencies"),
        resamples=settings(STUDY, "resamples"),
        seed=settings(STUDY, "seed"),
        setting=setting_for(STUDY, "dependencies"),
        trained_on=title_for(STUDY, "probe_training"),
        code=script_digest("clark2019_table3.py", "published/clark2019.yaml"),
    script:
        "../scripts/clark2019_table3.py"


rule clark2019_head_distances:
    input:
        shards=shards_of(STUDY, "segments"),
        descriptions=shards_of(STUDY, "segments", suffix="json"),
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
        mem_mb=distance_memory(STUDY, "segments"),
        runtime=minutes(240),
        gpu=gpus,
    params:
        limit=limit_for(STUDY, "segments"),
        smoothing=settings(STUDY, "clustering", "smoothing"),
        blocks=settings(STUDY, "clustering", "blocks"),
        code=script_digest("clark2019_head_distances.py"),
    script:
        "../scripts/clark2019_head_distances.py"


rule clark2019_clustering:
    input:
        distances="results/{run}/clark2019/head_distances.tsv",
        blocks="results/{run}/clark2019/head_distance_blocks.tsv",
        surface="results/{run}/clark2019/surface.tsv",
        relations="results/{run}/clark2019/relations.tsv",
        table2=with_role(STUDY, "coreference", "table2.tsv"),
    output:
        heads="results/{run}/clark2019/figure6.tsv",
        layers="results/{run}/clark2019/figure6_layers.tsv",
        test="results/{run}/clark2019/figure6_test.tsv",
        html=report(
            "results/{run}/clark2019/figure6_test.html", **about(STUDY, "figure6_test")
        ),
    log:
        "results/{run}/logs/clark2019/clustering.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/clustering.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(30),
    params:
        options=settings(STUDY, "clustering"),
        resamples=settings(STUDY, "resamples"),
        seed=settings(STUDY, "seed"),
        setting=setting_for(STUDY, "segments"),
        code=script_digest("clark2019_clustering.py"),
    script:
        "../scripts/clark2019_clustering.py"


rule clark2019_figure6:
    input:
        heads="results/{run}/clark2019/figure6.tsv",
        layers="results/{run}/clark2019/figure6_layers.tsv",
        test="results/{run}/clark2019/figure6_test.tsv",
        segments="results/{run}/clark2019/segments.tsv",
    output:
        svg=report("results/{run}/clark2019/figure6.svg", **about(STUDY, "figure6")),
        png="results/{run}/clark2019/figure6.png",
        pdf="results/{run}/clark2019/figure6.pdf",
    log:
        "results/{run}/logs/clark2019/figure6.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/figure6.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(STUDY, "segments"),
        code=script_digest("clark2019_figure6.py"),
    script:
        "../scripts/clark2019_figure6.py"


rule clark2019_comparison:
    input:
        surface="results/{run}/clark2019/surface.tsv",
        summary="results/{run}/clark2019/segments.tsv",
        relations="results/{run}/clark2019/relations.tsv",
        heads="results/{run}/clark2019/dependency_heads.tsv",
        treebank="results/{run}/clark2019/treebank.tsv",
        figure3="results/{run}/clark2019/figure3.tsv",
        table2=with_role(STUDY, "coreference", "table2.tsv"),
        table3=with_role(STUDY, "probe_training", "table3.tsv"),
        training=own_training_summary(STUDY),
    output:
        tsv="results/{run}/clark2019/comparison.tsv",
        html=report(
            "results/{run}/clark2019/comparison.html", **about(STUDY, "comparison")
        ),
    log:
        "results/{run}/logs/clark2019/comparison.log",
    benchmark:
        "results/{run}/benchmarks/clark2019/comparison.tsv"
    group:
        "clark2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        settings=settings_by_role(
            STUDY, "segments", "dependencies", "coreference", "probe_training"
        ),
        thresholds=settings(STUDY, "clustering"),
        code=script_digest("clark2019_comparison.py", "published/clark2019.yaml"),
    script:
        "../scripts/clark2019_comparison.py"
