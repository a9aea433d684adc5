"""Declaration of the study of Kovaleva et al. (2019), Revealing the Dark Secrets of BERT."""

from __future__ import annotations

from collections.abc import Iterable

from attention_atlas.corpora.glue import TASKS
from attention_atlas.errors import AtlasError
from attention_atlas.studies.kovaleva2019.head_measures import MEASURES
from attention_atlas.studies.kovaleva2019.names import TASK_TITLES
from attention_atlas.studies.kovaleva2019.pages import PAGES
from attention_atlas.studies.kovaleva2019.points import POINTS
from attention_atlas.studies.kovaleva2019.taggers import missing_tagger
from attention_atlas.workflow.known import check_known, check_reader
from attention_atlas.workflow.lookups import (
    Config,
    Pair,
    family_member,
    family_seeds,
    has_files,
    study_model,
)
from attention_atlas.workflow.study import Artifact, Extra, Paper, Role, Study, figure, table

ID = "kovaleva2019"
ROLES = {"frames": Role("frames", "Figures 3 and 4.")}
ARTIFACTS = (
    figure(
        "figure1",
        "Figure 1",
        "A map of each class",
        "One attention map of each class, all of one example and of the fine-tuned model (Kovaleva et al. 2019, Figure 1). "
        "Among the maps that the rules put into a class, the most typical one is drawn: the one with the highest probability "
        "of the network; for blocks, the one with most attention within the segments away from the diagonal. Rows are query "
        "tokens, columns key tokens; the colour scale is a square root, so that small weights are visible. Where an "
        "example is long, only some tokens are named.",
        shows_text=True,
    ),
    figure(
        "figure2",
        "Figure 2",
        "Shares of the classes of maps in every task",
        "Shares of the five classes among all maps of the fine-tuned models: by rules, by a network trained on labelled maps, "
        "and as published (Kovaleva et al. 2019, Figure 2). The macro F1 is measured on labelled maps of layers that neither "
        "was tuned on. SST-2 has single sentences and so no blocks: blocks there are errors of the classifier. The "
        "paper's text says that up to 61 % of the maps are heterogeneous; in its figure that is the share of heterogeneous and "
        "block maps together. Comparable only in a run of the same model and data.",
        files=["changes/head_classes.tsv"],
    ),
    figure(
        "figure3",
        "Figure 3",
        "Attention between frame targets and core frame elements",
        "For every head: the largest attention weight between the target of a frame and its core frame elements, "
        "averaged over sentences; the same minus that of pairs at the same distance; and the published weights (Kovaleva et "
        "al. 2019, Figure 3). Dots mark the heads with the largest differences (at most a twentieth of all) whose 95 % "
        "intervals, simultaneous over all heads, exclude 0. Comparable only in a run of the same model and data.",
        needs=["frames"],
    ),
    figure(
        "figure4",
        "Figure 4",
        "How a frame is annotated",
        "An annotated sentence: the word that evokes the frame (target) and its core frame elements (Kovaleva et al. 2019, "
        "Figure 4). Figure 3 measures attention along the link. Long sentences are abridged.",
        needs=["frames"],
        shows_text=True,
    ),
    figure(
        "figure5",
        "Figure 5",
        "Cosine between maps before and after fine-tuning",
        "Mean cosine, over examples and seeds, between the maps of each head before and after fine-tuning: maps padded to one "
        "length, as in the published code; maps of the same examples at their real length; and the published values (Kovaleva "
        "et al. 2019, Figure 5). Darker: changed more. The comparison of padded maps includes the rows of padding. The table "
        "also has all examples at their real length. Comparable only in a run of the same model and data.",
    ),
    figure(
        "figure6",
        "Figure 6",
        "Attention to [SEP] and [CLS] after fine-tuning",
        "Mean attention of every head of the fine-tuned models to [SEP] (the larger of two, or their sum) and to [CLS], over "
        "examples and seeds, beside the published values (Kovaleva et al. 2019, Figure 6). With a single separator, the "
        "largest and the sum are the same. Comparable only in a run of the same model and data.",
    ),
    figure(
        "figure7",
        "Figure 7",
        "Attention of [CLS] in the last layer to tokens with a feature",
        "Last layer of the fine-tuned models: the largest attention weight of [CLS] on a token with a linguistic feature, "
        "averaged over the examples that have one (their number is beside the row) and over seeds (Kovaleva et al. 2019, "
        "Figure 7). By spelling, as in the published code: all tokens spelled like a token of a word with the feature. By "
        "word: only the tokens of these words. White: no value, because no example has the feature or the texts have no tags "
        "(column absent); punctuation is not in the paper. Comparable only in a run of the same model and data.",
    ),
    figure(
        "figure8",
        "Figure 8",
        "Change in score when one head is disabled",
        f"Change in each task's score when one head attends uniformly to all real tokens, in {POINTS}, mean over seeds "
        "(Kovaleva et al. 2019, Figure 8). Each panel has its own colour scale around 0, which ends at the change that 95 % of "
        "its heads do not exceed; an arrow shows that some heads lie beyond it. Dots: p < 0.05 for the models of these seeds "
        "by a paired permutation test over examples, adjusted for all heads of a panel by the maximum statistic. Above each "
        "panel: the score of the full model; the rank correlation of the changes of heads between seeds (ρ, mean over pairs of "
        "seeds); the largest loss and gain with their heads (layer-head); the published score with the published range of "
        "changes. Comparable only in a run of the same model and data.",
    ),
    figure(
        "figure9",
        "Figure 9",
        "Change in score when a whole layer is disabled",
        f"Change in each task's score when all heads of a layer attend uniformly to all real tokens, in {POINTS}, mean over "
        "seeds (Kovaleva et al. 2019, Figure 9). 95 % intervals are for models trained with any seed: over examples and, with "
        "several seeds, over seeds (Student's t, so that they are wide for few seeds). Circles: each seed "
        "(disabling_by_seed.tsv). Orange: p < 0.05 for the models of these seeds by a paired permutation test over examples, "
        "adjusted for all layers of a panel by the maximum statistic; an interval can contain 0 where p is small, because it "
        "includes other seeds. Diamonds: published changes of the 12 layers of BERT-base, each at the number of its layer, "
        "whatever the number of layers of the run's model. Comparable only in a run of the same model and data.",
    ),
    table(
        "table1",
        "Table 1",
        "Tasks without fine-tuning, from random weights, and fine-tuned",
        "Scores without fine-tuning over many random classification layers, fine-tuned from random weights, and fine-tuned "
        "from pre-trained weights, beside the majority, the best constant answer and the published scores (Kovaleva et al. "
        f"2019, Table 1), in {POINTS}. Intervals are over examples and, where a state has several models, over seeds; those of "
        "the gains (table1_gains.tsv) are over examples, for the models of these seeds.",
        files=["table1_gains.tsv"],
    ),
    table(
        "patterns",
        "Section 4.1",
        "How well the classifiers of maps agree with labels and with each other",
        "Agreement of the network and of the rules with labels made by eye, by cross-validation over texts, heads and "
        "layers, and with each other (Kovaleva et al. 2019, section 4.1); n counts labelled maps.",
        files=["labelling.html"],
        text_files=["labelling.html"],
    ),
    table(
        "features",
        "Section 4.4",
        "Attention to linguistic features before and after fine-tuning",
        "Attention to nouns, verbs, pronouns, subjects, objects, negation, punctuation and special tokens before and after "
        "fine-tuning (Kovaleva et al. 2019, section 4.4); the column absent says why a value is missing.",
    ),
    table(
        "links",
        "Section 4.5",
        "Attention between verbs and subjects, and between nouns and pronouns",
        "Attention between verbs and their subjects, and between nouns and pronouns, before and after fine-tuning, beside "
        "pairs of words at the same distance (Kovaleva et al. 2019, section 4.5). A task without any link has one row, with "
        "the reason.",
    ),
    table(
        "frame_options",
        "Figure 3, options",
        "Readings of the procedure of Figure 3",
        "The best head of Figure 3 under each reading of the paper's procedure (Kovaleva et al. 2019, section 4.2).",
        needs=["frames"],
    ),
    table(
        "disabling",
        "Figures 8 and 9, tests",
        "Largest differences, held out and against chance",
        "The largest gain and loss from disabling a head or a layer, tested with an adjustment for the number of heads or "
        "layers, and the gain of the head or layer that is best on one half of the examples, measured on the other half "
        f"(Kovaleva et al. 2019, Figures 8 and 9), in {POINTS}. Intervals and tests are over examples, for the models of these "
        "seeds.",
        files=["disabling_by_seed.tsv"],
    ),
    table(
        "options",
        "Options",
        "Effect of each open choice on the values of heads",
        "Change in the values of heads under each choice that the paper or its code leaves open (Kovaleva et al. 2019); the "
        "column absent says why a value is missing.",
    ),
    table(
        "digitised",
        "Digitised",
        "Values of heads compared with values read off the paper's figures",
        "Values of the run's heads compared with values read off the paper's figures (Kovaleva et al. 2019).",
        uses=["frames"],
    ),
    table(
        "claims",
        "Claims",
        "The paper's claims, tested on the run's models",
        "Claims of the paper tested on the run's models (Kovaleva et al. 2019).",
        uses=["frames"],
    ),
    table(
        "dropped",
        "Dropped",
        "Dropped examples, by reason",
        "Number of examples dropped from the study, by corpus and reason.",
        uses=["frames"],
    ),
    table(
        "comparison",
        "Comparison",
        "Every published number beside this run's",
        "Every published number of Kovaleva et al. (2019) beside what this run measured, with the reason where the two cannot "
        "be compared.",
        uses=["frames"],
    ),
)


