# Michel et al. (2019), Are Sixteen Heads Really Better than One? Input: a translation model and sentences with translations, a model
# fine-tuned on a task and its examples. Output: results/{run}/michel2019, see workflow/resources/artifacts.yaml.

MICHEL = "michel2019"


rule michel2019_translations:
    input:
        card=card_of(MICHEL, "translation"),
        tokenizer=translator_tokenizer,
        examples=shards_of(MICHEL, "translation", "examples", "parquet"),
    output:
        "results/{run}/michel2019/translations.parquet",
    log:
        "results/{run}/logs/michel2019/translations.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/translations.tsv"
    conda:
        "../../envs/model.yaml"
    # Three kinds of attention, two masks a head, a search with several beams.
    threads: role_threads(MICHEL, "translation", a_head(3 * 2 * 5))
    resources:
        mem_mb=ablation_memory(MICHEL, "translation"),
        runtime=minutes(1440),
        gpu=gpus,
    params:
        model=role_model_of(MICHEL, "translation"),
        limit=limit_for(MICHEL, "translation"),
        beams=settings(MICHEL, "beams"),
        length_penalty=settings(MICHEL, "length_penalty"),
        code=script_digest("michel2019_translations.py"),
    script:
        "../scripts/michel2019_translations.py"


rule michel2019_classes:
    input:
        card=card_of(MICHEL, "classification"),
        examples=shards_of(MICHEL, "classification", "examples", "parquet"),
    output:
        "results/{run}/michel2019/classes.parquet",
    log:
        "results/{run}/logs/michel2019/classes.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/classes.tsv"
    conda:
        "../../envs/model.yaml"
    threads: role_threads(MICHEL, "classification", a_head(1))
    resources:
        mem_mb=ablation_memory(MICHEL, "classification"),
        runtime=minutes(1440),
        gpu=gpus,
    params:
        model=role_model_of(MICHEL, "classification"),
        limit=limit_for(MICHEL, "classification"),
        code=script_digest("michel2019_classes.py"),
    script:
        "../scripts/michel2019_classes.py"


rule michel2019_ablation:
    input:
        translations="results/{run}/michel2019/translations.parquet",
        classes="results/{run}/michel2019/classes.parquet",
    output:
        table1="results/{run}/michel2019/table1.tsv",
        table1_html=report(
            "results/{run}/michel2019/table1.html", **about(MICHEL, "table1")
        ),
        table2="results/{run}/michel2019/table2.tsv",
        table2_html=report(
            "results/{run}/michel2019/table2.html", **about(MICHEL, "table2")
        ),
        table3="results/{run}/michel2019/table3.tsv",
        table3_html=report(
            "results/{run}/michel2019/table3.html", **about(MICHEL, "table3")
        ),
        figure1="results/{run}/michel2019/figure1.tsv",
    log:
        "results/{run}/logs/michel2019/ablation.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/ablation.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(120),
    params:
        settings=settings_by_role(MICHEL, "translation", "classification"),
        resamples=settings(MICHEL, "resamples"),
        seed=settings(MICHEL, "seed"),
        code=script_digest("michel2019_ablation.py", "published/michel2019.yaml"),
    script:
        "../scripts/michel2019_ablation.py"


rule michel2019_figure1:
    input:
        "results/{run}/michel2019/figure1.tsv",
    output:
        svg=report("results/{run}/michel2019/figure1.svg", **about(MICHEL, "figure1")),
        png="results/{run}/michel2019/figure1.png",
        pdf="results/{run}/michel2019/figure1.pdf",
    log:
        "results/{run}/logs/michel2019/figure1.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/figure1.tsv"
    group:
        "michel2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        settings=settings_by_role(MICHEL, "translation", "classification"),
        code=script_digest("michel2019_figure1.py"),
    script:
        "../scripts/michel2019_figure1.py"
