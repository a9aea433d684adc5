"""Hook of MkDocs: fills the generated blocks of the pages, and adds files that are kept outside of docs/.

A line `{{ name }}` or `{{ name argument }}` of a page is replaced by the output of a function, see
`on_page_markdown`. The page of a paper has the tables and figures of a published run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

from attention_atlas.workflow.study import studies  # noqa: E402
from tools import site_pages  # noqa: E402
from tools.site_settings import settings_reference  # noqa: E402

COPIED = {
    "changelog.md": "CHANGELOG.md",
    "benchmarks.md": "benchmarks/README.md",
    "published-values.md": "workflow/resources/published/README.md",
}
"""Page of the site -> the file of the repository that it shows."""

BLOCK = re.compile(r"^\{\{ (\w+)(?: ([\w-]+))? \}\}$", re.MULTILINE)
TABLE = re.compile(r"^\|.*\|\n\|(?: ?-+ ?\|)+(?:\n\|.*\|)+$", re.MULTILINE)
LINK = re.compile(r"\]\([^)]*\)")  # where a link leads
LONG = 60  # characters of a text that its column is widened for


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add pages that are kept elsewhere in the repository."""
    for page, source in COPIED.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace the generated blocks of a page."""
    to_root = "../" * page.file.src_uri.count("/")
    published = Path(config.docs_dir), config.extra["published"], to_root
    blocks: dict[str, Callable[[str], str]] = {
        "artefacts": lambda study: site_pages.artefact_sections(study, *published),
        "errata": site_pages.errata,
        "roles": site_pages.roles_table,
        "settings": lambda _: settings_reference(),
        "studies": lambda _: site_pages.studies_table(),
        "targets": lambda _: site_pages.targets_table(),
        "corpora": lambda _: site_pages.corpora_table(),
        "models": lambda _: site_pages.models_table(),
        "runs": lambda _: site_pages.runs_table(),
    }

    def filled(match: re.Match[str]) -> str:
        name, argument = match[1], match[2] or ""
        if name not in blocks or (argument and argument not in studies()):
            raise Abort(f"docs/{page.file.src_uri}: there is no generated block '{match[0]}'.")
        return blocks[name](argument)

    if page.file.src_uri.startswith("results/"):
        # In the repository, the tables and figures of a paper have a page of their own.
        markdown = re.sub(rf"\]\(({'|'.join(studies())})\.md", rf"]({to_root}studies/\1.md", markdown)
        markdown = markdown.replace("studies/atlas.md", "atlas.md")
    return TABLE.sub(_with_wide_columns, BLOCK.sub(filled, markdown))


def _with_wide_columns(table: re.Match[str]) -> str:
    """A table whose columns of long texts are marked: among many columns, browsers make them narrow and rows high."""
    first, *lines = table[0].splitlines()
    titles, *rows = (re.split(r"(?<!\\)\|", line)[1:-1] for line in (first, *lines))
    for column, title in enumerate(titles):
        if any(len(LINK.sub("]", cell)) > LONG for row in rows for cell in row[column : column + 1]):
            titles[column] = f"{title.rstrip()} {{: .wide }} "
    return "\n".join([f"|{'|'.join(titles)}|", *lines])
