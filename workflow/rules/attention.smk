# Input: examples of a shard and the model. Output: the attention cache, which all studies share.


rule extract_attention:
    input:
        card="results/{run}/models/{model}/card.json",
        examples=examples_of_shard,
    output:
        shard="results/{run}/attention/{model}/{corpus}/{shard}.safetensors",
        description="results/{run}/attention/{model}/{corpus}/{shard}.json",
    log:
        "results/{run}/logs/extract_attention/{model}/{corpus}/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/extract_attention/{model}/{corpus}/{shard}.tsv"
    conda:
        "../../envs/model.yaml"
    threads: extraction_threads
    resources:
        mem_mb=extraction_memory,
        runtime=extraction_minutes,
        gpu=gpus,
    params:
        model=model_entry,
        level=corpus_level,
        code=script_digest("extract_attention.py"),
    script:
        "../scripts/extract_attention.py"
