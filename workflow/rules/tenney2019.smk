# Input: a model and the targets of a task; hidden states exist while a job runs. Output: probes of all layers and seeds; their
# tables and figures: studies/tenney2019/pages.py.

from attention_atlas.workflow.inputs.tenney2019 import Tenney2019Inputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import gpus, memory, minutes

tenney2019 = Tenney2019Inputs(config)


rule tenney2019_probes:
    input:
        card="results/{run}/models/{model}/card.json",
        examples=tenney2019.probed_files,
    output:
        scores="results/{run}/tenney2019/probes/{model}/{task}.scores.tsv",
        weights="results/{run}/tenney2019/probes/{model}/{task}.weights.tsv",
        counts="results/{run}/tenney2019/probes/{model}/{task}.counts.parquet",
        cases="results/{run}/tenney2019/probes/{model}/{task}.cases.tsv",
    log:
        "results/{run}/logs/tenney2019/probes/{model}/{task}.log",
    benchmark:
        "results/{run}/benchmarks/tenney2019/probes/{model}/{task}.tsv"
    wildcard_constraints:
        task="[a-z]+",
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=tenney2019.model_memory(),
        runtime=minutes(1440),
        gpu=gpus(config),
    params:
        model=tenney2019.model_entry,
        probed=tenney2019.placed(tenney2019.probed_task),
        plan=tenney2019.probe_plan,
        code=script_digest("tenney2019_probes.py"),
    script:
        "../scripts/tenney2019_probes.py"
