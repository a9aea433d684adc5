"""The configuration: inheritance of runs, schema check, defaults, models of families.

Nothing heavy is imported, since the Snakefile needs this module at every start.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from attention_atlas.errors import AtlasError, did_you_mean, first_line
from attention_atlas.io.files import SCHEMAS, read_yaml
from attention_atlas.io.hub_files import MIRROR_VARIABLE
from attention_atlas.models.card import SHAPE, model_folder, read_shape
from attention_atlas.models.devices import DEVICE_VARIABLE
from attention_atlas.workflow.paths import RELEASED_MAPS, Config, family_member, family_seeds
from attention_atlas.workflow.study import Study, studies

SCHEMA_PATH = SCHEMAS / "config.schema.yaml"
REGISTRIES = {"models": "config/models.yaml", "corpora": "config/corpora.yaml"}
"""Key of the configuration -> the file that holds it, beside config.yaml."""
_BERT_BASE, _HEAD_WIDTH = {"layers": 12, "heads": 12}, 64
"""Shape of a model whose files are not present yet, and of a new one; the default hidden size is this width times the heads."""
FAMILY_TASKS = {"keyphrases": "tags"}  # task of a family -> training task of its models, if this is not labels
_NEEDS = {
    **{"package": ("module",), "url": ("sha256", "content_sha256"), "sacrebleu": ("pair",)},
    **{"glue": ("task",), "parallel": ("languages",), "edges": ("edge_tasks",)},
}
"""Kind of source, or reader -> keys of which an entry needs one."""
_TASK_READERS = {"questions": "squad", "labels": "glue", "translation": "parallel", "tags": "keyphrases"}
"""Task that a model can be fine-tuned for -> the reader that its corpus needs."""


def resolve(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the complete configuration: runs inherited, checked, and every default filled in."""
    schema = read_schema()
    config = copy.deepcopy(dict(raw))
    _accept_licences(config)
    _check_schema(config, schema)
    check_source_keys(config, schema)
    config["runs"] = {name: _inherited(config["runs"], name, ()) for name in config["runs"]}
    _fill_defaults(config, schema, schema)
    _fill_shapes(config)
    _expand_families(config)
    check_names(config, studies())
    return config


def read_schema() -> dict[str, Any]:
    """The schema of the configuration, with the settings of every declared study."""
    schema: dict[str, Any] = read_yaml(SCHEMA_PATH)
    for study in studies().values():
        schema["$defs"][study.id] = study.settings_schema(read_yaml)
        schema["$defs"]["run"]["properties"][study.id] = {"$ref": f"#/$defs/{study.id}"}
    return schema


def read_configuration(folder: str | Path, overlays: Iterable[str | Path] = ()) -> dict[str, Any]:
    """The configuration of a folder, merged as Snakemake does: config.yaml, the registries beside it, then overlays."""
    config: dict[str, Any] = {}
    for path in (*(Path(folder, name) for name in ("config.yaml", *REGISTRIES.values())), *overlays):
        try:
            config = merged(config, entries_of(Path(path)))
        except RecursionError as error:
            raise AtlasError(f"{path}: values stand in each other too deeply for a configuration file.") from error
    return config


