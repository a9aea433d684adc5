"""The configuration: inheritance of runs, schema check, defaults, models of families.

Only the standard library, PyYAML and jsonschema are imported, since the Snakefile needs this module at every start.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from attention_atlas.config_checks import check_names, check_source_keys, known
from attention_atlas.errors import AtlasError, did_you_mean
from attention_atlas.files import read_yaml
from attention_atlas.runs import family_member, family_seeds

SCHEMA_PATH = Path(__file__).resolve().parents[2] / "schemas" / "config.schema.yaml"
FAMILY_TASKS = {"keyphrases": "tags"}
"""Task of a family -> what its models are trained for, where that is not labels."""


def resolve(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the complete configuration: runs inherited, checked, and every default filled in.

    Raises:
        AtlasError: one sentence that names the key, what is wrong with it and, where it can be guessed, what was meant.
    """
    schema = read_yaml(SCHEMA_PATH)
    config = copy.deepcopy(dict(raw))
    _check_schema(config, schema)
    check_source_keys(config)
    config["runs"] = {name: _inherited(config["runs"], name, ()) for name in config["runs"]}
    _fill_defaults(config, schema, schema)
    _expand_families(config)
    check_names(config)
    return config


def _inherited(runs: Mapping[str, Any], name: str, below: tuple[str, ...]) -> dict[str, Any]:
    run = runs[name]
    parent = run.get("extends")
    if not isinstance(parent, str):
        # Missing, or something the schema will complain of.
        return copy.deepcopy(run)
    if parent not in runs:
        raise AtlasError(f"config: runs.{name}.extends: there is no run '{parent}'{did_you_mean(parent, runs)}.")
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
        return f"{place}: unknown key '{unknown[0]}'{did_you_mean(str(unknown[0]), known)}.{listed}"
    if error.validator == "required":
        absent = [key for key in error.validator_value if key not in error.instance]
        return f"{place}: the key '{absent[0]}' is missing. {_described(error.schema, absent[0], schema)}".rstrip()
    if error.validator == "enum":
        allowed = list(map(str, error.validator_value))
        meant = did_you_mean(str(error.instance), allowed)
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
        known(entry["base"], config["models"], "model", f"families.{family}.base")
        base = config["models"][entry["base"]]
        for task, settings in entry["tasks"].items():
            wanted_seeds = [(s, random) for random in (False, True) for s in family_seeds(config, family, task, random)]
            for seed, random in wanted_seeds:
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
