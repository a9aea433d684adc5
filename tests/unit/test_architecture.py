"""Which part of the library may import which."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

WORKFLOW = Path(__file__).parents[2] / "workflow"
LIBRARY = WORKFLOW / "lib"
PARTS = ("io", "stats", "corpora", "attention", "models", "methods", "studies", "figures")
PARTS += ("published", "atlas", "scoreboard", "workflow")
STUDIES = sorted(path.parent.name for path in (LIBRARY / "attention_atlas" / "studies").glob("*/__init__.py"))
FORBIDDEN = {
    "io": {*PARTS} - {"io"},
    "stats": {*PARTS} - {"io", "stats"},
    "corpora": {*PARTS} - {"io", "corpora"},
    "attention": {*PARTS} - {"io", "corpora", "attention"},
    "models": {*PARTS} - {"io", "corpora", "attention", "models"},
    "figures": {*PARTS} - {"io", "figures"},
    "methods": {"studies", "atlas", "scoreboard", "workflow", "published", "figures"},
    "published": {"studies", "atlas", "scoreboard", "workflow"},
    "studies": {"atlas", "scoreboard"},
}
"""Part -> parts that it must not import."""


def imports_of(path: Path) -> set[str]:
    """Every module that a file imports, anywhere in it; of `from a import b` both a and a.b."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


IMPORTS = {
    ".".join(path.relative_to(LIBRARY).with_suffix("").parts): imports_of(path)
    for path in LIBRARY.rglob("*.py")
    if "__pycache__" not in path.parts
}


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def imports(importing: str, imported: str, apart_from: str = "-") -> set[tuple[str, str]]:
    """Modules of one package that import something of another."""
    modules = [name for name in IMPORTS if within(name, importing) and not within(name, apart_from)]
    return {(name, module) for name in modules for module in IMPORTS[name] if within(module, imported)}


@pytest.mark.parametrize("part", FORBIDDEN)
def test_a_part_does_not_import_what_stands_above_it(part):
    for above in FORBIDDEN[part]:
        assert not imports(f"attention_atlas.{part}", f"attention_atlas.{above}")


def test_no_study_imports_another():
    for study in STUDIES:
        others = {name for _, name in imports(f"attention_atlas.studies.{study}", "attention_atlas.studies")}
        assert {name.split(".")[2] for name in others if name.count(".") > 1} & {*STUDIES} <= {study}


def test_only_what_serves_the_snakefile_knows_the_workflow_and_snakemake():
    serving = ["attention_atlas.workflow", "attention_atlas.atlas.study", "attention_atlas.scoreboard.study"]
    serving += [f"attention_atlas.studies.{study}.{module}" for study in STUDIES for module in ("study", "pages")]
    taken = {
        name for name in imports("attention_atlas", "attention_atlas.workflow") if not any(within(name[0], s) for s in serving)
    }
    # But for the marks of tables and figures.
    assert {module for _, module in taken if not within(module, "attention_atlas.workflow.shown")} == set()
    # A declaration is read by what serves the Snakefile alone.
    for study in STUDIES:
        declared = f"attention_atlas.studies.{study}.study"
        assert not imports("attention_atlas", declared, apart_from="attention_atlas.workflow")
    assert not imports("attention_atlas", "snakemake", apart_from="attention_atlas.workflow")
    assert not imports("attention_atlas", "sample_corpus")
    for above in ("snakemake", *(f"attention_atlas.{part}" for part in PARTS if part not in ("io", "corpora"))):
        assert not imports("sample_corpus", above)
