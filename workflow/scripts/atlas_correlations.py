from attention_atlas.atlas.correlations import Draws, write_correlations
from attention_atlas.atlas.figures import correlation_map
from attention_atlas.atlas.findings import write_findings
from attention_atlas.workflow.job import job

with job(snakemake):
    outputs, params = snakemake.output, snakemake.params
    draws = Draws(**params.draws)
    write_correlations(snakemake.input.heads, draws, outputs.tsv)
    pictures = {kind: outputs[kind] for kind in ("svg", "png", "pdf")}
    correlation_map(outputs.tsv, snakemake.input.measures, params.line, pictures)
    write_findings(snakemake.input.heads, params.models, params.line, draws, outputs.findings, outputs.findings_html)
