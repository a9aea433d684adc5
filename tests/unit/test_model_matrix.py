"""Every text model type of transformers is right, or is refused with a message."""

from __future__ import annotations

import pytest
from model_matrix import PAGE, page, verdicts

# Served by the engine, but an output projection that reads single heads does not exist, so masking is checked on heads alone.
WITHOUT_PROJECTION = {"deepseek_v4", "diffllama", "jetmoe"}


@pytest.mark.long
def test_no_model_type_is_wrong_and_the_page_says_what_was_seen():
    seen = verdicts()
    assert {name: verdict.faults for name, verdict in seen.items() if verdict.faults} == {}
    assert {name for name, verdict in seen.items() if verdict.unmasked} == WITHOUT_PROJECTION
    assert page(seen) == PAGE.read_text(encoding="utf-8")
