"""Calls that no type checker sees: scripts call with `snakemake`'s values, which fit the functions."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "workflow/lib"
SCRIPTS = sorted((ROOT / "workflow/scripts").glob("*.py"))


def parameters(module: str, name: str) -> tuple[set[str], set[str]]:
    """All parameters of a function, or fields of a dataclass, and those without a default."""
    path = LIBRARY / f"{module.replace('.', '/')}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (node,) = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name]
    if isinstance(node, ast.FunctionDef):
        arguments = [*node.args.args, *node.args.kwonlyargs]
        required = node.args.args[: len(node.args.args) - len(node.args.defaults)]
        required += [a for a, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default is None]
        return {argument.arg for argument in arguments}, {argument.arg for argument in required}
    fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
    return {field.target.id for field in fields}, {field.target.id for field in fields if field.value is None}


def wrong_calls(source: str) -> list[str]:
    """Calls of library functions with keywords that these do not have, or without ones that they need."""
    tree = ast.parse(source)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    functions = {alias.name: node.module for node in imports for alias in node.names if "attention_atlas" in node.module}
    wrong = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        name = call.func.id
        if name not in functions or any(keyword.arg is None for keyword in call.keywords):
            continue
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            continue
        known, required = parameters(functions[name], name)
        keywords = {keyword.arg for keyword in call.keywords}
        if keywords - known:
            wrong.append(f"{name} has no {', '.join(sorted(keywords - known))}")
        if not call.args and required - keywords:
            wrong.append(f"{name} needs {', '.join(sorted(required - keywords))}")
    return wrong


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_call_functions_by_their_parameters(script):
    assert wrong_calls(script.read_text(encoding="utf-8")) == []


def test_a_wrong_call_is_found():
    source = "from attention_atlas.methods.dropped import dropped_records\ndropped_records(nobody=2)\n"
    assert wrong_calls(source) == ["dropped_records has no nobody", "dropped_records needs corpora"]
