# What jobs ask a scheduler for. Memory follows from shapes and grows with each attempt; see attention_atlas.costs.

from attention_atlas import costs
from attention_atlas.models.devices import gpu_here


def memory(megabytes):
    """Resources function: a fixed number of megabytes for jobs that read tables, more after a failure."""

    def grown(wildcards, attempt):
        return megabytes * attempt

    return grown


def minutes(number):
    """Resources function: minutes, more after a failure."""

    def grown(wildcards, attempt):
        return number * attempt

    return grown


def entries(wildcards):
    return config["models"][wildcards.model], config["corpora"][wildcards.corpus]


def extraction_memory(wildcards, attempt):
    return costs.extraction_memory(*entries(wildcards)) * attempt


def extraction_minutes(wildcards, attempt):
    """Ten minutes, and the forward passes of a whole shard at 5 GFLOP/s."""
    model, corpus = entries(wildcards)
    flop = corpus["shard"] * costs.shape_of(model).forward_flop(corpus["max_tokens"])
    return int(10 + flop / 5e9 / 60) * attempt


def head_training_memory(wildcards, attempt):
    model, corpus = entries(wildcards)
    records = limit_of(config, wildcards.run, wildcards.corpus)
    copies = model["mlm_head"]["copies"]
    return costs.head_training_memory(model, corpus, copies, records) * attempt


def role_entries(wildcards, study, role):
    model, corpus = looked_at(wildcards, study, role)
    return config["models"][model], config["corpora"][corpus]


def gradient_memory(study, role):
    """Resources function: megabytes for derivatives by all maps of a role's corpus."""

    def grown(wildcards, attempt):
        return costs.gradient_memory(*role_entries(wildcards, study, role)) * attempt

    return grown


def maps_memory(study, role, kept=0):
    """Resources function: megabytes to read the maps of a role, an example at a time, and keep some bytes a head and record."""

    def grown(wildcards, attempt):
        model, corpus = role_entries(wildcards, study, role)
        records = limit_for(study, role)(wildcards)
        return costs.example_memory(model, corpus, records, kept) * attempt

    return grown


def probe_memory(study, role):
    """Resources function: megabytes to train probes of the model in the path."""

    def grown(wildcards, attempt):
        corpus = config["corpora"][looked_at(wildcards, study, role)[1]]
        model = config["models"][wildcards.model]
        return costs.probe_memory(model, corpus) * attempt

    return grown


def distance_memory(study, role):
    """Resources function: megabytes for the distances of all pairs of heads."""

    def grown(wildcards, attempt):
        blocks = config["runs"][wildcards.run][study]["clustering"]["blocks"]
        model, corpus = role_entries(wildcards, study, role)
        return costs.distance_memory(model, corpus, blocks) * attempt

    return grown


def fine_tuning_memory(wildcards, attempt):
    training = training_settings(wildcards)
    model, corpus = (
        config["models"][wildcards.model],
        config["corpora"][training["corpus"]],
    )
    return costs.fine_tuning_memory(model, corpus, training["batch"]) * attempt


def feature_memory(wildcards, attempt):
    model, corpus = entries(wildcards)
    samples = config["runs"][wildcards.run]["guan2020"]["samples"]
    return costs.example_memory(model, corpus, samples, 4 * 4 * 21 * 3) * attempt


def ablation_memory(study, role):
    """Resources function: megabytes for forward passes on a role's corpus, all outputs of the layers kept."""

    def grown(wildcards, attempt):
        return costs.ablation_memory(*role_entries(wildcards, study, role)) * attempt

    return grown


def task_entries(wildcards):
    base = config["models"][study_model(config, wildcards.run, "kovaleva2019")]
    return base, config["corpora"][task_corpus(wildcards, wildcards.task)]


def task_memory(wildcards, attempt):
    return costs.ablation_memory(*task_entries(wildcards)) * attempt


def measures_memory(wildcards, attempt):
    model, corpus = task_entries(wildcards)
    chosen = config["runs"][wildcards.run]["kovaleva2019"]
    records = min(chosen["measured"], task_limit(wildcards))
    length = chosen["padded"]["length"]
    return costs.measures_memory(model, corpus, records, length) * attempt


def changes_memory(wildcards, attempt):
    """Megabytes for the measures of all seeds of a task at a time."""
    model = config["models"][study_model(config, wildcards.run, "kovaleva2019")]
    records = config["runs"][wildcards.run]["kovaleva2019"]["measured"]
    tasks = kovaleva2019_tasks(wildcards.run)
    seeds = max(len(family_models(wildcards, task)) for task in tasks)
    return costs.changes_memory(model, records, seeds) * attempt


SMALL_FLOP = 3e13
"""Operations of a model below which a second thread gains nothing: start and small matrices keep one processor busy, so that two
jobs side by side end sooner than one after the other (in the sample run all do)."""


def threads_of(model, corpus, passes):
    """One thread for a small job, else two; `passes` forward passes over examples of a corpus."""
    tokens = costs.typical_tokens(corpus)
    return 1 if passes * costs.shape_of(model).forward_flop(tokens) < SMALL_FLOP else 2


def extraction_threads(wildcards):
    model, corpus = entries(wildcards)
    return threads_of(model, corpus, corpus["shard"])


def head_training_threads(wildcards):
    model, corpus = entries(wildcards)
    records = limit_of(config, wildcards.run, wildcards.corpus)
    return threads_of(model, corpus, 2 * model["mlm_head"]["copies"] * records)


def role_threads(study, role, passes):
    """Threads function: of so many forward passes, by the shape of the model, over each example of a role."""

    def number(wildcards):
        model, corpus = role_entries(wildcards, study, role)
        each = passes(costs.shape_of(model))
        return threads_of(model, corpus, each * limit_for(study, role)(wildcards))

    return number


def task_threads(passes):
    """Threads function: of so many forward passes over the examples of the task in the path."""

    def number(wildcards):
        model, corpus = task_entries(wildcards)
        each = passes(costs.shape_of(model))
        return threads_of(model, corpus, each * task_limit(wildcards))

    return number


def fine_tuning_threads(wildcards):
    training = training_settings(wildcards)
    corpus = config["corpora"][training["corpus"]]
    passes = 3 * training["epochs"] * training_limit(wildcards)
    return threads_of(config["models"][wildcards.model], corpus, passes)


def gpus(wildcards):
    """GPUs for a job that runs a model: one where the configuration asks for it, or where this machine has one."""
    wanted = config["device"]
    return int(wanted == "cuda" or (wanted == "auto" and gpu_here()))
