"""Every text model type of transformers is right, or is refused with a message."""

import pytest
from model_matrix import PAGE, page, verdicts


@pytest.mark.long
def test_no_model_type_is_wrong_and_the_page_says_what_was_seen():
    seen = verdicts()
    assert {name: verdict.faults for name, verdict in seen.items() if verdict.faults} == {}
    assert page(seen) == PAGE.read_text(encoding="utf-8")
