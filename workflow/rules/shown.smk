# Tables, figures and pages: a rule for each function that a study marks with @table, @figure or @page.

from attention_atlas.workflow.shown import shown

# Once for each study: what it looks up in all studies is kept.
inputs_of = {study: StudyInputs(config, study) for study in studies()}

for item in [item for study in studies() for item in shown(study)]:
    of_study = inputs_of[item.study]

    rule:
        name:
            f"{item.study}_{item.id}"
        input:
            *map(leaves, of_study.gathered(item).values()),
            **of_study.read_by(item),
        output:
            **of_study.written_by(item, report),
        log:
            f"results/{{run}}/logs/{item.study}/{item.id}.log",
        benchmark:
            f"results/{{run}}/benchmarks/{item.study}/{item.id}.tsv"
        group:
            f"{'atlas' if of_study.study.overview else item.study}_pages"
        conda:
            "../../envs/analysis.yaml"
        resources:
            **at_first(mem_mb=item.megabytes, runtime=item.minutes),
        params:
            **of_study.parameters_of(item),
        script:
            "../scripts/run.py"
