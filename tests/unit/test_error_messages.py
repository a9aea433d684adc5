"""How messages for users are recorded and checked; every test checks those that it provokes (tests/conftest.py)."""

import json

import pytest
from error_messages import VARIABLE, Message, check, faults, keep_logged, recorded

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_json
from attention_atlas.workflow.needs import Need, missing_lines
from attention_atlas.workflow.requirements import MISSING, Requirement
from tools.error_messages import page, raised_in_library, read_messages


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a.txt:3: the head is 'x', not a number; give its position.", []),
        ("config: runs.one.model: there is no model 'x'; did you mean 'y'. Known: y, z.", []),
        ("a.txt: one. Two. Three.", ["3 sentences"]),
        # What users wrote, and what a library says, is not counted.
        ("a.txt:1: 'One. Two. Three.' is not a label (Error: No. No. No.). Correct it.", []),
        ("corpus x: it is not there. Licence: LDC. Expected layout: ten columns (one. Two.), see 3.1. Put it there.", []),
        ("a.txt: see e.g. version 1.2.3 of the file; is it complete?", []),
        ("nothing is left to do it with.", ["names no file, key or example"]),
        ("Traceback (most recent call last): a.txt", ["a traceback"]),
        ("a.txt: the pieces are wrong.", ["'pieces': say word piece, token"]),
        ("a.txt: the word pieces are wrong.", []),
        ("a.txt: 'pieces' is wrong.", []),
        ("a.txt: this is no lock file.", ["'is no': say is not a"]),
        ("missing:\n- a/b: one. Two. Three.\n- c/d: one. Two.\nPut each in its place.", []),
    ],
)
def test_faults(text, found):
    assert faults(text) == found


def test_messages_of_the_library_are_recorded_with_their_place(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "m.jsonl"))
    with recorded() as messages:
        with pytest.raises(AtlasError):
            read_json(tmp_path / "absent.json")
        AtlasError("of a test, which is not checked.")
    (message,) = messages
    assert message.text == f"{tmp_path}/absent.json: there is no such file. Check the path in the configuration."
    assert message.site in raised_in_library()
    check(messages, "test_x")
    assert json.loads((tmp_path / "m.jsonl").read_text())["test"] == "test_x"
    shown = page(read_messages(tmp_path / "m.jsonl"), raised_in_library())
    assert f"```text\n{message.text}\n```" in shown
    assert f"`{message.site}`: " not in shown.partition("places that no test provokes")[2]


def test_messages_in_the_logs_of_jobs_are_recorded_each(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "m.jsonl"))
    log = (
        "2026-01-02 03:04:05 INFO done\n2026-01-02 03:04:05 ERROR a.txt: {}\n- b.txt\n2026-01-02 03:04:06 ERROR rule x failed\n"
    )
    with recorded() as messages:
        keep_logged(log.format("is missing.") * 2)
        keep_logged(log.format("is damaged.") + "Finished.\n")
    assert [message.text for message in messages] == ["a.txt: is missing.\n- b.txt", "a.txt: is damaged.\n- b.txt"]
    check(messages, "test_x")
    shown = page(read_messages(tmp_path / "m.jsonl"), {})
    assert "## logs of jobs" in shown
    assert all(f"`test_x`:\n\n```text\n{message.text}\n```" in shown for message in messages)
    with recorded() as messages:
        keep_logged(log.format("one. Two. Three."))
    with pytest.raises(AssertionError, match="3 sentences"):
        check(messages, "test_x")


def test_a_message_that_breaks_the_rules_fails_its_test(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(AssertionError, match=r"b\.py:3: 3 sentences"):
        check([Message("a.txt: One. Two. Three.", "b.py:3")], "test_x")


def test_what_is_missing_is_a_list_of_a_line_each():
    needs = [Need(Requirement("corpus", name, f"{name}.txt", MISSING, f"{name}.txt is not there")) for name in ("one", "two")]
    lines = missing_lines(needs).splitlines()
    assert [line.startswith("- ") for line in lines] == [True, True]
