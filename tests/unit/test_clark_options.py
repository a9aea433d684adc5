"""The options of Clark et al.: presets, overrides, and alternatives that move one thing."""

from dataclasses import asdict, fields, replace

from attention_atlas.methods.options import (
    AS_PUBLISHED,
    CORRECTED,
    OTHER_CHOICES,
    PRESETS,
    Options,
    alternatives,
    options_of,
)
from attention_atlas.studies.clark2019.tables_published import NOTES
from attention_atlas.workflow.config import read_schema

NAMES = [f.name for f in fields(Options)]


def schema_block():
    return read_schema()["$defs"]["clark2019"]["properties"]["options"]


def test_the_published_setting_is_what_the_published_code_does():
    assert asdict(AS_PUBLISHED) == {
        "word_mode": "mean",
        "poss_rule": True,
        "poss_in_all": False,
        "all_tokens": "every",
        "offsets": (-3, -2, -1, 0, 1, 2),
        "offset_edges": "clip",
        "sep_sep_denominator": "two",
        "position_denominator": "all",
        "entropy_smoothing": 0.0001,
    }


def test_the_corrected_setting_undoes_the_faults_of_the_code():
    assert asdict(CORRECTED) == {
        "word_mode": "mean",
        "poss_rule": False,
        "poss_in_all": False,
        "all_tokens": "words",
        "offsets": (-3, -2, -1, 0, 1, 2, 3),
        "offset_edges": "none",
        "sep_sep_denominator": "count",
        "position_denominator": "valid",
        "entropy_smoothing": 0.0,
    }


def test_presets_and_single_keys_on_top():
    assert options_of({"preset": "as_published"}) == AS_PUBLISHED
    assert options_of({"preset": "corrected"}) == CORRECTED
    mixed = options_of({"preset": "corrected", "poss_rule": True, "offsets": [-1, 1], "entropy_smoothing": 0})
    assert mixed == replace(CORRECTED, poss_rule=True, offsets=(-1, 1), entropy_smoothing=0)
    # Options are compared and hashed: a list from YAML has to become a tuple.
    assert isinstance(mixed.offsets, tuple)
    assert hash(mixed)


def test_every_alternative_moves_exactly_the_option_that_it_names():
    for name, options in alternatives():
        assert [n for n in NAMES if getattr(options, n) != getattr(AS_PUBLISHED, n)] == [name]
        assert options.option_text(name) != AS_PUBLISHED.option_text(name)


def test_every_option_has_an_alternative_and_a_note():
    assert {name for name, _ in alternatives()} == set(NAMES)
    assert list(NOTES) == NAMES
    assert all(note and not note.endswith(".") for note in NOTES.values())
    corrections = {name: getattr(o, name) for name, o in alternatives() if (name, getattr(o, name)) not in OTHER_CHOICES}
    assert corrections == {n: getattr(CORRECTED, n) for n in NAMES if getattr(CORRECTED, n) != getattr(AS_PUBLISHED, n)}
    assert len({(name, options) for name, options in alternatives()}) == len(alternatives())


def test_the_schema_knows_exactly_these_options():
    block = schema_block()
    assert list(block["properties"]) == ["preset", *NAMES]
    assert block["additionalProperties"] is False
    assert set(block["properties"]["preset"]["enum"]) == set(PRESETS)
    # A default here would override the preset without being asked.
    assert [name for name in NAMES if "default" in block["properties"][name]] == []
    assert block["properties"]["preset"]["default"] == "as_published"
