"""Declaration of the example study (2024), Do Heads Attend to Their Own Token? A made-up paper."""

from __future__ import annotations

from attention_atlas.workflow.paths import Config, Pair, study_model
from attention_atlas.workflow.study import Paper, Role, Study, shown_artifacts

ID = "toy2024"


def pairs(config: Config, run: str) -> list[Pair]:
    """(model, corpus) whose attention is cached."""
    return [(study_model(config, run, ID), config["runs"][run][ID]["texts"])]


STUDY = Study(
    id=ID,
    order=7,
    title="Example study (2024): Do Heads Attend to Their Own Token?",
    description="A made-up paper that shows what a study consists of.",
    paper=Paper("Example (2024)"),
    roles={"texts": Role("segments", "texts whose attention is measured.", required=True)},
    artifacts=shown_artifacts(ID, needs=("texts",)),
    pairs=pairs,
)
