"""Declaration of the study of Michel et al. (2019), Are Sixteen Heads Really Better than One?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.methods.names import CLASSIFICATION
from attention_atlas.studies.michel2019.caption_rules import DISPENSABLE_RULE, OVERLONG_RULE
from attention_atlas.studies.michel2019.head_measures import MEASURES
from attention_atlas.studies.michel2019.pages import PAGES
from attention_atlas.workflow.known import check_known
from attention_atlas.workflow.lookups import Config, Pair
from attention_atlas.workflow.studies import role_pair, study_corpora
from attention_atlas.workflow.study import Paper, Role, Study, figure, table

ID = "michel2019"
ROLES = {
    "translation": Role("parallel", "test set of the translation model.", True, "translator"),
    "translation_other": Role("parallel", "a second corpus (Figure 2; the paper: MTNT).", True, "translator"),
    "translation_importance": Role(
        "parallel", "data for the importance of heads (the paper: newstest2009 to 2012).", True, "translator"
    ),
    "classification": Role("glue", "test set of the classifier.", True, "classifier"),
    "classification_other": Role("glue", "a second corpus (Figure 2; the paper: MNLI mismatched).", True, "classifier"),
    "classification_importance": Role(
        "glue", "data for the importance of heads (the paper: its training set, or a part).", True, "classifier"
    ),
    "translation_test": Role(
        "parallel",
        "test set of Table 5, whose heads are selected on `translation` (the paper: newstest2014).",
        model="translator",
    ),
    "classification_selection": Role(
        "glue",
        "data on which the heads of Table 6 are selected; the test set is `classification` (the paper: 5,000 training "
        "examples).",
        model="classifier",
    ),
    "dynamics": Role("parallel", "test set of Figure 5; a run without it skips the figure.", model="trained_translator"),
    "dynamics_importance": Role("parallel", "data for the importance of heads in Figure 5.", model="trained_translator"),
}
_TRANSLATOR = (
    "The translation model is an encoder-decoder, not the model of the run's title; the line below the figure, or the page of "
    "the table, says how many layers and heads it has and what it is trained on"
)
EVALUATED = tuple(name for name, role in ROLES.items() if role.required)
"""Roles of both experiments."""
FURTHER = tuple(name for name, role in ROLES.items() if not role.required)
"""Roles of Figure 5, and of held-out selection of heads."""
ARTIFACTS = (
    table(
        "table1",
        "Table 1",
        "Change in BLEU when one head is masked, with tests",
        "Change in BLEU when one head of the run's translation model is masked (encoder, decoder, or encoder-decoder "
        "attention), with paired bootstrap tests before and after correction for the number of heads. The file begins with the "
        "heads with the smallest p; published_delta is the paper's, of another model, for a head of the same kind, layer and "
        f"number. {_TRANSLATOR} (Michel et al. 2019, Table 1).",
        needs=EVALUATED,
    ),
    figure(
        "figure1",
        "Figure 1",
        "Heads by the change in score when they are masked",
        "Share of heads by the change in score when each is masked alone, for translation and for classification. One bin is "
        "centred on no change (dashed line); the titles give the score without masking and how many heads differ from it by a "
        "paired test, before and after correction for all heads. Black outline: the 96 encoder heads of the published Table 1, "
        f"another model and corpus. {_TRANSLATOR} (Michel et al. 2019, Figure 1).",
        needs=EVALUATED,
    ),
    table(
        "table2",
        "Table 2",
        "Translation with only the best head of a layer",
        "Change in BLEU when all heads of a layer but the best one are masked. The best head is chosen on the reported "
        "examples, and on held-out examples. published_delta: the paper's, of another model, for the same kind and layer. "
        f"{_TRANSLATOR} (Michel et al. 2019, Table 2).",
        needs=EVALUATED,
    ),
    table(
        "table3",
        "Table 3",
        "Classification with only the best head of a layer",
        "Change in accuracy when all heads of a layer but the best one are masked. The best head is chosen on the reported "
        "examples, and on held-out examples. published_delta: the paper's, of another model, for the same layer (Michel et al. "
        "2019, Table 3).",
        needs=EVALUATED,
    ),
    figure(
        "figure2",
        "Figure 2",
        "Change in score when a head is masked, on two corpora",
        "Change in score when each head is masked alone, on one corpus against another. Each spot is one head, or several "
        "heads of one kind with the same two changes: the area grows with their number. Titles: correlations over heads with "
        "95 % intervals by bootstrap over heads, with and without the most extreme heads (circled; heads tied with one are "
        "extreme as well), the published Pearson correlation of another model and corpus, and how many heads score above the "
        "full model when masked. All changes on a corpus share the full model's score: if it is low by chance, all points move "
        f"up or to the right. The line below the figure counts overlong translations ({OVERLONG_RULE}): they lower BLEU. "
        f"{_TRANSLATOR} (Michel et al. 2019, Figure 2).",
        needs=EVALUATED,
    ),
    table(
        "correlations",
        "Figure 2, statistics",
        "Correlation between corpora of the effect of masking a head",
        "Correlations over heads between the changes in score on two corpora: Pearson, Spearman, and Pearson without the most "
        "extreme heads; intervals over heads and over examples (Michel et al. 2019, Figure 2).",
        needs=EVALUATED,
    ),
    table(
        "head_importance",
        "Importance",
        "Importance of every head by four definitions",
        "Importance of every head: the expected magnitude of the derivative of the loss with respect to a gate on the head, as "
        "the paper defines it and as published code computes it, divided by the norm of each layer (Michel et al. 2019, "
        "equation 2 and section 4.1).",
        needs=EVALUATED,
    ),
    figure(
        "figure3",
        "Figure 3",
        "Score by percent of heads masked, in several orders",
        "Score by percent of heads masked: in the order of importance, of importance recomputed at each step, of the score "
        "with one head masked (also chosen on held-out examples), and in random orders. Bands: 95 % interval by bootstrap "
        "over examples for importance, range of the random orders around their mean. Published, of other models and "
        "corpora: the share of heads that can be masked without noticeable loss. A third party's rerun of the published "
        f"code on MNLI has three classes, and so its own floor. {_TRANSLATOR} (Michel et al. 2019, Figure 3).",
        needs=EVALUATED,
    ),
    table(
        "pruning",
        "Figure 3, summary",
        "How many heads can be masked, by order",
        "Summary of the pruning curves: score at several shares of masked heads, mean of the curve, and the share of heads "
        "that can be masked before the score falls by one BLEU point or percentage point (Michel et al. 2019, Figure 3).",
        needs=EVALUATED,
    ),
    figure(
        "figure4",
        "Figure 4",
        "BLEU by percent of heads masked, for each kind of attention",
        "BLEU by percent of heads masked within one kind of attention (encoder, decoder, encoder-decoder), in the order of "
        "importance; all other heads are kept. Bands: 95 % interval by bootstrap over sentences. Published, of another model "
        "and corpus: BLEU with 20 % of the encoder or decoder heads kept, and the share of encoder-decoder heads beyond which "
        f"BLEU collapses. {DISPENSABLE_RULE}; the line below the figure names such kinds. {_TRANSLATOR} (Michel et al. 2019, "
        "Figure 4).",
        needs=EVALUATED,
    ),
    figure(
        "figure5",
        "Figure 5",
        "BLEU by percent of heads masked, during training",
        "BLEU by percent of heads masked after several epochs of the training of a translation model, absolute and relative to "
        "the full model (only where that reaches 3 BLEU). Heads of all kinds are masked in the order of their importance, "
        "recomputed after each epoch. Right: BLEU of the full model by epoch, and the published one (diamonds), of another "
        f"model and corpus. {_TRANSLATOR} (Michel et al. 2019, Figure 5).",
        needs=["dynamics", "dynamics_importance"],
    ),
    table(
        "table4",
        "Table 4",
        "Speed and size with half of the heads pruned",
        "Examples per second and size of a classifier with heads pruned from its weights, at several batch sizes: the "
        "least important heads of the model, of each layer, and whole layers. sd: standard deviation of the examples per "
        "second; speedup: in percent of the full model's; spread: by how many percent the full model's slowest pass "
        "exceeds its fastest; length: tokens of an example in its batch, padding included. It grows with the batch size, "
        "since all examples are padded to the longest, so that examples per second can fall where tokens per second do "
        "not. published_examples_per_second, published_speedup: the paper's, on other hardware (Michel et al. 2019, Table "
        "4).",
        needs=EVALUATED,
    ),
    table(
        "table5",
        "Table 5",
        "Translation with one head per layer, selected on another corpus",
        "Change in BLEU when all heads of a layer but one are masked; the head is selected on another corpus than the reported "
        "one. All rows share the full model's score on the reported corpus: where most layers lose less there than on the "
        "corpus that selected their heads (selection_delta), it is probably low, and the page warns. overlong: translations "
        f"{OVERLONG_RULE}, with one head in the layer and of the full model (unmasked). {_TRANSLATOR} (Michel et al. "
        "2019, Table 5).",
        needs=["translation", "translation_other", "translation_test"],
    ),
    table(
        "table6",
        "Table 6",
        "Classification with one head per layer, selected on a separate set",
        "Change in accuracy when all heads of a layer but one are masked; the head is selected on a separate set, of which no "
        "example is reported (the paper: a part of the classifier's training set; Michel et al. 2019, Table 6).",
        needs=["classification", "classification_other", "classification_selection"],
    ),
    table(
        "claims",
        "Claims",
        "The paper's claims, and objections to them, tested on this run's models",
        "Claims of the paper, and objections of later work, tested on the run's models (Michel et al. 2019).",
        needs=EVALUATED,
        uses=FURTHER,
    ),
    table(
        "comparison",
        "Comparison",
        "Every published number beside this run's",
        "Every published number of Michel et al. (2019) beside what this run measured, with the reason where the two cannot be "
        "compared.",
        needs=EVALUATED,
        uses=FURTHER,
    ),
    table(
        "dropped",
        "Dropped",
        "Dropped examples, by reason",
        "Number of examples dropped from the study, by corpus and reason.",
        needs=EVALUATED,
        uses=FURTHER,
    ),
)
_FIGURE5 = ("trained_translator", "dynamics", "dynamics_importance")
OPTIONAL = dict.fromkeys(_FIGURE5, _FIGURE5) | {"translation_test": (), "classification_selection": ()}
"""Optional keys of a run -> keys that are dropped with them."""


def examples(config: Config, run: str) -> list[Pair]:
    """(model, corpus) of all examples that the study reads, without repetition."""
    return list(dict.fromkeys(role_pair(config, run, ID, role) for role in study_corpora(config, run, ID)))


def check(config: Config, run: str, place: str) -> None:
    """Check the models and what they are trained for; corpora tokenised as their model needs; the keys of Figure 5 together.

    Raises:
        AtlasError: names the key.
    """
    settings = config["runs"][run][ID]
    tasks = {"translator": "translation", "classifier": "labels"} | (
        {"trained_translator": "translation"} if "trained_translator" in settings else {}
    )
    for key, task in tasks.items():
        check_known(settings[key], config["models"], "model", f"{place}.{key}")
        training = config["models"][settings[key]].get("training")
        if training and training["task"] != task:
            raise AtlasError(f"config: {place}.{key}: '{settings[key]}' is trained for {training['task']}, not for {task}.")
    _check_tokenised(config, run, place)
    absent = [key for key in _FIGURE5 if key not in settings]
    if 0 < len(absent) < len(_FIGURE5):
        raise AtlasError(f"config: {place}.{absent[0]}: Figure 5 needs the keys {', '.join(_FIGURE5)} together.")
    if "trained_translator" in settings and "keep_epochs" not in config["models"][settings["trained_translator"]].get(
        "training", {}
    ):
        raise AtlasError(
            f"config: {place}.trained_translator: no epoch of '{settings['trained_translator']}' is kept: set keep_epochs in "
            "its training."
        )


def _check_tokenised(config: Config, run: str, place: str) -> None:
    """Check the tokenisation: a model knows little of text tokenised otherwise, and BLEU would be that of another text.

    Raises:
        AtlasError: a corpus of a translation model is not tokenised as the model says, or is where the model says nothing.
    """
    settings = config["runs"][run][ID]
    for role, declared in ROLES.items():
        if declared.reader != "parallel" or role not in settings or declared.model not in settings:
            continue
        model, corpus = settings[declared.model], settings[role]
        needed, actual = (config[kind][name].get("tokenised") for kind, name in (("models", model), ("corpora", corpus)))
        if needed != actual:
            text = {None: "untokenised text"}
            raise AtlasError(
                f"config: {place}.{role}: corpus '{corpus}' has {text.get(actual, f'text tokenised by {actual}')}, but model "
                f"'{model}' needs {text.get(needed, f'text tokenised by {needed}')}: see the key `tokenised` in the registries."
            )


def pruning_step(pruning: Mapping[str, Any], role: str) -> int:
    """Percent of heads per step, by the settings of pruning, for the model of a role."""
    return int(pruning.get("classification_step", pruning["step"]) if role == CLASSIFICATION else pruning["step"])


STUDY = Study(
    id=ID,
    order=4,
    title="Michel et al. (2019): Are Sixteen Heads Really Better than One?",
    description="Michel et al. 2019, Are Sixteen Heads Really Better than One?",
    paper=Paper("Michel et al. (2019)", "https://arxiv.org/abs/1905.10650"),
    roles=ROLES,
    artifacts=ARTIFACTS,
    examples=examples,
    optional=OPTIONAL,
    check=check,
    pages=PAGES,
    measures=MEASURES,
    names_models=True,
)
