"""Declaration of the study of Clark et al. (2019), What Does BERT Look At?"""

from __future__ import annotations

from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.studies.clark2019.head_measures import MEASURES
from attention_atlas.workflow.config import check_corpus, check_known
from attention_atlas.workflow.paths import Config, Pair, study_model
from attention_atlas.workflow.study import Artifact, Paper, Role, Study, shown_artifacts, study_corpora

ID = "clark2019"
ROLES = {
    "segments": Role("segments", "Figures 1, 2, 3, 4 and 6."),
    "dependencies": Role("conllu", "Table 1 and Figure 5; Table 3 is evaluated on it."),
    "coreference": Role("conll2012", "Table 2."),
    "gap": Role("gap", "pronoun resolution by gender."),
    "probe_training": Role("conllu", "training treebank of the probes of Table 3."),
    "vectors": Role("vectors", "word vectors of the probes with words; default: reduced input embeddings of the model."),
}
CONTROLLED = ("segments", "dependencies", "coreference")
"""Roles whose results are compared with those of a model with random weights."""
OPTIONAL: dict[str, tuple[str, ...]] = {
    "segments": ("variants",),
    "dependencies": ("probe_training", "vectors", "variants.casing"),
    "coreference": (),
    "gap": (),
    "probe_training": ("vectors",),
    # Falling back to other vectors than the named ones would give a different table.
    "vectors": ("probe_training",),
    "random_model": (),
    "probes.random_models": (),
    "variants.segment_ids": (),
    "variants.recipe": (),
    "variants.casing": (),
}
"""Optional keys of a run -> keys that are dropped with them."""


def pairs(config: Config, run: str) -> list[Pair]:
    """(model, corpus) whose attention is cached: those of the roles, of random models, and of variants."""
    settings = config["runs"][run][ID]
    model, corpora = study_model(config, run, ID), study_corpora(config, run, ID)
    measured = [(model, corpus) for role, corpus in corpora.items() if role != "vectors"]
    if "probe_training" in corpora:
        roles = ("probe_training", "dependencies")
        measured += [(random, corpora[role]) for random in settings["probes"]["random_models"] for role in roles]
    if "random_model" in settings:
        measured += [(settings["random_model"], corpora[role]) for role in CONTROLLED if role in corpora]
    for variant, name in settings["variants"].items():
        if variant == "casing":
            measured += [(name, corpora[role]) for role in ("segments", "dependencies")]
        else:
            measured.append((model, name))
    return measured


def probed(config: Config, run: str) -> dict[str, Pair]:
    """Name -> (model, evaluation treebank) of the models of Table 3: the study's, and those with random weights."""
    settings = config["runs"][run][ID]
    names = [study_model(config, run, ID), *settings["probes"]["random_models"]]
    return {name: (name, settings["dependencies"]) for name in names}


def models(config: Config, run: str, artifact: Artifact) -> list[str]:
    """Models with random weights."""
    settings = config["runs"][run][ID]
    return [*filter(None, [settings.get("random_model")]), *settings["probes"]["random_models"]]


def check(config: Config, run: str, place: str) -> None:
    """Check the levels of caches that options need, the random models, and the variants."""
    settings = config["runs"][run][ID]
    if "segments" in settings and config["corpora"][settings["segments"]]["level"] != "tokens":
        raise AtlasError(f"config: {place}.segments: its measures are over word pieces, so the corpus needs level: tokens.")
    mode = settings["options"].get("word_mode", "mean")
    if mode != "mean" and "dependencies" in settings and config["corpora"][settings["dependencies"]]["level"] != "tokens":
        raise AtlasError(
            f"config: {place}.options.word_mode: {mode} needs level: tokens for corpus '{settings['dependencies']}', since a "
            "cache over words holds the mean alone."
        )
    # Figure 3, and word vectors that no file has, are made from weights.
    needs_weights = settings["gradients"] or ("probe_training" in settings and "vectors" not in settings)
    if needs_weights and "released" in config["models"][study_model(config, run, ID)]["source"]:
        raise AtlasError(f"config: {place}: only maps of the model were released: set gradients: false, and name vectors.")
    random = [(name, "probes.random_models") for name in settings["probes"]["random_models"]]
    for name, key in [*random, *([(settings["random_model"], "random_model")] if "random_model" in settings else [])]:
        check_known(name, config["models"], "model", f"{place}.{key}")
        if config["models"][name]["init"] == "pretrained":
            raise AtlasError(f"config: {place}.{key}: '{name}' is not random: set init: random_encoder.")
    for variant, name in settings["variants"].items():
        key = f"{place}.variants.{variant}"
        for role in ("segments", "dependencies") if variant == "casing" else ("segments",):
            if role not in settings:
                raise AtlasError(f"config: {key}: this variant needs a corpus of {role}: name {place}.{role} as well.")
        if variant == "casing":
            check_known(name, config["models"], "model", key)
        else:
            check_corpus(config, name, "segments", key)


def recipe(inputs: Any, run: str) -> dict[str, Any]:
    """Settings of the probes that every model is probed with, so that a further model does not change the jobs of others."""
    return {key: value for key, value in inputs.config["runs"][run][ID]["probes"].items() if key != "random_models"}


STUDY = Study(
    id=ID,
    order=1,
    title="Clark et al. (2019): What Does BERT Look At?",
    paper=Paper("Clark et al. (2019)", "https://arxiv.org/abs/1906.04341"),
    roles=ROLES,
    artifacts=shown_artifacts(ID),
    pairs=pairs,
    models=models,
    optional=OPTIONAL,
    check=check,
    groups={"probed": probed},
    inputs={"recipe": recipe},
    measures=MEASURES,
)
