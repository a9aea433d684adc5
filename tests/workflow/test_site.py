"""The documentation site: it builds strictly, shows every artefact and setting, and loads nothing from another host."""

import base64
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from workspaces import ROOT

from attention_atlas.workflow.study import artifacts, studies
from tools.site_pages import sample_files

pytestmark = pytest.mark.long
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, with one pixel in place of each figure of the sample run."""
    folder = tmp_path_factory.mktemp("site")
    for path in sample_files():
        place = folder / "sample" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(PIXEL if path.endswith(".png") else b"")
    configuration = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": str(ROOT / "docs"),
        "site_dir": str(folder / "site"),
        "hooks": [str(ROOT / "tools/site_hook.py")],
        "extra": {"sample": str(folder / "sample")},
    }
    path = folder / "mkdocs.yml"
    path.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(path)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_every_artefact_is_on_the_page_of_its_study_with_its_label(site):
    places = {study: f"studies/{study}.html" for study in studies()} | {"atlas": "atlas.html", "scoreboard": "results.html"}
    pages = {name: (site / place).read_text(encoding="utf-8") for name, place in places.items()}
    for study, artifact in artifacts():
        assert study.paths(artifact, "sample")[0] in pages[study.id]
    for name, text in pages.items():
        figures = sum(artifact.kind == "figure" for study, artifact in artifacts() if study.id == name)
        assert text.count("Not a result about BERT") == figures
