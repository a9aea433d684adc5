# Tables and figures that are rendered from tables, one rule each: see studies/{id}/pages.py. Input: tables of a study.
# Output: results/{run}/{study}.

from attention_atlas.workflow.pages import page_rules
from attention_atlas.workflow.resources import memory, minutes

for page_rule in page_rules(config):

    rule:
        name:
            page_rule.page.rule
        input:
            *page_rule.unnamed_files(),
            **page_rule.files(),
        output:
            **page_rule.outputs(report),
        log:
            f"results/{{run}}/logs/{page_rule.study.id}/{page_rule.name}.log",
        benchmark:
            f"results/{{run}}/benchmarks/{page_rule.study.id}/{page_rule.name}.tsv"
        group:
            page_rule.group
        conda:
            "../../envs/analysis.yaml"
        resources:
            mem_mb=memory(page_rule.page.megabytes),
            runtime=minutes(page_rule.page.minutes),
        params:
            **page_rule.params(),
        script:
            "../scripts/render.py"
