"""Messages for users that the tests provoke, as a page for review.

python tools/error_messages.py RECORDED OUT

RECORDED is the file that ATLAS_ERROR_MESSAGES named for pytest, OUT a Markdown file. Each message appears once, below the
module that raises it, with the test that provokes it; those that no test provokes are listed at the end.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "workflow" / "lib"
sys.path[:0] = [str(ROOT / "tests"), str(LIBRARY)]

from error_messages import IN_LOGS, Message, faults  # noqa: E402

from attention_atlas.io.files import write_text  # noqa: E402

_CLASSES = {"AtlasError", "DamagedFile"}


def raised_in_library() -> dict[str, str]:
    """Place of each `raise` with a message for users, as `file:line` -> its source."""
    sites = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and ast.unparse(node.exc.func) in _CLASSES:
                sites[f"{path.relative_to(LIBRARY)}:{node.lineno}"] = ast.unparse(node.exc.args[-1])
    return sites


def read_messages(recorded: Path) -> list[Message]:
    """The shortest message of each place, in the order of the places; of logs, each message."""
    rows = [Message(**json.loads(line)) for line in recorded.read_text(encoding="utf-8").splitlines()]
    by_site: dict[tuple[str, str], Message] = {}
    for row in sorted(rows, key=lambda row: (len(row.text), row.text)):
        by_site.setdefault((row.site, row.text if row.site == IN_LOGS else ""), row)
    return sorted(by_site.values(), key=lambda message: _place(message.site))


def _place(site: str) -> tuple[str, int]:
    path, _, line = site.rpartition(":")
    return path, int(line)


def page(messages: list[Message], sites: dict[str, str]) -> str:
    """Markdown: messages by module, and the places of those that no test provokes."""
    faulty = sum(bool(faults(message.text)) for message in messages)
    parts = ["# Messages for users", f"{len(messages)} messages that tests provoke, {faulty} of them with a fault."]
    for module, group in groupby(messages, lambda message: _place(message.site)[0]):
        parts.append(f"## {module}")
        for message in group:
            note = "".join(f"\n**Fault: {fault}.**" for fault in faults(message.text))
            line = "" if message.site == IN_LOGS else f"Line {_place(message.site)[1]}, "
            parts.append(f"{line}`{message.test}`:{note}\n\n```text\n{message.text}\n```")
    provoked = {message.site for message in messages}
    silent = {site: source for site, source in sites.items() if site not in provoked}
    parts += [f"## {len(silent)} of {len(sites)} places that no test provokes"]
    parts += ["\n".join(f"- `{site}`: `{source}`" for site, source in silent.items())]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recorded", type=Path)
    parser.add_argument("out", type=Path)
    chosen = parser.parse_args()
    messages = read_messages(chosen.recorded)
    write_text(chosen.out, page(messages, raised_in_library()))
    print(f"{chosen.out}: {len(messages)} messages")


if __name__ == "__main__":
    main()
