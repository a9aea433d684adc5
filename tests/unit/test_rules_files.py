"""The Snakefile and the files of rules: declarations, with hardly any Python, and each study's by itself."""

import os
import re
import subprocess
import sys

import pytest
from rules_text import ROOT, RULES, SNAKEFILE, names_defined, rules_of, text_of

from attention_atlas.workflow.shown import full_name, shown
from attention_atlas.workflow.study import studies

STUDIES = {path.stem: path for path in RULES if path.stem in studies()}
"""Lines of a function in a file of rules, at most."""
_CALL = re.compile(r'\.parameters\(\s*\*?\(?"(\w+):')
"""Module of the function that a rule calls."""


def test_every_study_has_a_file_of_rules_with_its_name_and_no_other_file_is_one():
    overviews = {study.id for study in studies().values() if study.overview}
    assert set(STUDIES) - {"atlas"} == set(studies()) - overviews
    shared = {path.stem for path in RULES} - set(STUDIES)
    assert shared == {"models", "corpora", "attention", "shown"}


@pytest.mark.parametrize("study", sorted(STUDIES))
def test_rules_of_a_study_begin_with_its_name(study):
    names = set(rules_of(STUDIES[study]))
    assert names
    assert not {name for name in names if not name.startswith(f"{study}_")}


def test_no_two_files_have_a_rule_of_one_name():
    names = [name for path in RULES for name in rules_of(path)]
    assert len(set(names)) == len(names) > 40


@pytest.mark.parametrize("study", sorted(STUDIES))
def test_no_file_uses_a_name_that_the_file_of_a_study_defines(study):
    defined = names_defined(STUDIES[study])
    assert study in defined, "the study's inputs, by which its rules are recognised"
    for path in (SNAKEFILE, *RULES):
        if path == STUDIES[study]:
            continue
        # The name of a study also stands in paths, in imports and as a key, but never as a variable.
        code = re.sub(r'"[^"\n]*"|#[^\n]*|^from [^\n]*', "", text_of(path), flags=re.M)
        used = {name for name in defined if re.search(rf"(?<![\w.]){name}\b(?!\s*=)", code)}
        assert not used, f"{path.name} uses {used} of {STUDIES[study].name}"
        assert not defined & names_defined(path), path


def test_every_rule_has_a_log_a_benchmark_memory_minutes_and_a_digest_of_its_code():
    for path in RULES:
        for name, body in rules_of(path).items():
            for key in ("log:", "benchmark:", "conda:", "mem_mb=", "runtime="):
                assert key in body, f"{name} has no {key}"
            (script,) = set(re.findall(r'"\.\./scripts/(\w+\.py)"', body))
            assert (ROOT / "workflow" / "scripts" / script).is_file(), name
            if script == "run.py":
                assert _CALL.search(body), f"{name} names no function, and so no digest of its code"
                continue
            # What is hashed is what is run.
            hashed = set(re.findall(r'script_digest\(\s*"([^"]+)"', body))
            hashed |= {"build_examples.py"} if "inputs.examples_code" in body else set()
            assert hashed | ({"run.py"} if ".parameters(" in body else set()) == {script}, name


def test_jobs_of_the_environment_without_torch_load_none():
    """Each script of such a rule, or module of its function, in one process: the environment has no torch, and importing it
    takes seconds."""
    rules = [(path.stem, body) for path in RULES for body in rules_of(path).values() if "envs/analysis.yaml" in body]
    scripts = sorted({script for _, body in rules for script in re.findall(r'"\.\./scripts/(\w+\.py)"', body)})
    calls = {f"{study}.{module}" for study, body in rules for module in _CALL.findall(body)}
    calls |= {item.call.partition(":")[0] for study in studies() for item in shown(study)}
    modules = [full_name(name) for name in sorted(calls)]
    assert len(scripts) + len(modules) > 15
    program = """
import ast, importlib, sys
from pathlib import Path

for name in sys.argv[1:]:
    if not name.endswith(".py"):
        importlib.import_module(name)
        assert not {"torch", "transformers"} & set(sys.modules), name
        continue
    imports = [node for node in ast.parse(Path(name).read_text()).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    exec(compile(ast.Module(imports, []), name, "exec"), {})
    loaded = {"torch", "transformers"} & set(sys.modules)
    assert not loaded, f"{name} loads {loaded}"
"""
    paths = [str(ROOT / "workflow" / "scripts" / script) for script in scripts]
    library = {"PYTHONPATH": str(ROOT / "workflow" / "lib")}
    done = subprocess.run(
        [sys.executable, "-c", program, *paths, *modules], check=False, capture_output=True, text=True, env=os.environ | library
    )
    assert done.returncode == 0, done.stderr


def imported(modules: list[str], among: tuple[str, ...]) -> str:
    """Those of some libraries that importing modules loads."""
    code = "import sys, " + ", ".join(modules) + f"\nprint(*(name for name in {among!r} if name in sys.modules))"
    library = {"PYTHONPATH": str(ROOT / "workflow" / "lib")}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=library).stdout.strip()


def test_neither_the_start_nor_jobs_of_tables_import_what_takes_seconds():
    start = [f"attention_atlas.workflow.{name}" for name in ("artifacts", "job", "study_inputs")]
    assert imported(start, ("numpy", "pandas", "pyarrow", "tokenizers", "torch", "transformers")) == ""
    shows = [(item.kind, full_name(item.call).partition(":")[0]) for study in studies() for item in shown(study)]
    # The page of the atlas takes two colour maps from matplotlib.
    tables = {module for kind, module in shows if kind != "figure"} - {"attention_atlas.atlas.page"}
    assert imported(sorted(tables), ("matplotlib", "seaborn", "torch", "transformers")) == ""
    figures = sorted({module for kind, module in shows if kind == "figure"})
    assert imported(figures, ("seaborn", "datasets", "sklearn", "torch", "transformers")) == "seaborn"
