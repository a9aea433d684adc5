"""Declaration of the atlas for the workflow: one row per head over all studies of a run."""

from __future__ import annotations

from attention_atlas.atlas.head_measures import MEASURES
from attention_atlas.atlas.pages import PAGES
from attention_atlas.errors import AtlasError
from attention_atlas.methods.pattern_texts import parse_patterns
from attention_atlas.workflow.known import check_known
from attention_atlas.workflow.lookups import Config, Pair, has_files, study_model
from attention_atlas.workflow.study import Role, Study, figure, table

ID = "atlas"
ROLES = {
    "sentences": Role(
        "conllu",
        "at level tokens: what the page shows attention on, and what compared models are measured on; measures that no study "
        "of the run makes are made on it.",
    ),
    "shown": Role(
        "sentences",
        "the sentences that the page shows, at level tokens, in place of `sentences`. Heads are still measured on `sentences`.",
        example="my-sentences",
    ),
}
_MEASURES_CAPTION = (
    "Measures of single heads from all studies: title, unit, the model that it was measured on, or the reason why it is "
    "missing. heads.tsv has one row for each head and one column for each measure; atlas.html is a page to browse them: "
    "heads by layer, coloured by any measure, two measures against each other, and a card for each head."
)
ARTIFACTS = (
    table(
        "measures",
        "Measures",
        "All measures of single heads, and a page to browse them",
        _MEASURES_CAPTION,
        files=["heads.tsv", "atlas.html"],
        text_files=["atlas.html"],
    ),
    figure(
        "correlations",
        "Correlations",
        "Rank correlations between measures of heads",
        "Spearman correlations over heads between the measures of all studies. Rows and columns have the same order (average "
        "linkage of 1 - absolute correlation), and the columns the numbers of the rows. A dot: p < 0.05 after Holm's "
        "correction when heads are shuffled within their layers. A cross: two measures that are related by definition, since "
        "they count the same weights or both measure how broadly a head attends to random tokens; this is not tested. Measures "
        "whose ranks say nothing are left out, with the reason in the column calibration of measures.tsv.",
    ),
    table(
        "findings",
        "Findings",
        "Which findings of one study hold for the measures of another?",
        "Findings that link measures of two studies. Each has a statistic over all heads and one within layers. The test "
        "within layers decides the verdict: holds, does not hold, or undecided; a finding on a measure whose ranks say nothing "
        "is not tested. The two measures may be of different models (model_a, model_b) that were trained further from one "
        "model: a head is then that of the same layer and number.",
    ),
    figure(
        "models",
        "Models",
        "Measures of heads of several models, including random weights",
        "Measures of all heads of each compared model: each point is one head, the diamond the mean over heads, the bar its 95 "
        "% interval by bootstrap over heads. A dashed line: the value of a head without the effect, such as that of uniform "
        "attention. The page tests the findings on each model.",
        needs=["sentences", "compared"],
        files=["models_findings.tsv", "models_findings.html", "models_claims.tsv"],
    ),
    figure(
        "matching",
        "Matched heads",
        "Heads of several models matched by what they do, and whether they agree on other measures",
        "Heads of each compared model, matched with those of the run's model by the optimal assignment on all measures but one "
        "(matches.tsv: on all): their agreement on that one, and that of heads matched at random. Of measures that count "
        "the same weights, one is used.",
        needs=["sentences", "compared"],
        files=["matches.tsv"],
    ),
    figure(
        "series",
        "Series of models",
        "Each measure over checkpoints or seeds of a model",
        "Mean of each measure over heads with its 95 % interval, and the range of heads, over the models of the series in "
        "their order. Means are joined by a line only if the models are checkpoints of one training (setting checkpoints). A "
        "dashed line: the value of a head without the effect.",
        needs=["sentences", "compared", "series"],
    ),
)


def compared_models(config: Config, run: str) -> list[str]:
    """The model of the atlas, and the models that it is compared with, including those of the series."""
    settings = config["runs"][run][ID]
    return list(dict.fromkeys((study_model(config, run, ID), *settings.get("compared", []), *settings.get("series", []))))


def has_sentences(config: Config, run: str) -> bool:
    """Whether a run names sentences for the atlas whose file exists or is made by the run."""
    corpus = config["runs"][run][ID].get("sentences")
    return corpus is not None and (config["missing"] == "error" or has_files(config, [corpus]))


def mlm_head_corpus(config: Config, run: str, model: str) -> str:
    """The corpus that a masked-LM head is trained on if the checkpoint has no such head.

    The segments of Clark et al. if the run computes gradients of that model on them, so that only one head is trained;
    otherwise the sentences of the atlas.
    """
    clark = config["runs"][run].get("clark2019", {})
    if "segments" in clark and study_model(config, run, "clark2019") == model:
        return str(clark["segments"])
    return str(config["runs"][run][ID]["sentences"])


def pairs(config: Config, run: str) -> list[Pair]:
    """(model, corpus) whose attention is cached: those of all compared models, if the run names sentences."""
    settings = config["runs"][run][ID]
    corpora = [settings[role] for role in ROLES if role in settings]
    return [(model, corpus) for model in compared_models(config, run) for corpus in corpora]


def check(config: Config, run: str, place: str) -> None:
    """Check that compared models are known, that patterns are valid, and that both have sentences cached over word pieces.

    Raises:
        AtlasError: names the key.
    """
    settings = config["runs"][run][ID]
    for name in settings.get("compared", []):
        check_known(name, config["models"], "model", f"{place}.compared")
        if name == study_model(config, run, ID):
            raise AtlasError(f"config: {place}.compared: '{name}' is the model of the atlas itself: name other models.")
    try:
        parse_patterns(settings["patterns"])
    except AtlasError as error:
        raise AtlasError(f"config: {place}.patterns: {error}") from error
    if settings["patterns"] and "sentences" not in settings:
        raise AtlasError(f"config: {place}.patterns: heads are measured on sentences: name a corpus under {place}.sentences.")
    for name in settings.get("series", []):
        check_known(name, config["models"], "model", f"{place}.series")
    if "sentences" not in settings:
        measured = "heads are measured on sentences"
        reasons = {"compared": "models are compared on sentences", "shown": measured}
        for key, reason in reasons.items():
            if key in settings:
                raise AtlasError(f"config: {place}.{key}: {reason}: name a corpus under {place}.sentences.")
        return
    for role in ROLES:
        if role in settings and config["corpora"][settings[role]]["level"] != "tokens":
            raise AtlasError(f"config: {place}.{role}: the corpus '{settings[role]}' must have level: tokens.")


STUDY = Study(
    id=ID,
    order=1,
    title="The atlas: one row for each head over all studies",
    description="One row for each head over all studies of the run.",
    roles=ROLES,
    artifacts=ARTIFACTS,
    pairs=pairs,
    optional={
        "sentences": ("compared", "shown", "series"),
        "compared": ("series",),
        "shown": (),
        "series": (),
    },
    check=check,
    measures=MEASURES,
    pages=PAGES,
    overview=True,
)
