"""Resolve the hub's models and data sets of the registries again, and record their commits in config/lock.yaml.

python tools/lock.py                              all that are named without a commit, or whose shape is not recorded yet
python tools/lock.py --model NAME --corpus NAME   only these entries of the registries
python tools/lock.py --configfile mine.yaml       those of an overlay over config.yaml as well
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.io.hub_files import is_placed, resolve  # noqa: E402
from attention_atlas.io.hub_lock import (  # noqa: E402
    DATASETS,
    LOCK_PLACE,
    LOCK_VARIABLE,
    MODELS,
    SHAPE,
    is_commit,
    locked,
    read_lock,
    record,
    reference_of,
)
from attention_atlas.models.shape import shape_record  # noqa: E402
from attention_atlas.workflow.config import read_configuration  # noqa: E402
from attention_atlas.workflow.known import check_known  # noqa: E402

_REGISTRIES = {MODELS: "models", DATASETS: "corpora"}


def repositories(
    configuration: Mapping[str, Any], models: list[str] | None = None, corpora: list[str] | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """(kind, source) of the entries of the registries that are to be resolved, each repository and reference once.

    Args:
        configuration: as it was read.
        models, corpora: names in the registries; None for all. A name of one kind leaves the other kind out.

    Raises:
        AtlasError: there is no entry of such a name, or its source is not the hub.
    """
    named = {MODELS: models, DATASETS: corpora}
    some = models is not None or corpora is not None
    wanted: dict[tuple[str, str, str], dict[str, Any]] = {}
    for kind, registry in _REGISTRIES.items():
        entries = configuration[registry]
        for name in (named[kind] or ()) if some else entries:
            check_known(name, entries, "model" if kind == MODELS else "corpus", registry)
            source = entries[name]["source"]
            if "hub" in source and not is_placed(kind, source):
                wanted[kind, source["hub"], reference_of(source)] = source
            elif some:
                raise AtlasError(f"{registry}.{name}: its files are not taken from the hub, so it has no commit to record.")
    return [(kind, source) for (kind, _, _), source in wanted.items() if some or not _is_complete(kind, source)]


def _is_complete(kind: str, source: Mapping[str, Any]) -> bool:
    """Whether nothing about a source can change: a commit, and of a model its recorded shape."""
    known = locked(read_lock(), kind, source) or {}
    return is_commit(reference_of(source)) and (kind == DATASETS or set(SHAPE) <= known.keys())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", nargs="*", metavar="NAME")
    parser.add_argument("--corpus", nargs="*", metavar="NAME")
    parser.add_argument("--configfile", nargs="*", type=Path, default=[], help="overlays over config.yaml")
    chosen = parser.parse_args()
    os.environ.setdefault(LOCK_VARIABLE, str(ROOT / LOCK_PLACE))
    failed = 0
    try:
        # An empty name is that of a variable of make that was not given.
        models, corpora = (
            [name for name in names if name] or None if names else None for names in (chosen.model, chosen.corpus)
        )
        wanted = repositories(read_configuration(ROOT, chosen.configfile), models, corpora)
    except AtlasError as error:
        sys.exit(f"error: {error}")
    for kind, source in wanted:
        before = (locked(read_lock(), kind, source) or {}).get("commit", "")
        facts = shape_record if kind == MODELS else None
        try:
            commit = record(kind, source, partial(resolve, kind, source, facts), refresh=True)["commit"]
        except AtlasError as error:
            failed += 1
            print(f"error: {error}", file=sys.stderr)
            continue
        change = "unchanged" if commit == before else f"was {before[:12]}" if before else "new"
        print(f"{kind:9} {source['hub']} at {reference_of(source)[:12]}: {commit[:12]} ({change})")
    if not wanted:
        print("All hub sources name a commit: nothing to resolve.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
