"""Generated parts of the documentation: tables of studies, targets, runs, corpora and models, and the artefacts of a study."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_atlas.workflow.config import read_configuration, resolve
from attention_atlas.workflow.study import artifacts, studies
from tools.markdown import markdown_table

ROOT = Path(__file__).resolve().parents[1]


def targets_table() -> str:
    """Every table and figure with the target that builds it, from the declarations of the studies."""
    rows = (
        [f"`{owner.id}`", artifact.number, artifact.title, f"`{owner.paths(artifact, 'sample')[0]}`"]
        for owner, artifact in artifacts()
    )
    return markdown_table(["study", "artefact", "what it shows", "target (for the run `sample`)"], rows)


def studies_table() -> str:
    """The studies, with links to their pages and the number of their tables and figures."""
    rows = []
    for declared in studies().values():
        if not declared.overview:
            kinds = [artifact.kind for artifact in declared.artifacts]
            counts = f"{kinds.count('figure')} figures, {kinds.count('table')} tables"
            rows.append([f"[{declared.title}]({declared.id}.md)", f"`{declared.id}`", counts])
    return markdown_table(["study", "id", "artefacts"], rows)


def roles_table(study_id: str) -> str:
    """The corpora that a study reads, by role."""
    roles = studies()[study_id].roles
    rows = (
        [f"`{key}`", f"`{role.reader}`", role.use.rstrip("."), "yes" if role.required else "no"] for key, role in roles.items()
    )
    return markdown_table(["role", "reader", "used for", "required"], rows)


def artefact_sections(study_id: str, docs: Path, published: str, to_root: str) -> str:
    """The artefacts of a study: what they show, their targets, and the tables and figures of the run that is published in the
    folder `published` of `docs` (`tools/publish.py`).
    """
    declared, page = studies()[study_id], docs / published / f"{study_id}.md"
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    _, *parts = re.split(r"^## .*\{: #([\w-]+) \}$", re.sub(r"\]\((?!http|#)", f"]({to_root}{published}/", text), flags=re.M)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    written = []
    for artifact in declared.artifacts:
        anchor, target = artifact.id.replace("_", "-"), declared.paths(artifact, "sample")[0]
        shown = sections.get(anchor, artifact.caption).strip()
        written.append(f"### {artifact.number}: {artifact.title} {{: #{anchor} }}\n\n{shown}\n\nTarget: `{target}`\n")
    return "\n".join(written)


def errata(study_id: str) -> str:
    """The errata of the paper of a study, from the page of all."""
    author, *_ = studies()[study_id].title.replace(":", "").split()
    text = (ROOT / "docs/errata.md").read_text(encoding="utf-8")
    return next(part.partition("\n")[2] for part in text.split("\n## ") if part.startswith(author))


def runs_table() -> str:
    """The shipped runs: their model and the studies they build."""
    config = read_configuration(ROOT)
    rows = []
    for name, run in config["runs"].items():
        whole = {**config["runs"].get(run.get("extends", ""), {}), **run}
        built = [key for key in whole if key in studies() and not studies()[key].overview]
        rows.append([f"`{name}`", whole.get("title", ""), f"`{whole['model']}`", ", ".join(f"`{key}`" for key in built)])
    return markdown_table(["run", "title", "model", "studies"], rows)


def _source(source: Mapping[str, Any]) -> str:
    """Where a corpus or model comes from, in a few words."""
    if "sample" in source:
        return "generated"
    if "sacrebleu" in source:
        return f"sacrebleu: {', '.join(source['sacrebleu'])}"
    if "hub" in source:
        return f"hub: `{source['hub']}`"
    if "path" in source:
        return f"your file: `{source['path']}`"
    if "url" in source:
        return f"download from {re.split('/', source['url'])[2]}"
    if "package" in source:
        return f"Python package `{source['package']}`"
    if "fine_tuned" in source:
        return f"trained here from `{source['fine_tuned']}`"
    return source.get("released", "untrained model, made here")


def users_of(runs: Mapping[str, Any], name: str) -> str:
    """Runs whose settings name a corpus or a model."""
    return ", ".join(f"`{run}`" for run, settings in runs.items() if _named(settings, name))


def _named(value: object, name: str) -> bool:
    if isinstance(value, Mapping):
        return any(_named(inner, name) for inner in value.values())
    return value == name or (isinstance(value, list) and name in value)


def corpora_table() -> str:
    """All corpora of the registry with reader, source, licence and the runs that name them; the generated ones last."""
    config = read_configuration(ROOT)
    runs = resolve(config)["runs"]
    rows = []
    for name, entry in sorted(config["corpora"].items(), key=lambda item: ("sample" in item[1]["source"], item[0])):
        generated = "sample" in entry["source"]
        licence = entry.get("licence") or ("generated for this project (MIT)" if generated else "not stated by its distributor")
        used = users_of(runs, name)
        title = str(entry.get("title", "")).replace("|", "\\|")
        rows.append([f"`{name}`", title, f"`{entry['reader']}`", _source(entry["source"]), licence.replace("|", "\\|"), used])
    return markdown_table(["corpus", "title", "reader", "source", "licence", "named by the runs"], rows)


def models_table() -> str:
    """All models of the registry with source and shape."""
    config = read_configuration(ROOT)
    runs = resolve(config)["runs"]
    rows = []
    for name, entry in config["models"].items():
        shape = " x ".join(str(entry[key]) for key in ("layers", "heads") if key in entry) or "read from its files"
        weights = {"random": "random", "random_encoder": "random encoder, pre-trained embeddings"}.get(
            entry.get("init", ""), ""
        )
        used = users_of(runs, name)
        rows.append([f"`{name}`", _source(entry["source"]), shape, weights or "trained", used])
    return markdown_table(["model", "source", "layers x heads", "weights", "named by the runs"], rows)
