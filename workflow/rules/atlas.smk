# Input: tables of all studies of a run. Output: results/{run}/atlas (one row a head) and the scoreboard, results/{run}/*.tsv.

from attention_atlas.workflow.inputs.atlas import AtlasInputs
from attention_atlas.workflow.inputs.scoreboard import ScoreboardInputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import memory, minutes

atlas = AtlasInputs(config)
scoreboard = ScoreboardInputs(config)


rule atlas_heads:
    input:
        atlas.head_files,
    output:
        heads="results/{run}/atlas/heads.tsv",
        measures="results/{run}/atlas/measures.tsv",
        html=report("results/{run}/atlas/measures.html", **atlas.about("measures")),
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
        tables=atlas.head_tables,
        model=atlas.model_name(),
        shape=atlas.shape,
        models=atlas.head_models,
        left_out=atlas.skipped_tables,
        run=atlas.run_title,
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
            "results/{run}/atlas/correlations.svg", **atlas.about("correlations")
        ),
        png="results/{run}/atlas/correlations.png",
        pdf="results/{run}/atlas/correlations.pdf",
        findings="results/{run}/atlas/findings.tsv",
        findings_html=report(
            "results/{run}/atlas/findings.html", **atlas.about("findings")
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
        models=atlas.study_models,
        line=atlas.run_title,
        draws=atlas.draws,
        code=script_digest("atlas_correlations.py"),
    script:
        "../scripts/atlas_correlations.py"


rule atlas_of_model:
    input:
        shards=atlas.shards_in_path("sentences"),
        descriptions=atlas.shards_in_path("sentences", suffix="json"),
        examples=atlas.shards_in_path("sentences", "examples", "parquet"),
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
        mem_mb=atlas.memory("of_model"),
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


rule atlas_models:
    input:
        atlas.compared_files,
    output:
        tsv="results/{run}/atlas/models.tsv",
        findings="results/{run}/atlas/models_findings.tsv",
        html=report("results/{run}/atlas/models_findings.html", **atlas.about("models")),
        svg=report("results/{run}/atlas/models.svg", **atlas.about("models")),
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
        models=atlas.compared_tables,
        draws=atlas.draws,
        run=atlas.run_title,
        setting=atlas.label("sentences"),
        code=script_digest("atlas_models.py"),
    script:
        "../scripts/atlas_models.py"


rule atlas_page:
    input:
        heads="results/{run}/atlas/heads.tsv",
        measures="results/{run}/atlas/measures.tsv",
        correlations="results/{run}/atlas/correlations.tsv",
        relations=atlas.relation_files,
        shard=atlas.first_sentences("attention", "safetensors"),
        description=atlas.first_sentences("attention", "json"),
        examples=atlas.first_sentences("examples", "parquet"),
    output:
        report("results/{run}/atlas/atlas.html", **atlas.about("measures")),
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
        drawn=atlas.settings("drawn"),
        run=atlas.run_title,
        setting=atlas.page_label,
        code=script_digest(
            "atlas_page.py", "atlas/page.html", "atlas/page.css", "atlas/page.js"
        ),
    script:
        "../scripts/atlas_page.py"


rule scoreboard_tables:
    input:
        scoreboard.files,
    output:
        values="results/{run}/comparison.tsv",
        values_html=report(
            "results/{run}/comparison.html", **scoreboard.about("comparison")
        ),
        summary="results/{run}/scoreboard.tsv",
        summary_html=report(
            "results/{run}/scoreboard.html", **scoreboard.about("scoreboard")
        ),
        claims="results/{run}/claims.tsv",
        claims_html=report("results/{run}/claims.html", **scoreboard.about("claims")),
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
        comparisons=scoreboard.tables("comparison"),
        claims=scoreboard.tables("claims"),
        run=atlas.run_title,
        generated=scoreboard.reads_sample,
        code=script_digest("scoreboard.py"),
    script:
        "../scripts/scoreboard.py"
