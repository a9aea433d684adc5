"""What studies declare: roles, order, artefacts, and the schema of their settings."""

import copy
import re

import pytest
from jsonschema import Draft202012Validator
from small_config import SHIPPED

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import merged, read_schema, resolve
from attention_atlas.workflow.study import SETTINGS, Role, Study, artifacts, studies, study

SCHEMA = read_schema()
READERS = set(SCHEMA["$defs"]["corpus"]["properties"]["reader"]["enum"])
STUDIES = list(studies().values())
IDS = [declared.id for declared in STUDIES]


def test_studies_stand_in_their_order_and_overviews_behind_them():
    papers = ["clark2019", "guan2020", "kovaleva2019", "michel2019", "tenney2019", "stefanik2021"]
    assert IDS[: len(papers)] == papers
    assert IDS[-2:] == ["atlas", "scoreboard"]
    for overview in (False, True):
        orders = [declared.order for declared in STUDIES if declared.overview == overview]
        assert orders == list(range(1, len(orders) + 1))
    assert [declared.id for declared in STUDIES if declared.overview] == ["atlas", "scoreboard"]


def test_artefacts_come_by_study_each_under_an_id_of_its_own():
    listed = [(declared.id, artifact.id) for declared, artifact in artifacts()]
    assert 70 < len(set(listed)) == len(listed) <= 75
    # A study's stand together, in the order of the studies.
    assert list(dict.fromkeys(name for name, _ in listed)) == IDS
    assert study("michel2019").artifact("figure5").needs == ("dynamics", "dynamics_importance")


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


def test_a_study_that_names_its_models_names_one_for_every_role():
    for declared in STUDIES:
        if declared.roles:
            assert declared.names_models == all(role.model for role in declared.roles.values()), declared.id
    models = {name: role.model for name, role in study("michel2019").roles.items()}
    assert models == {
        **dict.fromkeys(("translation", "translation_other", "translation_importance", "translation_test"), "translator"),
        **dict.fromkeys(("classification", "classification_other", "classification_importance"), "classifier"),
        "classification_selection": "classifier",
        **dict.fromkeys(("dynamics", "dynamics_importance"), "trained_translator"),
    }


def test_every_file_of_settings_belongs_to_a_study():
    assert {path.stem for path in SETTINGS.glob("*.yaml")} <= set(IDS)


@pytest.mark.parametrize("declared", STUDIES, ids=IDS)
def test_no_setting_is_written_twice(declared):
    # A role of the declaration must not be hidden by a property of the file, whose description would be another one.
    written = declared.settings_schema(lambda path: {"properties": {}})["properties"]
    assert set(written) == set(declared.roles)
    for name, role in declared.roles.items():
        described = SCHEMA["$defs"][declared.id]["properties"][name]
        example = {"examples": [role.example]} if role.example else {}
        assert described == {"type": "string", "description": f"Corpus of reader {role.reader}: {role.use}"} | example


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


def test_the_schema_accepts_every_shipped_run_as_it_is_resolved():
    for name, run in resolve(SHIPPED)["runs"].items():
        for declared in STUDIES:
            if declared.id in run:
                whole = {"$defs": SCHEMA["$defs"], **SCHEMA["$defs"][declared.id]}
                errors = list(Draft202012Validator(whole).iter_errors(run[declared.id]))
                assert not errors, (name, declared.id)


@pytest.mark.parametrize("declared", [one for one in STUDIES if one.roles], ids=lambda one: one.id)
def test_a_role_of_another_reader_is_refused_in_every_study(declared):
    role, wanted = next(iter(declared.roles.items()))
    wrong = "sample-frames" if wanted.reader != "frames" else "sample-trees"
    settings = copy.deepcopy(SHIPPED)
    settings["runs"] = {"sample": settings["runs"]["sample"]}
    reader = settings["corpora"][wrong]["reader"]
    message = rf"runs\.sample\.{declared.id}\.{role}: corpus '{wrong}' has the reader {reader}, but {wanted.reader} is needed"
    with pytest.raises(AtlasError, match=message):
        resolve(merged(settings, {"runs": {"sample": {declared.id: {role: wrong}}}}))
