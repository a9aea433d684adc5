# Input: tables of all studies of a run. Output: results/{run}/atlas (one row a head) and the scoreboard, results/{run}/*.tsv.


rule atlas_heads:
    input:
        head_files,
    output:
        heads="results/{run}/atlas/heads.tsv",
        measures="results/{run}/atlas/measures.tsv",
        html=report("results/{run}/atlas/measures.html", **about("atlas", "measures")),
    log:
        "results/{run}/logs/atlas/heads.log",
    benchmark:
        "results/{run}/benchmarks/atlas/heads.tsv"
    group:
        "atlas_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        tables=head_tables,
        model=atlas_model,
        shape=atlas_shape,
        models=head_models,
        left_out=of_another_shape,
        run=run_title,
        code=script_digest("atlas_heads.py"),
    script:
        "../scripts/atlas_heads.py"


rule atlas_correlations:
    input:
        heads="results/{run}/atlas/heads.tsv",
        measures="results/{run}/atlas/measures.tsv",
    output:
        tsv="results/{run}/atlas/correlations.tsv",
        svg=report(
            "results/{run}/atlas/correlations.svg", **about("atlas", "correlations")
        ),
        png="results/{run}/atlas/correlations.png",
        pdf="results/{run}/atlas/correlations.pdf",
        findings="results/{run}/atlas/findings.tsv",
        findings_html=report(
            "results/{run}/atlas/findings.html", **about("atlas", "findings")
        ),
    log:
        "results/{run}/logs/atlas/correlations.log",
    benchmark:
        "results/{run}/benchmarks/atlas/correlations.tsv"
    group:
        "atlas_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(30),
    params:
        models=study_models,
        line=run_title,
        draws=atlas_draws,
        code=script_digest("atlas_correlations.py"),
    script:
        "../scripts/atlas_correlations.py"


rule atlas_of_model:
    input:
        shards=measured_shards("attention", "safetensors"),
        descriptions=measured_shards("attention", "json"),
        examples=measured_shards("examples", "parquet"),
        card="results/{run}/models/{model}/card.json",
    output:
        surface="results/{run}/atlas/models/{model}/surface.tsv",
        heads="results/{run}/atlas/models/{model}/dependency_heads.tsv",
        relations="results/{run}/atlas/models/{model}/relations.tsv",
        types="results/{run}/atlas/models/{model}/head_types.tsv",
    log:
        "results/{run}/logs/atlas/models/{model}.log",
    benchmark:
        "results/{run}/benchmarks/atlas/models/{model}.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=sentence_memory,
        runtime=minutes(60),
    params:
        limit=limit_for("atlas", "sentences"),
        min_count=settings("atlas", "min_count"),
        folds=settings("atlas", "folds"),
        resamples=settings("atlas", "resamples"),
        seed=settings("atlas", "seed"),
        code=script_digest("atlas_of_model.py"),
    script:
        "../scripts/atlas_of_model.py"


rule atlas_models:
    input:
        compared_files,
    output:
        tsv="results/{run}/atlas/models.tsv",
        findings="results/{run}/atlas/models_findings.tsv",
        html=report(
            "results/{run}/atlas/models_findings.html", **about("atlas", "models")
        ),
        svg=report("results/{run}/atlas/models.svg", **about("atlas", "models")),
        png="results/{run}/atlas/models.png",
        pdf="results/{run}/atlas/models.pdf",
    log:
        "results/{run}/logs/atlas/models.log",
    benchmark:
        "results/{run}/benchmarks/atlas/models.tsv"
    group:
        "atlas_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        models=compared_tables,
        draws=atlas_draws,
        run=run_title,
        setting=setting_for("atlas", "sentences"),
        code=script_digest("atlas_models.py"),
    script:
        "../scripts/atlas_models.py"


rule atlas_page:
    input:
        heads="results/{run}/atlas/heads.tsv",
        measures="results/{run}/atlas/measures.tsv",
        correlations="results/{run}/atlas/correlations.tsv",
        relations=relation_files,
        shard=drawn_files("attention", "safetensors"),
        description=drawn_files("attention", "json"),
        examples=drawn_files("examples", "parquet"),
    output:
        report("results/{run}/atlas/atlas.html", **about("atlas", "measures")),
    log:
        "results/{run}/logs/atlas/page.log",
    benchmark:
        "results/{run}/benchmarks/atlas/page.tsv"
    group:
        "atlas_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        drawn=settings("atlas", "drawn"),
        run=run_title,
        setting=page_line,
        code=script_digest(
            "atlas_page.py", "atlas/page.html", "atlas/page.css", "atlas/page.js"
        ),
    script:
        "../scripts/atlas_page.py"


rule scoreboard_tables:
    input:
        board_files,
    output:
        values="results/{run}/comparison.tsv",
        values_html=report(
            "results/{run}/comparison.html", **about("scoreboard", "comparison")
        ),
        summary="results/{run}/scoreboard.tsv",
        summary_html=report(
            "results/{run}/scoreboard.html", **about("scoreboard", "scoreboard")
        ),
        claims="results/{run}/claims.tsv",
        claims_html=report("results/{run}/claims.html", **about("scoreboard", "claims")),
    log:
        "results/{run}/logs/scoreboard.log",
    benchmark:
        "results/{run}/benchmarks/scoreboard.tsv"
    group:
        "atlas_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        comparisons=tables_named("comparison"),
        claims=tables_named("claims"),
        run=run_title,
        generated=looks_at_sample,
        code=script_digest("scoreboard.py"),
    script:
        "../scripts/scoreboard.py"
