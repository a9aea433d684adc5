# Input: examples of a shard and the model. Output: the attention cache, which all studies share.

from attention_atlas.workflow.caches import attention_output
from attention_atlas.workflow.inputs.shared import SharedInputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import JobResources

inputs = SharedInputs(config)
jobs = JobResources(config)


rule extract_attention:
    input:
        card="results/{run}/models/{model}/card.json",
        examples=inputs.shard_examples,
    output:
        # The description is kept: Snakemake uses it to detect changes of the extraction, and jobs that read maps load it.
        shard=attention_output(
            "results/{run}/attention/{model}/{corpus}/{shard}.safetensors",
            config,
            temp,
        ),
        description="results/{run}/attention/{model}/{corpus}/{shard}.json",
    log:
        "results/{run}/logs/extract_attention/{model}/{corpus}/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/extract_attention/{model}/{corpus}/{shard}.tsv"
    # Jobs that read maps have priority 0 or more, so they run first.
    priority: jobs.extraction_priority
    conda:
        "../../envs/model.yaml"
    threads: jobs.threads("extract_attention")
    resources:
        mem_mb=jobs.memory("extract_attention"),
        runtime=jobs.minutes("extract_attention"),
        gpu=jobs.gpus("extract_attention"),
        extractions=jobs.extractions(),
    params:
        model=inputs.model_entry,
        level=inputs.corpus_level,
        code=script_digest("extract_attention.py"),
    script:
        "../scripts/extract_attention.py"
