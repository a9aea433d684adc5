# What the rules of Michel et al. (2019) read: a translation model, a classification model, and their examples.


def michel2019_models(run):
    """Experiment -> (model, corpus)."""
    chosen = config["runs"][run]["michel2019"]
    return {
        "translation": (chosen["translator"], chosen["translation"]),
        "classification": (chosen["classifier"], chosen["classification"]),
    }


def michel2019_corpora(run):
    """Corpora that the models are trained on."""
    return [
        name for pair in michel2019_models(run).values() for name in pair_corpora(*pair)
    ]


FURTHER_CORPORA["michel2019"] = michel2019_corpora
# No attention is cached: the models run with heads masked.
PAIRS["michel2019"] = lambda run: []


def masked_model(experiment):
    def name(wildcards):
        return michel2019_models(wildcards.run)[experiment][0]

    return name


def masked_card(experiment):
    def path(wildcards):
        return card(wildcards.run, masked_model(experiment)(wildcards))

    return path


def masked_tokenizer(wildcards):
    model = masked_model("translation")(wildcards)
    return f"results/{wildcards.run}/models/{model}/tokenizer.json"


def masked_entry(experiment):
    """Params function: registry entry of the experiment's model."""

    def entry(wildcards):
        return weights_entry(wildcards.run, masked_model(experiment)(wildcards))

    return entry


def masked_examples(experiment):
    def paths(wildcards):
        pair = michel2019_models(wildcards.run)[experiment]
        return shard_paths(wildcards.run, *pair, "examples", "parquet")

    return paths


def masked_limit(experiment):
    def number(wildcards):
        corpus = michel2019_models(wildcards.run)[experiment][1]
        return limit_of(config, wildcards.run, corpus)

    return number


def masked_settings(wildcards):
    """Params function: experiment -> what was looked at."""
    pairs = michel2019_models(wildcards.run)
    return {name: setting(wildcards, *pair) for name, pair in pairs.items()}


def masked_entries(wildcards, experiment):
    model, corpus = michel2019_models(wildcards.run)[experiment]
    return config["models"][model], config["corpora"][corpus]


def masked_threads(experiment, passes):
    """Threads function: of `passes` forward passes a head over each example of the experiment."""

    def number(wildcards):
        model, corpus = masked_entries(wildcards, experiment)
        heads = model["layers"] * model["heads"]
        records = masked_limit(experiment)(wildcards)
        return threads_of(model, corpus, passes * heads * records)

    return number


def masked_memory(experiment):
    def megabytes(wildcards, attempt):
        return costs.ablation_memory(*masked_entries(wildcards, experiment)) * attempt

    return megabytes
