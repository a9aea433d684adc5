"""Declaration of the study of Guan et al. (2020), How Far Does BERT Look At."""

from __future__ import annotations

from attention_atlas.errors import AtlasError
from attention_atlas.studies.guan2020.head_measures import MEASURES
from attention_atlas.studies.guan2020.pages import PAGES
from attention_atlas.workflow.known import check_known
from attention_atlas.workflow.lookups import Config, Pair, study_model
from attention_atlas.workflow.requirements import missing_requirements
from attention_atlas.workflow.study import Artifact, Paper, Role, Study, figure, table

ID = "guan2020"
ROLES = {"questions": Role("squad", "all tables and figures; Tables 2 and 3 are evaluated on it.", required=True)}
ARTIFACTS = (
    figure(
        "figure1",
        "Figure 1",
        "Typical maps and distance features of each type of head",
        "For each type of head: the maps, on one example, of the two heads nearest to the mean of the type, on a square-root "
        "colour scale, and box plots of the 21 distance features of all heads of the type (Guan et al. 2020, Figure 1). "
        "Features are means over questions; window 1 holds the tokens nearest to the query token.",
        needs=["questions"],
        text_files=["figure1.tsv"],
    ),
    figure(
        "figure2",
        "Figure 2",
        "Heads in the plane by their distance features",
        "Heads in the plane by t-SNE of their distance features, which are not scaled, coloured by type (Guan et al. 2020, "
        "Figure 2). The types are clusters of the features, not of the plane; distances between groups in such a plane have "
        "no meaning. Heads are named (layer-head) where there is space.",
        needs=["questions"],
        files=["head_types.tsv"],
    ),
    figure(
        "figure3",
        "Figure 3",
        "Types of heads by layer",
        "How many heads of each type every layer has (Guan et al. 2020, Figure 3). The legend gives the share of each type "
        "beside the published one, of BERT-large fine-tuned on SQuAD. Clusters are named by the assignment with the "
        "largest total fit over all 24 namings; one that does not fit its name is unnamed.",
        needs=["questions"],
    ),
    figure(
        "figure4",
        "Figure 4",
        "Types of the same heads in models trained for different tasks",
        "The type of every head in models trained for different tasks (Guan et al. 2020, Figure 4). Upper row: nearest type of "
        "the model that answers questions (SQuAD); lower row: clusters of each model. Above each panel: the percentage of "
        "heads with the same type as in the SQuAD model, among the heads that have a type in both. Each model is measured on "
        "data of its task.",
        needs=["questions"],
    ),
    figure(
        "figure5",
        "Figure 5",
        "The maps of all heads on one example, framed by type",
        "The attention maps of all heads on one example, each in a frame of the colour of its type (Guan et al. 2020, Figure "
        "5). Rows are query tokens, columns key tokens; maps are reduced to means over blocks of tokens. Each map has its own "
        "square-root grey scale.",
        needs=["questions"],
    ),
    table(
        "table1",
        "Table 1",
        "Stability of the types of heads, in every reading of the procedure",
        "How stable the types are when they are fitted on random halves: halves of the heads or of the inputs, agreement of "
        "pairs of fits and of all fits, clusters matched by the Hungarian method (Guan et al. 2020, Table 1).",
        needs=["questions"],
    ),
    table(
        "table2",
        "Table 2",
        "Answers to questions with the heads of a type pruned or substituted, and random heads as a control",
        "Exact match and F1 of answers when the heads of a type are pruned or attend uniformly, the drop from "
        "the unchanged model with a bootstrap interval over passages, and the drop when the same number of random heads of the "
        "same layers is treated in the same way (Guan et al. 2020, Table 2).",
        needs=["questions"],
    ),
    table(
        "table3",
        "Table 3",
        "Answers to questions without attention within or between sentences, by type of head",
        "Exact match and F1 of answers without attention within or between sentences in the heads of a type, for two "
        "readings of sentence: the two segments, or the sentences of the passage (Guan et al. 2020, Table 3).",
        needs=["questions"],
    ),
    table(
        "baselines",
        "Table 2, baselines",
        "The unchanged model by the way of scoring",
        "Scores of the unchanged model by the way of scoring: all windows of a passage or the first, all reference answers or "
        "the first. The paper's baseline lies below that of its checkpoint, which one of these may explain (Guan et al. "
        "2020, Table 2, row 1).",
        needs=["questions"],
    ),
    table(
        "agreement",
        "Section 4, options",
        "Agreement of the types of heads across options, seeds and methods",
        "Agreement of the clusters of heads when one option is changed: binning and diagonal of the feature, seed, method, "
        "half of the inputs, and three or five clusters (Guan et al. 2020, section 4).",
        needs=["questions"],
    ),
    table(
        "names",
        "Section 4, names",
        "How well the names of the types fit the clusters of heads",
        "Mean attention of the heads of each cluster to special, near and far tokens, and how well it fits each type. A "
        "cluster that does not fit its assigned type is unnamed (Guan et al. 2020, section 4).",
        needs=["questions"],
    ),
    table(
        "claims",
        "Claims",
        "The paper's claims, tested on the run's model",
        "What the paper says about the order of its numbers, tested on this run's model: the claim, the numbers that decide "
        "it, and whether it holds (Guan et al. 2020, sections 4 and 5).",
        needs=["questions"],
    ),
    table(
        "dropped",
        "Dropped",
        "Dropped examples, by reason",
        "Number of inputs kept and dropped in each corpus of the study, by reason. Inputs on questions are windows: a passage "
        "that is too long for one has several for the same question. Types and features use the first window of each question.",
        needs=["questions"],
    ),
    table(
        "comparison",
        "Comparison",
        "Every published number beside this run's",
        "Every published number of Guan et al. (2020) beside this run's, with interval, whether the two can be compared and "
        "why, and the inconsistencies of the paper.",
        needs=["questions"],
    ),
)


