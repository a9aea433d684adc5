"""The documentation site: it builds strictly, shows every artefact and setting, and loads nothing from another host."""

import subprocess
import sys

import pytest
import yaml
from workspaces import ROOT

from attention_atlas.workflow.study import artifacts, studies

pytestmark = pytest.mark.long


def test_the_page_of_a_paper_has_every_artefact_with_pictures_of_the_published_run_and_the_errata(tmp_path):
    site = tmp_path / "site"
    folders = {"docs_dir": str(ROOT / "docs"), "site_dir": str(site)}
    configuration = {"INHERIT": str(ROOT / "mkdocs.yml"), **folders, "hooks": [str(ROOT / "tools/site_hook.py")]}
    path = tmp_path / "mkdocs.yml"
    path.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(path)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    places = {study: f"studies/{study}.html" for study in studies()} | {"atlas": "atlas.html", "scoreboard": "results.html"}
    pages = {name: (site / place).read_text(encoding="utf-8") for name, place in places.items()}
    for study, artifact in artifacts():
        assert study.paths(artifact, "sample")[0] in pages[study.id]
    for study in (study for study in studies().values() if not study.overview):
        assert pages[study.id].count('src="../results/laptop/') > 2
    assert all("how far it moves the result" in pages[name] for name in ("clark2019", "tenney2019"))
    assert '<th class="wide">claim</th>' in pages["clark2019"]
    assert "none of their 13 values is compared" in pages["stefanik2021"]
    assert not (site / "results/laptop/clark2019.html").exists(), "one page for each paper"
    assert 'href="../../studies/clark2019.html' in (site / "results/laptop/index.html").read_text(encoding="utf-8")
