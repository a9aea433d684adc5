"""The reference of all configuration keys, from the JSON schema: type, default, meaning, and an example of each key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_atlas.workflow.config import read_configuration, read_schema

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = {
    "": "Top level",
    "sample": "The generated corpus: `sample`",
    "families.NAME": "Families of fine-tuned models: `families`",
    "models.NAME": "Models: `models`",
    "corpora.NAME": "Corpora: `corpora`",
    "runs.NAME": "Runs: `runs`",
}
"""Beginning of a key -> heading; a study of a run has a section of its own."""


@dataclass(frozen=True)
class Setting:
    """A key of the configuration."""

    path: tuple[str, ...]
    node: Mapping[str, Any]
    required: bool


def _resolved(node: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A node without references; keys beside a reference win."""
    while "$ref" in node:
        target: Any = schema
        for key in node["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def settings(node: Mapping[str, Any], schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[Setting]:
    """All keys below a node, depth first; recursion ends where a key holds no further keys."""
    for key, child in node.get("properties", {}).items():
        child = _resolved(child, schema)
        yield Setting((*path, key), child, key in node.get("required", ()))
        yield from settings(child, schema, (*path, key))
    if isinstance(node.get("additionalProperties"), Mapping):
        child = _resolved(node["additionalProperties"], schema)
        yield from settings(child, schema, (*path, "NAME"))


def kind(node: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The type of a key's values, in a few words."""
    node = _resolved(node, schema)
    if "enum" in node:
        return " \\| ".join(f"`{_text(value)}`" for value in node["enum"])
    if "const" in node:
        return f"`{_text(node['const'])}`"
    if "oneOf" in node:
        return " or ".join(kind(option, schema) for option in node["oneOf"])
    if node.get("type") == "array":
        return f"list of {_plural(kind(node['items'], schema))}" if "items" in node else "list"
    if node.get("type") == "object":
        return "mapping"
    names = node.get("type", "any value")
    return " or ".join("none" if name == "null" else name for name in ([names] if isinstance(names, str) else names))


def _plural(name: str) -> str:
    """`list of lists of integers` for the items `list of integer`; a choice of values stays."""
    first, of, rest = name.partition(" of ")
    return f"{first}s{of}{rest}" if first in ("string", "integer", "number", "list", "mapping") else name


def _text(value: object) -> str:
    """A value as one writes it in YAML, on one line, and small numbers without an exponent."""
    if isinstance(value, float) and value != 0:
        return f"{value:f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:g}"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def shipped_values(config: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """All values of a key in the shipped configuration."""
    if not path:
        yield config
    elif isinstance(config, Mapping):
        names = config if path[0] == "NAME" else [path[0]] if path[0] in config else []
        for name in names:
            yield from shipped_values(config[name], path[1:])


def example(setting: Setting, config: Mapping[str, Any]) -> str:
    """A value of the key other than its default: a short one of the shipped configuration, else one that the schema allows."""
    node = setting.node
    default = node.get("default")
    candidates = [
        value for value in shipped_values(config, setting.path) if not isinstance(value, Mapping) and value != default
    ]
    candidates = sorted(candidates, key=lambda value: len(_text(value)))[:1]
    candidates += [*node.get("examples", []), *node.get("enum", [])]
    if node.get("type") == "boolean":
        candidates.append(not default)
    if node.get("type") in ("integer", "number"):
        bound = node.get("minimum", node.get("exclusiveMinimum", 0))
        candidates.append(2 * default if default else bound or 1)
        candidates = [value for value in candidates if value <= node.get("maximum", value)]
    if node.get("type") == "array" and "enum" in node.get("items", {}):
        candidates.append(node["items"]["enum"][:1])
    candidates = [value for value in candidates if value != default] or [default]
    return f"`{setting.path[-1]}: {_text(candidates[0])}`" if candidates[0] not in (None, {}) else ""


def _row(setting: Setting, depth: int, schema: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    node = setting.node
    default = "required" if setting.required else f"`{_text(node['default'])}`" if node.get("default") not in (None, {}) else ""
    cells = [
        f"`{'.'.join(setting.path[depth:])}`",
        kind(node, schema),
        default,
        node.get("description", "").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*"),
        "" if node.get("type") == "object" else example(setting, config),
    ]
    return "| " + " | ".join(cells) + " |"


def _section_of(path: tuple[str, ...], study_names: set[str]) -> tuple[str, ...]:
    """The keys that a setting's section begins with."""
    if path[:2] == ("runs", "NAME") and len(path) > 3 and path[2] in study_names:
        return path[:3]
    if len(path) > 2 and path[1] == "NAME":
        return path[:2]
    return path[:1] if path[0] == "sample" and len(path) > 1 else ()


def settings_reference() -> str:
    """All keys of the configuration as Markdown: a section for each registry and each study, a row for each key."""
    schema = read_schema()
    config = read_configuration(ROOT)
    study_names = set(schema["$defs"]["run"]["properties"]) - {"extends", "title", "accepting", "stand_ins", "model", "limits"}
    by_section: dict[tuple[str, ...], list[Setting]] = {}
    for setting in settings(schema, schema):
        by_section.setdefault(_section_of(setting.path, study_names), []).append(setting)
    parts = []
    for section, rows in by_section.items():
        heading = SECTIONS.get(".".join(section), f"A study of a run: `{section[-1] if section else ''}`")
        parts.append(f"## {heading}\n\n| key | type | default | meaning | example |\n|---|---|---|---|---|")
        parts.append("\n".join(_row(row, len(section), schema, config) for row in rows) + "\n")
    return "\n".join(parts)
