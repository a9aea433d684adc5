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


def probed_tasks(wildcards):
    """Params function: task of the path -> what its probes are trained on, and how; see `probing.ProbedTask`."""
    return {task: probed_task(wildcards, task) for task in tasks_of_path(wildcards)}


def tasks_of_path(wildcards):
    return wildcards.edge_tasks.split("-")


def probed_task(wildcards, task):
    chosen = config["runs"][wildcards.run]["tenney2019"]
    own = chosen["tasks"][task]
    changed = {key: own[key] for key in ("interval", "most_steps") if key in own}
    # The sentences of Figure 3 are for the run's own model alone.
    cases = chosen.get("cases") if is_whole(wildcards) else None
    return {part: probed_corpus(wildcards, own[part]) for part in _PROBED} | {
        "cases": probed_corpus(wildcards, cases) if cases else None,
        "recipe": chosen["training"] | changed,
    }


def probed_corpus(wildcards, corpus):
    """Files of a corpus and how many records count, see `probing.ProbedCorpus`."""
    place = wildcards.run, wildcards.model, corpus
    return {
        "examples": shard_paths(*place, "examples", "parquet"),
        "states": shard_paths(*place, "hidden", "safetensors"),
        "limit": limit_of(config, wildcards.run, corpus),
    }


def probed_files(wildcards):
    """Input function: all files of the tasks in the path."""
    corpora = [
        probed[part]
        for probed in probed_tasks(wildcards).values()
        for part in (*_PROBED, "cases")
        if probed[part]
    ]
    paths = [
        path for own in corpora for kind in ("examples", "states") for path in own[kind]
    ]
    return list(dict.fromkeys(paths))


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
        # What stands beside the run's own model is compared by its layers alone (Figure A.3).
        "controls": wildcards.model == study_model(config, wildcards.run, "tenney2019"),
        "most_targets": chosen.get("most_targets"),
        "traced": chosen["traced"],
    }


_EDGE_TABLES = {
    "scores": "scores.tsv",
    "weights": "weights.tsv",
    "counts": "counts.parquet",
}


def edge_jobs(run):
    """Tasks of each job: `tasks_a_job` at a time, by their names as the paths have them."""
    tasks = list(tenney2019_tasks(run))
    size = config["runs"][run]["tenney2019"]["tasks_a_job"]
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]


def edge_file(run, model, tasks, suffix):
    return f"results/{run}/tenney2019/probes/{model}/{'-'.join(tasks)}.{suffix}"


def edge_files(suffix):
    """Input function: the files of all jobs, for the run's own model."""

    def paths(wildcards):
        run = wildcards.run
        model = study_model(config, run, "tenney2019")
        return [edge_file(run, model, tasks, suffix) for tasks in edge_jobs(run)]

    return paths


def random_edge_files(wildcards):
    """Input function: scores of probes on the model with random layers, where the run names one."""
    return list(dict.fromkeys(random_scores(wildcards.run).values()))


def random_scores(run):
    """Task -> file with its scores on the model with random layers; empty where the run names none."""
    model = config["runs"][run]["tenney2019"].get("random_model")
    return {
        task: edge_file(run, model, tasks, "scores.tsv")
        for tasks in (edge_jobs(run) if model else [])
        for task in tasks
    }


def model_tables(run, model):
    """Task -> files of its probes by kind."""
    return {
        task: {
            kind: edge_file(run, model, tasks, suffix)
            for kind, suffix in _EDGE_TABLES.items()
        }
        for tasks in edge_jobs(run)
        for task in tasks
    }


def edge_tables(wildcards):
    """Params function: task -> its files by kind."""
    run = wildcards.run
    tables = model_tables(run, study_model(config, run, "tenney2019"))
    for task, path in random_scores(run).items():
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
    paths = [
        path
        for tasks in both_models(wildcards).values()
        for files in tasks.values()
        for path in files.values()
    ]
    return list(dict.fromkeys(paths))


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
    names = {chosen["tasks"][task]["training"] for task in tasks_of_path(wildcards)}
    model = config["models"][wildcards.model]
    variants, batch = len(chosen["layer0"]), chosen["training"]["batch"]
    needed = [
        costs.edge_probe_memory(model, config["corpora"][name], variants, batch)
        for name in names
    ]
    return max(needed) * attempt
