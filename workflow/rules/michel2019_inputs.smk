# What the rules of Michel et al. (2019) read: a translation model and a classification model, each with examples to be evaluated
# on, other ones, and some that importance is computed on; and a translation model whose training is followed.

EXPERIMENTS = ("translation", "classification")
_PARTS = ("", "_other", "_importance")
ROLES_OF_FIGURE2 = [f"{name}{part}" for name in EXPERIMENTS for part in ("", "_other")]
WEIGHED_ROLES = [f"{name}_importance" for name in EXPERIMENTS]
ROLE_MODELS["michel2019"] = {
    **{f"translation{part}": "translator" for part in _PARTS},
    **{f"classification{part}": "classifier" for part in _PARTS},
    "dynamics": "trained",
    "dynamics_importance": "trained",
}


def michel2019_pairs(run):
    """(model, corpus) of all examples that the study reads, without repetition."""
    chosen = config["runs"][run]["michel2019"]
    named = study_corpora(config, run, "michel2019")
    return list(
        dict.fromkeys(
            (chosen[ROLE_MODELS["michel2019"][role]], corpus)
            for role, corpus in named.items()
        )
    )


def michel2019_corpora(run):
    """Corpora of the models, those that they are trained on, and the files with their translations."""
    names = [name for pair in michel2019_pairs(run) for name in pair_corpora(*pair)]
    beside = [config["corpora"][name].get("translations") for name in names]
    return [*names, *filter(None, beside)]


FURTHER_CORPORA["michel2019"] = michel2019_corpora
# No attention is cached: the models run with heads masked.
PAIRS["michel2019"] = lambda run: []


def of_experiment(build, part=""):
    """Input or params function: what `build(study, role)` gives for the experiment in the path, or for a part of it."""

    def found(wildcards):
        return build("michel2019", f"{wildcards.experiment}{part}")(wildcards)

    return found


def tokenizer_of(study, role):
    """Input function: the tokenizer of a role's model."""

    def path(wildcards):
        model, _ = looked_at(wildcards, study, role)
        return f"results/{wildcards.run}/models/{model}/tokenizer.json"

    return path


def model_name_of(study, role):
    """Params function: the name of a role's model."""

    def name(wildcards):
        return looked_at(wildcards, study, role)[0]

    return name


def weighed_limit(study, role):
    """Params function: examples of a role that importance is computed on."""

    def number(wildcards):
        bound = config["runs"][wildcards.run][study]["importance"]["records"]
        return min(bound, limit_for(study, role)(wildcards))

    return number


def weighed(study, role):
    """Input function: shards with the examples that importance is computed on."""

    def paths(wildcards):
        records = weighed_limit(study, role)(wildcards)
        pair = looked_at(wildcards, study, role)
        return shard_paths(wildcards.run, *pair, "examples", "parquet", records)

    return paths


def examples_of(study, role):
    """Input function: all examples of a role."""
    return shards_of(study, role, "examples", "parquet")


def each_experiment(pattern):
    """Params function: experiment -> its file of the study."""

    def files(wildcards):
        return {
            name: pattern.format(run=wildcards.run, experiment=name)
            for name in EXPERIMENTS
        }

    return files


def search_settings(wildcards):
    """Params function: how translations are searched."""
    chosen = config["runs"][wildcards.run]["michel2019"]
    return {key: chosen[key] for key in ("beams", "length_penalty")}


def pruning_settings(wildcards):
    """Params function: how heads are weighed and in which steps they go."""
    chosen = config["runs"][wildcards.run]["michel2019"]
    weighing = {
        key: chosen["importance"][key] for key in ("definition", "scaled", "batch")
    }
    return weighing | chosen["pruning"]


def experiment_memory(wildcards, attempt):
    """Megabytes for forward and backward passes of an experiment's model."""
    return passes_memory(wildcards, wildcards.experiment) * attempt


def dynamics_memory(wildcards, attempt):
    return passes_memory(wildcards, "dynamics") * attempt


def passes_memory(wildcards, role):
    model, corpus = role_entries(wildcards, "michel2019", role)
    return max(
        costs.ablation_memory(model, corpus), costs.gradient_memory(model, corpus)
    )


def masks_a_head(shape):
    """Passes over each example: two masks a head, and for translation three kinds of attention and a search with beams."""
    return 2 * shape.layers * shape.heads


def experiment_threads(wildcards):
    study, role = "michel2019", wildcards.experiment
    return role_threads(study, role, masks_a_head)(wildcards)


def trained_epochs(wildcards):
    """Input function: weights of the model of Figure 5 after several epochs."""
    model, _ = looked_at(wildcards, "michel2019", "dynamics")
    return f"results/{wildcards.run}/models/{model}/epochs.safetensors"


def dynamics_table(wildcards):
    """Input function: figure5.tsv where the run follows a training."""
    there = "dynamics" in config["runs"][wildcards.run]["michel2019"]
    return f"results/{wildcards.run}/michel2019/figure5.tsv" if there else []


def experiment_models(wildcards):
    """Params function: experiment -> name of its model."""
    return {name: looked_at(wildcards, "michel2019", name)[0] for name in EXPERIMENTS}


def speed_memory(wildcards, attempt):
    """Megabytes for four copies of the classifier and a batch of the largest size."""
    model, corpus = role_entries(wildcards, "michel2019", "classification")
    return 2 * costs.ablation_memory(model, corpus) * attempt
