"""Declaration of the study of Michel et al. (2019), Are Sixteen Heads Really Better than One?"""

from __future__ import annotations

from dataclasses import replace

from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_measures import CLASSIFICATION, TRANSLATION
from attention_atlas.studies.michel2019.head_measures import MEASURES
from attention_atlas.workflow.config import check_known
from attention_atlas.workflow.paths import Config, Pair
from attention_atlas.workflow.study import Paper, Role, Study, role_pair, shown_artifacts, study_corpora

ID = "michel2019"
ROLES = {
    "translation": Role("parallel", "test set of the translation model.", True, "translator"),
    "translation_other": Role("parallel", "a second corpus (Figure 2; the paper: MTNT).", True, "translator"),
    "translation_importance": Role("parallel", "data for importance (the paper: newstest2009 to 2012).", True, "translator"),
    "classification": Role("glue", "test set of the classifier.", True, "classifier"),
    "classification_other": Role("glue", "a second corpus (Figure 2; the paper: MNLI mismatched).", True, "classifier"),
    "classification_importance": Role("glue", "data for importance (the paper: its training set).", True, "classifier"),
    "translation_test": Role(
        "parallel", "test set of Table 5; heads are selected on `translation` (the paper: newstest2014).", model="translator"
    ),
    "classification_selection": Role(
        "glue", "data that select the heads of Table 6 (the paper: 5,000 training examples).", model="classifier"
    ),
    "dynamics": Role("parallel", "test set of Figure 5; a run without it skips the figure.", model="trained_translator"),
    "dynamics_importance": Role("parallel", "data for the importance of heads in Figure 5.", model="trained_translator"),
}
EVALUATED = tuple(name for name, role in ROLES.items() if role.required)
"""Roles of both experiments, which results need that name no others."""
_FIGURE5 = ("trained_translator", "dynamics", "dynamics_importance")
FURTHER = ("translation_test", "classification_selection")
OPTIONAL = dict.fromkeys(_FIGURE5, _FIGURE5) | dict.fromkeys(FURTHER, ())
"""Optional keys of a run -> keys that are dropped with them."""


def examples(config: Config, run: str) -> list[Pair]:
    """(model, corpus) of all examples that the study reads, without repetition."""
    return list(dict.fromkeys(role_pair(config, run, ID, role) for role in study_corpora(config, run, ID)))


def check(config: Config, run: str, place: str) -> None:
    """Check the models and what they are trained for; corpora tokenised as their model needs; the keys of Figure 5 together."""
    settings, models = config["runs"][run][ID], config["models"]
    for key, task in (("translator", "translation"), ("classifier", "labels"), ("trained_translator", "translation")):
        if key not in settings:
            continue
        check_known(settings[key], models, "model", f"{place}.{key}")
        training = models[settings[key]].get("training")
        if training and training["task"] != task:
            raise AtlasError(f"config: {place}.{key}: '{settings[key]}' is trained for {training['task']}, not for {task}.")
    _check_tokenised(config, run, place)
    absent = [key for key in _FIGURE5 if key not in settings]
    if 0 < len(absent) < len(_FIGURE5):
        raise AtlasError(f"config: {place}.{absent[0]}: Figure 5 needs the keys {', '.join(_FIGURE5)} together.")
    trained = settings.get("trained_translator")
    if trained and "keep_epochs" not in models[trained].get("training", {}):
        raise AtlasError(
            f"config: {place}.trained_translator: no epoch of '{trained}' is kept: set keep_epochs in its training."
        )


def _check_tokenised(config: Config, run: str, place: str) -> None:
    """Check the tokenisation: a model knows little of text tokenised otherwise, and BLEU would be that of another text."""
    settings = config["runs"][run][ID]
    for role, declared in ROLES.items():
        if declared.reader != "parallel" or role not in settings or declared.model not in settings:
            continue
        model, corpus = settings[declared.model], settings[role]
        needed, actual = (config[kind][name].get("tokenised") for kind, name in (("models", model), ("corpora", corpus)))
        if needed != actual:
            actual, needed = (f"text tokenised by {name}" if name else "untokenised text" for name in (actual, needed))
            raise AtlasError(
                f"config: {place}.{role}: corpus '{corpus}' has {actual}, but model '{model}' needs {needed}: see the key "
                "`tokenised` in the registries."
            )


def same_file(config: Config, run: str) -> dict[str, bool]:
    """Experiment -> whether the second corpus of Figure 2 is another part of the file of the first."""
    settings, corpora = config["runs"][run][ID], config["corpora"]
    sources = {role: corpora[settings[role]]["source"] for role in EVALUATED}
    return {name: sources[name] == sources[f"{name}_other"] for name in (TRANSLATION, CLASSIFICATION)}


STUDY = Study(
    id=ID,
    order=4,
    title="Michel et al. (2019): Are Sixteen Heads Really Better than One?",
    paper=Paper("Michel et al. (2019)", "https://arxiv.org/abs/1905.10650"),
    roles=ROLES,
    artifacts=tuple(
        artifact if artifact.needs else replace(artifact, needs=EVALUATED, uses=artifact.uses or FURTHER)
        for artifact in shown_artifacts(ID)
    ),
    examples=examples,
    optional=OPTIONAL,
    check=check,
    inputs={"same_file": lambda inputs, run: same_file(inputs.config, run)},
    measures=MEASURES,
    names_models=True,
)
