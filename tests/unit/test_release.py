"""What is written about a release in several places agrees: version, date and references."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import yaml

from attention_atlas.workflow.study import studies

ROOT = Path(__file__).parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
ZENODO = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))


def test_version_and_date_of_the_last_release_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, (version, date), *_ = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", changelog, re.MULTILINE)
    assert first == ("Unreleased", "")
    assert version == project["version"] == CITATION["version"] == ZENODO["version"]
    assert date == str(CITATION["date-released"]) == ZENODO["publication_date"]


def test_every_study_is_cited():
    titles = " ".join(reference["title"] for reference in CITATION["references"])
    names = (study.title.partition(": ")[2] for study in studies().values() if not study.overview)
    of_studies = [name.removesuffix(" (slides)") for name in names]
    assert [title for title in of_studies if title not in titles] == []
