from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.comparison.write import Tables, comparison
from attention_atlas.workflow.job import job

with job(snakemake):
    files = snakemake.input
    comparison(
        tables=Tables(
            surface=files.surface,
            segments=files.summary,
            relations=files.relations,
            heads=files.heads,
            treebank=files.treebank,
            figure3=files.figure3,
            table2=next(iter(files.table2), None),
            table3=next(iter(files.table3), None),
            training=next(iter(files.training), None),
        ),
        settings={role: setting_of(values) for role, values in snakemake.params.settings.items()},
        thresholds=snakemake.params.thresholds,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
