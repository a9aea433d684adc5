# What the rules of Tenney et al. (2019) read: for each task examples to train on and to evaluate on, and the hidden states of the
# run's model, of one with random layers, and of a further model where the run names one.

_PROBED = ("training", "development")


def tenney2019_tasks(run):
    """Task -> its settings, for the tasks whose files are there (all of them where missing files are an error)."""
    tasks = config["runs"][run]["tenney2019"]["tasks"]
    return {
        task: tasks[task]
        for task in EDGE_TASKS
        if task in tasks
        and (
            config["missing"] == "error"
            or not missing_files(config, task_corpora(tasks[task]))
        )
    }


def task_corpora(entry):
    """Corpora of a task, and those that they name."""
    names = [entry[part] for part in _PROBED]
    beside = [config["corpora"][name].get("trees") for name in names]
    return [*names, *filter(None, beside)]


def tenney2019_corpora(run):
    """Corpora of the tasks that can be built; of all where none can be."""
    tasks = tenney2019_tasks(run) or config["runs"][run]["tenney2019"]["tasks"]
    return [name for entry in tasks.values() for name in task_corpora(entry)]


FURTHER_CORPORA["tenney2019"] = tenney2019_corpora
# No attention is cached: probes read hidden states.
PAIRS["tenney2019"] = lambda run: []


def tenney2019_pairs(run):
    """(model, corpus) of all examples that the study reads."""
    model = study_model(config, run, "tenney2019")
    corpora = [
        entry[part] for entry in tenney2019_tasks(run).values() for part in _PROBED
    ]
    corpora += study_corpora(config, run, "tenney2019").values()
    return [(model, corpus) for corpus in dict.fromkeys(corpora)]


def probed_corpora(wildcards):
    """Part -> corpus of the task in the path; the sentences of Figure 3 for the run's own model alone."""
    chosen = config["runs"][wildcards.run]["tenney2019"]
    entry = chosen["tasks"][wildcards.edge_task]
    corpora = {part: entry[part] for part in _PROBED}
    if "cases" in chosen and is_whole(wildcards):
        corpora["cases"] = chosen["cases"]
    return corpora


def probed_files(part, folder, suffix):
    """Input function: shards of a part of the task and model in the path; none where there is no such part."""

    def paths(wildcards):
        corpus = probed_corpora(wildcards).get(part)
        if corpus is None:
            return []
        return shard_paths(wildcards.run, wildcards.model, corpus, folder, suffix)

    return paths


def probed_limits(wildcards):
    return {
        part: limit_of(config, wildcards.run, corpus)
        for part, corpus in probed_corpora(wildcards).items()
    }


def is_whole(wildcards):
    """Whether probes of all layers are trained; for the model with random layers, those of the first and the last alone."""
    chosen = config["runs"][wildcards.run]["tenney2019"]
    return wildcards.model != chosen.get("random_model")


def probe_plan(wildcards):
    chosen = config["runs"][wildcards.run]["tenney2019"]
    return {
        "seeds": chosen["seeds"],
        "layer0": chosen["layer0"] if is_whole(wildcards) else ["embeddings"],
        "whole": is_whole(wildcards),
        "most_targets": chosen.get("most_targets"),
        "traced": chosen["traced"],
    }


def edge_recipe(wildcards):
    """Params function: how the probes of a task are trained, what is the task's own included."""
    chosen = config["runs"][wildcards.run]["tenney2019"]
    own = chosen["tasks"][wildcards.edge_task]
    changed = {key: own[key] for key in ("interval", "most_steps") if key in own}
    return chosen["training"] | changed


_EDGE_TABLES = {
    "scores": "scores.tsv",
    "weights": "weights.tsv",
    "counts": "counts.parquet",
}


def edge_file(run, model, task, suffix):
    return f"results/{run}/tenney2019/probes/{model}/{task}.{suffix}"


def edge_files(suffix):
    """Input function: a file of each task, for the run's own model."""

    def paths(wildcards):
        run = wildcards.run
        model = study_model(config, run, "tenney2019")
        return [edge_file(run, model, task, suffix) for task in tenney2019_tasks(run)]

    return paths


def random_edge_files(wildcards):
    """Input function: scores of probes on the model with random layers, where the run names one."""
    run = wildcards.run
    model = config["runs"][run]["tenney2019"].get("random_model")
    tasks = tenney2019_tasks(run) if model else []
    return [edge_file(run, model, task, "scores.tsv") for task in tasks]


def model_tables(run, model):
    """Task -> files of its probes by kind."""
    return {
        task: {
            kind: edge_file(run, model, task, suffix)
            for kind, suffix in _EDGE_TABLES.items()
        }
        for task in tenney2019_tasks(run)
    }


def edge_tables(wildcards):
    """Params function: task -> its files by kind."""
    run = wildcards.run
    tables = model_tables(run, study_model(config, run, "tenney2019"))
    for task, path in zip(tables, random_edge_files(wildcards), strict=False):
        tables[task]["random_scores"] = path
    return tables


def both_models(wildcards):
    """Params function: the run's other model and its own -> task -> its files by kind."""
    run = wildcards.run
    chosen = config["runs"][run]["tenney2019"]
    if "other_model" not in chosen:
        raise WorkflowError(
            f"runs.{run}.tenney2019 names no other_model, which Figure A.3 needs: add it to the run."
        )
    names = (chosen["other_model"], study_model(config, run, "tenney2019"))
    return {model: model_tables(run, model) for model in names}


def both_models_files(wildcards):
    """Input function: the same as a list."""
    return [
        path
        for tasks in both_models(wildcards).values()
        for files in tasks.values()
        for path in files.values()
    ]


def settings_by_task(wildcards):
    """Params function: task -> what its probes are evaluated on."""
    model = study_model(config, wildcards.run, "tenney2019")
    return {
        task: setting(wildcards, model, entry["development"])
        for task, entry in tenney2019_tasks(wildcards.run).items()
    }


def hidden_memory(wildcards, attempt):
    return costs.hidden_memory(*entries(wildcards)) * attempt


def edge_probe_memory(wildcards, attempt):
    chosen = config["runs"][wildcards.run]["tenney2019"]
    corpus = config["corpora"][chosen["tasks"][wildcards.edge_task]["training"]]
    model = config["models"][wildcards.model]
    variants, batch = len(chosen["layer0"]), chosen["training"]["batch"]
    return costs.edge_probe_memory(model, corpus, variants, batch) * attempt
