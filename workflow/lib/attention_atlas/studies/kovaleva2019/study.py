"""Declaration of the study of Kovaleva et al. (2019), Revealing the Dark Secrets of BERT."""

from __future__ import annotations

from typing import Any

from attention_atlas.corpora.glue import TASKS
from attention_atlas.errors import AtlasError
from attention_atlas.studies.kovaleva2019.head_measures import MEASURES
from attention_atlas.workflow.config import check_corpus, check_known
from attention_atlas.workflow.paths import Config, Pair, has_files, limit_of, study_model
from attention_atlas.workflow.study import Paper, Role, Study, shown_artifacts

ID = "kovaleva2019"


def training_corpus(config: Config, run: str, task: str) -> str:
    return str(config["families"][config["runs"][run][ID]["family"]]["tasks"][task]["corpus"])


def tasks_of(config: Config, run: str) -> dict[str, str]:
    """Task -> corpus, for the tasks whose files exist; for all of them where missing files are an error."""
    tasks: dict[str, str] = config["runs"][run][ID]["tasks"]
    return {
        task: corpus
        for task, corpus in tasks.items()
        if config["missing"] == "error" or has_files(config, [corpus, training_corpus(config, run, task)])
    }


def task_pairs(config: Config, run: str) -> dict[str, tuple[str, ...]]:
    """Task -> the pre-trained model, the corpus, and what tables and figures call the fine-tuned models."""
    base, family = study_model(config, run, ID), config["runs"][run][ID]["family"]
    return {task: (base, corpus, f"{base}, fine-tuned ({family})") for task, corpus in tasks_of(config, run).items()}


def drawn_pair(config: Config, run: str) -> dict[str, tuple[str, ...]]:
    """The task that Figure 1 draws from: the first one with two texts, otherwise the first one."""
    pairs = task_pairs(config, run)
    task = next((task for task in pairs if TASKS[task].second), next(iter(pairs)))
    return {task: pairs[task]}


def recipe(config: Config, run: str) -> dict[str, Any]:
    """Choices of the run that the comparison reports; epochs: the fewest of any task."""
    chosen = config["runs"][run][ID]
    family = config["families"][chosen["family"]]
    training, frames = family["training"], chosen.get("frames")
    choices = {key: training[key] for key in ("batch", "learning_rate", "warmup")}
    choices["epochs"] = min(family["tasks"][task].get("epochs", training["epochs"]) for task in chosen["tasks"])
    choices |= {"padded_length": chosen["padded"]["length"], "measured_records": chosen["measured_records"]}
    return choices | ({"sentences": limit_of(config, run, frames)} if frames else {})


def pairs(config: Config, run: str) -> list[Pair]:
    frames = config["runs"][run][ID].get("frames")
    return [(study_model(config, run, ID), frames)] if frames else []


def corpora(config: Config, run: str) -> list[str]:
    """Corpora of the tasks, and those that their models are fine-tuned on; of all tasks where none can be built."""
    tasks = tasks_of(config, run) or config["runs"][run][ID]["tasks"]
    return [*tasks.values(), *(training_corpus(config, run, task) for task in tasks)]


def examples(config: Config, run: str) -> list[Pair]:
    base, tagged = study_model(config, run, ID), config["runs"][run][ID].get("tagged")
    read = [*corpora(config, run), *([tagged] if tagged else [])]
    return list(dict.fromkeys([*((base, corpus) for corpus in read), *pairs(config, run)]))


def check(config: Config, run: str, place: str) -> None:
    """Check that the family has the tasks, that corpora are of their tasks, and that the model of labelled maps is known."""
    settings = config["runs"][run][ID]
    family = settings["family"]
    trained = config["families"][family]["tasks"]
    for task, corpus in settings["tasks"].items():
        where, in_family = f"{place}.tasks.{task}", f"families.{family}.tasks.{task}.corpus"
        if task not in trained:
            raise AtlasError(f"config: {where}: the family '{family}' has no task '{task}'; its tasks: {', '.join(trained)}.")
        check_corpus(config, corpus, "glue", where)
        for key, name in ((where, corpus), (in_family, trained[task]["corpus"])):
            actual = config["corpora"][name]["task"]
            if actual != task:
                raise AtlasError(f"config: {key}: corpus '{name}' is one of the task {actual}, not of {task}.")
    check_known(settings["patterns"]["model"], config["models"], "model", f"{place}.patterns.model")


STUDY = Study(
    id=ID,
    order=3,
    title="Kovaleva et al. (2019): Revealing the Dark Secrets of BERT",
    paper=Paper("Kovaleva et al. (2019)", "https://arxiv.org/abs/1908.08593"),
    roles={
        "frames": Role("frames", "Figures 3 and 4."),
        "tagged": Role(
            "conllu", "Words with tags for Figure 7 and sections 4.4 and 4.5, where tasks have none; Stanford relations."
        ),
    },
    artifacts=shown_artifacts(ID),
    pairs=pairs,
    examples=examples,
    corpora=corpora,
    models=lambda config, run, artifact: [config["runs"][run][ID]["patterns"]["model"]],
    optional={"frames": (), "tagged": ()},
    check=check,
    groups={
        "tasks": task_pairs,
        "drawn": drawn_pair,
        "labelled": lambda config, run: {"labelled": (config["runs"][run][ID]["patterns"]["model"], "")},
    },
    inputs={
        "recipe": lambda inputs, run: recipe(inputs.config, run),
        "drawn_task": lambda inputs, run: next(iter(drawn_pair(inputs.config, run))),
    },
    measures=MEASURES,
)
