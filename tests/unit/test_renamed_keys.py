"""Keys of the configuration with an old name are errors that name the new one."""

import pytest
import yaml
from small_config import changed

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import read_schema, resolve
from attention_atlas.workflow.renamed_keys import RENAMED, check_renamed_keys

KEYS = [(place, old, new) for place, keys in RENAMED.items() for old, new in keys.items()]


@pytest.mark.parametrize(("place", "old", "new"), KEYS)
def test_an_old_key_names_the_new_one(place, old, new):
    path = [name if name != "*" else "some" for name in place]
    config = {old: 1}
    for name in reversed(path):
        config = {name: config}
    with pytest.raises(AtlasError) as error:
        check_renamed_keys(config)
    assert str(error.value) == f"config: {'.'.join([*path, old])}: this key is now called {new}."


def test_new_keys_are_in_the_schema_and_old_ones_are_not():
    text = yaml.safe_dump(read_schema())
    for _, old, new in KEYS:
        assert f"{new}:" in text
        # These names are still those of other keys, elsewhere.
        assert f" {old}:" not in text or old in ("hidden", "trained", "interval", "form", "measured"), old


def test_the_whole_configuration_is_checked_before_the_schema():
    with pytest.raises(AtlasError, match=r"models\.tiny\.hidden: this key is now called hidden_size"):
        resolve(changed("models/tiny/hidden", 64))


def test_places_that_hold_no_mapping_are_left_to_the_schema():
    check_renamed_keys({"models": [1], "runs": {"one": None}, "families": {"a": {"training": 3}}})
