# Example study (2024). Input: attention over its texts. Output: share of attention to the same token, by head.

from attention_atlas.workflow.inputs import study_inputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import minutes

toy2024 = study_inputs(config, "toy2024")


rule toy2024_self_attention:
    input:
        shards=toy2024.shards("texts"),
        descriptions=toy2024.shards("texts", suffix="json"),
    output:
        "results/{run}/toy2024/self_attention.tsv",
    log:
        "results/{run}/logs/toy2024/self_attention.log",
    benchmark:
        "results/{run}/benchmarks/toy2024/self_attention.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=toy2024.map_memory("texts", 8),
        runtime=minutes(10),
    params:
        limit=toy2024.limit("texts"),
        resamples=toy2024.settings("resamples"),
        seed=toy2024.settings("seed"),
        code=script_digest("toy2024_self_attention.py"),
    script:
        "../scripts/toy2024_self_attention.py"
