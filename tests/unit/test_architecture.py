"""Which part of the library may import which."""

import ast
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "workflow" / "lib"
PARTS = {*"io stats corpora attention models methods studies figures published atlas scoreboard workflow".split()}
STUDIES = sorted(path.parent.name for path in (LIBRARY / "attention_atlas" / "studies").glob("*/__init__.py"))
FORBIDDEN = {  # part -> parts that it must not import
    "io": PARTS - {"io"},
    "stats": PARTS - {"io", "stats"},
    "corpora": PARTS - {"io", "corpora"},
    "attention": PARTS - {"io", "corpora", "attention"},
    "models": PARTS - {"io", "corpora", "attention", "models"},
    "figures": PARTS - {"io", "figures"},
    "methods": {"studies", "atlas", "scoreboard", "workflow", "published", "figures"},
    "published": {"studies", "atlas", "scoreboard", "workflow"},
    "studies": {"atlas", "scoreboard"},
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


IMPORTS = {".".join(path.relative_to(LIBRARY).with_suffix("").parts): imports_of(path) for path in LIBRARY.rglob("*.py")}


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def imports(importing: str, imported: str) -> set[tuple[str, str]]:
    """Modules of one package that import something of another."""
    modules = [name for name in IMPORTS if within(name, importing)]
    return {(name, module) for name in modules for module in IMPORTS[name] if within(module, imported)}


@pytest.mark.parametrize("part", FORBIDDEN)
def test_a_part_does_not_import_what_stands_above_it(part):
    for above in FORBIDDEN[part]:
        assert not imports(f"attention_atlas.{part}", f"attention_atlas.{above}")


def test_no_study_imports_another():
    for study in STUDIES:
        others = {name for _, name in imports(f"attention_atlas.studies.{study}", "attention_atlas.studies")}
        assert {name.split(".")[2] for name in others if name.count(".") > 1} & {*STUDIES} <= {study}
