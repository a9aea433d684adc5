"""Keep in step what is written twice: envs/*.yaml, dependencies in pyproject.toml, and groups of the Slurm profile.

python tools/sync.py            write them
python tools/sync.py --check    fail, naming the file, where one is out of date
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

from attention_atlas.workflow.study import studies  # noqa: E402

PYTHON_OF_ENVS = "3.11"
ENVIRONMENTS = {"analysis": ("analysis",), "model": ("analysis", "model")}
ENGINE = ("numpy", "pandas", "pyarrow", "safetensors", "tokenizers", "torch", "tqdm", "transformers", "xxhash")
"""What an installed library needs to watch and change heads, and to read maps and tables; the extra `workflow` is the rest."""

TAGGER = ("spacy==3.8.18",)
"""Extra of Kovaleva et al.'s study for corpora without gold tags; no run installs it by itself."""


LOWEST = {"pandas": "2.2", "pyarrow": "17", "safetensors": "0.4.3", "tokenizers": "0.22", "xxhash": "3"}
"""Lowest versions that the library accepts, where they are earlier than the pin's major one (0.x: minor): people have these."""


def requirement_sections(text: str) -> dict[str, list[str]]:
    """Section of requirements.txt -> its pins."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if heading := re.match(r"# --- (\w+)", line):
            current = sections.setdefault(heading[1], [])
        elif line and not line.startswith("#"):
            current.append(line)
    return sections


def environment(sections: dict[str, list[str]], parts: tuple[str, ...]) -> str:
    """A conda environment file with the pins of some sections."""
    pins = sorted((pin for part in parts for pin in sections[part]), key=str.lower)
    lines = "\n".join(f"      - {pin}" for pin in pins)
    return (
        "# Written by tools/sync.py from requirements.txt; do not edit.\n"
        "channels:\n  - conda-forge\n  - nodefaults\n"
        f"dependencies:\n  - python={PYTHON_OF_ENVS}\n  - pip\n  - pip:\n{lines}\n"
    )


def versions(pin: str) -> str:
    """The versions that the library accepts: up to the pinned major one (of 0.x: the pinned minor one)."""
    name, _, version = pin.partition("==")
    major, minor, *_ = map(int, version.split(".")[:2])
    lowest, bound = (f"{major}", f"{major + 1}") if major else (f"0.{minor}", f"0.{minor + 1}")
    return f"{name}>={LOWEST.get(name, lowest)},<{bound}"


def toml_list(key: str, pins: Iterable[str]) -> str:
    """A key of pyproject.toml with the versions of packages."""
    lines = "".join(f'    "{versions(pin)}",\n' for pin in sorted(pins, key=str.lower))
    return f"{key} = [\n{lines}]\n"


def library_dependencies(sections: dict[str, list[str]]) -> str:
    """What pyproject.toml says of the dependencies of the library."""
    pins = [pin for section in ("run", "analysis", "model") for pin in sections[section]]
    of_engine = [pin for pin in pins if pin.partition("==")[0] in ENGINE]
    needed = toml_list("dependencies", of_engine)
    extras = toml_list("tagger", TAGGER) + toml_list("workflow", (pin for pin in pins if pin not in of_engine))
    return f"{needed}\n[project.optional-dependencies]\n{extras}"


def build_requirements(sections: dict[str, list[str]]) -> str:
    """What pyproject.toml says of the tool that builds the library."""
    return f"requires = {json.dumps([pin for pin in sections['locked'] if pin.startswith('setuptools==')])}\n"


def job_groups() -> str:
    """The Slurm profile's groups of short jobs, four to a Slurm job: examples, and the tables and figures of each study."""
    groups = ["examples", *(f"{study.id}_pages" for study in studies().values() if not study.overview), "atlas_pages"]
    return "group-components:\n" + "".join(f"  - {group}=4\n" for group in groups)


def between(path: Path, text: str, name: str, new: str) -> str:
    """Replace the lines between the comments `name: written by tools/sync.py` and `/name` in a YAML or TOML file."""
    start, end = f"# {name}: written by tools/sync.py\n", f"# /{name}"
    before, mark, rest = text.partition(start)
    if not mark or end not in rest:
        raise SystemExit(f"{path.relative_to(ROOT)}: the comments that mark {name} are missing: restore them.")
    return before + start + new + end + rest.partition(end)[2]


def wanted() -> dict[Path, str]:
    """File -> the content that it should have."""
    sections = requirement_sections((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    files = {ROOT / "envs" / f"{name}.yaml": environment(sections, parts) for name, parts in ENVIRONMENTS.items()}
    profile = ROOT / "workflow/profiles/slurm/profile.v9+.yaml"
    files[profile] = between(profile, profile.read_text(encoding="utf-8"), "groups", job_groups())
    project = ROOT / "pyproject.toml"
    text = between(project, project.read_text(encoding="utf-8"), "build", build_requirements(sections))
    files[project] = between(project, text, "dependencies", library_dependencies(sections))
    return files


def main() -> None:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a file is out of date")
    check = parser.parse_args().check
    for path, content in wanted().items():
        if path.exists() and path.read_text(encoding="utf-8") == content:
            continue
        if check:
            raise SystemExit(f"{path.relative_to(ROOT)} is out of date: run python tools/sync.py")
        path.write_text(content, encoding="utf-8", newline="\n")
    pin = next(
        line
        for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if line.startswith("transformers==")
    )
    if f"transformers {pin.partition('==')[2]}," not in (ROOT / "docs/models-matrix.md").read_text(encoding="utf-8"):
        raise SystemExit("docs/models-matrix.md is of another version of transformers: run python tests/unit/model_matrix.py")


if __name__ == "__main__":
    main()
