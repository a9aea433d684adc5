# Input: examples of a shard and the model. Output: hidden states of all layers, which all probes share.


rule cache_hidden_states:
    input:
        card="results/{run}/models/{model}/card.json",
        examples=examples_of_shard,
    output:
        shard="results/{run}/hidden/{model}/{corpus}/{shard}.safetensors",
        description="results/{run}/hidden/{model}/{corpus}/{shard}.json",
    log:
        "results/{run}/logs/cache_hidden_states/{model}/{corpus}/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/cache_hidden_states/{model}/{corpus}/{shard}.tsv"
    conda:
        "../../envs/model.yaml"
    threads: extraction_threads
    resources:
        mem_mb=hidden_memory,
        runtime=extraction_minutes,
        gpu=gpus,
    params:
        model=model_entry,
        code=script_digest("cache_hidden_states.py"),
    script:
        "../scripts/cache_hidden_states.py"