_TAGGED = ("figure7", "features", "links", "options", "comparison")
"""Artefacts with values of words by their tags and relations."""


def frames_of(config: Config, run: str) -> str | None:
    """Corpus of frames of a run; None where the run names none."""
    corpus: str | None = config["runs"][run][ID].get("frames")
    return corpus


def training_corpus(config: Config, run: str, task: str) -> str:
    """The corpus that the models of a task are fine-tuned on."""
    family = config["runs"][run][ID]["family"]
    return str(config["families"][family]["tasks"][task]["corpus"])


def drawn_task(tasks: Iterable[str]) -> str:
    """The task that Figure 1 draws from: the first one with two texts, otherwise the first one."""
    named = list(tasks)
    return next((task for task in named if TASKS[task].second), named[0])


def tasks_of(config: Config, run: str) -> dict[str, str]:
    """Task -> corpus, for the tasks whose files exist; for all of them where missing files are an error."""
    tasks: dict[str, str] = config["runs"][run][ID]["tasks"]
    return {
        task: corpus
        for task, corpus in tasks.items()
        if config["missing"] == "error" or has_files(config, [corpus, training_corpus(config, run, task)])
    }


def family_models(config: Config, run: str, task: str, random: bool = False) -> dict[int, str]:
    """Seed -> model of the run's family for a task, fine-tuned from pre-trained or from random weights."""
    family = config["runs"][run][ID]["family"]
    return {seed: family_member(family, task, seed, random) for seed in family_seeds(config, family, task, random)}


