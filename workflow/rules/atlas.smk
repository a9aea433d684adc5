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
