"""The container recipe installs what requirements.txt names, and nothing else."""

import json
import re

from rules_text import ROOT
from workspaces import PARTS

INSTRUCTIONS = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8")).splitlines()


def arguments(instruction: str) -> list[str]:
    return [line.removeprefix(instruction).strip() for line in INSTRUCTIONS if line.startswith(f"{instruction} ")]


COPIED = {source for line in arguments("COPY") for source in line.split()[:-1]}


def test_packages_are_installed_from_the_requirements_alone():
    (install,) = (line for line in arguments("RUN") if "pip install" in line)
    assert install.endswith("--requirement requirements.txt")
    assert not [word for word in install.split()[2:] if not word.startswith("--") and word != "requirements.txt"]
    assert not [line for line in arguments("RUN") if re.search(r"\b(apt|apt-get|conda|curl|wget|uv)\b", line)]


def test_all_that_a_run_needs_is_copied_and_reaches_the_build():
    assert set(PARTS) | {"requirements.txt"} <= COPIED
    assert all((ROOT / source).exists() for source in COPIED)
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in lines if line.startswith("!")} == COPIED
    assert "*" in lines[: lines.index("!requirements.txt")]


def test_it_starts_snakemake_as_a_user_without_privileges():
    (entry,) = arguments("ENTRYPOINT")
    command, *options = json.loads(entry)
    assert command == "snakemake"
    (home,) = (line for line in arguments("WORKDIR") if line != "/work")
    named = dict(zip(options[::2], options[1::2], strict=True))
    assert named == {"--snakefile": f"{home}/Snakefile", "--workflow-profile": f"{home}/workflow/profiles/local"}
    assert arguments("USER") == ["atlas"]
    # It is set after everything is installed, and before the entry point.
    order = [line.split()[0] for line in INSTRUCTIONS if line and not line.startswith("#")]
    assert max(k for k, name in enumerate(order) if name in ("RUN", "COPY")) < order.index("USER") < order.index("ENTRYPOINT")
