"""What is written about a release in several places agrees: version, date and references."""

import json
import re
from dataclasses import replace
from pathlib import Path

import yaml

from attention_atlas import __version__
from attention_atlas.models.card import ModelCard, installed_versions, write_card
from attention_atlas.workflow.artifacts import other_versions
from attention_atlas.workflow.study import studies

ROOT = Path(__file__).parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
ZENODO = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))


def test_version_and_date_of_the_last_release_agree():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, (version, date), *_ = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", changelog, re.MULTILINE)
    assert first == ("Unreleased", "")
    assert version == __version__ == CITATION["version"] == ZENODO["version"]
    assert date == str(CITATION["date-released"]) == ZENODO["publication_date"]
    page = (ROOT / "workflow/resources/atlas/page.html").read_text(encoding="utf-8")
    cited = {"title": CITATION["title"], "author": CITATION["authors"][0]["name"], "version": "$version", "year": date[:4]}
    assert dict(re.findall(r"^  (\w+) = \{+(.+?)\}+,?$", page, re.MULTILINE)) == cited


def test_every_study_is_cited():
    papers = (study.title.partition(": ")[2].removesuffix(" (slides)") for study in studies().values() if not study.overview)
    assert [paper for paper in papers if not any(paper in cited["title"] for cited in CITATION["references"])] == []


def test_results_of_other_versions_are_told_at_the_start(tmp_path, monkeypatch):
    card = ModelCard("m", "", "bert", 1, 1, 64, None, None, 0, "", "random", 0, "float32", versions=installed_versions())
    monkeypatch.chdir(tmp_path)
    write_card(card, Path("results/one/models/m/card.json"))
    assert f"attention-atlas {__version__}" in card.versions
    assert other_versions({"targets": ["one"]}) == ""
    write_card(replace(card, versions="torch 1.0"), Path("results/one/models/m/card.json"))
    assert "made with torch 1.0, but torch " in other_versions({"targets": ["one", "two"]})
