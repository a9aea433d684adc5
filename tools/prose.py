"""Check the prose of the project: README, documentation, titles and captions of artefacts, descriptions of settings.

python tools/prose.py              print each finding as FILE:LINE: MESSAGE, and fail if there is one
python tools/prose.py --library    print the unwanted words in docstrings and messages of the library

Two checks: proselint, and the words of tools/prose_words.tsv (a regular expression and what to write instead). Code is not
checked.
"""

from __future__ import annotations

import argparse
import ast
import csv
import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proselint.checks import __register__ as PROSELINT_CHECKS
from proselint.config import DEFAULT
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

from attention_atlas.workflow.config import read_schema  # noqa: E402
from attention_atlas.workflow.studies import artifacts  # noqa: E402
from tools.site_settings import settings  # noqa: E402

WORDS = ROOT / "tools" / "prose_words.tsv"
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/**/*.md",
    "benchmarks/README.md",
    "workflow/resources/published/README.md",
)
SWITCHED_OFF = ("typography", "lexical_illusions")
"""Checks of proselint that do not fit: quotes and dots are ASCII here, and a heading may repeat the words of its first line."""

CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`|\]\([^)\n]*\)|<!--.*?-->|^\{\{.*?\}\}$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Finding:
    """A place of the text that should be changed.

    Attributes:
        place: file, or artefact whose title or caption it is.
        line: from 1.
        message: what is wrong, and what to write.
    """

    place: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.place}:{self.line}: {self.message}"


def without_code(markdown: str) -> str:
    """Text of the same length and lines, with blanks in place of code, link targets and generated blocks."""
    return CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), markdown)


@functools.cache
def unwanted_words() -> list[tuple[re.Pattern[str], str]]:
    """(pattern, what to write instead) of the list."""
    with WORDS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(re.compile(row["pattern"], re.IGNORECASE), row["use instead"]) for row in rows]


def word_findings(place: str, text: str) -> Iterator[Finding]:
    """Words of the list in a text; a phrase may span two lines."""
    flat = text.replace("\n", " ")
    for pattern, better in unwanted_words():
        for match in pattern.finditer(flat):
            line = text.count("\n", 0, match.start()) + 1
            yield Finding(place, line, f"'{match[0]}': write {better}")


def proselint_findings(place: str, text: str) -> Iterator[Finding]:
    """What proselint finds in a text."""
    for result in LintFile(place, text).lint(DEFAULT):
        check = result.check_result
        if not check.check_path.startswith(SWITCHED_OFF):
            yield Finding(place, result.pos[0], f"{check.message} ({check.check_path})")


def texts() -> Iterator[tuple[str, str]]:
    """(place, text) of everything that is checked."""
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            # Pages of published runs are generated, from texts that are checked where they are written.
            if path.match("docs/results/*/*.md"):
                continue
            yield str(path.relative_to(ROOT)), without_code(path.read_text(encoding="utf-8"))
    for study, artifact in artifacts():
        yield f"studies/{study.id}/study.py, {artifact.id}", f"{artifact.title}\n{artifact.caption}\n"
    schema = read_schema()
    for setting in settings(schema, schema):
        yield f"workflow/schemas, {'.'.join(setting.path)}", without_code(f"{setting.node.get('description', '')}\n")


def strings_of(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of all string literals of a module, docstrings among them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def library_findings() -> Iterator[Finding]:
    """Unwanted words in the string literals of the library."""
    for path in sorted((ROOT / "workflow/lib").rglob("*.py")):
        for first, text in strings_of(path):
            for finding in word_findings(str(path.relative_to(ROOT)), text):
                yield Finding(finding.place, first + finding.line - 1, finding.message)


def main() -> None:
    """Print all findings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", action="store_true", help="list unwanted words of the library instead; never fails")
    if parser.parse_args().library:
        print("\n".join(map(str, library_findings())))
        return
    CheckRegistry().register_many(PROSELINT_CHECKS)
    findings = [
        finding for place, text in texts() for check in (word_findings, proselint_findings) for finding in check(place, text)
    ]
    for finding in findings:
        print(finding)
    if findings:
        raise SystemExit(f"{len(findings)} places to rewrite.")


if __name__ == "__main__":
    main()
