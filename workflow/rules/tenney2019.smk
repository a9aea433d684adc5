# Tenney et al. (2019). Input: models, and examples with the targets of tasks. Output: tables in results/{run}/tenney2019.

tenney2019 = StudyInputs(config, "tenney2019")
TASK = ("tasks", "{wildcards.edge_task}")
probed_corpora = tenney2019.corpora_in_path(training=(*TASK, "training"), development=(*TASK, "development"), cases=("cases",))
SUMMARY = ("probe_scores", "mixing_weights", "tasks", "layers", "ends", "options")
OF_PROBE = "results/{run}/tenney2019/probes/{model}/{task}.{kind}"
OF_ALL_PROBES = {"scores": "scores.tsv", "weights": "weights.tsv", "counts": "counts.parquet"}
OF_PROBES = {**OF_ALL_PROBES, "cases": "cases.tsv", "constant": "constant.parquet"}
tables_of_second = tenney2019.of_group_by_kind("second", OF_PROBE, **OF_ALL_PROBES)
tables_of_first = tenney2019.of_group_by_kind("tasks", OF_PROBE, **OF_PROBES)
tables_of_first |= tenney2019.of_group_by_kind("random", OF_PROBE, random_scores="scores.tsv", random_counts="counts.parquet")


use rule measured_by_model as tenney2019_probes with:
    input:
        leaves(probed_corpora),
        card="results/{run}/models/{model}/card.json",
    output:
        **{name: f"results/{{run}}/tenney2019/probes/{{model}}/{{edge_task}}.{end}" for name, end in OF_PROBES.items()},
    pathvars:
        job="tenney2019/probes/{model}/{edge_task}",
    resources:
        **tenney2019.model_resources(1440),
    params:
        **tenney2019.parameters("probing:probes", *("training", "seeds", "layer0", "max_targets", "max_traced_sentences")),
        task="{edge_task}",
        task_settings=tenney2019.settings("tasks", "{wildcards.edge_task}"),
        model=tenney2019.model_entry,
        corpora=probed_corpora,
        study_model=tenney2019.model_name(),
        random_model=lambda wildcards: tenney2019.study_settings(wildcards).get("random_model"),
        folder="results/{run}/tenney2019/probes/{model}/{edge_task}.states",


use rule measured as tenney2019_second_model with:
    input:
        *map(leaves, tables_of_second.values()),
    output:
        **{name: f"results/{{run}}/tenney2019/second_model/{name}.tsv" for name in SUMMARY},
        resamples="results/{run}/tenney2019/second_model/resamples.parquet",
    pathvars:
        job="tenney2019/second_model",
    params:
        **tenney2019.parameters("summary:summary", "training", "tasks", "resamples", "seed", "sentences"),
        **tables_of_second,
        model=tenney2019.settings("second_model"),


# As above, with the tables of controls and of the model with random layers, and the traces of Figure 3.
use rule tenney2019_second_model as tenney2019_summary with:
    input:
        *map(leaves, tables_of_first.values()),
    output:
        **{name: f"results/{{run}}/tenney2019/summary/{name}.tsv" for name in SUMMARY},
        resamples="results/{run}/tenney2019/summary/resamples.parquet",
        traces="results/{run}/tenney2019/traces.tsv",
    pathvars:
        job="tenney2019/summary",
    params:
        **tables_of_first,
        model=tenney2019.model_name(),
