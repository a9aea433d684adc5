"""Declaration of Štefánik's study, Attention Semantics."""

from __future__ import annotations

from attention_atlas.errors import AtlasError
from attention_atlas.studies.stefanik2021.head_measures import MEASURES
from attention_atlas.workflow.config import check_known
from attention_atlas.workflow.paths import Config, Pair, family_member, family_seeds, study_model
from attention_atlas.workflow.study import Artifact, Paper, Role, Study, shown_artifacts

ID = "stefanik2021"
TRAINED = ("family", "development", "test")
"""Keys of the taggers and their documents: a run names all of them, or none."""
ROLES = {
    "documents": Role("keyphrases", "relative attention, ranking of heads, regression and other rankers.", required=True),
    "development": Role("keyphrases", "documents on which heads are ranked and stopping points selected."),
    "test": Role("keyphrases", "test documents; if they are among `documents`, all rankers are compared on them."),
}


def pairs(config: Config, run: str) -> list[Pair]:
    """(model, corpus) whose attention is cached."""
    return [(study_model(config, run, ID), config["runs"][run][ID]["documents"])]


def examples(config: Config, run: str) -> list[Pair]:
    """(model, corpus) of all examples that the study reads, including those that the taggers are trained on."""
    settings, model = config["runs"][run][ID], study_model(config, run, ID)
    names = [settings[role] for role in ROLES if role in settings]
    if "family" in settings:
        names.append(config["families"][settings["family"]]["tasks"]["keyphrases"]["corpus"])
    return [(model, corpus) for corpus in dict.fromkeys(names)]


def models(config: Config, run: str, artifact: Artifact) -> list[str]:
    """The model of the embedding ranker, for what is scored in its job: all artefacts on test documents."""
    encoder = config["runs"][run][ID].get("sentence_encoder")
    return [encoder] if encoder and "test" in artifact.needs else []


def taggers(config: Config, run: str) -> dict[str, Pair]:
    """Seed -> (tagger, test documents); AtlasError: the run names no family of taggers."""
    settings = config["runs"][run][ID]
    family = settings.get("family")
    if family is None:
        raise AtlasError(f"runs.{run}.{ID} names no family of taggers, which this file needs: add it to the run.")
    seeds = family_seeds(config, family, "keyphrases")
    return {str(seed): (family_member(family, "keyphrases", seed), settings["test"]) for seed in seeds}


def tagging(config: Config, run: str) -> dict[str, tuple[str, str, str]]:
    """All taggers together: their base, the test documents, and how tables and figures name them; errors of `taggers`."""
    settings, seeds = config["runs"][run][ID], len(taggers(config, run))
    return {"tagging": (study_model(config, run, ID), settings["test"], f"{settings['family']} (seeds: {seeds})")}


def check(config: Config, run: str, place: str) -> None:
    """Check the keys of taggers, that the family has the task, and the sentence encoder; AtlasError names the key."""
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
    artifacts=shown_artifacts(ID),
    pairs=pairs,
    examples=examples,
    corpora=lambda config, run: [corpus for _, corpus in examples(config, run)],
    models=models,
    optional=dict.fromkeys(TRAINED, TRAINED) | {"sentence_encoder": ()},
    check=check,
    groups={"taggers": taggers, "tagging": tagging},
    measures=MEASURES,
)
