"""The atlas of a built run as one archive for a data hub or Zenodo: results/RUN/atlas-release.zip.

python tools/atlas_release.py RUN      options --configfile as for Snakemake

A run of `make atlas` needs no --configfile: its configuration is in results/RUN/config.yaml.
"""

from __future__ import annotations

import argparse
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

from attention_atlas.atlas.release import Origin, write_release  # noqa: E402
from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.workflow.config import read_configuration, resolve  # noqa: E402
from tools.results import made_by  # noqa: E402

_PINNED = re.compile(r"^([\w.-]+)==", re.MULTILINE)


def versions() -> dict[str, str]:
    """Versions of Python and of the pinned packages that are installed."""
    installed = {"Python": platform.python_version()}
    for name in _PINNED.findall((ROOT / "requirements.txt").read_text(encoding="utf-8")):
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def named_corpora(settings: Any, corpora: dict[str, Any]) -> Iterator[str]:
    """Names of corpora anywhere in the settings of a run."""
    if isinstance(settings, str):
        if settings in corpora:
            yield settings
    elif isinstance(settings, dict | list):
        for part in settings.values() if isinstance(settings, dict) else settings:
            yield from named_corpora(part, corpora)


def overlays(run: str, named: Sequence[Path], root: Path = ROOT) -> list[Path]:
    """Files that overlay config.yaml: those that the user names, or else the one that `make atlas` wrote for the run."""
    written = root / "results" / run / "config.yaml"
    return [path.absolute() for path in named] or ([written] if written.is_file() else [])


def main() -> int:
    """Write the archive and print its place."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", default="sample")
    parser.add_argument("--configfile", nargs="*", type=Path, default=[])
    chosen = parser.parse_args()
    out = ROOT / "results" / chosen.run / "atlas-release.zip"
    try:
        config = resolve(read_configuration(ROOT, overlays(chosen.run, chosen.configfile)))
        if chosen.run not in config["runs"]:
            raise AtlasError(f"there is no run '{chosen.run}': name one of {', '.join(config['runs'])}.")
        run, corpora = config["runs"][chosen.run], config["corpora"]
        used = sorted(set(named_corpora(run, corpora)))
        origin = Origin(
            title=run["title"],
            code=made_by(),
            corpora=[(corpora[name]["title"], corpora[name].get("licence", "")) for name in used],
            versions=versions(),
            licence=(ROOT / "LICENSE").read_text(encoding="utf-8"),
            licence_id="MIT",
        )
        write_release(ROOT / "results" / chosen.run, origin, out)
    except AtlasError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(out.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
