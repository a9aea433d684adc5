"""The results of a built run as pages of the site: docs/results/RUN, with a page for each study and one with all claims.

python tools/publish.py RUN     options of Snakemake, such as --configfile, may follow

A file that shows text of corpora is published with their names if their licences allow it, and is otherwise left out.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

import pandas as pd  # noqa: E402
import yaml  # noqa: E402

from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.io.files import write_text  # noqa: E402
from attention_atlas.io.tables import read_table  # noqa: E402
from attention_atlas.published.compare import COVERED, DIFFERS, FIXED_NOTE, MATCH, VERDICT_NOTE, totals  # noqa: E402
from attention_atlas.workflow.artifacts import ListedArtifact, listed_artifacts, made_with  # noqa: E402
from attention_atlas.workflow.config import resolve  # noqa: E402
from attention_atlas.workflow.paths import Config  # noqa: E402
from attention_atlas.workflow.requirements import without_missing  # noqa: E402
from attention_atlas.workflow.study import studies, study_corpora  # noqa: E402
from tools.findings import findings_page  # noqa: E402
from tools.markdown import escaped, frame_table, markdown_table  # noqa: E402
from tools.results import (  # noqa: E402
    claims_table,
    configuration_of,
    jobs_to_do,
    made_by,
    overlays_of,
    run_parser,
    value_counts,
    with_overlays,
)

LARGEST, SHORT = 250_000, 30
"""Bytes of a table or its page that is copied; rows of a table that is shown on the page of its study."""
FREE = re.compile(r"(CC0|CC BY|CC BY-SA)( \d\.\d)?( \(.*\))?")
"""Licences that allow texts to be passed on with their names."""
_COMPARED = ["item", "quantity", "published", "ours", "ci_low", "ci_high", "n", "verdict"]
_NAVIGATION = re.compile(r"\n<nav aria-label='Files and sources'>.*?</nav>", re.DOTALL)
"""Links of a table's page (`io.html_tables`), to files of which only some are published."""


def may_be_passed_on(corpus: Mapping[str, Any]) -> bool:
    """Whether the licence of a corpus allows it; generated text and files of this repository are ours."""
    source = corpus["source"]
    is_ours = "sample" in source or str(source.get("path", "")).startswith("workflow/resources/")
    return is_ours or FREE.fullmatch(corpus.get("licence", "")) is not None


def text_corpora(config: Config, run: str, entry: ListedArtifact) -> list[str]:
    """Corpora whose text an artefact can show: of the roles that it reads, or all of its study if it needs no role."""
    roles, artifact = study_corpora(config, run, entry.study.id), entry.artifact
    if artifact.needs:
        return [roles[key] for key in (*artifact.needs, *artifact.uses) if key in roles]
    return list(dict.fromkeys((*roles.values(), *entry.study.corpora(config, run))))


def credit(corpus: Mapping[str, Any]) -> str:
    """Title, address and licence of a corpus, as Markdown."""
    source = corpus["source"]
    address = source.get("url") or (f"https://huggingface.co/datasets/{source['hub']}" if "hub" in source else "")
    title = f"[{escaped(corpus['title'])}]({address})" if address else escaped(corpus["title"])
    return ", ".join(filter(None, (title, corpus.get("licence", ""))))


def publish(config: Config, run: str, root: Path, out: Path, made: str) -> list[str]:
    """Write the pages of a run; returns the studies that have one."""
    folder, title = root / "results" / run, escaped(config["runs"][run]["title"])
    listed, titles = listed_artifacts(config, run), {}
    for study in (study for study in studies().values() if study.folder != ""):
        if parts := [_section(config, run, folder, out, entry) for entry in listed if entry.study.id == study.id]:
            paper = f" Paper: {study.paper.citation}, <{study.paper.url}>." if study.paper and study.paper.url else ""
            head = [f"# {escaped(study.title)}", f"{title}.{paper}", "[What we found](index.md)"]
            write_text(out / f"{study.id}.md", "\n\n".join([*head, *parts]) + "\n")
            titles[study.id] = escaped(study.title)
    summary, claims = (read_table(folder / f"{name}.tsv") for name in ("scoreboard", "claims"))
    known = {"title": title, "titles": titles, "made": made, "values": value_counts(summary), "totals": totals(claims)}
    known |= {"notes": f"{VERDICT_NOTE}\n\n{FIXED_NOTE}", "table": claims_table(claims), **_provenance(config, run, folder)}
    write_text(out / "index.md", findings_page(folder, out, claims, **known))
    return list(titles)


