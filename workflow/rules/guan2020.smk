# Guan et al. (2020), How Far Does BERT Look At. Input: attention caches of questions on passages, models that answer them.

guan2020 = StudyInputs(config, "guan2020")
FEATURES = "results/{run}/guan2020/features/{model}/{corpus}.safetensors"
ANSWERS = "results/{run}/guan2020/ablations/shards/{shard}.parquet"
compared_features = guan2020.of_group("compared", FEATURES)


use rule measured as guan2020_features with:
    input:
        **guan2020.maps("questions", "samples"),
        card="results/{run}/models/{model}/card.json",
    output:
        features=FEATURES,
    pathvars:
        job="guan2020/features/{model}/{corpus}",
    resources:
        # 21 features under four options, and copies of them, in float32.
        **guan2020.map_resources("questions", 60, stored=4 * 4 * 21 * 3),
    params:
        **guan2020.parameters("types:features"),
        limit=guan2020.settings("samples"),


use rule measured as guan2020_head_types with:
    input:
        guan2020.first(guan2020.shards("questions", suffix="json")),
        leaves(compared_features),
        attention=guan2020.first(guan2020.shards("questions")),
    output:
        types="results/{run}/guan2020/head_types.tsv",
        plane="results/{run}/guan2020/head_type_plane.tsv",
        agreement="results/{run}/guan2020/head_type_agreement.tsv",
        stability="results/{run}/guan2020/stability.tsv",
        models="results/{run}/guan2020/models.tsv",
        maps="results/{run}/guan2020/maps.tsv",
        map_grid="results/{run}/guan2020/map_grid.tsv",
    pathvars:
        job="guan2020/head_types",
    resources:
        **guan2020.map_resources("questions", 120, stored=4 * 4 * 21 * 6),
    params:
        **guan2020.parameters("types:head_types", "method", "fits", "sets", "perplexity", "seed", options="features"),
        features=compared_features,
        model=lambda wildcards: guan2020.base_model(wildcards.run),
        limit=guan2020.bounded("questions", "samples"),


use rule measured_by_model as guan2020_ablations with:
    input:
        card=guan2020.card("questions"),
        head_types="results/{run}/guan2020/head_types.tsv",
        examples=lambda wildcards: guan2020.examples("questions")(wildcards)[int(wildcards.shard)],
    output:
        answers=ANSWERS,
    pathvars:
        job="guan2020/ablations/{shard}",
    resources:
        **guan2020.model_resources(1440),
    params:
        **guan2020.parameters("ablations:ablations", "seed", settings="ablations"),
        model=guan2020.model(),
        limit=guan2020.limit("questions"),


use rule measured_by_model as guan2020_answers with:
    input:
        examples=guan2020.examples("questions"),
        shards=lambda wildcards: expand(ANSWERS, run=wildcards.run, shard=range(len(guan2020.shards("questions")(wildcards)))),
    output:
        answers="results/{run}/guan2020/answers.parquet",
        baselines="results/{run}/guan2020/baselines.tsv",
    pathvars:
        job="guan2020/answers",
    resources:
        **at_first(mem_mb=6000, runtime=240),
    params:
        **guan2020.parameters("ablations:answers", "resamples", "seed"),
        limit=guan2020.limit("questions"),
