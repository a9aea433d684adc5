"""Declaration of the scoreboard: every published value of all studies of a run."""

from __future__ import annotations

from attention_atlas.published.page_declarations import PAGES
from attention_atlas.workflow.study import Study, table

ARTIFACTS = (
    table(
        "scoreboard",
        "Summary",
        "Verdicts by study",
        "How many published values of each study match, differ, or follow from others, how many could match in this run, why "
        "the rest cannot, and how many claims hold.",
    ),
    table(
        "comparison",
        "All values",
        "Every published number of all studies beside this run's",
        "Every published value of all studies beside what this run measured.",
    ),
    table(
        "claims",
        "All claims",
        "Claims of all studies, tested on this run",
        "Claims of all studies tested on the models of this run.",
    ),
)
STUDY = Study(
    id="scoreboard",
    order=2,
    title="Scoreboard: all studies and this run",
    description="Every published value of all studies of the run, in one table.",
    artifacts=ARTIFACTS,
    pages=PAGES,
    names_models=True,
    overview=True,
    folder="",
)
