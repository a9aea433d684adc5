"""Declaration of Štefánik's study, Attention Semantics."""

from __future__ import annotations

from attention_atlas.errors import AtlasError
from attention_atlas.studies.stefanik2021.extractors import MOST_PHRASES, OCCURRENCES_TITLE
from attention_atlas.studies.stefanik2021.head_measures import MEASURES
from attention_atlas.studies.stefanik2021.names import SPLITS
from attention_atlas.studies.stefanik2021.pages import PAGES
from attention_atlas.workflow.known import check_known
from attention_atlas.workflow.lookups import Config, Pair, family_member, family_seeds, study_model
from attention_atlas.workflow.study import Artifact, Paper, Role, Study, figure, table

ID = "stefanik2021"
TRAINED = ("family", *SPLITS)
"""Keys of taggers and of the corpora they are tested on: a run names all of them, or none."""
ROLES = {
    "documents": Role("keyphrases", "relative attention, ranking of heads, regression and other rankers.", required=True),
    "development": Role("keyphrases", "documents on which heads are ranked and stopping points selected."),
    "test": Role("keyphrases", "test documents; if they are among `documents`, all rankers are compared on them."),
}
ARTIFACTS = (
    figure(
        "relative_attention",
        "Relative attention",
        "Attention received by keyphrase words, by head",
        "Attention received by keyphrase words minus that received by other words, for each head, mean over documents. "
        "Left: mean over query words; right: maximum. A dot: the 95 % interval over documents, simultaneous for all heads, "
        "excludes 0 (Štefánik, heat map).",
        needs=["documents"],
    ),
    figure(
        "head_ranking",
        "Ranking of heads",
        "How well each head alone detects keyphrase words",
        "Left: the best heads by the held-out log loss saved over predicting the base rate, with a probability fitted to a "
        "head's attention on other documents. Right: AUC of each head's attention, with its 95 % interval over documents, "
        "against the slides' rank, which sums uncalibrated cross-entropies. The slides' ten values are of another model, "
        "and are listed in the comparison (Štefánik, weighting of attention heads).",
        needs=["documents"],
        files=["head_ranking.html"],
    ),
    figure(
        "logistic_regression",
        "Logistic regression",
        "All heads together: coefficients, permutation importance, softmax weights",
        "Logistic regression over the standardised attention of all heads. Left: coefficients; a dot: the 95 % interval over "
        "bootstrap resamples of documents excludes 0. Middle: AUC lost on held-out documents when the attention of a head is "
        "permuted over words. Right: softmax weights of a scalar mix of all heads (Štefánik).",
        needs=["documents"],
        files=["logistic_regression.html"],
    ),
    table(
        "detectors",
        "Detectors",
        "One head and all heads as detectors on held-out documents",
        "Best head, logistic regression and scalar mix as detectors of keyphrase words, on documents that they were not "
        "fitted to. cross_entropy: nats per word, of fits in which every word has the same weight; empty for a head, whose "
        "attention is no probability. f1: of the logistic regression with equal total weight of both kinds of words.",
        needs=["documents"],
    ),
    figure(
        "fine_tuning",
        "Fine-tuning",
        "Fine-tuned taggers, full and pruned",
        "F1 of the fine-tuned taggers on test documents, full and with the worst heads removed (ranked and stopped on "
        "development documents, or on the test documents, which is optimistic): each seed, and the mean over seeds with its 95 "
        "% interval by bootstrap over test documents. Phrase F1 scores the tags themselves. Hollow diamonds, the same in both "
        "panels: F1 in the slides, of another corpus; they do not say whether of words or of phrases (Štefánik, fine-tuning).",
        needs=["development", "test"],
        files=["fine_tuning.html"],
    ),
    figure(
        "ablation",
        "Removing one",
        "Change in token F1 when a head is removed",
        "Change in token F1 on test documents when each head is removed alone: mean over seeds as a map, each seed as a "
        "histogram with one bin centred on no change. A dot: p < 0.05 by a paired permutation test over documents, two-sided, "
        "adjusted for all heads by the maximum statistic: the removal raises F1 (blue) or lowers it (red). The test divides "
        "each change by its spread under random exchanges, so a small change of few words can have a dot and a larger one "
        "none. If the taggers lose nothing when all heads are removed, removals say nothing "
        "about single heads, and the line below the figure says so (Štefánik, removing one head).",
        needs=["development", "test"],
        files=["ablation.html"],
    ),
    figure(
        "cumulative_ablation",
        "Worst to best",
        "F1 by number of heads removed",
        "F1 on test documents by number of heads removed, in four orders: worst to best, least important first, worst to best "
        "as ranked on the test documents (optimistic), and random. Marks and ticks: the steps, whose size the line below the "
        "figure names. Thin lines: seeds, of random orders their mean; thick lines: mean over seeds (Štefánik, cumulative "
        "removal).",
        needs=["development", "test"],
        files=["cumulative_ablation.html"],
    ),
    figure(
        "baselines",
        "Baselines",
        "Attention compared with other keyphrase extractors",
        "F1 of position, TF-IDF, YAKE, an embedding ranker, attention and the fine-tuned model on the same test documents, "
        "with 95 % intervals by bootstrap over documents. F1@M: as many phrases as a method proposes (rankers: the number that "
        f"is best on development documents, at most {MOST_PHRASES} per document). {OCCURRENCES_TITLE[0].upper()}"
        f"{OCCURRENCES_TITLE[1:]}: every occurrence of a proposed phrase is marked in the text, unlike in the phrase F1 of the "
        "fine-tuned taggers, which scores their tags. Shaded: methods that use the attention, the hidden states or the weights "
        "of this run's model. Vertical lines: F1 in the slides, of another corpus; they do not say of which kind.",
        needs=["documents", "development", "test"],
        files=["baselines.html"],
    ),
    figure(
        "model_view",
        "Model view",
        "Attention of all heads over a pair of sentences",
        "Attention of all heads over a pair of sentences: one row for each layer and one column for each head. Query tokens "
        "are on the left, key tokens on the right, in the order of the text from the top; the opacity of a line is the "
        "attention weight (Štefánik, model view).",
        needs=["documents"],
    ),
    table(
        "documents",
        "Documents",
        "Documents and their keyphrases",
        "Documents of the study: words, keyphrase words, keyphrases in the text and absent ones.",
        needs=["documents"],
    ),
    table(
        "claims",
        "Claims",
        "What the slides say or suggest, tested on this run",
        "Statements of the slides about attention and keyphrases, tested on this run's model.",
        needs=["documents", "development", "test"],
    ),
    table(
        "comparison",
        "Comparison",
        "Every published number beside this run's",
        "Every published number of the slides beside what this run measured, with the reason why they cannot be compared.",
        needs=["documents", "development", "test"],
    ),
    table(
        "dropped",
        "Dropped",
        "Dropped documents, by reason",
        "Number of documents dropped from the study, by corpus and reason.",
        needs=["documents"],
    ),
)


