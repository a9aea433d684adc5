# What rules of studies take over by `use rule measured as x with:`, for the environments without and with torch: `run.py` calls the
# function that their `params` name. Resources are those of a job that reads tables; a rule that states some states all.

from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.shared_inputs import SharedInputs, at_first, gpus
from attention_atlas.workflow.study_inputs import StudyInputs, leaves

inputs = SharedInputs(config)


rule measured:
    log:
        "results/{run}/logs/<job>.log",
    benchmark:
        "results/{run}/benchmarks/<job>.tsv"
    pathvars:
        job="measured",
    conda:
        "../../envs/analysis.yaml"
    resources:
        **at_first(mem_mb=4000, runtime=120),
    script:
        "../scripts/run.py"


use rule measured as measured_by_model with:
    priority: 10
    conda:
        "../../envs/model.yaml"
    resources:
        **at_first(mem_mb=4000, runtime=240),
        gpu=gpus(config),
