"""The text of the files of rules, cut into rules."""

import re
from pathlib import Path

from attention_atlas.workflow.shown import shown
from attention_atlas.workflow.study import studies

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "workflow/rules/measured.smk"
"""Rules that others take over, without jobs of their own."""
RULES = sorted({*(ROOT / "workflow" / "rules").glob("*.smk")} - {MEASURED})
_RULE = re.compile(r"^(?:use )?rule (\w+)(?: as (\w+) with)?:\n((?: +[^\n]*\n|\n)*)", re.M)


def rules_of(*paths: Path) -> dict[str, tuple[str, str]]:
    """Rule -> the rule that it takes over, or none; and its text."""
    rules = {}
    for base, name, body in (found for path in paths for found in _RULE.findall(path.read_text(encoding="utf-8"))):
        rules[name or base] = (base if name else "", body)
    return rules


def bases_of(rule: str) -> list[str]:
    """A rule and all that it takes over."""
    rules, names = rules_of(MEASURED, *RULES), [rule]
    while base := rules[names[-1]][0]:
        names.append(base)
    return names


def every_rule() -> set[str]:
    """Names of all rules with jobs: those of files, and those of marked functions."""
    return {f"{study}_{item.id}" for study in studies() for item in shown(study)} | rules_of(*RULES).keys()
