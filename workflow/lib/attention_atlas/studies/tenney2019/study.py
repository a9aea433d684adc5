"""Declaration of the study of Tenney et al. (2019), BERT Rediscovers the Classical NLP Pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.errors import AtlasError
from attention_atlas.studies.tenney2019.pages import PAGES
from attention_atlas.workflow.known import check_known, check_reader
from attention_atlas.workflow.lookups import Config, Pair, has_files, study_model
from attention_atlas.workflow.studies import study_corpora
from attention_atlas.workflow.study import Artifact, Paper, Role, Study, figure, table

ID = "tenney2019"
PARTS = ("training", "development")
"""Keys of the corpora of a task."""
ROLES = {"cases": Role("edges", "sentences that Figure 3 shows first.")}
ARTIFACTS = (
    figure(
        "figure1",
        "Figure 1",
        "Expected layer, centre of gravity and F1 of each task",
        "Expected layer by cumulative scores and centre of gravity of the mixing weights of each task, and F1 of the probes on "
        "layer 0 alone and on all layers. Bars: 95 % intervals, of expected layers by bootstrap over documents (or sentences, "
        "see unit) and seeds, of centres over seeds alone; an expected layer is not drawn where the gain is within noise. "
        "Hollow diamonds: published values of BERT; where the models differ in depth, at the same relative depth, from layer 0 "
        "to the last layer for centres and from layer 1 to the last layer for expected layers, which count gains from layer 1 "
        "on. An asterisk marks an F1 on layer 0 where most probes trained to the step limit, so more steps could raise it; "
        "at_step_limit is the share of probes of all layers and seeds at this limit, best_at_step_limit of those whose F1 was "
        "still rising there, at_step_limit_first the share on layer 0 (Tenney et al. 2019, Figure 1).",
        uses=["cases"],
    ),
    figure(
        "figure2",
        "Figure 2",
        "Mixing weights and differential scores of each task",
        "Left: mixing weights of a probe on all layers, mean over seeds with its 95 % interval. Right: gain of each layer in "
        "F1 (differential score), as a share of the largest gain over layer 0, with its 95 % interval by bootstrap over "
        "documents (or sentences, see unit) and seeds; pale bars are negative. Shares are not drawn where the gain is within "
        "noise. K: divergence from equal weights or shares, in bits, and in brackets that of BERT-large in the paper, whose "
        "weights and shares are over more layers. F1: at layer 0 and at the last layer. Black line: published values of BERT; "
        "where the models differ in depth, at the same relative depth, from layer 0 to the last layer for weights and from "
        "layer 1 to the last layer for shares, and scaled so that equal weights or shares have the same height (Tenney et al. "
        "2019, Figure 2).",
        uses=["cases"],
        files=["summary/mixing_weights.tsv", "summary/probe_scores.tsv"],
    ),
    figure(
        "figure_a3",
        "Figure A.3",
        "Mixing weights and differential scores of two models",
        "Mixing weights and differential scores of two models, aligned at their last layers, drawn as in Figure 2, without "
        "the paper's K (Tenney et al. 2019, Figure A.3).",
        needs=["second_model"],
        uses=["cases"],
    ),
    figure(
        "figure3",
        "Figure 3",
        "Predictions for ambiguous targets, layer by layer",
        "Probability by layer of the gold label and of the likeliest wrong one, for single targets; mean over seeds, labels "
        "normalised to a sum of 1. Sentences of the paper come first if the run has their labels, with all their targets. "
        "Development sentences with the most ambiguous targets follow, with these targets alone: no label has a probability "
        "above 0.7 in the mean over layers and seeds, before the normalisation that the bars have, since each label has a "
        "separate sigmoid. At most five sentences and four targets of each are drawn, the table has all (Tenney et al. 2019, "
        "Figure 3).",
        uses=["cases"],
        shows_text=True,
    ),
    table(
        "controls",
        "Controls",
        "F1 of each task on layer 0 and on all layers, with controls",
        "F1 of probes on the input of the first layer and on all layers; beside it, on a model with random layers, on a "
        "control task, with shuffled labels, by the best constant answer, and after an equal number of steps. The model with "
        "random layers is not compared on layer 0: it has the words and positions of the trained model, but untrained segment "
        "embeddings and layer normalisation, so that its layer 0 is another input. at_step_limit: share of probes (over "
        "seeds) that trained to the step limit; best_at_step_limit: of those whose F1 was still rising there. Not a table of "
        "Tenney et al. (2019).",
        uses=["cases"],
    ),
    table(
        "order",
        "Order of tasks",
        "Whether the order of tasks is stable over documents (or sentences) and seeds",
        "Neighbours in the order of expected layers, and the share of bootstrap resamples of documents (or sentences, see "
        "unit) and seeds in which their order is the same (Tenney et al. 2019).",
        uses=["cases"],
    ),
    table(
        "options",
        "Options",
        "Effect of options: layer 0, running maximum, equal steps",
        "Change in the result under each option of the method: layer 0 as in the published code, a running maximum of "
        "scores, or an equal number of steps for all tasks (Tenney et al. 2019).",
        uses=["cases"],
    ),
    table(
        "claims",
        "Claims",
        "The paper's claims, and objections to them, tested on this run's model",
        "Claims of Tenney et al. (2019), and objections to them, tested on this run's model.",
        uses=["cases"],
    ),
    table(
        "comparison",
        "Comparison",
        "Every published number beside this run's",
        "Every published number of Tenney et al. (2019) beside what this run measured, with the reason where the two cannot be "
        "compared.",
        uses=["cases"],
    ),
    table(
        "dropped",
        "Dropped",
        "Dropped sentences, by reason",
        "Number of sentences dropped from the study of Tenney et al. (2019), by corpus and reason.",
        uses=["cases"],
    ),
)


def task_corpora(config: Config, entry: Mapping[str, Any]) -> list[str]:
    """Corpora of a task, and the treebanks that they name."""
    names = [entry[part] for part in PARTS]
    trees = [config["corpora"][name].get("trees") for name in names]
    return [*names, *filter(None, trees)]


def tasks_of(config: Config, run: str) -> dict[str, dict[str, Any]]:
    """Task -> its settings, for the tasks whose files exist; for all of them where missing files are an error."""
    tasks = config["runs"][run][ID]["tasks"]
    return {
        task: tasks[task]
        for task in EDGE_TASKS
        if task in tasks and (config["missing"] == "error" or has_files(config, task_corpora(config, tasks[task])))
    }


def corpora(config: Config, run: str) -> list[str]:
    """Corpora of the tasks that can be built; of all where none can be."""
    tasks = tasks_of(config, run) or config["runs"][run][ID]["tasks"]
    return [name for entry in tasks.values() for name in task_corpora(config, entry)]


def models(config: Config, run: str, artifact: Artifact) -> list[str]:
    """The model with random layers, and the second model, which claims and the comparison also use."""
    settings = config["runs"][run][ID]
    return [settings[key] for key in ("random_model", "second_model") if key in settings]


def examples(config: Config, run: str) -> list[Pair]:
    """(model, corpus) of all examples that the study reads."""
    model = study_model(config, run, ID)
    names = [entry[part] for entry in tasks_of(config, run).values() for part in PARTS]
    return [(model, corpus) for corpus in dict.fromkeys([*names, *study_corpora(config, run, ID).values()])]


def check(config: Config, run: str, place: str) -> None:
    """Check that corpora have targets of their tasks, and that further models differ from the study's.

    Raises:
        AtlasError: names the key.
    """
    settings = config["runs"][run][ID]
    for task, entry in settings["tasks"].items():
        for part in PARTS:
            where, corpus = f"{place}.tasks.{task}.{part}", entry[part]
            check_known(corpus, config["corpora"], "corpus", where)
            check_reader(config, corpus, "edges", where)
            if task not in config["corpora"][corpus]["edge_tasks"]:
                targets = ", ".join(config["corpora"][corpus]["edge_tasks"])
                raise AtlasError(f"config: {where}: corpus '{corpus}' has targets for {targets}, not for {task}.")
    base = study_model(config, run, ID)
    for key in ("random_model", "second_model"):
        if key in settings:
            check_known(settings[key], config["models"], "model", f"{place}.{key}")
            if settings[key] == base:
                raise AtlasError(f"config: {place}.{key}: '{base}' is the model of the study; name another one.")
    if "random_model" in settings and config["models"][settings["random_model"]]["init"] == "pretrained":
        raise AtlasError(f"config: {place}.random_model: '{settings['random_model']}' is not random: set init: random_encoder.")


STUDY = Study(
    id=ID,
    order=5,
    title="Tenney et al. (2019): BERT Rediscovers the Classical NLP Pipeline",
    description="Tenney et al. 2019, BERT Rediscovers the Classical NLP Pipeline.",
    paper=Paper("Tenney et al. (2019)", "https://arxiv.org/abs/1905.05950"),
    roles=ROLES,
    artifacts=ARTIFACTS,
    examples=examples,
    corpora=corpora,
    models=models,
    optional={"cases": (), "random_model": (), "second_model": ()},
    check=check,
    pages=PAGES,
)
