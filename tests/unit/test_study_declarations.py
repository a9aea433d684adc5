"""What studies declare: roles, order, artefacts, and the schema of their settings."""

import re

import pytest

from attention_atlas.workflow.config import read_schema
from attention_atlas.workflow.study import studies

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
    optional = {name.partition(".")[0] for key, together in declared.optional.items() for name in (key, *together)}
    assert optional <= set(properties)
    # A run can do without all that a study does not require.
    assert {name for name, role in declared.roles.items() if not role.required} == optional & {*declared.roles}
    if declared.records_key:
        assert properties[declared.records_key]["type"] == "integer"
