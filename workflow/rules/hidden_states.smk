# Input: examples of a shard and the model. Output: hidden states of all layers, which all probes share.

from attention_atlas.workflow.inputs.shared import SharedInputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import JobResources

inputs = SharedInputs(config)
jobs = JobResources(config)


rule cache_hidden_states:
    input:
        card="results/{run}/models/{model}/card.json",
        examples=inputs.shard_examples,
    output:
        shard="results/{run}/hidden/{model}/{corpus}/{shard}.safetensors",
        description="results/{run}/hidden/{model}/{corpus}/{shard}.json",
    log:
        "results/{run}/logs/cache_hidden_states/{model}/{corpus}/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/cache_hidden_states/{model}/{corpus}/{shard}.tsv"
    # Long, or much waits for it: begun early, it does not run alone at the end.
    priority: 10
    conda:
        "../../envs/model.yaml"
    threads: jobs.threads("cache_hidden_states")
    resources:
        mem_mb=jobs.memory("cache_hidden_states"),
        runtime=jobs.minutes("cache_hidden_states"),
        gpu=jobs.gpus("cache_hidden_states"),
    params:
        model=inputs.model_entry,
        code=script_digest("cache_hidden_states.py"),
    script:
        "../scripts/cache_hidden_states.py"
