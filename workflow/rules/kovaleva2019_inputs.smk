# What the rules of Kovaleva et al. (2019) read: models of a family, by task and seed, and the examples of its tasks.


def frames_of(run):
    """Corpus of frames of a run, None where it names none, or where its file is missing and may be."""
    corpus = config["runs"][run]["kovaleva2019"].get("frames")
    missing = corpus and missing_files(config, [corpus])
    return None if missing and may_be_missing(corpus) else corpus


def kovaleva2019_pairs(run):
    frames = frames_of(run)
    return [(study_model(config, run, "kovaleva2019"), frames)] if frames else []


def kovaleva2019_tasks(run):
    """Task -> corpus, for the tasks whose files are there (all of them where missing files are an error)."""
    tasks = config["runs"][run]["kovaleva2019"]["tasks"]
    return {
        task: corpus
        for task, corpus in tasks.items()
        if config["missing"] == "error"
        or not missing_files(config, [corpus, training_corpus(run, task)])
    }


def training_corpus(run, task):
    family = config["runs"][run]["kovaleva2019"]["family"]
    return config["families"][family]["tasks"][task]["corpus"]


def kovaleva2019_corpora(run):
    """Corpora of the tasks, and those that their models are fine-tuned on; of all tasks where none can be built."""
    tasks = kovaleva2019_tasks(run) or config["runs"][run]["kovaleva2019"]["tasks"]
    return [*tasks.values(), *(training_corpus(run, task) for task in tasks)]


FURTHER_CORPORA["kovaleva2019"] = kovaleva2019_corpora
PAIRS["kovaleva2019"] = kovaleva2019_pairs


def family_of(wildcards):
    return config["runs"][wildcards.run]["kovaleva2019"]["family"]


def family_models(wildcards, task, random=False):
    """Seed -> model of the run's family for a task."""
    family = family_of(wildcards)
    seeds = family_seeds(config, family, task, random)
    return {seed: family_member(family, task, seed, random) for seed in seeds}


def task_corpus(wildcards, task):
    return config["runs"][wildcards.run]["kovaleva2019"]["tasks"][task]


def task_examples(wildcards):
    """Input function: examples of the task in the path, made with the family's base."""
    return examples_of_task(wildcards, wildcards.task)


def examples_of_task(wildcards, task, records=None):
    base = study_model(config, wildcards.run, "kovaleva2019")
    corpus = task_corpus(wildcards, task)
    return shard_paths(wildcards.run, base, corpus, "examples", "parquet", records)


def task_limit(wildcards):
    return limit_of(config, wildcards.run, task_corpus(wildcards, wildcards.task))


def task_part(key):
    """Params and input functions: records of the task in the path for a part of the study, and the examples with them."""

    def number(wildcards):
        bound = config["runs"][wildcards.run]["kovaleva2019"][key]
        return min(bound, task_limit(wildcards))

    def files(wildcards):
        return examples_of_task(wildcards, wildcards.task, number(wildcards))

    return number, files


def is_regression(wildcards):
    return TASKS[wildcards.task].regression


def weights_of(model, run):
    return f"results/{run}/models/{model}/checkpoint/model.safetensors"


def task_models(wildcards):
    """Model -> what was done to it, for the models of the task in the path."""
    tuned = family_models(wildcards, wildcards.task)
    random = family_models(wildcards, wildcards.task, random=True)
    return {name: ("tuned", seed) for seed, name in tuned.items()} | {
        name: ("random", seed) for seed, name in random.items()
    }


def task_weights(wildcards):
    return [weights_of(model, wildcards.run) for model in task_models(wildcards)]


def task_members(wildcards):
    """Params function: the task's models as `predictions.predict` takes them."""
    return [
        {
            "state": state,
            "seed": seed,
            "entry": weights_entry(wildcards.run, model),
        }
        for model, (state, seed) in task_models(wildcards).items()
    ]


def tuned_model(wildcards):
    return family_member(family_of(wildcards), wildcards.task, wildcards.seed)


def tuned_weights(wildcards):
    return weights_of(tuned_model(wildcards), wildcards.run)


def tuned_entry(wildcards):
    return weights_entry(wildcards.run, tuned_model(wildcards))


def base_model_entry(wildcards):
    return weights_entry(
        wildcards.run, study_model(config, wildcards.run, "kovaleva2019")
    )


