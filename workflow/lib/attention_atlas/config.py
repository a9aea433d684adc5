"""The configuration: inheritance of runs, schema check, defaults, and what a schema cannot say.

Only the standard library, PyYAML and jsonschema are imported, since the Snakefile needs this module at every start.
"""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from attention_atlas.corpora.mirror import in_mirror
from attention_atlas.errors import AtlasError

SCHEMA_PATH = Path(__file__).resolve().parents[2] / "schemas" / "config.schema.yaml"


# Study -> its keys that name a corpus -> the reader that the corpus needs. An artefact whose role a run does not name is no
# artefact of that run; the schema says which roles every run of a study has to name.
ROLES: dict[str, dict[str, str]] = {
    "clark2019": {
        "segments": "segments",
        "dependencies": "conllu",
        "coreference": "conll2012",
        "coreference_windows": "conll2012",
        "gap": "gap",
        "probe_training": "conllu",
        "vectors": "vectors",
    },
    "guan2020": {"questions": "squad"},
    "kovaleva2019": {"frames": "frames"},
    "michel2019": {
        "translation": "parallel",
        "translation_other": "parallel",
        "translation_importance": "parallel",
        "classification": "glue",
        "classification_other": "glue",
        "classification_importance": "glue",
        "dynamics": "parallel",
        "dynamics_importance": "parallel",
    },
    "tenney2019": {"cases": "edges"},
    "stefanik2021": {"documents": "keyphrases", "development": "keyphrases", "test": "keyphrases"},
    # What is made from the tables of all studies of a run.
    "atlas": {"sentences": "conllu"},
    "scoreboard": {},
}
STUDIES = tuple(ROLES)
TASK_READERS = {"questions": "squad", "labels": "glue", "translation": "parallel", "tags": "keyphrases"}
"""Task that a model can be fine-tuned for -> the reader that its corpus needs."""
FAMILY_TASKS = {"keyphrases": "tags"}
"""Task of a family -> what its models are trained for, where that is not labels."""
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


