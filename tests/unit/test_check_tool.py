"""What `make check` compares with the machine."""

from __future__ import annotations

import pytest
from small_config import SMALL

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import read_configuration, resolve
from tools import check
from tools.check import ROOT, with_files


def test_what_is_skipped_is_no_failure(without_files, monkeypatch):
    monkeypatch.setattr(check, "read_configuration", lambda root, overlays: SMALL)
    assert check.check_run("one", [], None).failures
    assert check.check_run("one", [], "skip").failures == []


def test_the_tokenizer_of_a_trained_model_is_that_of_its_base():
    models = resolve(read_configuration(ROOT))["models"]
    assert with_files("minilm-squad", models)["source"] == models["minilm"]["source"]
    with pytest.raises(AtlasError, match="marian-sample: only a run makes its tokenizer"):
        with_files("marian-sample", models)