def entries_of(path: Path) -> dict[str, Any]:
    """The entries of a configuration file, or of a profile of Snakemake; none if it is empty."""
    try:
        entries = read_yaml(path)
    except OSError as error:
        raise AtlasError(f"{path}: this configuration file cannot be read ({error.strerror}). Correct its name.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise AtlasError(f"{path}: this configuration file is not YAML ({first_line(error, 200)}).") from error
    if not isinstance(entries or {}, dict):
        raise AtlasError(f"{path}: a configuration file has keys and values, but this one has a {type(entries).__name__}.")
    return entries or {}


def write_configuration(config: Mapping[str, Any], folder: str | Path) -> None:
    """Write config.yaml and the registries, so that `read_configuration` reads the same configuration back."""
    files = {"config.yaml": {key: value for key, value in config.items() if key not in REGISTRIES}}
    files |= {place: {key: config[key]} for key, place in REGISTRIES.items()}
    for name, part in files.items():
        path = Path(folder, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(part, sort_keys=False, allow_unicode=True), encoding="utf-8")


def environment(config: Mapping[str, Any]) -> dict[str, str]:
    """Environment variables that tell jobs the device and the mirror: as job parameters, they would make jobs run again.

    The C library keeps freed memory: if each batch got its hundreds of megabytes from the system anew, page faults would take a
    fifth of a training step of MiniLM.
    """
    kept = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
    mirror = {MIRROR_VARIABLE: config["data_mirror"]} if config["data_mirror"] else {}
    return kept | {DEVICE_VARIABLE: config["device"]} | mirror


def _accept_licences(config: dict[str, Any]) -> None:
    """Merge the `accepting` settings of runs whose licence is accepted into them, in place, before runs are extended."""
    accepted, runs = config.get("accept_licences", []), config.get("runs")
    if not isinstance(accepted, list) or not isinstance(runs, dict):
        return  # reported by the schema check
    for name, run in runs.items():
        parts = run.get("accepting") if isinstance(run, dict) else None
        if isinstance(parts, dict) and all(isinstance(part, Mapping) for part in parts.values()):
            base = {key: value for key, value in run.items() if key != "accepting"}
            runs[name] = functools.reduce(merged, (part for licence, part in parts.items() if licence in accepted), base)


def _inherited(runs: Mapping[str, Any], name: str, descendants: tuple[str, ...]) -> dict[str, Any]:
    run = runs[name]
    parent = run.get("extends")
    if not isinstance(parent, str):
        # Missing, or invalid: reported by the schema check.
        return copy.deepcopy(run)
    if parent not in runs:
        raise AtlasError(f"config: runs.{name}.extends: there is no run '{parent}'{did_you_mean(parent, runs)}.")
    if parent in (name, *descendants):
        raise AtlasError(
            f"config: runs.{name}.extends: runs extend each other in a cycle ({', '.join((*descendants, name))}): remove one."
        )
    # The title describes the parent run, so the run that extends it does not inherit it.
    base = {key: value for key, value in _inherited(runs, parent, (*descendants, name)).items() if key != "title"}
    return merged(base, {key: value for key, value in run.items() if key != "extends"})


def merged(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A dictionary updated by another one, as in Snakemake's overlays: dictionaries are merged, other values replaced."""
    combined = copy.deepcopy(base)
    for key, value in over.items():
        nested = isinstance(value, Mapping) and isinstance(combined.get(key), Mapping)
        combined[key] = merged(combined[key], value) if nested else copy.deepcopy(value)
    return combined


def _check_schema(config: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    # A run that extends another may lack required keys until they are merged: required keys are checked on merged runs.
    whole, parents = dict(config), {}
    runs = config.get("runs")
    if isinstance(runs, Mapping) and all(isinstance(run, Mapping) for run in runs.values()):
        parents = {name: run["extends"] for name, run in runs.items() if isinstance(run.get("extends"), str)}
        whole["runs"] = {name: _inherited(runs, name, ()) for name in runs}
    errors = {(*error.absolute_path, error.message): error for error in Draft202012Validator(schema).iter_errors(whole)}
    # A fault of a run is also one of the runs that extend it.
    inherited = [place for place in errors if place[0] == "runs" and ("runs", parents.get(place[1]), *place[2:]) in errors]
    if error := best_match(errors[place] for place in errors if place not in inherited):
        raise AtlasError(_sentence(error, schema))


def _sentence(error: ValidationError, schema: Mapping[str, Any]) -> str:
    place = "config" + (": " + ".".join(map(str, error.absolute_path)) if error.absolute_path else "")
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = error.schema.get("properties", {})
        unknown = next(key for key in error.instance if key not in known)
        return f"{place}: unknown key '{unknown}'{did_you_mean(str(unknown), known)}. Known keys: {', '.join(known)}."
    if error.validator == "required":
        absent = next(key for key in error.validator_value if key not in error.instance)
        described = _deref(error.schema.get("properties", {}).get(absent, {}), schema)
        return f"{place}: the key '{absent}' is missing. {_first_sentence(described)}".rstrip()
    if error.validator == "enum":
        allowed = list(map(str, error.validator_value))
        return f"{place}: '{error.instance}' is not one of {', '.join(allowed)}{did_you_mean(str(error.instance), allowed)}."
    hint = " (write 1.0e-3, not 1e-3: YAML reads the latter as text)" if error.validator_value == "number" else ""
    said = f"{error.instance!r} does not fit" if error.validator == "oneOf" else f"{error.message}{hint}"
    return f"{place}: {said}. {_first_sentence(error.schema)}".rstrip()


def _first_sentence(node: Mapping[str, Any]) -> str:
    """First sentence of the description of a key; the rest is for the documentation."""
    first, end, _ = str(node.get("description", "")).partition(". ")
    return first + "." if end else first


def _deref(node: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def _fill_defaults(value: Any, node: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Set the schema's defaults in place, including those inside of defaults."""
    node = _deref(node, schema)
    if not isinstance(value, dict):
        return
    for key, child in node.get("properties", {}).items():
        property_schema = _deref(child, schema)
        if key not in value and "default" in property_schema:
            value[key] = copy.deepcopy(property_schema["default"])
        if key in value:
            _fill_defaults(value[key], child, schema)
    entry_schema = node.get("additionalProperties")
    if isinstance(entry_schema, Mapping):
        for key, item in value.items():
            if key not in node.get("properties", {}):
                _fill_defaults(item, entry_schema, schema)


def _fill_shapes(config: dict[str, Any]) -> None:
    """Set layers, heads and hidden_size of all models, in place: from the base or config.json if available, else the entry."""
    models = config["models"]
    for name, entry in sorted(models.items(), key=lambda item: "fine_tuned" in item[1]["source"]):
        source = entry["source"]
        origin, shape = "source.untrained", source.get("untrained", {})
        if "fine_tuned" in source:
            # An unknown base is reported by `check_names`.
            origin, shape = f"its base '{source['fine_tuned']}'", models.get(source["fine_tuned"], {})
        elif not shape and "released" not in source:
            with contextlib.suppress(AtlasError):  # Reported where a run needs the model, see `model_requirement`.
                folder = model_folder(source, config["data_mirror"])
                origin, shape = f"config.json in {folder}", read_shape(folder) if folder else {}
        for key in SHAPE:
            if key in shape and entry.setdefault(key, shape[key]) != shape[key]:
                raise AtlasError(
                    f"config: models.{name}.{key}: {entry[key]} contradicts {origin}, which says {shape[key]}. Correct the "
                    "key, or remove it: the value is then read from there."
                )
        if "hub" in source and not {"layers", "heads"} <= entry.keys():
            revision = f" --revision {source['revision']}" if "revision" in source else ""
            raise AtlasError(
                f"config: models.{name}: the shape of {source['hub']} is not known yet: state layers, heads and hidden_size, "
                f"or run `hf download {source['hub']} config.json{revision}` first."
            )
        for key, value in _BERT_BASE.items():
            entry.setdefault(key, value)
        entry.setdefault("hidden_size", _HEAD_WIDTH * entry["heads"])


def _expand_families(config: dict[str, Any]) -> None:
    """Add the models of all families to the registry, in place."""
    for family, entry in config["families"].items():
        check_known(entry["base"], config["models"], "model", f"families.{family}.base")
        base = config["models"][entry["base"]]
        for task, settings in entry["tasks"].items():
            wanted_seeds = [(s, random) for random in (False, True) for s in family_seeds(config, family, task, random)]
            for seed, random in wanted_seeds:
                name = family_member(family, task, seed, random)
                if name in config["models"]:
                    raise AtlasError(f"config: families.{family}: the model '{name}' is in the registry of models already.")
                wanted = {"task": FAMILY_TASKS.get(task, "labels"), "corpus": settings["corpus"], "seed": seed}
                if "epochs" in settings:
                    wanted["epochs"] = settings["epochs"]
                config["models"][name] = {
                    **{key: copy.deepcopy(base[key]) for key in ("layers", "heads", "hidden_size", "dtype", "mlm_head")},
                    "source": {"fine_tuned": entry["base"]},
                    "init": "random" if random else "pretrained",
                    "seed": seed,
                    "training": {**entry["training"], **wanted},
                    **({"reference": settings["reference"]} if "reference" in settings and not random else {}),
                }


def check_known(name: str, registry: Mapping[str, Any], kind: str, place: str) -> None:
    """Check that a name is in a registry; `kind` and `place` say what is named, and where."""
    if name not in registry:
        raise AtlasError(
            f"config: {place}: there is no {kind} '{name}'{did_you_mean(name, registry)}. Known: {', '.join(sorted(registry))}."
        )


def check_corpus(config: Config, corpus: str, reader: str, place: str) -> None:
    """Check that a corpus is in the registry and has the reader that its role needs."""
    check_known(corpus, config["corpora"], "corpus", place)
    actual = config["corpora"][corpus]["reader"]
    stands_for = "conllu" if "trees" in config["corpora"][corpus] else "segments"
    if actual != reader and (actual, stands_for) != (RELEASED_MAPS, reader):
        raise AtlasError(f"config: {place}: corpus '{corpus}' has the reader {actual}, but {reader} is needed here.")


def check_source_keys(config: Config, schema: Mapping[str, Any]) -> None:
    """Check that each entry has exactly one source, and only keys of it and of its reader (`only` of a key in the schema)."""
    for registry, kind in (("models", "model"), ("corpora", "corpus")):
        keys = schema["$defs"][kind]["properties"]
        sources = [key for key, node in keys["source"]["properties"].items() if "only" not in node]
        for name, entry in config[registry].items():
            place, named = f"{registry}.{name}", [key for key in sources if key in entry["source"]]
            if len(named) != 1:
                listed = " and ".join(named) or "none of them"
                raise AtlasError(f"config: {place}.source: give exactly one of {', '.join(sources)}; found {listed}.")
            _check_keys(f"{place}.source", f"source {named[0]}", entry["source"], keys["source"]["properties"])
            if "reader" in entry:
                _check_keys(place, f"reader {entry['reader']}", entry, keys)
    for name, entry in config["corpora"].items():
        if entry["reader"] == RELEASED_MAPS and (entry.get("level") == "words") != ("trees" in entry):
            raise AtlasError(f"config: corpora.{name}: maps of a treebank need level: words and trees, those of text neither.")
        if "sacrebleu" in entry["source"] and entry["reader"] != "parallel":
            raise AtlasError(f"config: corpora.{name}.source.sacrebleu: test sets of translation need the reader parallel.")
        for key, reader in (("trees", "conllu"), ("translations", "lines")):
            if key in entry:
                check_corpus(config, entry[key], reader, f"corpora.{name}.{key}")


def _check_keys(place: str, owner: str, entry: Mapping[str, Any], keys: Mapping[str, Any]) -> None:
    """Check that an entry has the keys that its source or reader needs, and none of another one."""
    kind, _, name = owner.partition(" ")
    needed = _NEEDS.get(name, tuple(entry))
    if not any(key in entry for key in needed):
        raise AtlasError(f"config: {place}: the {owner} needs the key '{needed[0]}' as well. {keys[needed[0]]['description']}")
    for key in sorted(entry):
        owners = keys[key].get("only", [name])
        if name not in owners:
            raise AtlasError(f"config: {place}.{key}: this key belongs to the {kind} {' and '.join(owners)}, not to {name}.")


def check_names(config: Config, studies: Mapping[str, Study]) -> None:
    """Check names in a whole configuration: targets, trained models, and the studies of all runs."""
    models, corpora = config["models"], config["corpora"]
    for run in config["targets"]:
        check_known(run, config["runs"], "run", "targets")
    licences = {entry["accept_licence"]: "" for entry in corpora.values() if "accept_licence" in entry}
    for licence in config["accept_licences"]:
        check_known(licence, licences, "licence", "accept_licences")
    for name, entry in models.items():
        _check_training(config, name, entry)
    for run, settings in config["runs"].items():
        for corpus in settings["limits"]:
            check_known(corpus, corpora, "corpus", f"runs.{run}.limits")
        for study in (declared for name, declared in studies.items() if name in settings):
            study_settings, place = settings[study.id], f"runs.{run}.{study.id}"
            if "family" in study_settings:
                check_known(study_settings["family"], config["families"], "family", f"{place}.family")
            elif not study.names_models and not (study_settings.get("model") or settings.get("model")):
                raise AtlasError(f"config: runs.{run}.model: the study {study.id} needs a model; name one of the registry.")
            for key, part in (("model", settings), (f"{study.id}.model", study_settings)):
                if "model" in part:
                    check_known(part["model"], models, "model", f"runs.{run}.{key}")
            for role, declared in study.roles.items():
                if role in study_settings:
                    check_corpus(config, study_settings[role], declared.reader, f"{place}.{role}")
            study.check(config, run, place)
            for model, corpus in study.pairs(config, run):
                if ("released" in models[model]["source"]) != (corpora[corpus]["reader"] == RELEASED_MAPS):
                    pair = f"model '{model}' on corpus '{corpus}'"
                    raise AtlasError(
                        f"config: {place}: {pair}: the source released and the reader {RELEASED_MAPS} go together."
                    )


def _check_training(config: Config, name: str, entry: Mapping[str, Any]) -> None:
    """Check base model, corpus and shape of a model that the workflow trains or makes."""
    place, source, models = f"models.{name}", entry["source"], config["models"]
    if "untrained" in source:
        check_corpus(config, source["untrained"]["corpus"], "parallel", f"{place}.source.untrained.corpus")
        if entry["init"] != "random":
            raise AtlasError(f"config: {place}.init: an untrained model has no pre-trained weights: set init: random.")
        if entry["hidden_size"] % entry["heads"]:
            raise AtlasError(f"config: {place}: a hidden size of {entry['hidden_size']} does not fit {entry['heads']} heads.")
    if ("fine_tuned" in source) != ("training" in entry):
        raise AtlasError(f"config: {place}: a source of kind fine_tuned and the key training (task, corpus) go together.")
    if "training" not in entry:
        return
    base, training = source["fine_tuned"], entry["training"]
    check_known(base, models, "model", f"{place}.source.fine_tuned")
    if "fine_tuned" in models[base]["source"]:
        raise AtlasError(f"config: {place}.source.fine_tuned: '{base}' is fine-tuned itself; start from a model that is not.")
    check_corpus(config, training["corpus"], _TASK_READERS[training["task"]], f"{place}.training.corpus")
    for epoch in training.get("keep_epochs", ()):
        if epoch > training["epochs"]:
            raise AtlasError(f"config: {place}.training.keep_epochs: {epoch} is more than its {training['epochs']} epochs.")
