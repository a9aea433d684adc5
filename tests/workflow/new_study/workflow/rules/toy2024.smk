# Example study (2024). Input: attention over its texts. Output: share of attention to the same token, by head.

from attention_atlas.workflow.study_inputs import StudyInputs

toy2024 = StudyInputs(config, "toy2024")


use rule measured as toy2024_self_attention with:
    input:
        toy2024.shards("texts", suffix="json"),
        attention=toy2024.shards("texts"),
    output:
        table="results/{run}/toy2024/self_attention.tsv",
    pathvars:
        job="toy2024/self_attention",
    resources:
        **toy2024.map_resources("texts", 10, stored=8),
    params:
        **toy2024.parameters("results:self_attention"),
        limit=toy2024.limit("texts"),
