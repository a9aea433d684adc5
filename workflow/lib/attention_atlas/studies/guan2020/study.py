"""Declaration of the study of Guan et al. (2020), How Far Does BERT Look At."""

from __future__ import annotations

from attention_atlas.errors import AtlasError
from attention_atlas.studies.guan2020.head_measures import MEASURES
from attention_atlas.workflow.config import check_known
from attention_atlas.workflow.paths import Config, Pair, study_model
from attention_atlas.workflow.requirements import missing_requirements
from attention_atlas.workflow.study import Paper, Role, Study, shown_artifacts

ID = "guan2020"
ROLES = {"questions": Role("squad", "all tables and figures; Tables 2 and 3 are evaluated on it.", required=True)}


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


def check(config: Config, run: str, place: str) -> None:
    """Check that compared models have one shape, and that corpora are cached by word pieces."""
    settings = config["runs"][run][ID]
    base = config["models"][study_model(config, run, ID)]
    for name, pair in settings["compared"].items():
        check_known(pair["model"], config["models"], "model", f"{place}.compared.{name}.model")
        check_known(pair["corpus"], config["corpora"], "corpus", f"{place}.compared.{name}.corpus")
        compared = config["models"][pair["model"]]
        if (compared["layers"], compared["heads"]) != (base["layers"], base["heads"]):
            raise AtlasError(
                f"config: {place}.compared.{name}.model: '{pair['model']}' has {compared['layers']} layers of "
                f"{compared['heads']} heads, the study's model {base['layers']} of {base['heads']}; compare models of one "
                "shape."
            )
    compared_corpora = {f"compared.{name}.corpus": pair["corpus"] for name, pair in settings["compared"].items()}
    for key, corpus in ({"questions": settings["questions"]} | compared_corpora).items():
        if config["corpora"][corpus]["level"] != "tokens":
            raise AtlasError(f"config: {place}.{key}: distances are those of word pieces, so the corpus needs level: tokens.")


STUDY = Study(
    id=ID,
    order=2,
    title="Guan et al. (2020): How Far Does BERT Look At",
    description="Guan et al. 2020, How Far Does BERT Look At: Distance-based Clustering and Analysis of BERT's Attention.",
    paper=Paper("Guan et al. (2020)", "https://arxiv.org/abs/2011.00943"),
    roles=ROLES,
    artifacts=shown_artifacts(ID, needs=("questions",)),
    pairs=pairs,
    corpora=lambda config, run: [corpus for _, corpus in pairs(config, run)],
    models=lambda config, run, artifact: [model for model, _ in pairs(config, run)],
    check=check,
    groups={"compared": compared_models},
    measures=MEASURES,
    records_key="samples",
)
