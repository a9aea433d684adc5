"""The text of the Snakefile and of the files of rules, cut into rules and the Python around them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from attention_atlas.workflow.shown import shown
from attention_atlas.workflow.study import studies

ROOT = Path(__file__).parents[2]
SNAKEFILE = ROOT / "Snakefile"
MEASURED = ROOT / "workflow/rules/measured.smk"
"""Rules that others take over, without jobs of their own."""
RULES = sorted({*(ROOT / "workflow" / "rules").glob("*.smk")} - {MEASURED})
_DIRECTIVE = re.compile(
    r" *(rule|checkpoint|use rule|include|configfile|wildcard_constraints|report|onstart|onsuccess|onerror)\b[^=]*:"
)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def rules_of(path: Path) -> dict[str, str]:
    """Rule -> its text; of a rule that takes over another one, with the directives of that one that it does not replace."""
    rules: dict[str, str] = {}
    bases = rules_of(MEASURED) if path != MEASURED else rules
    for head, body in re.findall(r"^((?:use )?rule [^\n]+:)\n((?:[ ]+[^\n]*\n|\n)*)", text_of(path), flags=re.M):
        used = re.fullmatch(r"use rule (\w+) as (\w+) with:", head)
        if used:
            # Named parameters are added to those of the other rule.
            replaced = set(re.findall(r"^    (\w+):", body, flags=re.M)) - {"params"}
            directives = re.findall(r"^    (\w+):(.*\n(?:(?: {8}.*)?\n)*)", (bases | rules)[used[1]], flags=re.M)
            rules[used[2]] = "".join(f"    {name}:{rest}" for name, rest in directives if name not in replaced) + body
        else:
            rules[re.fullmatch(r"rule (\w+):", head)[1]] = body
    return rules


def python_of(path: Path) -> ast.Module:
    """The Python of a file: `pass` stands in place of each directive and rule."""
    kept: list[str] = []
    depth = None
    for line in text_of(path).splitlines():
        inward = len(line) - len(line.lstrip())
        if depth is not None and (not line.strip() or inward > depth):
            continue
        depth = inward if _DIRECTIVE.match(line) else None
        kept.append(line if depth is None else " " * inward + "pass")
    return ast.parse("\n".join(kept))


def names_defined(path: Path) -> set[str]:
    """Names that a file gives a value at its top level, without those that it imports."""
    names: set[str] = set()
    for node in python_of(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            stored = (part for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
            names |= {part.id for part in stored}
    return names


def every_rule() -> set[str]:
    """Names of all rules with jobs: those of files, and those of marked functions."""
    marked = {f"{study}_{item.id}" for study in studies() for item in shown(study)}
    return marked | {name for path in RULES if path.stem != "shown" for name in rules_of(path)}
