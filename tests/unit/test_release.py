"""What is written about a release in several places agrees: version, date, licence, references."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
ZENODO = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_version_and_date_of_the_last_release_agree():
    headings = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d{2}-\d{2}))?$", CHANGELOG, re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    version, date = headings[1]
    assert version == VERSION == CITATION["version"] == ZENODO["version"]
    assert date == str(CITATION["date-released"]) == ZENODO["publication_date"]
    dates = [date for _, date in headings[1:]]
    assert dates == sorted(dates, reverse=True)
