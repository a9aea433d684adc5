# Input: the files of a model (package, folder or hub). Output: its card and its tokenizer, its masked-LM head, the checkpoints of
# models that are fine-tuned here, with their cards; and the cache of its attention, which all studies share.

FOLDER = "results/{run}/models/{model}"
MAPS = "results/{run}/attention/{model}/{corpus}/{shard}.safetensors"
SAVED = ("config", "tokenizer", "tokenizer_config")
described = {"card": f"{FOLDER}/card.json", "described": f"{FOLDER}/tokenizer.json"}
untrained = {name: f"{FOLDER}/untrained/{name}.json" for name in SAVED} | described
fine_tuned = {name: f"{FOLDER}/checkpoint/{name}.json" for name in SAVED} | described
fine_tuned |= {"weights": f"{FOLDER}/checkpoint/model.safetensors", "summary": f"{FOLDER}/training.tsv"}


rule describe_model:
    input:
        files=inputs.model_files,
    output:
        card="results/{run}/models/{model}/card.json",
        tokenizer="results/{run}/models/{model}/tokenizer.json",
    log:
        "results/{run}/logs/describe_model/{model}.log",
    benchmark:
        "results/{run}/benchmarks/describe_model/{model}.tsv"
    wildcard_constraints:
        model=one_of(inputs.described_models()),
    # A short job that many jobs depend on (the next one too): run it first so that long jobs start early.
    priority: 30
    retries: 2
    # Weights are fetched where there is a network: on the submitting machine.
    localrule: True
    conda:
        "../../envs/model.yaml"
    resources:
        **at_first(mem_mb=4000, runtime=60),
    params:
        model=inputs.model_entry,
        code=script_digest("describe_model.py"),
    script:
        "../scripts/describe_model.py"


rule untrained_model:
    input:
        inputs.vocabulary_files,
    output:
        **untrained,
    log:
        "results/{run}/logs/untrained_model/{model}.log",
    benchmark:
        "results/{run}/benchmarks/untrained_model/{model}.tsv"
    wildcard_constraints:
        model=one_of(inputs.untrained_models()),
    priority: 30
    conda:
        "../../envs/model.yaml"
    resources:
        **at_first(mem_mb=3000, runtime=60),
    params:
        model=inputs.model_entry,
        settings=inputs.untrained_settings,
        code=script_digest("untrained_model.py"),
    script:
        "../scripts/untrained_model.py"


rule mlm_head:
    input:
        card="results/{run}/models/{model}/card.json",
        examples=inputs.examples_in_path,
    output:
        head="results/{run}/models/{model}/mlm_head/{corpus}.safetensors",
        facts="results/{run}/models/{model}/mlm_head/{corpus}.json",
    log:
        "results/{run}/logs/mlm_head/{model}/{corpus}.log",
    benchmark:
        "results/{run}/benchmarks/mlm_head/{model}/{corpus}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        **inputs.path_resources(120),
    params:
        model=inputs.model_entry,
        limit=inputs.corpus_limit,
        settings=inputs.of_model("mlm_head"),
        code=script_digest("mlm_head.py"),
    script:
        "../scripts/mlm_head.py"


rule fine_tune:
    input:
        card=inputs.base_card,
        examples=inputs.training_examples,
    output:
        **fine_tuned,
    log:
        "results/{run}/logs/fine_tune/{model}.log",
    benchmark:
        "results/{run}/benchmarks/fine_tune/{model}.tsv"
    wildcard_constraints:
        model=one_of(inputs.fine_tuned_models(epochs=False)),
    # The longest chains of jobs start with it.
    priority: 20
    conda:
        "../../envs/model.yaml"
    resources:
        **inputs.path_resources(480),
    params:
        base=inputs.base_entry,
        model=inputs.model_entry,
        limit=inputs.training_limit,
        training=inputs.training_settings,
        code=script_digest("fine_tune.py"),
    script:
        "../scripts/fine_tune.py"


# The same, and the weights after some of the epochs.
use rule fine_tune as fine_tune_by_epoch with:
    output:
        **fine_tuned,
        epochs="results/{run}/models/{model}/epochs.safetensors",
    wildcard_constraints:
        model=one_of(inputs.fine_tuned_models(epochs=True)),


# Of a corpus whose attention is read, not computed.
rule read_attention:
    input:
        raw=inputs.raw_file,
        card="results/{run}/models/{model}/card.json",
        examples=lambda wildcards: inputs.examples_in_path(wildcards)[int(wildcards.shard)],
    output:
        shard=MAPS if config["keep_attention"] else temp(MAPS),
        description="results/{run}/attention/{model}/{corpus}/{shard}.json",
    log:
        "results/{run}/logs/read_attention/{model}/{corpus}/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/read_attention/{model}/{corpus}/{shard}.tsv"
    wildcard_constraints:
        corpus=one_of(inputs.released_corpora()),
    conda:
        "../../envs/analysis.yaml"
    resources:
        **at_first(mem_mb=1000, runtime=120),
    params:
        level=inputs.of_corpus("level"),
        code=script_digest("read_attention.py"),
    script:
        "../scripts/read_attention.py"


ruleorder: read_attention > extract_attention


rule extract_attention:
    input:
        card="results/{run}/models/{model}/card.json",
        examples=lambda wildcards: inputs.examples_in_path(wildcards)[int(wildcards.shard)],
    output:
        # The description is kept: Snakemake uses it to detect changes of the extraction, and jobs that read maps load it.
        shard=MAPS if config["keep_attention"] else temp(MAPS),
        description="results/{run}/attention/{model}/{corpus}/{shard}.json",
    log:
        "results/{run}/logs/extract_attention/{model}/{corpus}/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/extract_attention/{model}/{corpus}/{shard}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        **inputs.path_resources(240),
        extractions=1,
    params:
        model=inputs.model_entry,
        level=inputs.of_corpus("level"),
        code=script_digest("extract_attention.py"),
    script:
        "../scripts/extract_attention.py"
