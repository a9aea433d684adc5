"""What studies declare: roles, order, artefacts, and the schema of their settings."""

import re

import pytest

from attention_atlas.workflow.config import read_schema
from attention_atlas.workflow.study import Role, Study, studies

SCHEMA = read_schema()
READERS = set(SCHEMA["$defs"]["corpus"]["properties"]["reader"]["enum"])
STUDIES = list(studies().values())
IDS = [declared.id for declared in STUDIES]


@pytest.mark.parametrize("declared", STUDIES, ids=IDS)
def test_roles_have_known_readers_and_models_that_are_settings(declared):
    properties = SCHEMA["$defs"][declared.id]["properties"]
    assert bool(declared.roles) == (declared.id != "scoreboard")
    for name, role in declared.roles.items():
        assert role.reader in READERS, name
        assert re.fullmatch(r"[A-Za-z].*\.", role.use), name
        assert not role.model or properties[role.model]["type"] == "string", name
    for artifact in declared.artifacts:
        assert {*artifact.needs, *artifact.uses} <= set(properties), artifact.id
    for key, together in declared.optional.items():
        assert {name.partition(".")[0] for name in (key, *together)} <= set(properties), key
        # A run cannot do without what a study requires.
        assert not [name for name in (key, *together) if name in declared.roles and declared.roles[name].required], key
    if declared.records_key:
        assert properties[declared.records_key]["type"] == "integer"


def test_a_schema_is_made_of_roles_and_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("attention_atlas.workflow.study.SETTINGS", tmp_path)
    roles = {"text": Role("segments", "all of it.", required=True), "more": Role("gap", "the rest.")}
    declared = Study(id="nobody2000", order=9, title="Nobody", description="Nobody 2000.", roles=roles)
    assert declared.settings_schema(lambda path: {}) == {
        "type": "object",
        "additionalProperties": False,
        "description": "Nobody 2000.",
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "description": "Corpus of reader segments: all of it."},
            "more": {"type": "string", "description": "Corpus of reader gap: the rest."},
        },
    }
    (tmp_path / "nobody2000.yaml").touch()
    schema = declared.settings_schema(lambda path: {"required": ["folds"], "properties": {"folds": {"type": "integer"}}})
    assert schema["required"] == ["text", "folds"]
    assert list(schema["properties"]) == ["text", "more", "folds"]