def compared_models(config: Config, run: str) -> dict[str, Pair]:
    """Name -> (model, corpus) of the models of Table 1 and Figure 4: the pre-trained model, that of the study, and the rest.

    Models that are missing, or whose corpora are, are skipped, unless missing files are an error.
    """
    settings = config["runs"][run][ID]
    compared = {
        name: (pair["model"], pair["corpus"])
        for name, pair in settings["compared"].items()
        if config["missing"] == "error" or not missing_requirements(config, [pair["model"]], [pair["corpus"]])
    }
    first = {name: pair for name, pair in compared.items() if name == "pretrain"}
    return first | {"squad": (study_model(config, run, ID), settings["questions"])} | compared


def pairs(config: Config, run: str) -> list[Pair]:
    """(model, corpus) whose attention is cached: those of the compared models."""
    return list(compared_models(config, run).values())


def corpora(config: Config, run: str) -> list[str]:
    """Corpora of the compared models."""
    return [corpus for _, corpus in pairs(config, run)]


def models(config: Config, run: str, artifact: Artifact) -> list[str]:
    """The compared models."""
    return [model for model, _ in pairs(config, run)]


def check(config: Config, run: str, place: str) -> None:
    """Check that compared models have one shape, and that corpora are cached by word pieces.

    Raises:
        AtlasError: names the key.
    """
    settings = config["runs"][run][ID]
    corpora_of_keys = {"questions": settings["questions"]}
    base = config["models"][study_model(config, run, ID)]
    for name, pair in settings["compared"].items():
        check_known(pair["model"], config["models"], "model", f"{place}.compared.{name}.model")
        check_known(pair["corpus"], config["corpora"], "corpus", f"{place}.compared.{name}.corpus")
        corpora_of_keys[f"compared.{name}.corpus"] = pair["corpus"]
        compared = config["models"][pair["model"]]
        if (compared["layers"], compared["heads"]) != (base["layers"], base["heads"]):
            raise AtlasError(
                f"config: {place}.compared.{name}.model: '{pair['model']}' has {compared['layers']} layers of "
                f"{compared['heads']} heads, the study's model {base['layers']} of {base['heads']}; compare models of one "
                "shape."
            )
    for key, corpus in corpora_of_keys.items():
        if config["corpora"][corpus]["level"] != "tokens":
            raise AtlasError(f"config: {place}.{key}: distances are those of word pieces, so the corpus needs level: tokens.")


STUDY = Study(
    id=ID,
    order=2,
    title="Guan et al. (2020): How Far Does BERT Look At",
    description="Guan et al. 2020, How Far Does BERT Look At: Distance-based Clustering and Analysis of BERT's Attention.",
    paper=Paper("Guan et al. (2020)", "https://arxiv.org/abs/2011.00943"),
    roles=ROLES,
    artifacts=ARTIFACTS,
    pairs=pairs,
    corpora=corpora,
    models=models,
    check=check,
    pages=PAGES,
    measures=MEASURES,
    records_key="samples",
)