def base_model_card(wildcards):
    return card(wildcards.run, study_model(config, wildcards.run, "kovaleva2019"))


def patterns_model(wildcards):
    return config["runs"][wildcards.run]["kovaleva2019"]["patterns"]["model"]


def patterns_card(wildcards):
    return card(wildcards.run, patterns_model(wildcards))


def patterns_tokenizer(wildcards):
    return f"results/{wildcards.run}/models/{patterns_model(wildcards)}/tokenizer.json"


def patterns_entry(wildcards):
    return weights_entry(wildcards.run, patterns_model(wildcards))


def by_task(pattern):
    """Params function: task -> its file of the study."""

    def files(wildcards):
        run = wildcards.run
        tasks = kovaleva2019_tasks(run)
        return {task: pattern.format(run=run, task=task) for task in tasks}

    return files


def by_task_and_seed(pattern):
    """Params function: task -> seed -> file of the study."""

    def files(wildcards):
        run = wildcards.run
        return {
            task: {
                seed: pattern.format(run=run, task=task, seed=seed)
                for seed in family_models(wildcards, task)
            }
            for task in kovaleva2019_tasks(run)
        }

    return files


def flat(by_key):
    """Input function: all files of a params function."""

    def listed(group):
        if isinstance(group, str):
            return [group]
        return [path for part in group.values() for path in listed(part)]

    def files(wildcards):
        return listed(by_key(wildcards))

    return files


def task_settings(wildcards):
    """Params function: task -> what was looked at."""
    model = study_model(config, wildcards.run, "kovaleva2019")
    name = f"{model}, fine-tuned ({family_of(wildcards)})"
    return {
        task: setting(wildcards, model, corpus) | {"model": name}
        for task, corpus in kovaleva2019_tasks(wildcards.run).items()
    }


def compared_task_settings(wildcards):
    """Params function: the same, and for the frames what was looked at there."""
    there = frames_of(wildcards.run)
    frames = (
        {"frames": setting_for("kovaleva2019", "frames")(wildcards)} if there else {}
    )
    return task_settings(wildcards) | frames


def first_pair_task(wildcards):
    """The task that Figure 1 draws from: the first with two texts, else the first."""
    tasks = list(kovaleva2019_tasks(wildcards.run))
    return next((task for task in tasks if TASKS[task].second), tasks[0])


def first_task_seed(wildcards):
    return next(iter(family_models(wildcards, first_pair_task(wildcards)).values()))


def drawn_weights(wildcards):
    return weights_of(first_task_seed(wildcards), wildcards.run)


def drawn_entry(wildcards):
    return weights_entry(wildcards.run, first_task_seed(wildcards))


def drawn_examples(wildcards):
    return examples_of_task(wildcards, first_pair_task(wildcards))[:1]


def drawn_limit(wildcards):
    corpus = task_corpus(wildcards, first_pair_task(wildcards))
    return limit_of(config, wildcards.run, corpus)


def drawn_setting(wildcards):
    return task_settings(wildcards)[first_pair_task(wildcards)]


def disabling_actions(wildcards):
    compared = config["runs"][wildcards.run]["kovaleva2019"]["ablations"]["compared"]
    return ["uniform", "zero", "mean"] if wildcards.task in compared else ["uniform"]


def kovaleva2019_recipe(wildcards):
    """Params function: what the comparison says of the run's choices."""
    chosen = config["runs"][wildcards.run]["kovaleva2019"]
    training = config["families"][chosen["family"]]["training"]
    keys = ("batch", "epochs", "learning_rate", "warmup")
    frames = frames_of(wildcards.run)
    return {key: training[key] for key in keys} | {
        "padded_length": chosen["padded"]["length"],
        "measured": chosen["measured"],
        "sentences": limit_of(config, wildcards.run, frames) if frames else 0,
    }


def kovaleva2019_examples(run):
    """(model, corpus) of all examples that the study reads."""
    base = study_model(config, run, "kovaleva2019")
    frames = [corpus for _, corpus in kovaleva2019_pairs(run)]
    corpora = dict.fromkeys([*kovaleva2019_corpora(run), *frames])
    return [(base, corpus) for corpus in corpora]


def frame_table(wildcards):
    """Input function: figure3.tsv where the run has a corpus of frames."""
    there = frames_of(wildcards.run)
    return f"results/{wildcards.run}/kovaleva2019/figure3.tsv" if there else []
