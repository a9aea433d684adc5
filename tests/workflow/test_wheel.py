"""The library from a wheel: in a fresh environment that does not see the checkout, and from another directory."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from documented_code import code_of, write_inputs
from tiny_models import HEADS, LAYERS
from workspaces import ROOT

from attention_atlas import __version__

pytestmark = pytest.mark.long
PARTS = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "workflow")
WORKFLOW_ONLY = "snakemake matplotlib seaborn sklearn scipy rich lxml conllu nltk jsonschema itables sentencex".split()


def python(folder: Path, interpreter: str | Path, *arguments: str | Path) -> str:
    """Output of Python, run in a folder without the checkout on its path; its errors where it fails."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([interpreter, *map(str, arguments)], cwd=folder, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


@pytest.fixture
def interpreter(tmp_path: Path) -> Path:
    """Python of a fresh environment with the wheel and the packages of the running environment, without a network."""
    source, built, fresh = tmp_path / "source", tmp_path / "built", tmp_path / "venv" / "bin" / "python"
    source.mkdir()
    # A copy of the checkout, as a build writes beside what it reads.
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part)
        else:
            shutil.copy(ROOT / part, source / part)
    options = ("--no-build-isolation", "--no-deps", "--no-index", "--quiet")
    python(source, sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", built, source)
    python(tmp_path, sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    options = ("--no-deps", "--no-index", "--quiet", *built.glob("*.whl"))
    python(tmp_path, sys.executable, "-m", "pip", "--python", fresh, "install", *options)
    site = python(tmp_path, fresh, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip()
    Path(site, "packages.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n", encoding="utf-8")
    return fresh


def test_the_page_on_heads_runs_from_another_directory_without_the_packages_of_the_workflow(interpreter, tmp_path):
    write_inputs(tmp_path)
    code = f"import sys\nsys.modules.update(dict.fromkeys({WORKFLOW_ONLY}))\n{code_of('heads.md', tmp_path)}"
    code += "\nimport attention_atlas.attention.plans as plans\nprint(tuple(effect.shape), plans.__file__, atlas.__version__)"
    shape, file, version = python(tmp_path, interpreter, "-c", code).splitlines()[-1].rsplit(maxsplit=2)
    assert (shape, version) == (str((LAYERS, HEADS)), __version__)
    assert (Path(file).parents[1] / "py.typed").is_file()