def resolve(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the complete configuration: runs inherited, checked, and every default filled in.

    Raises:
        AtlasError: one sentence that names the key, what is wrong with it and, where it can be guessed, what was meant.
    """
    schema = yaml.safe_load(SCHEMA_PATH.read_text(encoding="utf-8"))
    config = copy.deepcopy(dict(raw))
    _check_schema(config, schema)
    _check_source_keys(config)
    config["runs"] = {name: _inherited(config["runs"], name, ()) for name in config["runs"]}
    _fill_defaults(config, schema, schema)
    _expand_families(config)
    _check_names(config)
    return config


def study_runs(config: Mapping[str, Any], study: str, runs: list[str] | None = None) -> list[str]:
    """Names of the runs (of `runs`, default: the targets) that contain `study`."""
    return [run for run in (runs if runs is not None else config["targets"]) if study in config["runs"][run]]


def limit_of(config: Mapping[str, Any], run: str, corpus: str) -> int:
    """Records of `corpus` that `run` reads at most."""
    return config["runs"][run]["limits"].get(corpus, config["corpora"][corpus]["limit"])


def shard_count(config: Mapping[str, Any], run: str, corpus: str, records: int | None = None) -> int:
    """Number of (whole) shards that hold the records of `corpus` in `run`, or its first `records` of them."""
    limit = limit_of(config, run, corpus)
    return -(-min(limit, limit if records is None else records) // config["corpora"][corpus]["shard"])


def study_model(config: Mapping[str, Any], run: str, study: str) -> str:
    """Name of the model that `study` looks at in `run`."""
    settings = config["runs"][run][study]
    if "family" in settings:
        return str(config["families"][settings["family"]]["base"])
    return settings.get("model") or config["runs"][run]["model"]


def family_member(family: str, task: str, seed: int, random: bool = False) -> str:
    """Name of a model of a family."""
    return f"{family}-{task}-{'random-' if random else ''}{seed}"


def family_seeds(config: Mapping[str, Any], family: str, task: str) -> list[int]:
    """Seeds of the models that a family trains on a task."""
    entry = config["families"][family]
    return list(entry["tasks"][task].get("seeds", entry["seeds"]))


def study_corpora(config: Mapping[str, Any], run: str, study: str) -> dict[str, str]:
    """Role -> corpus of `study` in `run`, for the roles that the run names."""
    settings = config["runs"][run][study]
    return {role: settings[role] for role in ROLES[study] if role in settings}


def local_file(config: Mapping[str, Any], corpus: str) -> Path:
    """The file (or folder) of a corpus with a source of kind path: where it says, else below the mirror if it is there."""
    source = config["corpora"][corpus]["source"]
    path = Path(source["path"])
    mirrored = in_mirror(source, config["data_mirror"])
    return mirrored if not path.exists() and mirrored is not None and mirrored.exists() else path


def missing_files(config: Mapping[str, Any], corpora: Iterator[str] | list[str]) -> dict[str, str]:
    """Corpora of `corpora` whose local file is not there -> one sentence with file, licence and layout."""
    gaps = {}
    for name in corpora:
        entry = config["corpora"][name]
        path = entry["source"].get("path")
        # Coreference comes as a folder of files, too, and what is made from it, and FrameNet.
        there = Path.exists if entry["reader"] in ("conll2012", "frames", "edges") else Path.is_file
        if path and not there(local_file(config, name)):
            licence = f" Licence: {entry['licence']}." if "licence" in entry else ""
            layout = f" Expected layout: {entry['layout']}." if "layout" in entry else ""
            gaps[name] = f"corpus {name}: the file {path} is not there.{licence}{layout}"
    return gaps


def _inherited(runs: Mapping[str, Any], name: str, below: tuple[str, ...]) -> dict[str, Any]:
    run = runs[name]
    parent = run.get("extends")
    if not isinstance(parent, str):
        # Missing, or something the schema will complain of.
        return copy.deepcopy(run)
    if parent not in runs:
        raise AtlasError(f"config: runs.{name}.extends: there is no run '{parent}'{_did_you_mean(parent, runs)}.")
    if parent in (name, *below):
        raise AtlasError(f"config: runs.{name}.extends: runs extend each other in a circle ({', '.join((*below, name))}).")
    # A title says what the parent looks at, which is what its heir changes.
    base = {key: value for key, value in _inherited(runs, parent, (*below, name)).items() if key != "title"}
    return merged(base, {key: value for key, value in run.items() if key != "extends"})


def merged(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A dictionary changed by another one as Snakemake's overlays are: dictionaries are merged, everything else is replaced."""
    found = copy.deepcopy(base)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(found.get(key), Mapping)
        found[key] = merged(found[key], value) if both else copy.deepcopy(value)
    return found


def _check_schema(config: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    # A run that extends another may lack required keys until the two are merged: checked on the merged runs.
    whole = dict(config)
    runs = config.get("runs")
    if isinstance(runs, Mapping) and all(isinstance(run, Mapping) for run in runs.values()):
        whole["runs"] = {name: _inherited(runs, name, ()) for name in runs}
    error = best_match(Draft202012Validator(schema).iter_errors(whole))
    if error is not None:
        raise AtlasError(_sentence(error, schema))


def _sentence(error: ValidationError, schema: Mapping[str, Any]) -> str:
    place = "config" + (": " + ".".join(map(str, error.absolute_path)) if error.absolute_path else "")
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = list(error.schema.get("properties", {}))
        unknown = [key for key in error.instance if key not in known]
        listed = f" Known keys: {', '.join(known)}." if len(known) <= 24 else ""
        return f"{place}: unknown key '{unknown[0]}'{_did_you_mean(str(unknown[0]), known)}.{listed}"
    if error.validator == "required":
        absent = [key for key in error.validator_value if key not in error.instance]
        return f"{place}: the key '{absent[0]}' is missing. {_described(error.schema, absent[0], schema)}".rstrip()
    if error.validator == "enum":
        allowed = list(map(str, error.validator_value))
        meant = _did_you_mean(str(error.instance), allowed)
        return f"{place}: '{error.instance}' is not one of {', '.join(allowed)}{meant}."
    if error.validator == "oneOf":
        return f"{place}: {error.instance!r} does not fit. {error.schema.get('description', '')}".rstrip()
    if error.validator == "type":
        wanted = error.validator_value if isinstance(error.validator_value, str) else " or ".join(error.validator_value)
        hint = " (write 1.0e-3, not 1e-3: YAML reads the latter as text)" if wanted == "number" else ""
        return f"{place}: {error.instance!r} should be of type {wanted}{hint}. {error.schema.get('description', '')}".rstrip()
    return f"{place}: {error.message}. {error.schema.get('description', '')}".rstrip()


def _described(node: Mapping[str, Any], key: str, schema: Mapping[str, Any]) -> str:
    return _deref(node.get("properties", {}).get(key, {}), schema).get("description", "")


def _did_you_mean(word: str, known: Any) -> str:
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'" if close else ""


def _deref(node: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def _fill_defaults(value: Any, node: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Set the schema's defaults in place, below defaults too."""
    node = _deref(node, schema)
    if not isinstance(value, dict):
        return
    for key, child in node.get("properties", {}).items():
        plain = _deref(child, schema)
        if key not in value and "default" in plain:
            value[key] = copy.deepcopy(plain["default"])
        if key in value:
            _fill_defaults(value[key], child, schema)
    others = node.get("additionalProperties")
    if isinstance(others, Mapping):
        for key, item in value.items():
            if key not in node.get("properties", {}):
                _fill_defaults(item, others, schema)


def _expand_families(config: dict[str, Any]) -> None:
    """Put the models of all families into the registry, in place."""
    for family, entry in config["families"].items():
        _known(entry["base"], config["models"], "model", f"families.{family}.base")
        base = config["models"][entry["base"]]
        for task, settings in entry["tasks"].items():
            seeds = [(seed, False) for seed in family_seeds(config, family, task)]
            for seed, random in (*seeds, *((seed, True) for seed in entry["random_seeds"])):
                name = family_member(family, task, seed, random)
                if name in config["models"]:
                    raise AtlasError(f"config: families.{family}: the model '{name}' is in the registry of models already.")
                wanted = {"task": FAMILY_TASKS.get(task, "labels"), "corpus": settings["corpus"], "seed": seed}
                config["models"][name] = {
                    **{key: copy.deepcopy(base[key]) for key in ("layers", "heads", "dtype", "mlm_head")},
                    "source": {"fine_tuned": entry["base"]},
                    "init": "random" if random else "pretrained",
                    "seed": seed,
                    "training": {**entry["training"], **wanted},
                    **({"reference": settings["reference"]} if "reference" in settings and not random else {}),
                }


def _check_source_keys(config: Mapping[str, Any]) -> None:
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
                _known(entry[key], config["corpora"], "corpus", f"corpora.{name}.{key}")
                _reads(config, entry[key], reader, f"corpora.{name}.{key}")
        others = set().union(*_READER_KEYS.values()) - _READER_KEYS[entry["reader"]]
        for key in sorted(others & set(entry)):
            readers = " and ".join(reader for reader, keys in _READER_KEYS.items() if key in keys)
            raise AtlasError(
                f"config: corpora.{name}.{key}: this key belongs to the reader {readers}, not to {entry['reader']}."
            )


def _check_names(config: Mapping[str, Any]) -> None:
    for run in config["targets"]:
        _known(run, config["runs"], "run", "targets")
    for name in config["models"]:
        _check_training(config, name)
    for run, settings in config["runs"].items():
        for corpus in settings["limits"]:
            _known(corpus, config["corpora"], "corpus", f"runs.{run}.limits")
        if "model" in settings:
            _known(settings["model"], config["models"], "model", f"runs.{run}.model")
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
    _known(base, config["models"], "model", f"{place}.source.fine_tuned")
    if "fine_tuned" in config["models"][base]["source"]:
        raise AtlasError(f"config: {place}.source.fine_tuned: '{base}' is fine-tuned itself; start from a model that is not.")
    corpus = entry["training"]["corpus"]
    _known(corpus, config["corpora"], "corpus", f"{place}.training.corpus")
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
    _known(corpus, config["corpora"], "corpus", f"{place}.source.blank.corpus")
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
        _known(settings["family"], config["families"], "family", f"{place}.family")
    elif study not in _NAMES_ITS_MODELS and not (settings.get("model") or config["runs"][run].get("model")):
        raise AtlasError(f"config: runs.{run}.model: the study {study} needs a model, and none is named.")
    if "model" in settings:
        _known(settings["model"], config["models"], "model", f"{place}.model")
    for role, corpus in study_corpora(config, run, study).items():
        _known(corpus, config["corpora"], "corpus", f"{place}.{role}")
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
        _known(name, config["models"], "model", f"{place}.probes.random_models")
    for variant, name in settings["variants"].items():
        where = f"{place}.variants.{variant}"
        if "segments" not in settings:
            raise AtlasError(f"config: {where}: it stands beside a corpus of segments: name {place}.segments as well.")
        if variant == "casing":
            _known(name, config["models"], "model", where)
        else:
            _known(name, config["corpora"], "corpus", where)
            _reads(config, name, "segments", where)


def _check_guan2020(config: Mapping[str, Any], run: str, place: str) -> None:
    settings = config["runs"][run]["guan2020"]
    looked_at = {"questions": settings["questions"]}
    own = config["models"][study_model(config, run, "guan2020")]
    for name, pair in settings["compared"].items():
        _known(pair["model"], config["models"], "model", f"{place}.compared.{name}.model")
        _known(pair["corpus"], config["corpora"], "corpus", f"{place}.compared.{name}.corpus")
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
        _known(corpus, config["corpora"], "corpus", where)
        _reads(config, corpus, "glue", where)
        for name, own in ((where, corpus), (f"families.{settings['family']}.tasks.{task}.corpus", trained[task]["corpus"])):
            found = config["corpora"][own]["task"]
            if found != task:
                raise AtlasError(f"config: {name}: corpus '{own}' is one of the task {found}, not of {task}.")
    _known(settings["patterns"]["model"], config["models"], "model", f"{place}.patterns.model")


def _check_michel2019(config: Mapping[str, Any], run: str, place: str) -> None:
    settings = config["runs"][run]["michel2019"]
    tasks = {"translator": "translation", "classifier": "labels"} | (
        {"trained": "translation"} if "trained" in settings else {}
    )
    for key, task in tasks.items():
        _known(settings[key], config["models"], "model", f"{place}.{key}")
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
            _known(corpus, config["corpora"], "corpus", where)
            _reads(config, corpus, "edges", where)
            if task not in config["corpora"][corpus]["edge_tasks"]:
                found = ", ".join(config["corpora"][corpus]["edge_tasks"])
                raise AtlasError(f"config: {where}: corpus '{corpus}' has targets for {found}, not for {task}.")
    own = study_model(config, run, "tenney2019")
    for key in ("random_model", "other_model"):
        if key in settings:
            _known(settings[key], config["models"], "model", f"{place}.{key}")
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
        _known(name, config["models"], "model", f"{place}.compared")
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


def _known(name: str, registry: Mapping[str, Any], kind: str, place: str) -> None:
    if name not in registry:
        raise AtlasError(
            f"config: {place}: there is no {kind} '{name}'{_did_you_mean(name, registry)}."
            f" Known: {', '.join(sorted(registry))}."
        )


def _reads(config: Mapping[str, Any], corpus: str, reader: str, place: str) -> None:
    found = config["corpora"][corpus]["reader"]
    if found != reader:
        raise AtlasError(f"config: {place}: corpus '{corpus}' has the reader {found}, but {reader} is needed here.")
