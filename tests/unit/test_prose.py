"""The linter of the project's prose: what it reports, and where."""

from __future__ import annotations

import pytest
from proselint.checks import __register__
from proselint.registry import CheckRegistry

from tools.prose import (
    documentation_of,
    proselint_findings,
    strings_of,
    texts,
    unwanted_words,
    without_code,
    word_findings,
)

MARKDOWN = """\
# Title

A sentence with `a hidden piece` in code, and [a link](docs/hidden piece.md).

```
the loss of hidden pieces
```

The head predicts hidden
pieces.
"""


def test_words_are_reported_with_their_line_and_not_in_code():
    findings = list(word_findings("page.md", without_code(MARKDOWN)))
    assert {(finding.line, finding.message.partition(":")[0]) for finding in findings} >= {(9, "'hidden pieces'")}
    assert {finding.line for finding in findings} <= {9, 10}
    assert any("masked token" in finding.message for finding in findings)


def test_code_is_blanked_and_places_stay():
    blanked = without_code(MARKDOWN)
    assert len(blanked) == len(MARKDOWN)
    assert [len(line) for line in blanked.split("\n")] == [len(line) for line in MARKDOWN.split("\n")]


@pytest.mark.parametrize(
    "sentence",
    [
        "The error was mended.",
        "The model is put to a test set.",
        "Heads that are cut out of the model.",
        "F1 falls by 2.3 points.",
        "Each head in turn is made uniform.",
        "It is evaluated on text of its own.",
    ],
)
def test_words_that_are_not_used(sentence):
    assert list(word_findings("caption", sentence))


@pytest.mark.parametrize(
    "sentence",
    [
        "F1 falls by 2.3 percentage points.",
        "The vocabulary has 30,522 word pieces.",
        "Two heads are expected by chance.",
        "Each model is measured on data of its own task.",
    ],
)
def test_words_that_are_used(sentence):
    assert not list(word_findings("caption", sentence))


def test_proselint_finds_what_it_should_and_keeps_ascii_quotes():
    CheckRegistry().register_many(__register__)
    assert any("very unique" in finding.message for finding in proselint_findings("page.md", "This is very unique.\n"))
    assert not list(proselint_findings("page.md", 'He said "yes" and left ...\n'))


def test_readme_pages_captions_and_settings_are_checked():
    places = [place for place, _ in texts()]
    assert {"README.md", "docs/quickstart.md", "docs/studies/clark2019.md", "studies/clark2019/study.py, table1"} <= set(places)
    assert "workflow/schemas, runs.NAME.clark2019.probes.patience" in places


def test_each_pattern_of_the_list_says_what_to_write_instead():
    words = unwanted_words()
    assert len(words) > 20
    assert all(better.strip() for _, better in words)
    assert len({pattern.pattern for pattern, _ in words}) == len(words)


def test_strings_and_docstrings_of_a_module_are_read_with_their_lines(tmp_path):
    module = tmp_path / "module.py"
    module.write_text('"""The error was mended."""\n\nNAME = (\n    "hidden pieces"\n)\nmended = 1\n', encoding="utf-8")
    assert list(strings_of(module)) == [(1, "The error was mended."), (4, "hidden pieces")]


def test_docstrings_comments_and_messages_of_a_module_are_read_without_names_of_arguments(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(
        '"""First."""\n\n_log = None\nNAME = "not prose"\n\n\n'
        'def function(pieces):\n    """Second, with `code`.\n\n    Args:\n        pieces: the tokens.\n    """\n'
        '    # Third.\n    _log.info("Fourth: %s", pieces)\n    raise ValueError(f"Fifth: {pieces}")\n',
        encoding="utf-8",
    )
    read = {line: " ".join(text.split()) for line, text in documentation_of(module)}
    assert read == {1: "First.", 8: "Second, with . Args: : the tokens.", 13: "# Third.", 14: "Fourth: %s", 15: "Fifth:"}
