"""What jobs of tables and figures import: the largest part of the processor time of a short job."""

import resource
import subprocess
import sys
from pathlib import Path

import attention_atlas
from attention_atlas.workflow.studies import studies

LIBRARY = str(Path(attention_atlas.__file__).parents[1])
PAGES = [page for study in studies().values() for page in study.pages]
FIGURES = sorted({page.module for page in PAGES if page.pictures})
TABLES = sorted({page.module for page in PAGES if not page.pictures})
SECONDS = 2.5
"""Processor time in which a figure job starts: seaborn, matplotlib, pandas, and the library itself."""


def imported(modules: list[str], among: tuple[str, ...]) -> tuple[str, float]:
    """Those of some libraries that importing modules loads, and the processor time of a process that does so."""
    code = f"import sys\n{''.join(f'import {module}' + chr(10) for module in modules)}"
    code += f"print(*(name for name in {among!r} if name in sys.modules))"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": LIBRARY})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout.strip(), after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def test_pages_of_tables_import_neither_a_drawing_library_nor_model_code():
    assert len(TABLES) > 30
    # The page of the atlas takes two colour maps from matplotlib.
    modules = [module for module in TABLES if module != "attention_atlas.atlas.page"]
    libraries, _ = imported(modules, ("matplotlib", "seaborn", "torch", "transformers"))
    assert libraries == ""
    libraries, _ = imported(["attention_atlas.atlas.page"], ("matplotlib.pyplot", "seaborn", "torch", "transformers"))
    assert libraries == ""


def test_a_figure_job_starts_within_its_limit_and_imports_no_model_code():
    assert len(FIGURES) > 25
    libraries, seconds = imported(FIGURES, ("seaborn", "torch", "transformers"))
    assert libraries == "seaborn"
    assert seconds < SECONDS


def test_the_rules_are_read_without_libraries_of_data_or_models():
    """Each start of Snakemake imports what the rules import, also that which only says what is up to date."""
    modules = [f"attention_atlas.workflow.{name}" for name in ("shared_jobs", "priorities", "cost_model", "inputs.study")]
    libraries, _ = imported(modules, ("numpy", "pandas", "pyarrow", "tokenizers", "torch", "transformers"))
    assert libraries == ""
