"""Inputs and parameters of the rules of Michel et al. (2019): roles with different models."""

import pytest
from shipped_runs import shipped
from small_config import SHIPPED

from attention_atlas.errors import AtlasError
from attention_atlas.studies.michel2019.study import same_file
from attention_atlas.workflow.config import merged, resolve


def test_a_slice_of_the_same_file_is_not_another_corpus():
    assert same_file(shipped(), "sample") == {"translation": True, "classification": True}
    assert same_file(shipped(), "laptop") == {"translation": False, "classification": True}
    for run in ("open", "paper"):
        assert same_file(shipped(), run) == {"translation": False, "classification": False}, run


def test_a_translation_model_needs_text_tokenised_as_its_training_text():
    other = SHIPPED["corpora"]["newstest2014"] | {"tokenised": "moses"}
    overlay = {"runs": {"paper": {"michel2019": {"translation_test": "other"}}}, "corpora": {"other": other}}
    with pytest.raises(AtlasError, match="tokenised by moses, but model 'opus-mt-tc-big-en-fr' needs untokenised text"):
        resolve(merged(SHIPPED, overlay))
