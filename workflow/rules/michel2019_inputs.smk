# What the rules of Michel et al. (2019) read: a translation model and a classification model, each with examples of its own.

ROLE_MODELS["michel2019"] = {
    "translation": "translator",
    "classification": "classifier",
}


def michel2019_corpora(run):
    """Corpora of both models, and those that they are trained on."""
    chosen = config["runs"][run]["michel2019"]
    return [
        name
        for role, key in ROLE_MODELS["michel2019"].items()
        for name in pair_corpora(chosen[key], chosen[role])
    ]


FURTHER_CORPORA["michel2019"] = michel2019_corpora
# No attention is cached: the models run with heads masked.
PAIRS["michel2019"] = lambda run: []


def translator_tokenizer(wildcards):
    model, _ = looked_at(wildcards, "michel2019", "translation")
    return f"results/{wildcards.run}/models/{model}/tokenizer.json"


def a_head(passes):
    """Passes over each example, so many a head of the model."""

    def all_heads(shape):
        return passes * shape.layers * shape.heads

    return all_heads
