"""The configuration: inheritance of runs, schema check, defaults, models of families.

Nothing heavy is imported, since the Snakefile needs this module at every start.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from attention_atlas.errors import AtlasError, did_you_mean, first_line
from attention_atlas.io.data_files import SCHEMAS
from attention_atlas.io.files import read_yaml
from attention_atlas.io.mirror import MIRROR_VARIABLE
from attention_atlas.models.devices import DEVICE_VARIABLE
from attention_atlas.workflow.checks import check_names, check_source_keys
from attention_atlas.workflow.known import check_known
from attention_atlas.workflow.lookups import family_member, family_seeds
from attention_atlas.workflow.model_shapes import fill_shapes
from attention_atlas.workflow.studies import studies

SCHEMA_PATH = SCHEMAS / "config.schema.yaml"
REGISTRIES = {"models": "config/models.yaml", "corpora": "config/corpora.yaml"}
"""Key of the configuration -> the file that holds it, beside config.yaml."""
FAMILY_TASKS = {"keyphrases": "tags"}
"""Task of a family -> training task of its models, if this is not labels."""


def resolve(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the complete configuration: runs inherited, checked, and every default filled in.

    Raises:
        AtlasError: one sentence that names the key, the problem and, if possible, the most similar known name.
    """
    schema = read_schema()
    config = copy.deepcopy(dict(raw))
    _accept_licences(config)
    _check_schema(config, schema)
    check_source_keys(config)
    config["runs"] = {name: _inherited(config["runs"], name, ()) for name in config["runs"]}
    _fill_defaults(config, schema, schema)
    fill_shapes(config)
    _expand_families(config)
    check_names(config)
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
        config = merged(config, entries_of(Path(path)))
    return config


def entries_of(path: Path) -> dict[str, Any]:
    """The entries of a configuration file, or of a profile of Snakemake; none if it is empty.

    Raises:
        AtlasError: there is no such file, it is not YAML, or it has no keys.
    """
    try:
        entries = read_yaml(path)
    except OSError as error:
        raise AtlasError(f"{path}: this configuration file cannot be read ({error.strerror}). Correct its name.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise AtlasError(f"{path}: this configuration file is not YAML ({first_line(error, 200)}).") from error
    if not isinstance(entries or {}, dict):
        raise AtlasError(f"{path}: a configuration file has keys and values, but this one has a {type(entries).__name__}.")
    return entries or {}


def overlaid(config: Mapping[str, Any], folder: str | Path) -> dict[str, Any]:
    """The configuration of a folder with the changes in `config:` of a `module` statement (Snakemake then reads no file)."""
    return merged(read_configuration(folder), config)


def write_configuration(config: Mapping[str, Any], folder: str | Path) -> None:
    """Write config.yaml and the registries, so that `read_configuration` reads the same configuration back."""
    files = {"config.yaml": {key: value for key, value in config.items() if key not in REGISTRIES}}
    files |= {place: {key: config[key]} for key, place in REGISTRIES.items()}
    for name, part in files.items():
        path = Path(folder, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(part, sort_keys=False, allow_unicode=True), encoding="utf-8")


def environment(config: Mapping[str, Any]) -> dict[str, str]:
    """Environment variables that tell jobs the device and the mirror: as job parameters, they would make jobs run again."""
    named = {DEVICE_VARIABLE: config["device"]}
    if config["data_mirror"]:
        named[MIRROR_VARIABLE] = str(config["data_mirror"])
    return named


def with_registries(config: Mapping[str, Any], folder: str | Path = ".") -> dict[str, Any]:
    """The registries of a folder, updated by the configuration that Snakemake merged from config.yaml, overlays and options.

    They are read here because Snakemake's reader of configuration files takes ten times as long.

    Raises:
        AtlasError: a registry is missing or has other keys, or config.yaml itself contains a registry, as it did until version
            0.1; names the file and the key. Overlays may contain any key, so that one file can add a model and a run.
    """
    main = Path(folder, "config.yaml")
    for key in REGISTRIES.keys() & (read_yaml(main) if main.is_file() else {}).keys():
        raise AtlasError(f"config.yaml: the key '{key}' is no longer read here: move it to {REGISTRIES[key]}.")
    registries: dict[str, Any] = {}
    for key, place in REGISTRIES.items():
        if not Path(folder, place).is_file():
            raise AtlasError(f"{place}: this registry is missing. It comes with the workflow: copy it beside config.yaml.")
        registries |= read_yaml(Path(folder, place))
        wrong = sorted(registries.keys() - REGISTRIES.keys())
        if wrong:
            raise AtlasError(f"{place}: the key '{wrong[0]}' does not belong here: this file may contain only {key}.")
    return merged(registries, config)


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
    whole = dict(config)
    runs = config.get("runs")
    if isinstance(runs, Mapping) and all(isinstance(run, Mapping) for run in runs.values()):
        whole["runs"] = {name: _inherited(runs, name, ()) for name in runs}
    errors = {(*error.absolute_path, error.message): error for error in Draft202012Validator(schema).iter_errors(whole)}
    # A fault of a run is also one of the runs that extend it.
    error = best_match(error for place, error in errors.items() if not _is_inherited(place, runs, errors))
    if error is not None:
        raise AtlasError(_sentence(error, schema))


def _is_inherited(place: tuple[Any, ...], runs: Any, places: Collection[tuple[Any, ...]]) -> bool:
    """Whether a place with a fault is in a run that extends another one with the same fault."""
    run = runs[place[1]] if len(place) > 2 and place[0] == "runs" else None
    parent = run.get("extends") if isinstance(run, Mapping) else None
    return isinstance(parent, str) and ("runs", parent, *place[2:]) in places


def _sentence(error: ValidationError, schema: Mapping[str, Any]) -> str:
    place = "config" + (": " + ".".join(map(str, error.absolute_path)) if error.absolute_path else "")
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = list(error.schema.get("properties", {}))
        unknown = [key for key in error.instance if key not in known]
        listed = f" Known keys: {', '.join(known)}." if len(known) <= 24 else ""
        return f"{place}: unknown key '{unknown[0]}'{did_you_mean(str(unknown[0]), known)}.{listed}"
    if error.validator == "required":
        absent = [key for key in error.validator_value if key not in error.instance]
        return f"{place}: the key '{absent[0]}' is missing. {_described(error.schema, absent[0], schema)}".rstrip()
    if error.validator == "enum":
        allowed = list(map(str, error.validator_value))
        meant = did_you_mean(str(error.instance), allowed)
        return f"{place}: '{error.instance}' is not one of {', '.join(allowed)}{meant}."
    if error.validator == "oneOf":
        return f"{place}: {error.instance!r} does not fit. {_first_sentence(error.schema)}".rstrip()
    if error.validator == "type":
        wanted = error.validator_value if isinstance(error.validator_value, str) else " or ".join(error.validator_value)
        hint = " (write 1.0e-3, not 1e-3: YAML reads the latter as text)" if wanted == "number" else ""
        return f"{place}: {error.instance!r} should be of type {wanted}{hint}. {_first_sentence(error.schema)}".rstrip()
    return f"{place}: {error.message}. {_first_sentence(error.schema)}".rstrip()


def _described(node: Mapping[str, Any], key: str, schema: Mapping[str, Any]) -> str:
    return _first_sentence(_deref(node.get("properties", {}).get(key, {}), schema))


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