def _provenance(config: Config, run: str, folder: Path) -> dict[str, str]:
    """What a run was made from: its corpora and models with checksums, dropped records, and settings."""
    settings = config["runs"][run]
    of_run = [study for name, study in studies().items() if name in settings]
    named = ((*study_corpora(config, run, study.id).values(), *study.corpora(config, run)) for study in of_run)
    used = {name: config["corpora"][name] for names in named for name in names}
    rows = [[f"`{n}`", credit(of), " ".join(v for k, v in of["source"].items() if "sha256" in k)] for n, of in used.items()]
    cards = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("models/*/card.json"))]
    rows += [[f"`{card['name']}`", escaped(card["origin"]), card["weights_sha256"]] for card in cards]
    dropped = [read_table(path).assign(study=path.parent.name) for path in sorted(folder.glob("*/dropped.tsv"))]
    records = pd.concat([pd.DataFrame(columns=["study", "corpus", "outcome", "unit", "n"]), *dropped])
    return {
        "corpora": ", ".join(dict.fromkeys(escaped(corpus["title"].partition(",")[0]) for corpus in used.values())),
        "checksums": markdown_table(["corpus or model", "source and licence", "sha256"], rows),
        "dropped": frame_table(records.loc[records["outcome"] != "kept", ["study", "corpus", "outcome", "unit", "n"]]),
        "model": settings.get("model", ""),
        "made_with": " ".join(f"Made with {versions}." for versions in made_with(folder)),
        "settings": yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=120).strip(),
    }


def _section(config: Config, run: str, folder: Path, out: Path, entry: ListedArtifact) -> str:
    """The section of an artefact: caption, credits, picture, rows, and links; the files that it shows are copied."""
    artifact = entry.artifact
    number, anchor = escaped(artifact.number), artifact.id.replace("_", "-")
    parts = [f"## {number}: {escaped(artifact.title)} {{: #{anchor} }}", artifact.caption]
    if entry.skipped:
        return "\n\n".join([*parts, f"Not built: {escaped(entry.skipped)}"])
    withheld: Sequence[str] = ()
    if artifact.text_files:
        corpora = [config["corpora"][name] for name in text_corpora(config, run, entry)]
        kept = [escaped(corpus["title"]) for corpus in corpora if not may_be_passed_on(corpus)]
        if corpora and not kept:
            parts.append(f"Text: {'; '.join(map(credit, corpora))}.")
        else:
            withheld = artifact.text_files
            reason = f"it shows text that may not be passed on ({'; '.join(kept)})"
            parts.append(f"Not published, because {reason}: {', '.join(f'`{name}`' for name in withheld)}.")
    files = {
        name: path.removeprefix(f"results/{run}/")
        for name, path in zip(artifact.files, entry.paths(run), strict=True)
        if name not in withheld
    }
    size = {name: (folder / place).stat().st_size for name, place in files.items()}
    if picture := next((name for name in files if name.endswith(".svg")), ""):
        shown = min(picture, f"{picture.removesuffix('.svg')}.png", key=lambda name: size.get(name, math.inf))
        parts.append(f"![{number}]({_copied(folder, out, files[shown])})")
    if (main := f"{artifact.id}.tsv") in files:
        parts += _rows(artifact.id, read_table(folder / files[main]), bool(picture))
    links = []
    for name in filter(lambda name: name.endswith((".tsv", ".html")), files):
        # A page that is not that of a table is copied, whatever its size.
        is_table = f"{name.rpartition('.')[0]}.tsv" in files
        is_left_out = is_table and size[name] > LARGEST
        links.append(f"`{name}` (in the run)" if is_left_out else f"[{name}]({_copied(folder, out, files[name])})")
    return "\n\n".join([*parts, "; ".join(links)])


def _rows(artifact: str, frame: pd.DataFrame, with_picture: bool) -> list[str]:
    """The claims; how many published values have each verdict, and those that are compared; or the rows of a short table."""
    if artifact == "claims":
        return [VERDICT_NOTE, claims_table(frame)]
    if artifact == "comparison":
        compared = frame.loc[frame["verdict"].isin((MATCH, COVERED, DIFFERS)), _COMPARED]
        counts = frame["verdict"].value_counts().rename_axis("verdict").reset_index(name="values")
        return [frame_table(table) for table in (counts, compared) if len(table)]
    return [frame_table(frame)] if len(frame) <= SHORT and not with_picture else []


def _copied(folder: Path, out: Path, place: str) -> str:
    """Copy a file of the run to the same place below the pages, and return this place."""
    (out / place).parent.mkdir(parents=True, exist_ok=True)
    if place.endswith(".html"):
        write_text(out / place, _NAVIGATION.sub("", (folder / place).read_text(encoding="utf-8"), count=1))
    else:
        shutil.copyfile(folder / place, out / place)
    return place


def main() -> int:
    """Write the pages and say where they are."""
    chosen, options = run_parser(__doc__).parse_known_args()
    overlays = overlays_of(chosen.run, chosen.configfile, ROOT)
    options, out = with_overlays(options, overlays), ROOT / "docs" / "results" / chosen.run
    try:
        if out.exists():
            raise AtlasError(f"{out}: this folder exists: remove it first.")
        if jobs := jobs_to_do(chosen.run, ROOT, options):
            raise AtlasError(f"results/{chosen.run}: {len(jobs)} jobs have to run for this code: build the run first.")
        written = publish(without_missing(resolve(configuration_of(ROOT, overlays, options))), chosen.run, ROOT, out, made_by())
    except AtlasError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(
        f"{out.relative_to(ROOT)}: pages index, {', '.join(written)}. The site shows the run `extra: published` (mkdocs.yml)."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
