# Example study (2024). Input: attention over its texts. Output: share of attention to the same token, by head.

from attention_atlas.workflow.study_inputs import StudyInputs
from attention_atlas.workflow.shared_inputs import minutes

toy2024 = StudyInputs(config, "toy2024")


use rule measured as toy2024_self_attention with:
    input:
        toy2024.shards("texts", suffix="json"),
        attention=toy2024.shards("texts"),
    output:
        table="results/{run}/toy2024/self_attention.tsv",
    log:
        "results/{run}/logs/toy2024/self_attention.log",
    benchmark:
        "results/{run}/benchmarks/toy2024/self_attention.tsv"
    resources:
        mem_mb=toy2024.map_memory("texts", 8),
        runtime=minutes(10),
    params:
        **toy2024.parameters("results:self_attention"),
        limit=toy2024.limit("texts"),
