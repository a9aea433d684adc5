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
MODULES = {
    ".".join(path.relative_to(LIBRARY).with_suffix("").parts): path
    for path in LIBRARY.rglob("*.py")
    if "__pycache__" not in path.parts
}


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


IMPORTS = {name: imports_of(path) for name, path in MODULES.items()}


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def offending(importing: str, imported: str, apart_from: str = "") -> set[str]:
    """Modules of one package that import something of another."""
    return {
        f"{name} imports {module}"
        for name, modules in IMPORTS.items()
        if within(name, importing) and not (apart_from and within(name, apart_from))
        for module in modules
        if within(module, imported)
    }


def test_all_parts_are_known():
    folders = {path.name for path in (LIBRARY / "attention_atlas").iterdir() if (path / "__init__.py").is_file()}
    assert folders == set(PARTS)
    assert len(STUDIES) >= 6
    assert len(MODULES) > 100


# Part -> parts that it must not import.
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


@pytest.mark.parametrize(("part", "above"), [(part, above) for part, parts in FORBIDDEN.items() for above in sorted(parts)])
def test_a_part_does_not_import_what_stands_above_it(part, above):
    assert not offending(f"attention_atlas.{part}", f"attention_atlas.{above}")


@pytest.mark.parametrize("study", STUDIES)
def test_no_study_imports_another(study):
    for second in STUDIES:
        if second != study:
            assert not offending(f"attention_atlas.studies.{study}", f"attention_atlas.studies.{second}")


def test_only_what_serves_the_snakefile_knows_the_workflow():
    serving = ("attention_atlas.workflow", "attention_atlas.atlas.study", "attention_atlas.scoreboard.study")
    serving += tuple(f"attention_atlas.studies.{study}.{module}" for study in STUDIES for module in ("study", "pages"))
    outside = {name for name in MODULES if not any(within(name, one) for one in serving)}
    taken = {(name, module) for name in outside for module in IMPORTS[name] if within(module, "attention_atlas.workflow")}
    # But for the marks of tables and figures.
    marks = "attention_atlas.workflow.shown"
    assert not {(name, module) for name, module in taken if not within(module, marks)}
    # A declaration is read by what serves the Snakefile alone.
    declared = tuple(f"attention_atlas.studies.{study}.study" for study in STUDIES)
    readers = {name for name in MODULES if any(within(module, one) for module in IMPORTS[name] for one in declared)}
    assert {name.rpartition(".")[0] for name in readers} <= {"attention_atlas.workflow"}


def test_only_what_serves_the_snakefile_may_import_snakemake():
    assert not offending("attention_atlas", "snakemake", apart_from="attention_atlas.workflow")
    assert not offending("sample_corpus", "snakemake")
    for part in {*PARTS} - {"io", "corpora"}:
        assert not offending("sample_corpus", f"attention_atlas.{part}")
    assert not offending("attention_atlas", "sample_corpus")
    assert offending("sample_corpus", "attention_atlas.corpora"), "otherwise this test finds no import at all"


def test_a_script_takes_nothing_from_the_workflow_but_what_surrounds_a_job():
    scripts = sorted((WORKFLOW / "scripts").glob("*.py"))
    assert len(scripts) > 5
    for path in scripts:
        taken = {module for module in imports_of(path) if within(module, "attention_atlas.workflow")}
        called = path.stem if path.stem in ("render", "run") else None
        allowed = {f"attention_atlas.workflow.{name}" for name in ("job", "job.job", called, f"{called}.{called}") if name}
        assert {"attention_atlas.workflow.job"} <= taken <= allowed, path
        imported = {module for module in imports_of(path) if within(module, "snakemake")}
        assert not imported, path
