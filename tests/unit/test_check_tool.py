"""What `make check` compares with the machine."""

from __future__ import annotations

from small_config import SMALL

from tools import check


def test_what_is_skipped_is_no_failure(without_files, monkeypatch):
    monkeypatch.setattr(check, "read_configuration", lambda root, overlays: SMALL)
    assert check.check_run("one", [], None).failures
    assert check.check_run("one", [], "skip").failures == []
