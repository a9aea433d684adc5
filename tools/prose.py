"""Check the prose of the project: README, documentation, titles and captions of artefacts, descriptions of settings.

python tools/prose.py              print each finding as FILE:LINE: MESSAGE, and fail if there is one
python tools/prose.py --library    print the unwanted words in all strings of the library

Two checks: proselint, and the words of tools/prose_words.tsv (a regular expression and what to write instead). Code is not
checked. In the packages `LIBRARY`, docstrings, comments and messages are checked for the words.
"""

from __future__ import annotations

import argparse
import ast
import csv
import functools
import io
import re
import sys
import tokenize
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

LIBRARY = (
    *(f"attention_atlas/{name}" for name in ("atlas", "attention", "corpora", "figures", "io", "methods")),
    *(f"attention_atlas/{name}" for name in ("models", "published", "stats", "studies", "workflow")),
    "rehearsal_corpora",
)
"""Packages of the library whose docstrings, comments and messages are checked."""

_ARGUMENTS = re.compile(r"^ *\w+(, \w+)*(?=: )", re.MULTILINE)
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_LOGGERS = {"log", "_log"}

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


def documentation_of(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of the docstrings, comments, error messages and log messages of a module, without names of arguments."""
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False):
            docstring = node.body[0]
            assert isinstance(docstring, ast.Expr)
            assert isinstance(docstring.value, ast.Constant)
            text = without_code(str(docstring.value.value))
            yield docstring.lineno, _ARGUMENTS.sub(lambda match: " " * len(match[0]), text)
        elif isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _is_log_call(node)):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def _is_log_call(call: ast.Call) -> bool:
    """Whether a call is one of a logger's methods."""
    function = call.func
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id in _LOGGERS


def documentation_findings() -> Iterator[Finding]:
    """Unwanted words in the documentation and messages of the packages `LIBRARY`."""
    for package in LIBRARY:
        for path in sorted((ROOT / "workflow/lib" / package).rglob("*.py")):
            for first, text in documentation_of(path):
                for finding in word_findings(str(path.relative_to(ROOT)), text):
                    yield Finding(finding.place, first + finding.line - 1, finding.message)


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
    findings += documentation_findings()
    for finding in findings:
        print(finding)
    if findings:
        raise SystemExit(f"{len(findings)} places to rewrite.")


if __name__ == "__main__":
    main()
