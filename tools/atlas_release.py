"""The atlas of a built run as one archive for a data hub or Zenodo: results/RUN/atlas-release.zip.

python tools/atlas_release.py RUN      options --configfile as for Snakemake

A run of `make atlas` needs no --configfile: its configuration is in results/RUN/config.yaml.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

import yaml  # noqa: E402
from huggingface_hub.repocard import metadata_load  # noqa: E402

from attention_atlas.atlas.release import Origin, write_release  # noqa: E402
from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.models.folders import model_folder  # noqa: E402
from attention_atlas.models.loading import source_in_words  # noqa: E402
from attention_atlas.workflow.config import read_configuration, resolve  # noqa: E402
from tools.results import made_by  # noqa: E402
from tools.to_do import overlays_of, run_parser  # noqa: E402

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


def named_in(settings: Any, registry: Mapping[str, Any]) -> Iterator[str]:
    """Names of entries of a registry anywhere in the settings of a run."""
    if isinstance(settings, str):
        if settings in registry:
            yield settings
    elif isinstance(settings, dict | list):
        for part in settings.values() if isinstance(settings, dict) else settings:
            yield from named_in(part, registry)


def models_of(run: Mapping[str, Any], config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Models and families that a run names, those from which they are trained, and where the weights of each are from."""
    models, families = config["models"], config["families"]
    sources = {}
    waiting = [*named_in(run, models), *named_in(run, families)]
    while waiting:
        name = waiting.pop()
        if name in sources:
            continue
        if name in families:
            base = families[name]["base"]
            sources[name] = f"{base}, trained by the run on {', '.join(families[name]['tasks'])}"
            waiting.append(base)
        else:
            sources[name] = _source_of(models[name], config["corpora"])
            waiting += filter(None, [models[name]["source"].get("fine_tuned")])
    return sorted(sources.items())


def _source_of(entry: Mapping[str, Any], corpora: Mapping[str, Any]) -> str:
    """Where the weights of a model are from, and their licence."""
    source = entry["source"]
    if "fine_tuned" in source:
        return f"{source['fine_tuned']}, trained by the run on {corpora[entry['training']['corpus']]['title']}"
    if "untrained" in source:
        return f"random weights, seed {entry['seed']}"
    folder = model_folder(source)
    licence = licence_in(folder / "README.md") if folder else ""
    place = source_in_words(source, folder) if folder else next(iter(source.values()))
    weights = {
        "random": f"random weights, seed {entry['seed']}, of the architecture of {place}",
        "random_encoder": f"random weights, seed {entry['seed']}, with the embeddings of {place}",
    }.get(entry["init"], place)
    return f"{weights}; licence: {licence or 'none stated in its README.md'}"


def licence_in(card: Path) -> str:
    """The licence in the header of a model's README.md; empty if it names none."""
    try:
        facts = metadata_load(card)
    except (OSError, ValueError, yaml.YAMLError):
        return ""
    return str((facts or {}).get("license", ""))


def main() -> int:
    """Write the archive and print its place."""
    chosen = run_parser(__doc__).parse_args()
    out = ROOT / "results" / chosen.run / "atlas-release.zip"
    try:
        config = resolve(read_configuration(ROOT, overlays_of(chosen.run, chosen.configfile, ROOT)))
        if chosen.run not in config["runs"]:
            raise AtlasError(f"there is no run '{chosen.run}': name one of {', '.join(config['runs'])}.")
        run, corpora = config["runs"][chosen.run], config["corpora"]
        used = sorted(set(named_in(run, corpora)))
        origin = Origin(
            title=run["title"],
            code=made_by(),
            models=models_of(run, config),
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
