"""The declaration of the example study: roles of corpora, artefacts."""

from __future__ import annotations

from attention_atlas.studies.toy2024.head_measures import MEASURES
from attention_atlas.studies.toy2024.pages import PAGES
from attention_atlas.workflow.lookups import Config, Pair, study_model
from attention_atlas.workflow.study import Role, Study, figure, table

ID = "toy2024"
ROLES = {"texts": Role("segments", "texts whose attention is measured.", required=True)}
ARTIFACTS = (
    table(
        "table1",
        "Table 1",
        "Share of attention to the same token, by layer",
        "Share of attention that tokens pay to themselves, mean and highest head of each layer (example study 2024, Table 1).",
        needs=["texts"],
        files=["self_attention.tsv"],
    ),
    figure(
        "figure1",
        "Figure 1",
        "Share of attention to the same token, by head",
        "Share of attention that tokens pay to themselves, for every head (example study 2024, Figure 1).",
        needs=["texts"],
    ),
    table(
        "comparison",
        "Comparison",
        "Every published number beside this run's",
        "Every published number of the example study (2024) beside what this run measured.",
        needs=["texts"],
    ),
)


def pairs(config: Config, run: str) -> list[Pair]:
    """(model, corpus) whose attention is cached."""
    return [(study_model(config, run, ID), config["runs"][run][ID]["texts"])]


STUDY = Study(
    id=ID,
    order=7,
    title="Example study (2024): Do Heads Attend to Their Own Token?",
    description="A made-up paper that shows what a study consists of.",
    roles=ROLES,
    artifacts=ARTIFACTS,
    pairs=pairs,
    pages=PAGES,
    measures=MEASURES,
)
