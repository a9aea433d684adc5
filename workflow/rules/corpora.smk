# Input: raw corpora. Output: their files below results/{run}/corpora, and one table of examples per shard.

from sample_corpus import LABELLED_TASKS

# Beside documents.txt.
sample_files = "sentences.txt ud.conllu sd.conllu sd-train.conllu coreference.conll gap.tsv frames.json documents.jsonl".split()
sample_files += ["questions.json", "questions-train.json"]
sample_files += expand("{task}{part}.jsonl", task=LABELLED_TASKS + ("parallel", "edges", "keyphrases"), part=("", "-train"))


rule sample_corpus:
    output:
        documents="results/{run}/corpora/sample/documents.txt",
        others=[f"results/{{run}}/corpora/sample/{name}" for name in sample_files],
    log:
        "results/{run}/logs/sample_corpus.log",
    benchmark:
        "results/{run}/benchmarks/sample_corpus.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        **at_first(mem_mb=1000, runtime=10),
    params:
        **config["sample"],
        code=script_digest("sample_corpus.py"),
    script:
        "../scripts/sample_corpus.py"


rule fetch_corpus:
    output:
        raw="results/{run}/corpora/{corpus}.raw",
        rows="results/{run}/corpora/{corpus}.rows.tsv",
    log:
        "results/{run}/logs/fetch_corpus/{corpus}.log",
    benchmark:
        "results/{run}/benchmarks/fetch_corpus/{corpus}.tsv"
    retries: 2
    localrule: True
    conda:
        "../../envs/model.yaml"
    resources:
        **at_first(mem_mb=4000, runtime=240),
    params:
        source=inputs.of_corpus("source"),
        reader=inputs.of_corpus("reader"),
        order=inputs.order_of_rows,
        code=script_digest("fetch_corpus.py"),
    script:
        "../scripts/fetch_corpus.py"


rule build_examples:
    input:
        raw=inputs.raw_file,
        card="results/{run}/models/{model}/card.json",
        tokenizer="results/{run}/models/{model}/tokenizer.json",
        companion=inputs.companion_files,
    output:
        examples="results/{run}/examples/{model}/{corpus}/{shard}.parquet",
        dropped="results/{run}/examples/{model}/{corpus}/{shard}.dropped.tsv",
    log:
        "results/{run}/logs/build_examples/{model}/{corpus}/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/build_examples/{model}/{corpus}/{shard}.tsv"
    priority: 30
    group:
        "examples"
    conda:
        "../../envs/analysis.yaml"
    resources:
        **at_first(mem_mb=2000, runtime=30),
    params:
        corpus=inputs.example_entry,
        start=inputs.shard_start,
        code=inputs.examples_code,
    script:
        "../scripts/build_examples.py"