def pairs(config: Config, run: str) -> list[Pair]:
    """(model, corpus) whose attention is cached: that of the documents."""
    return [(study_model(config, run, ID), config["runs"][run][ID]["documents"])]


def examples(config: Config, run: str) -> list[Pair]:
    """(model, corpus) of all examples that the study reads, including those that the taggers are trained on."""
    settings, model = config["runs"][run][ID], study_model(config, run, ID)
    names = [settings[role] for role in ROLES if role in settings]
    if "family" in settings:
        names.append(config["families"][settings["family"]]["tasks"]["keyphrases"]["corpus"])
    return [(model, corpus) for corpus in dict.fromkeys(names)]


def corpora(config: Config, run: str) -> list[str]:
    """Corpora that the study reads, including those that the taggers are trained on."""
    return [corpus for _, corpus in examples(config, run)]


def models(config: Config, run: str, artifact: Artifact) -> list[str]:
    """The model of the embedding ranker, for the artefacts that show it."""
    encoder = config["runs"][run][ID].get("sentence_encoder")
    return [encoder] if encoder and artifact.id in ("baselines", "claims", "comparison") else []


def taggers(config: Config, run: str) -> dict[int, str]:
    """Seed -> tagger.

    Raises:
        AtlasError: the run names no family of taggers.
    """
    family = config["runs"][run][ID].get("family")
    if family is None:
        raise AtlasError(f"runs.{run}.{ID} names no family of taggers, which this file needs: add it to the run.")
    return {seed: family_member(family, "keyphrases", seed) for seed in family_seeds(config, family, "keyphrases")}


def check(config: Config, run: str, place: str) -> None:
    """Check the keys of taggers, that the family has the task, and the sentence encoder.

    Raises:
        AtlasError: names the key.
    """
    settings = config["runs"][run][ID]
    if "sentence_encoder" in settings:
        check_known(settings["sentence_encoder"], config["models"], "model", f"{place}.sentence_encoder")
    absent = [key for key in TRAINED if key not in settings]
    if 0 < len(absent) < len(TRAINED):
        raise AtlasError(
            f"config: {place}.{absent[0]}: taggers need all of {', '.join(TRAINED)}; name it as well, or none of them."
        )
    if not absent and "keyphrases" not in config["families"][settings["family"]]["tasks"]:
        raise AtlasError(f"config: {place}.family: the family '{settings['family']}' has no task keyphrases.")


STUDY = Study(
    id=ID,
    order=6,
    title="Štefánik: Attention Semantics (slides)",
    description="Štefánik, Attention Semantics: attention as a keyphrase detector.",
    paper=Paper("Štefánik (2021), slides"),
    roles=ROLES,
    artifacts=ARTIFACTS,
    pairs=pairs,
    examples=examples,
    corpora=corpora,
    models=models,
    optional=dict.fromkeys(TRAINED, TRAINED) | {"sentence_encoder": ()},
    check=check,
    pages=PAGES,
    measures=MEASURES,
)
