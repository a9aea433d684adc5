from attention_atlas.atlas.correlations import Draws
from attention_atlas.atlas.models import Compared, write_models
from attention_atlas.io.setting import setting_of
from attention_atlas.workflow.job import job

with job(snakemake):
    outputs, params = snakemake.output, snakemake.params
    write_models(
        models=[Compared(**model) for model in params.models],
        draws=Draws(**params.draws),
        run=params.run,
        line=setting_of(params.setting).line,
        out=outputs.tsv,
        findings_out=outputs.findings,
        html_out=outputs.html,
        pictures={kind: outputs[kind] for kind in ("svg", "png", "pdf")},
    )
