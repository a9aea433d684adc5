from attention_atlas.atlas.page import Drawn, write_page
from attention_atlas.io.setting import setting_of
from attention_atlas.workflow.job import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    write_page(
        heads_path=inputs.heads,
        measures_path=inputs.measures,
        correlations_path=inputs.correlations,
        relation_paths=tuple(inputs.relations) or None,
        drawn=Drawn(inputs.shard, inputs.examples, **params.drawn) if inputs.shard else None,
        run=params.run,
        setting=setting_of(params.setting) if params.setting else None,
        out=snakemake.output[0],
    )
