"""What jobs of tables and figures import: the largest part of the processor time of a short job."""

import subprocess
import sys
from pathlib import Path

import attention_atlas
from attention_atlas.workflow.shown import full_name, shown
from attention_atlas.workflow.study import studies

LIBRARY = str(Path(attention_atlas.__file__).parents[1])
MARKED = [(item.kind, full_name(item.call).partition(":")[0]) for study in studies() for item in shown(study)]
FIGURES = sorted({name for kind, name in MARKED if kind == "figure"})
TABLES = sorted({name for kind, name in MARKED if kind != "figure"})


def imported(modules: list[str], among: tuple[str, ...]) -> str:
    """Those of some libraries that importing modules loads."""
    code = f"import sys\n{''.join(f'import {module}' + chr(10) for module in modules)}"
    code += f"print(*(name for name in {among!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": LIBRARY})
    return done.stdout.strip()


def test_pages_of_tables_import_neither_a_drawing_library_nor_model_code():
    assert len(TABLES) >= 8
    # The page of the atlas takes two colour maps from matplotlib.
    modules = [module for module in TABLES if module != "attention_atlas.atlas.page"]
    libraries = imported(modules, ("matplotlib", "seaborn", "torch", "transformers"))
    assert libraries == ""
    libraries = imported(["attention_atlas.atlas.page"], ("matplotlib.pyplot", "seaborn", "torch", "transformers"))
    assert libraries == ""


def test_figures_import_neither_model_code_nor_a_library_of_classifiers():
    assert len(FIGURES) >= 6
    assert imported(FIGURES, ("seaborn", "datasets", "sklearn", "torch", "transformers")) == "seaborn"


def test_the_rules_are_read_without_libraries_of_data_or_models():
    """Each start of Snakemake imports what the rules import, also that which only says what is up to date."""
    modules = [f"attention_atlas.workflow.{name}" for name in ("artifacts", "resources", "study_inputs")]
    libraries = imported(modules, ("numpy", "pandas", "pyarrow", "tokenizers", "torch", "transformers"))
    assert libraries == ""
