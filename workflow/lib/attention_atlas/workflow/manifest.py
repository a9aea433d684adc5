"""The manifest of artefacts: workflow/resources/artifacts.yaml."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from attention_atlas.io.files import read_yaml

MANIFEST_PATH = Path(__file__).resolve().parents[3] / "resources" / "artifacts.yaml"


@dataclass(frozen=True)
class Artifact:
    """One table or figure.

    Attributes:
        study: the study it belongs to.
        category: what the report calls that study.
        id: name within the study; also that of its caption, workflow/report/{study}/{id}.rst.
        kind: table or figure.
        number: the paper's own.
        title: what it shows.
        needs: keys of the study's settings that it cannot do without: roles of corpora, or a second model.
        uses: roles of further corpora that it reads where a run names them.
        files: its files below results/{run}/{study}.
        folder: in place of the study's; empty for the run's own.
    """

    study: str
    category: str
    id: str
    kind: str
    number: str
    title: str
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    files: tuple[str, ...]
    folder: str | None = None

    def paths(self, run: str) -> list[str]:
        """Its files in a run."""
        folder = self.study if self.folder is None else self.folder
        return ["/".join(filter(None, ("results", run, folder, name))) for name in self.files]


@functools.cache
def load_manifest() -> tuple[Artifact, ...]:
    """All artefacts, in the order of the manifest."""
    return tuple(_entries(read_yaml(MANIFEST_PATH)))


def find_artifact(study: str, name: str) -> Artifact:
    """One artefact.

    Raises:
        KeyError: the manifest has no such artefact.
    """
    for artifact in load_manifest():
        if (artifact.study, artifact.id) == (study, name):
            return artifact
    raise KeyError(f"{study}/{name} is not in {MANIFEST_PATH.name}")


def _entries(studies: dict[str, dict]) -> Iterator[Artifact]:
    for study, entry in studies.items():
        for item in entry["artifacts"]:
            lists = {name: tuple(item.get(name, ())) for name in ("needs", "uses", "files")}
            yield Artifact(study=study, category=entry["title"], folder=entry.get("folder"), **{**item, **lists})
