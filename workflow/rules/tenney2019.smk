# Input: hidden states and targets of eight tasks. Output: probes of all layers; their tables and figures: studies/tenney2019/pages.py.

from attention_atlas.workflow.inputs.tenney2019 import Tenney2019Inputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import minutes

tenney2019 = Tenney2019Inputs(config)


rule tenney2019_probes:
    input:
        tenney2019.probed_files,
    output:
        scores="results/{run}/tenney2019/probes/{model}/{edge_tasks}.scores.tsv",
        weights="results/{run}/tenney2019/probes/{model}/{edge_tasks}.weights.tsv",
        counts="results/{run}/tenney2019/probes/{model}/{edge_tasks}.counts.parquet",
        cases="results/{run}/tenney2019/probes/{model}/{edge_tasks}.cases.tsv",
    log:
        "results/{run}/logs/tenney2019/probes/{model}/{edge_tasks}.log",
    benchmark:
        "results/{run}/benchmarks/tenney2019/probes/{model}/{edge_tasks}.tsv"
    wildcard_constraints:
        edge_tasks="[a-z-]+",
    # Long, or much waits for it: begun early, it does not run alone at the end.
    priority: 10
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=tenney2019.memory("probes"),
        runtime=minutes(1440),
        gpu=tenney2019.gpus("probes"),
    params:
        tasks=tenney2019.placed(tenney2019.probed_tasks),
        plan=tenney2019.probe_plan,
        code=script_digest("tenney2019_probes.py"),
    script:
        "../scripts/tenney2019_probes.py"
