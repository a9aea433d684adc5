"""Declaration of the study of Tenney et al. (2019), BERT Rediscovers the Classical NLP Pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import check_corpus, check_known
from attention_atlas.workflow.paths import Config, Pair, has_files, study_model
from attention_atlas.workflow.study import Artifact, Paper, Role, Study, shown_artifacts, study_corpora

ID = "tenney2019"
PARTS = ("training", "development")  # keys of the corpora of a task
MODELS = ("random_model", "second_model")  # keys of the models beside that of the study


def task_corpora(config: Config, entry: Mapping[str, Any]) -> list[str]:
    """Corpora of a task, and the treebanks that they name."""
    names = [entry[part] for part in PARTS]
    return names + [trees for name in names if (trees := config["corpora"][name].get("trees"))]


def tasks_of(config: Config, run: str) -> dict[str, dict[str, Any]]:
    """Task -> its settings, for the tasks whose files exist; for all of them where missing files are an error."""
    tasks = {task: entry for task in EDGE_TASKS if (entry := config["runs"][run][ID]["tasks"].get(task))}
    every = config["missing"] == "error"
    return {task: entry for task, entry in tasks.items() if every or has_files(config, task_corpora(config, entry))}


def corpora(config: Config, run: str) -> list[str]:
    """Corpora of the tasks that can be built; of all where none can be."""
    tasks = tasks_of(config, run) or config["runs"][run][ID]["tasks"]
    return [name for entry in tasks.values() for name in task_corpora(config, entry)]


def models(config: Config, run: str, artifact: Artifact) -> list[str]:
    """The model with random layers, and the second model, which claims and the comparison also use."""
    return [config["runs"][run][ID][key] for key in MODELS if key in config["runs"][run][ID]]


def examples(config: Config, run: str) -> list[Pair]:
    """(model, corpus) of all examples that the study reads."""
    model = study_model(config, run, ID)
    names = [entry[part] for entry in tasks_of(config, run).values() for part in PARTS]
    return [(model, corpus) for corpus in dict.fromkeys([*names, *study_corpora(config, run, ID).values()])]


def evaluated(config: Config, run: str, key: str = "") -> dict[str, Pair]:
    """Task -> model and the corpus that its probes are evaluated on: the study's model, or that of a key, if the run has it."""
    model = config["runs"][run][ID].get(key) if key else study_model(config, run, ID)
    return {task: (model, entry["development"]) for task, entry in tasks_of(config, run).items()} if model else {}


def evaluated_both(config: Config, run: str) -> dict[str, Pair]:
    """The same for the study's model, and of `second TASK` for the second model if the run names one."""
    second = evaluated(config, run, "second_model")
    return evaluated(config, run) | {f"second {task}": pair for task, pair in second.items()}


def second_tables(inputs: Any, run: str) -> dict[str, str]:
    """Name -> table of the second model that is compared with published values; none if the run names no second model."""
    tables = ("tasks", "layers", "options", "mixing_weights") if "second_model" in inputs.config["runs"][run][ID] else ()
    return {name: inputs.study.path(f"second_model/{name}.tsv", run) for name in tables}


def check(config: Config, run: str, place: str) -> None:
    """Check that corpora have targets of their tasks, and that further models differ from the study's."""
    settings = config["runs"][run][ID]
    for task, entry in settings["tasks"].items():
        for part in PARTS:
            where, corpus = f"{place}.tasks.{task}.{part}", entry[part]
            check_corpus(config, corpus, "edges", where)
            if task not in config["corpora"][corpus]["edge_tasks"]:
                targets = ", ".join(config["corpora"][corpus]["edge_tasks"])
                raise AtlasError(f"config: {where}: corpus '{corpus}' has targets for {targets}, not for {task}.")
    base = study_model(config, run, ID)
    for key in filter(settings.get, MODELS):
        check_known(settings[key], config["models"], "model", f"{place}.{key}")
        if settings[key] == base:
            raise AtlasError(f"config: {place}.{key}: '{base}' is the model of the study; name another one.")
    random, second = map(settings.get, MODELS)
    if random and config["models"][random]["init"] == "pretrained":
        raise AtlasError(f"config: {place}.random_model: '{random}' is not random: set init: random_encoder.")
    if random and random == second:
        raise AtlasError(f"config: {place}.second_model is the random_model, of which only two layers are probed.")


STUDY = Study(
    id=ID,
    order=5,
    title="Tenney et al. (2019): BERT Rediscovers the Classical NLP Pipeline",
    paper=Paper("Tenney et al. (2019)", "https://arxiv.org/abs/1905.05950"),
    roles={"cases": Role("edges", "sentences that Figure 3 shows first.")},
    artifacts=shown_artifacts(ID, uses=("cases",)),
    examples=examples,
    corpora=corpora,
    models=models,
    optional=dict.fromkeys(("cases", *MODELS), ()),
    check=check,
    groups={
        "tasks": evaluated,
        "random": partial(evaluated, key="random_model"),
        "second": partial(evaluated, key="second_model"),
        "compared": evaluated_both,
    },
    inputs={"second_model": second_tables},
)
