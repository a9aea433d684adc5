"""Input and parameter functions of the rules: what Snakemake calls with the wildcards of a job."""
