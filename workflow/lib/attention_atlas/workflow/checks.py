"""What a schema cannot say of a configuration: names that have to be known, and keys that have to go together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_atlas.errors import AtlasError, did_you_mean
from attention_atlas.runs import ROLES, STUDIES, study_corpora, study_model

TASK_READERS = {"questions": "squad", "labels": "glue", "translation": "parallel", "tags": "keyphrases"}
"""Task that a model can be fine-tuned for -> the reader that its corpus needs."""
_SOURCES = {
    "models": ("package", "path", "hub", "fine_tuned", "blank"),
    "corpora": ("sample", "path", "url", "hub", "sacrebleu"),
}
# Keys that a kind of source needs: one of each group.
_SOURCE_NEEDS = {
    "package": [("module",)],
    "url": [("sha256", "content_sha256")],
    "hub": [("revision",)],
    "sacrebleu": [("pair",)],
}
_SOURCE_KEYS = {
    "package": {"module", "folder"},
    "path": {"mirror"},
    "fine_tuned": set(),
    "blank": set(),
    "sample": set(),
    "sacrebleu": {"pair"},
    "url": {"sha256", "content_sha256", "mirror"},
    "hub": {"revision", "config", "split", "column", "rows"},
}
_SAMPLE_SUFFIX = {
    "conllu": ".conllu",
    "segments": ".txt",
    "conll2012": ".conll",
    "gap": ".tsv",
    "vectors": ".vec",
    "squad": ".json",
    "glue": ".jsonl",
    "frames": ".json",
    "parallel": ".jsonl",
    "lines": ".txt",
    "edges": ".jsonl",
    "keyphrases": ".jsonl",
}
_READER_KEYS = {
    "conllu": {"view"},
    "segments": {"lines", "recipe", "segment_ids", "seed"},
    "conll2012": {"windows", "trees"},
    "gap": set(),
    "vectors": {"encoding"},
    "squad": {"windows", "stride", "order", "seed"},
    "glue": {"task", "overlong", "skip"},
    "frames": set(),
    "parallel": {"languages", "translations", "skip"},
    "lines": set(),
    "edges": {"form", "edge_tasks", "part", "trees"},
    "keyphrases": {"stemmed", "overlong", "skip"},
}


def check_source_keys(config: Mapping[str, Any]) -> None:
    """Check that each entry of the registries has one source, and the keys of its source and reader alone.

    Raises:
        AtlasError: names the key.
    """
    for registry, kinds in _SOURCES.items():
        for name, entry in config[registry].items():
            place = f"config: {registry}.{name}"
            source = entry["source"]
            given = [kind for kind in kinds if kind in source]
            if len(given) != 1:
                found = "none of them" if not given else " and ".join(given)
                raise AtlasError(f"{place}.source: give exactly one of {', '.join(kinds)}; found {found}.")
            for keys in _SOURCE_NEEDS.get(given[0], ()):
                local = given[0] == "hub" and Path(source["hub"]).is_dir()
                if not local and not any(key in source for key in keys):
                    raise AtlasError(f"{place}.source: a source of kind {given[0]} needs the key '{keys[0]}' as well.")
            wrong = sorted(set(source) - {given[0]} - _SOURCE_KEYS[given[0]])
            if wrong:
                raise AtlasError(f"{place}.source.{wrong[0]}: this key does not belong to a source of kind {given[0]}.")
    for name, entry in config["corpora"].items():
        sample = entry["source"].get("sample")
        if sample and not sample.endswith(_SAMPLE_SUFFIX[entry["reader"]]):
            raise AtlasError(f"config: corpora.{name}.source.sample: the reader {entry['reader']} cannot read {sample}.")
        if "sacrebleu" in entry["source"] and entry["reader"] != "parallel":
            raise AtlasError(f"config: corpora.{name}.source.sacrebleu: test sets of translation need the reader parallel.")
        if entry["reader"] == "glue" and "task" not in entry:
            raise AtlasError(f"config: corpora.{name}.task: the reader glue needs to know which task it is.")
        if entry["reader"] == "parallel" and "languages" not in entry:
            raise AtlasError(f"config: corpora.{name}.languages: the reader parallel needs to know them, such as [en, fr].")
        if entry["reader"] == "edges" and "edge_tasks" not in entry:
            raise AtlasError(f"config: corpora.{name}.edge_tasks: the reader edges needs to know its tasks, such as [pos].")
        for key, reader in (("trees", "conllu"), ("translations", "lines")):
            if key in entry:
                known(entry[key], config["corpora"], "corpus", f"corpora.{name}.{key}")
                _reads(config, entry[key], reader, f"corpora.{name}.{key}")
        others = set().union(*_READER_KEYS.values()) - _READER_KEYS[entry["reader"]]
        for key in sorted(others & set(entry)):
            readers = " and ".join(reader for reader, keys in _READER_KEYS.items() if key in keys)
            raise AtlasError(
                f"config: corpora.{name}.{key}: this key belongs to the reader {readers}, not to {entry['reader']}."
            )


def check_names(config: Mapping[str, Any]) -> None:
    """Check a whole configuration: targets, models, and the studies of all runs.

    Raises:
        AtlasError: names the key, what is wrong with it and, where it can be guessed, what was meant.
    """
    for run in config["targets"]:
        known(run, config["runs"], "run", "targets")
    for name in config["models"]:
        _check_training(config, name)
    for run, settings in config["runs"].items():
        for corpus in settings["limits"]:
            known(corpus, config["corpora"], "corpus", f"runs.{run}.limits")
        if "model" in settings:
            known(settings["model"], config["models"], "model", f"runs.{run}.model")
        for study in STUDIES:
            if study in settings:
                _check_study(config, run, study)


def _check_training(config: Mapping[str, Any], name: str) -> None:
    """A fine-tuned model needs a known model to start from, a corpus and a task that fit, and the shape of that model."""
    entry, place = config["models"][name], f"models.{name}"
    if "blank" in entry["source"]:
        _check_blank(config, name)
    base = entry["source"].get("fine_tuned")
    if base is None:
        if "training" in entry:
            raise AtlasError(f"config: {place}.training: only a model with source: {{fine_tuned: ...}} is trained.")
        return
    if "training" not in entry:
        raise AtlasError(f"config: {place}.training: a fine-tuned model needs to know its task and corpus.")
    known(base, config["models"], "model", f"{place}.source.fine_tuned")
    if "fine_tuned" in config["models"][base]["source"]:
        raise AtlasError(f"config: {place}.source.fine_tuned: '{base}' is fine-tuned itself; start from a model that is not.")
    corpus = entry["training"]["corpus"]
    known(corpus, config["corpora"], "corpus", f"{place}.training.corpus")
    _reads(config, corpus, TASK_READERS[entry["training"]["task"]], f"{place}.training.corpus")
    late = [epoch for epoch in entry["training"].get("keep_epochs", ()) if epoch > entry["training"]["epochs"]]
    if late:
        raise AtlasError(
            f"config: {place}.training.keep_epochs: {late[0]} is more than its {entry['training']['epochs']} epochs."
        )
    for key in ("layers", "heads"):
        if entry[key] != config["models"][base][key]:
            raise AtlasError(f"config: {place}.{key}: it is {entry[key]}, but '{base}' has {config['models'][base][key]}.")


def _check_blank(config: Mapping[str, Any], name: str) -> None:
    """A new model has random weights, a vocabulary from parallel text, and hidden states that its heads can share."""
    entry, place = config["models"][name], f"models.{name}"
    corpus = entry["source"]["blank"]["corpus"]
    known(corpus, config["corpora"], "corpus", f"{place}.source.blank.corpus")
    _reads(config, corpus, "parallel", f"{place}.source.blank.corpus")
    if entry["init"] != "random":
        raise AtlasError(f"config: {place}.init: a new model has no weights to start from: set init: random.")
    hidden = entry["source"]["blank"]["hidden"]
    if hidden % entry["heads"]:
        raise AtlasError(f"config: {place}.source.blank.hidden: {hidden} cannot be shared among {entry['heads']} heads.")


def _check_study(config: Mapping[str, Any], run: str, study: str) -> None:
    settings = config["runs"][run][study]
    place = f"runs.{run}.{study}"
    if "family" in settings:
        known(settings["family"], config["families"], "family", f"{place}.family")
    elif study not in _NAMES_ITS_MODELS and not (settings.get("model") or config["runs"][run].get("model")):
        raise AtlasError(f"config: runs.{run}.model: the study {study} needs a model, and none is named.")
    if "model" in settings:
        known(settings["model"], config["models"], "model", f"{place}.model")
    for role, corpus in study_corpora(config, run, study).items():
        known(corpus, config["corpora"], "corpus", f"{place}.{role}")
        _reads(config, corpus, ROLES[study][role], f"{place}.{role}")
    if study in _STUDY_CHECKS:
        _STUDY_CHECKS[study](config, run, place)


def _check_clark2019(config: Mapping[str, Any], run: str, place: str) -> None:
    settings = config["runs"][run]["clark2019"]
    if "segments" in settings and config["corpora"][settings["segments"]]["level"] != "tokens":
        raise AtlasError(f"config: {place}.segments: its measures are over word pieces, so the corpus needs level: tokens.")
    mode = settings["options"].get("word_mode", "mean")
    if mode != "mean" and config["corpora"][settings["dependencies"]]["level"] != "tokens":
        raise AtlasError(
            f"config: {place}.options.word_mode: {mode} needs level: tokens for corpus '{settings['dependencies']}', since a "
            "cache over words holds the mean alone."
        )
    for name in settings["probes"]["random_models"]:
        known(name, config["models"], "model", f"{place}.probes.random_models")
    for variant, name in settings["variants"].items():
        where = f"{place}.variants.{variant}"
        if "segments" not in settings:
            raise AtlasError(f"config: {where}: it stands beside a corpus of segments: name {place}.segments as well.")
        if variant == "casing":
            known(name, config["models"], "model", where)
        else:
            known(name, config["corpora"], "corpus", where)
            _reads(config, name, "segments", where)


def _check_guan2020(config: Mapping[str, Any], run: str, place: str) -> None:
    settings = config["runs"][run]["guan2020"]
    looked_at = {"questions": settings["questions"]}
    own = config["models"][study_model(config, run, "guan2020")]
    for name, pair in settings["compared"].items():
        known(pair["model"], config["models"], "model", f"{place}.compared.{name}.model")
        known(pair["corpus"], config["corpora"], "corpus", f"{place}.compared.{name}.corpus")
        looked_at[f"compared.{name}.corpus"] = pair["corpus"]
        other = config["models"][pair["model"]]
        if (other["layers"], other["heads"]) != (own["layers"], own["heads"]):
            raise AtlasError(
                f"config: {place}.compared.{name}.model: '{pair['model']}' has {other['layers']} layers of {other['heads']} "
                f"heads, the study's own model {own['layers']} of {own['heads']}; compare models of one shape."
            )
    for key, corpus in looked_at.items():
        if config["corpora"][corpus]["level"] != "tokens":
            raise AtlasError(f"config: {place}.{key}: distances are those of word pieces, so the corpus needs level: tokens.")


def _check_kovaleva2019(config: Mapping[str, Any], run: str, place: str) -> None:
    settings = config["runs"][run]["kovaleva2019"]
    trained = config["families"][settings["family"]]["tasks"]
    for task, corpus in settings["tasks"].items():
        where = f"{place}.tasks.{task}"
        if task not in trained:
            raise AtlasError(f"config: {where}: the family '{settings['family']}' has no such task: {', '.join(trained)}.")
        known(corpus, config["corpora"], "corpus", where)
        _reads(config, corpus, "glue", where)
        for name, own in ((where, corpus), (f"families.{settings['family']}.tasks.{task}.corpus", trained[task]["corpus"])):
            found = config["corpora"][own]["task"]
            if found != task:
                raise AtlasError(f"config: {name}: corpus '{own}' is one of the task {found}, not of {task}.")
    known(settings["patterns"]["model"], config["models"], "model", f"{place}.patterns.model")


def _check_michel2019(config: Mapping[str, Any], run: str, place: str) -> None:
    settings = config["runs"][run]["michel2019"]
    tasks = {"translator": "translation", "classifier": "labels"} | (
        {"trained": "translation"} if "trained" in settings else {}
    )
    for key, task in tasks.items():
        known(settings[key], config["models"], "model", f"{place}.{key}")
        training = config["models"][settings[key]].get("training")
        if training and training["task"] != task:
            raise AtlasError(f"config: {place}.{key}: '{settings[key]}' is trained for {training['task']}, not for {task}.")
    together = ("trained", "dynamics", "dynamics_importance")
    absent = [key for key in together if key not in settings]
    if 0 < len(absent) < len(together):
        raise AtlasError(f"config: {place}.{absent[0]}: Figure 5 needs the keys {', '.join(together)} together.")
    if "trained" in settings and "keep_epochs" not in config["models"][settings["trained"]].get("training", {}):
        raise AtlasError(
            f"config: {place}.trained: no epoch of '{settings['trained']}' is kept: set keep_epochs in its training."
        )


def _check_tenney2019(config: Mapping[str, Any], run: str, place: str) -> None:
    settings = config["runs"][run]["tenney2019"]
    for task, entry in settings["tasks"].items():
        for part in ("training", "development"):
            where, corpus = f"{place}.tasks.{task}.{part}", entry[part]
            known(corpus, config["corpora"], "corpus", where)
            _reads(config, corpus, "edges", where)
            if task not in config["corpora"][corpus]["edge_tasks"]:
                found = ", ".join(config["corpora"][corpus]["edge_tasks"])
                raise AtlasError(f"config: {where}: corpus '{corpus}' has targets for {found}, not for {task}.")
    own = study_model(config, run, "tenney2019")
    for key in ("random_model", "other_model"):
        if key in settings:
            known(settings[key], config["models"], "model", f"{place}.{key}")
            if settings[key] == own:
                raise AtlasError(f"config: {place}.{key}: '{own}' is the study's own model; name another one.")
    if "random_model" in settings and config["models"][settings["random_model"]]["init"] == "pretrained":
        raise AtlasError(f"config: {place}.random_model: '{settings['random_model']}' is not random: set init: random_encoder.")


def _check_stefanik2021(config: Mapping[str, Any], run: str, place: str) -> None:
    settings = config["runs"][run]["stefanik2021"]
    trained = ("family", "development", "test")
    absent = [key for key in trained if key not in settings]
    if 0 < len(absent) < len(trained):
        raise AtlasError(
            f"config: {place}.{absent[0]}: taggers need all of {', '.join(trained)}; name it as well, or none of them."
        )
    if not absent and "keyphrases" not in config["families"][settings["family"]]["tasks"]:
        raise AtlasError(f"config: {place}.family: the family '{settings['family']}' has no task keyphrases.")


def _check_atlas(config: Mapping[str, Any], run: str, place: str) -> None:
    settings = config["runs"][run]["atlas"]
    for name in settings.get("compared", []):
        known(name, config["models"], "model", f"{place}.compared")
        if name == study_model(config, run, "atlas"):
            raise AtlasError(f"config: {place}.compared: '{name}' is the model of the atlas itself: name others.")
    if "sentences" not in settings:
        if "compared" in settings:
            raise AtlasError(
                f"config: {place}.compared: models are compared on sentences: name a corpus under {place}.sentences."
            )
        return
    if config["corpora"][settings["sentences"]]["level"] != "tokens":
        raise AtlasError(f"config: {place}.sentences: the corpus '{settings['sentences']}' has to be of level tokens.")


_NAMES_ITS_MODELS = ("michel2019", "scoreboard")
"""Studies whose roles name their models: a run needs no model for them."""
_STUDY_CHECKS = {
    "clark2019": _check_clark2019,
    "guan2020": _check_guan2020,
    "kovaleva2019": _check_kovaleva2019,
    "michel2019": _check_michel2019,
    "tenney2019": _check_tenney2019,
    "stefanik2021": _check_stefanik2021,
    "atlas": _check_atlas,
}


def known(name: str, registry: Mapping[str, Any], kind: str, place: str) -> None:
    """Check that a registry has a name.

    Raises:
        AtlasError: it has not; `kind` and `place` are what is named, and where.
    """
    if name not in registry:
        raise AtlasError(
            f"config: {place}: there is no {kind} '{name}'{did_you_mean(name, registry)}. Known: {', '.join(sorted(registry))}."
        )


def _reads(config: Mapping[str, Any], corpus: str, reader: str, place: str) -> None:
    found = config["corpora"][corpus]["reader"]
    if found != reader:
        raise AtlasError(f"config: {place}: corpus '{corpus}' has the reader {found}, but {reader} is needed here.")
