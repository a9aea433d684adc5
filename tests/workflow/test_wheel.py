"""The library from a wheel: in a fresh environment that does not see the checkout, and from another directory."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from small_shards import write_example_shards
from workspaces import ROOT

pytestmark = pytest.mark.long
PARTS = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "workflow")
SIZES = (5, 7, 4)
LAYERS, HEADS = 2, 3


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


def test_the_documented_example_runs_from_another_directory(interpreter, tmp_path):
    cache = tmp_path / "results/sample/attention/minilm/sample-trees"
    cache.mkdir(parents=True)
    write_example_shards(cache, SIZES, LAYERS, HEADS)
    section = (ROOT / "docs/attention-cache.md").read_text(encoding="utf-8").partition("\n## Reading attention maps\n")[2]
    (code,) = re.findall(r"```python\n(.*?)```", section.partition("\n## ")[0], flags=re.DOTALL)
    shown = "    print(len(example.tokens), *example.maps.shape, *example.word_maps().shape)\n"
    lines = python(tmp_path, interpreter, "-c", code + shown).splitlines()
    # Here every word is one word piece.
    assert lines == [f"{n} {LAYERS} {HEADS} {n} {n} {LAYERS} {HEADS} {n} {n}" for n in SIZES]
