"""Corpora whose licence has to be accepted first, and what runs say of them."""

import pytest
from small_config import changed

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.requirements import raw_path

LICENCE = "CC BY-NC-ND 4.0"
SHARED = {"reader": "conllu", "source": {"hub": "a/trees", "revision": "1" * 40}, "limit": 5, "accept_licence": LICENCE}


def with_licence(accepted: list[str]) -> dict:
    raw = changed("corpora/shared", SHARED)
    raw["runs"]["one"]["accepting"] = {LICENCE: {"clark2019": {"dependencies": "shared"}, "limits": {"shared": 3}}}
    return raw | {"accept_licences": accepted}


def test_what_a_run_says_under_a_licence_counts_where_it_is_accepted():
    without, accepted = resolve(with_licence([]))["runs"]["one"], resolve(with_licence([LICENCE]))["runs"]["one"]
    assert (without["clark2019"]["dependencies"], without["limits"]) == ("trees", {})
    assert (accepted["clark2019"]["dependencies"], accepted["limits"]) == ("shared", {"shared": 3})
    assert without["clark2019"]["segments"] == accepted["clark2019"]["segments"] == "pairs"


def test_a_corpus_is_not_fetched_before_its_licence_is_accepted():
    assert raw_path(resolve(with_licence([LICENCE])), "one", "shared") == "results/one/corpora/shared.raw"
    with pytest.raises(
        AtlasError, match=r"^corpus shared: it is downloaded only if its licence is accepted\. Read CC BY-NC-ND"
    ):
        raw_path(resolve(with_licence([])), "one", "shared")
