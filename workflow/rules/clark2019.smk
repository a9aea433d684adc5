# Clark et al. (2019), What Does BERT Look At? Input: attention caches of segments, treebanks, and texts with coreference chains.

clark2019 = StudyInputs(config, "clark2019")
PROBES = "results/{run}/clark2019/probes/{model}.tsv"
VARIANT = "results/{run}/clark2019/{variant}"


wildcard_constraints:
    # Of the run's own model and corpora, or of one of its variants.
    variant="|variants/(segment_ids|recipe|casing|random)/",


use rule measured as clark2019_surface with:
    input:
        **clark2019.maps("segments", examples=""),
        card=clark2019.card("segments"),
    output:
        **{name: f"{VARIANT}surface_{name}.tsv" for name in ("options", "summary", "claims")},
        surface=f"{VARIANT}surface.tsv",
        weights=f"{VARIANT}figure1_weights.tsv",
    pathvars:
        job="clark2019/{variant}surface",
    resources:
        **clark2019.map_resources("segments", 60, stored=200),
    params:
        **clark2019.parameters("surface:surface", "options", "figure1_heads", "resamples", "seed"),
        limit=clark2019.limit("segments"),


use rule measured as clark2019_dependencies with:
    input:
        **clark2019.maps("dependencies"),
        card=clark2019.card("dependencies"),
    output:
        **{name: f"{VARIANT}dependency_{name}.tsv" for name in "heads head_relations options noop summary claims".split()},
        dependencies=f"{VARIANT}dependencies.tsv",
        drawn=f"{VARIANT}figure5_dependencies.tsv",
    pathvars:
        job="clark2019/{variant}dependencies",
    resources:
        **clark2019.map_resources("dependencies", 60, stored=2000),
    params:
        **clark2019.parameters("syntax:dependencies", "options", "figure5_heads", "min_count", "folds", "resamples", "seed"),
        limit=clark2019.limit("dependencies"),


use rule measured as clark2019_coreference with:
    input:
        **clark2019.maps("coreference"),
    output:
        **{name: f"{VARIANT}coreference_{name}.tsv" for name in ("heads", "options", "summary", "claims")},
        table=f"{VARIANT}coreference.tsv",
        drawn=f"{VARIANT}figure5_coreference.tsv",
    pathvars:
        job="clark2019/{variant}coreference",
    resources:
        **clark2019.map_resources("coreference", 120, stored=4000),
    params:
        **clark2019.parameters("coreference:coreference", "coreference_options", "figure5_heads", "folds", "resamples", "seed"),
        vary_options=lambda wildcards: not wildcards.variant,
        limit=clark2019.limit("coreference"),


use rule measured as clark2019_gap_systems with:
    input:
        **clark2019.maps("gap"),
    output:
        systems="results/{run}/clark2019/gap_systems.tsv",
    pathvars:
        job="clark2019/gap_systems",
    resources:
        **clark2019.map_resources("gap", 60, stored=100),
    params:
        **clark2019.parameters("coreference:gap", "folds", "resamples", "seed"),
        limit=clark2019.limit("gap"),


use rule measured_by_model as clark2019_gradients with:
    input:
        clark2019.of_role("segments", "results/{run}/models/{model}/mlm_head/{corpus}.json"),
        card=clark2019.card("segments"),
        mlm_head=clark2019.of_role("segments", "results/{run}/models/{model}/mlm_head/{corpus}.safetensors"),
        examples=clark2019.examples("segments"),
    output:
        gradients="results/{run}/clark2019/gradients.tsv",
        claims="results/{run}/clark2019/gradient_claims.tsv",
    pathvars:
        job="clark2019/gradients",
    resources:
        **clark2019.model_resources(240),
    params:
        **clark2019.parameters("gradients:gradients", "resamples", "seed"),
        model=clark2019.model(),
        limit=clark2019.limit("segments"),


use rule measured_by_model as clark2019_probes with:
    input:
        clark2019.card("model"),
        **clark2019.maps("probe_training", attention="training", examples="training_examples"),
        **clark2019.maps("dependencies", attention="evaluation", examples="evaluation_examples"),
        card="results/{run}/models/{model}/card.json",
        file=clark2019.if_named("vectors", clark2019.raw("vectors")),
    output:
        table=PROBES,
        training="results/{run}/clark2019/probes/{model}.training.tsv",
    pathvars:
        job="clark2019/probes/{model}",
    # The name of a model may have a full stop, so that the summary of one could be the table of another.
    wildcard_constraints:
        model=one_of(config["models"]),
    resources:
        **clark2019.model_resources(480),
    params:
        **clark2019.parameters("probes:probes", "recipe"),
        base_model=clark2019.model_name("model"),
        embeddings=clark2019.model("model"),
        limit=clark2019.limits(training_examples="probe_training", evaluation_examples="dependencies"),


use rule measured as clark2019_probe_scores with:
    input:
        leaves(clark2019.of_group("probed", PROBES)),
        training=clark2019.of_role("dependencies", "results/{run}/clark2019/probes/{model}.training.tsv"),
        examples=clark2019.examples("dependencies"),
    output:
        scores="results/{run}/clark2019/probe_scores.tsv",
        seeds="results/{run}/clark2019/table3_seeds.tsv",
        gains="results/{run}/clark2019/table3_gains.tsv",
        leads="results/{run}/clark2019/table3_leads.tsv",
        training="results/{run}/clark2019/probe_training.tsv",
    pathvars:
        job="clark2019/probe_scores",
    group:
        "clark2019_pages"
    params:
        **clark2019.parameters("probe_scores:probe_scores", "resamples", "seed"),
        probes=clark2019.of_group("probed", PROBES),
        limit=clark2019.limit("dependencies"),


use rule measured_by_model as clark2019_clustering with:
    input:
        **clark2019.maps("segments"),
        surface="results/{run}/clark2019/surface.tsv",
        dependencies=clark2019.table_if("dependencies", "dependencies.tsv"),
        coreference=clark2019.table_if("coreference", "coreference.tsv"),
    output:
        distances="results/{run}/clark2019/head_distances.tsv",
        heads="results/{run}/clark2019/clustering.tsv",
        test="results/{run}/clark2019/clustering_test.tsv",
    pathvars:
        job="clark2019/clustering",
    threads: 2
    resources:
        **clark2019.map_resources("segments", 240, gpu=gpus(config)),
    params:
        **clark2019.parameters("surface:clusters", "resamples", "seed", options="clustering"),
        threads=lambda wildcards, threads: threads,
        limit=clark2019.limit("segments"),
