"""Everything that serves the Snakefile: configuration, inputs and parameters of rules, resources, plans, provenance."""
