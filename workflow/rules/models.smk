# Input: the files of a model (package, folder or hub). Output: its card and its tokenizer.


rule describe_model:
    output:
        card="results/{run}/models/{model}/card.json",
        tokenizer="results/{run}/models/{model}/tokenizer.json",
    log:
        "results/{run}/logs/describe_model/{model}.log",
    benchmark:
        "results/{run}/benchmarks/describe_model/{model}.tsv"
    retries: 2
    # Weights are fetched where there is a network: on the submitting machine.
    localrule: True
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        model=model_entry,
        code=script_digest("describe_model.py"),
    script:
        "../scripts/describe_model.py"