def pairs(config: Config, run: str) -> list[Pair]:
    """(model, corpus) whose attention is cached: that of the sentences with frames."""
    frames = frames_of(config, run)
    return [(study_model(config, run, ID), frames)] if frames else []


def corpora(config: Config, run: str) -> list[str]:
    """Corpora of the tasks, and those that their models are fine-tuned on; of all tasks where none can be built."""
    tasks = tasks_of(config, run) or config["runs"][run][ID]["tasks"]
    return [*tasks.values(), *(training_corpus(config, run, task) for task in tasks)]


def examples(config: Config, run: str) -> list[Pair]:
    """(model, corpus) of all examples that the study reads."""
    base = study_model(config, run, ID)
    frames = [corpus for _, corpus in pairs(config, run)]
    return [(base, corpus) for corpus in dict.fromkeys([*corpora(config, run), *frames])]


def models(config: Config, run: str, artifact: Artifact) -> list[str]:
    """The model whose maps were labelled."""
    return [config["runs"][run][ID]["patterns"]["model"]]


def check(config: Config, run: str, place: str) -> None:
    """Check that the family has the tasks, that corpora are of their tasks, and that the model of labelled maps is known.

    Raises:
        AtlasError: names the key.
    """
    settings = config["runs"][run][ID]
    trained = config["families"][settings["family"]]["tasks"]
    for task, corpus in settings["tasks"].items():
        where = f"{place}.tasks.{task}"
        if task not in trained:
            raise AtlasError(
                f"config: {where}: the family '{settings['family']}' has no task '{task}'; its tasks: {', '.join(trained)}."
            )
        check_known(corpus, config["corpora"], "corpus", where)
        check_reader(config, corpus, "glue", where)
        in_family = f"families.{settings['family']}.tasks.{task}.corpus"
        for key, name in ((where, corpus), (in_family, trained[task]["corpus"])):
            actual = config["corpora"][name]["task"]
            if actual != task:
                raise AtlasError(f"config: {key}: corpus '{name}' is one of the task {actual}, not of {task}.")
    check_known(settings["patterns"]["model"], config["models"], "model", f"{place}.patterns.model")


def extras(config: Config, run: str) -> list[Extra]:
    """The tagger, in a run with corpora that may have no gold tags."""
    tagger = config["runs"][run][ID]["tagger"]
    untagged = [task for task, corpus in tasks_of(config, run).items() if "sample" not in config["corpora"][corpus]["source"]]
    if not untagged:
        return []
    titles = ", ".join(TASK_TITLES[task] for task in untagged)
    lacking = f"without gold tags in {titles}, features and links that need tags will be absent"
    return [Extra(f"spaCy and its model {tagger}", _TAGGED, lacking, missing_tagger(tagger))]


STUDY = Study(
    id=ID,
    order=3,
    title="Kovaleva et al. (2019): Revealing the Dark Secrets of BERT",
    description="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT.",
    paper=Paper("Kovaleva et al. (2019)", "https://arxiv.org/abs/1908.08593"),
    roles=ROLES,
    artifacts=ARTIFACTS,
    pairs=pairs,
    examples=examples,
    corpora=corpora,
    models=models,
    optional={"frames": ()},
    check=check,
    extras=extras,
    pages=PAGES,
    measures=MEASURES,
)
