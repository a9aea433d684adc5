# Michel et al. (2019), Are Sixteen Heads Really Better than One? Input: a translation model and sentences with translations, a model
# fine-tuned on a task and its examples. Output: results/{run}/michel2019, see studies/michel2019/study.py.

from attention_atlas.studies.michel2019.pages import EXPERIMENTS
from attention_atlas.workflow.inputs.michel2019 import Michel2019Inputs
from attention_atlas.workflow.names import one_of
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import gpus, memory, minutes

michel2019 = Michel2019Inputs(config)


wildcard_constraints:
    experiment=one_of(EXPERIMENTS),


rule michel2019_masked:
    input:
        card=michel2019.of_experiment(michel2019.card),
        tokenizer=michel2019.of_experiment(michel2019.tokenizer),
        examples=michel2019.of_experiment(michel2019.examples),
        second_examples=michel2019.of_experiment(michel2019.examples, "_other"),
    output:
        answers="results/{run}/michel2019/masked/{experiment}.parquet",
        second_answers="results/{run}/michel2019/masked/{experiment}_other.parquet",
    log:
        "results/{run}/logs/michel2019/masked/{experiment}.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/masked/{experiment}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=michel2019.model_memory(),
        runtime=minutes(1440),
        gpu=gpus(config),
    params:
        model=michel2019.of_experiment(michel2019.model),
        limit=michel2019.of_experiment(michel2019.limit),
        second_limit=michel2019.of_experiment(michel2019.limit, "_other"),
        search=michel2019.search_settings,
        code=script_digest("michel2019_masked.py"),
    script:
        "../scripts/michel2019_masked.py"


rule michel2019_heldout:
    input:
        card=michel2019.of_experiment(michel2019.card),
        tokenizer=michel2019.of_experiment(michel2019.tokenizer),
        examples=michel2019.of_heldout(michel2019.examples),
        masked="results/{run}/michel2019/masked/{experiment}.parquet",
    output:
        "results/{run}/michel2019/heldout/{experiment}.parquet",
    log:
        "results/{run}/logs/michel2019/heldout/{experiment}.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/heldout/{experiment}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=michel2019.model_memory(),
        runtime=minutes(1440),
        gpu=gpus(config),
    params:
        model=michel2019.of_experiment(michel2019.model),
        limit=michel2019.of_heldout(michel2019.limit),
        search=michel2019.search_settings,
        code=script_digest("michel2019_heldout.py"),
    script:
        "../scripts/michel2019_heldout.py"


rule michel2019_gradients:
    input:
        card=michel2019.of_experiment(michel2019.card),
        tokenizer=michel2019.of_experiment(michel2019.tokenizer),
        scored_examples=michel2019.of_experiment(
            michel2019.scored_examples, "_importance"
        ),
    output:
        "results/{run}/michel2019/gradients/{experiment}.parquet",
    log:
        "results/{run}/logs/michel2019/gradients/{experiment}.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/gradients/{experiment}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=michel2019.model_memory(),
        runtime=minutes(480),
        gpu=gpus(config),
    params:
        model=michel2019.of_experiment(michel2019.model),
        scored_limit=michel2019.of_experiment(michel2019.scored_limit, "_importance"),
        search=michel2019.search_settings,
        code=script_digest("michel2019_gradients.py"),
    script:
        "../scripts/michel2019_gradients.py"


rule michel2019_pruned:
    input:
        card=michel2019.of_experiment(michel2019.card),
        tokenizer=michel2019.of_experiment(michel2019.tokenizer),
        examples=michel2019.of_experiment(michel2019.examples),
        scored_examples=michel2019.of_experiment(
            michel2019.scored_examples, "_importance"
        ),
        masked="results/{run}/michel2019/masked/{experiment}.parquet",
        gradients="results/{run}/michel2019/gradients/{experiment}.parquet",
    output:
        "results/{run}/michel2019/pruned/{experiment}.parquet",
    log:
        "results/{run}/logs/michel2019/pruned/{experiment}.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/pruned/{experiment}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=michel2019.model_memory(),
        runtime=minutes(1440),
        gpu=gpus(config),
    params:
        model=michel2019.of_experiment(michel2019.model),
        limit=michel2019.of_experiment(michel2019.limit),
        scored_limit=michel2019.of_experiment(michel2019.scored_limit, "_importance"),
        options=michel2019.pruning_options,
        search=michel2019.search_settings,
        seed=michel2019.settings("seed"),
        code=script_digest("michel2019_pruned.py"),
    script:
        "../scripts/michel2019_pruned.py"


rule michel2019_dynamics:
    input:
        card=michel2019.card("dynamics"),
        tokenizer=michel2019.tokenizer("dynamics"),
        epochs=michel2019.trained_epochs,
        examples=michel2019.examples("dynamics"),
        scored_examples=michel2019.scored_examples("dynamics_importance"),
    output:
        "results/{run}/michel2019/dynamics.parquet",
    log:
        "results/{run}/logs/michel2019/dynamics.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/dynamics.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=michel2019.model_memory(),
        runtime=minutes(1440),
        gpu=gpus(config),
    params:
        model=michel2019.model("dynamics"),
        limit=michel2019.limit("dynamics"),
        scored_limit=michel2019.scored_limit("dynamics_importance"),
        options=michel2019.pruning_options,
        search=michel2019.search_settings,
        code=script_digest("michel2019_dynamics.py"),
    script:
        "../scripts/michel2019_dynamics.py"


rule michel2019_table4:
    input:
        card=michel2019.card("classification"),
        examples=michel2019.examples("classification"),
        importance="results/{run}/michel2019/head_importance.tsv",
    output:
        tsv="results/{run}/michel2019/table4.tsv",
        html=report(
            "results/{run}/michel2019/table4.html", **michel2019.about("table4")
        ),
    log:
        "results/{run}/logs/michel2019/table4.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/table4.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=michel2019.model_memory(),
        runtime=minutes(240),
        gpu=gpus(config),
    params:
        model=michel2019.model("classification"),
        limit=michel2019.limit("classification"),
        definition=michel2019.settings("importance", "definition"),
        speed=michel2019.settings("speed"),
        label=michel2019.label("classification"),
        links=michel2019.links(html="table4.html"),
        code=script_digest("michel2019_table4.py", "published/michel2019.csv"),
    script:
        "../scripts/michel2019_table4.py"
