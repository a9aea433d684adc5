from attention_atlas.smk import job
from attention_atlas.studies.michel2019.masked_translations import translate_masked

with job(snakemake):
    translate_masked(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        tokenizer_path=snakemake.input.tokenizer,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        beams=snakemake.params.beams,
        length_penalty=snakemake.params.length_penalty,
        threads=snakemake.threads,
        out=snakemake.output[0],
    )
