# Input: examples of a shard and the model. Output: the attention cache, which all studies share.

from attention_atlas.workflow.shared_inputs import attention_output
from attention_atlas.workflow.shared_inputs import SharedInputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.shared_inputs import gpus, minutes

inputs = SharedInputs(config)


rule extract_attention:
    input:
        card="results/{run}/models/{model}/card.json",
        examples=lambda wildcards: inputs.examples_in_path(wildcards)[int(wildcards.shard)],
    output:
        # The description is kept: Snakemake uses it to detect changes of the extraction, and jobs that read maps load it.
        shard=attention_output("results/{run}/attention/{model}/{corpus}/{shard}.safetensors", config, temp),
        description="results/{run}/attention/{model}/{corpus}/{shard}.json",
    log:
        "results/{run}/logs/extract_attention/{model}/{corpus}/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/extract_attention/{model}/{corpus}/{shard}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=inputs.path_memory,
        runtime=minutes(240),
        gpu=gpus(config),
        extractions=1,
    params:
        model=inputs.model_entry,
        level=inputs.of_corpus("level"),
        code=script_digest("extract_attention.py"),
    script:
        "../scripts/extract_attention.py"
