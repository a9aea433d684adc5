# Input: a model and targets of eight tasks; hidden states are there while a job runs. Output: probes of all layers, by jobs of
# some seeds, joined; their tables and figures: studies/tenney2019/pages.py.

from attention_atlas.workflow.inputs.tenney2019 import Tenney2019Inputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import gpus, memory, minutes

tenney2019 = Tenney2019Inputs(config)


wildcard_constraints:
    edge_tasks="[a-z-]+",
    seed_part=r"\d+",


rule tenney2019_probes:
    input:
        card="results/{run}/models/{model}/card.json",
        examples=tenney2019.probed_files,
    output:
        scores="results/{run}/tenney2019/probes/{model}/{edge_tasks}/{seed_part}.scores.tsv",
        weights="results/{run}/tenney2019/probes/{model}/{edge_tasks}/{seed_part}.weights.tsv",
        counts="results/{run}/tenney2019/probes/{model}/{edge_tasks}/{seed_part}.counts.parquet",
        traces="results/{run}/tenney2019/probes/{model}/{edge_tasks}/{seed_part}.traces.parquet",
    log:
        "results/{run}/logs/tenney2019/probes/{model}/{edge_tasks}/{seed_part}.log",
    benchmark:
        "results/{run}/benchmarks/tenney2019/probes/{model}/{edge_tasks}/{seed_part}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=tenney2019.model_memory(),
        runtime=minutes(1440),
        gpu=gpus(config),
    params:
        model=tenney2019.model_entry,
        tasks=tenney2019.placed(tenney2019.probed_tasks),
        plan=tenney2019.probe_plan,
        code=script_digest("tenney2019_probes.py"),
    script:
        "../scripts/tenney2019_probes.py"


rule tenney2019_probes_joined:
    input:
        scores=tenney2019.files_of_seeds("scores.tsv"),
        weights=tenney2019.files_of_seeds("weights.tsv"),
        counts=tenney2019.files_of_seeds("counts.parquet"),
        traces=tenney2019.files_of_seeds("traces.parquet"),
    output:
        scores="results/{run}/tenney2019/probes/{model}/{edge_tasks}.scores.tsv",
        weights="results/{run}/tenney2019/probes/{model}/{edge_tasks}.weights.tsv",
        counts="results/{run}/tenney2019/probes/{model}/{edge_tasks}.counts.parquet",
        cases="results/{run}/tenney2019/probes/{model}/{edge_tasks}.cases.tsv",
    log:
        "results/{run}/logs/tenney2019/probes_joined/{model}/{edge_tasks}.log",
    benchmark:
        "results/{run}/benchmarks/tenney2019/probes_joined/{model}/{edge_tasks}.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(6000),
        runtime=minutes(60),
    params:
        tasks=tenney2019.task_names,
        code=script_digest("tenney2019_probes_joined.py"),
    script:
        "../scripts/tenney2019_probes_joined.py"
