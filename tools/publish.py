"""The results of a run as pages of the site: tables, pictures and verdicts by study, and an overview of all findings.

python tools/publish.py RUN                    write results/RUN/pages, with the text of the run's corpora
python tools/publish.py RUN --publish FOLDER   write pages that may be redistributed, without text of corpora: figures that show
                                               text are drawn from other text, or are those of the run --generated

The first takes all files that are built. The second refuses files that are not those of this code and configuration; with
--partial it leaves them out.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

import pandas as pd  # noqa: E402

from attention_atlas.atlas.other_sentences import write_with_sentences_of  # noqa: E402
from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.io.files import sha256, write_text  # noqa: E402
from attention_atlas.io.markdown import table  # noqa: E402
from attention_atlas.io.tables import read_table  # noqa: E402
from attention_atlas.published.compare import COLUMNS  # noqa: E402
from attention_atlas.published.corpus_text import check_no_corpus_text  # noqa: E402
from attention_atlas.published.page_layout import PageLayout, page_layout  # noqa: E402
from attention_atlas.published.run_pages import (  # noqa: E402
    Overview,
    ShownArtifact,
    StudyPage,
    TableFile,
    overview_page,
    study_page,
)
from attention_atlas.published.scoreboard import CLAIMS, summary_rows  # noqa: E402
from attention_atlas.workflow.artifact_list import ListedArtifact, listed_artifacts  # noqa: E402
from attention_atlas.workflow.config import resolve  # noqa: E402
from attention_atlas.workflow.inputs import study_inputs  # noqa: E402
from attention_atlas.workflow.inputs.scoreboard import ScoreboardInputs  # noqa: E402
from attention_atlas.workflow.lookups import Config  # noqa: E402
from attention_atlas.workflow.needs import artifacts_of, needs, without_missing  # noqa: E402
from attention_atlas.workflow.studies import studies, study_corpora  # noqa: E402
from attention_atlas.workflow.study import Artifact, Study  # noqa: E402
from tools.results import configuration_of, made_by, outputs_of, overlays_of, run_parser, with_overlays  # noqa: E402
from tools.small_pictures import write_small_picture  # noqa: E402

RESOURCES = Path("workflow", "resources")
"""Files of this repository, as the registry of corpora names them."""
PICTURE_BYTES = 150_000
TABLE_BYTES = 250_000
ALL_BYTES = 25_000_000
"""Limits of a picture, of a table and of all files of the pages."""
MARK = "<!-- Written by `make results`: changes here are lost. -->"
_WIDE = "---\nhide: [toc]\n---"
"""Header of a page on the site without a list of its sections, so that its tables have more room."""
ATLAS_PAGE = "atlas.html"
REDISTRIBUTABLE_NOTE = (
    "Not all corpora may be redistributed, so this figure shows sentences that may be: {corpora}. The model is that of the "
    "run. `make results` shows the sentences of your corpora on your machine."
)
GENERATED_NOTE = (
    "This figure is from the run `{run}`, which uses generated sentences and its own models: not all corpora may be "
    "redistributed, so no corpus text is shown here. `make results` shows the sentences of your corpora on your machine."
)
ABSENT_NOTE = (
    "No picture: it shows sentences of a corpus whose licence may not allow redistribution, and the run `{run}` on generated "
    "sentences does not have this figure. `make results` shows it on your machine."
)
ATLAS_NOTE = "The numbers are those of this run; the sentences are generated."
OTHER_RUN_NOTE = "The numbers are those of this run; the sentences are generated and come from the run {run}."
PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scipy", "pandas", "scikit-learn", "matplotlib", "snakemake")
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
NOT_CORPORA = ".rows.tsv"
GENERATED = "sample/"
"""Folder of the generated corpus, below those of a run."""
_NAVIGATION = re.compile(r"\n<nav aria-label='Files and sources'>.*?</nav>", re.DOTALL)
"""The links that `io.html_pages.link_pages` writes."""


@dataclass(frozen=True)
class Source:
    """Where the pages come from.

    Attributes:
        run: name of the run.
        root: folder of the workflow that built it.
        config: the resolved configuration, without what is missing and may be.
        up_to_date: outputs of the run that are up to date, relative to `root`; None where all files that are there count.
        generated: folder of the run on generated sentences, whose figures stand for those that show text; None where pages
            show the text of the run's corpora.
        notes: paragraphs at the top of the overview.
    """

    run: str
    root: Path
    config: Config
    up_to_date: frozenset[str] | None
    generated: Path | None
    notes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.root / "results" / self.run

    def built(self, path: str) -> Path | None:
        """A file of the run; None if it is not there or not up to date."""
        place = self.root / path
        return place if place.is_file() and (self.up_to_date is None or path in self.up_to_date) else None


@dataclass
class _Pages:
    """Pages that are being written.

    Attributes:
        out: folder of the pages.
        tables: tables of the run whose rows are shown.
        redrawn: tables of figures with text that may be redistributed.
        links: file of the run -> where its copy is, relative to `out`.
        atlas_pages: pages of the atlas that still have to be written, once all files are copied that they link to -> where to,
            and the same page of the run with generated sentences, if it has one.
    """

    source: Source
    out: Path
    tables: list[Path] = field(default_factory=list)
    redrawn: list[Path] = field(default_factory=list)
    links: dict[Path, str] = field(default_factory=dict)
    atlas_pages: dict[Path, tuple[str, Path | None]] = field(default_factory=dict)

    def study(self, study: Study, listed: Sequence[ListedArtifact]) -> StudyPage | None:
        """Copy the files of a study, and what its page shows; None where it is not built as far as its comparison."""
        comparison = study.path("comparison.tsv", self.source.run)
        if not study.overview and not self.source.built(comparison):
            return None
        shown, absent = [], {}
        for entry in listed:
            artifact = entry.artifact
            if artifact_page := self._artifact(study, artifact):
                shown.append(artifact_page)
            else:
                absent[f"{artifact.number}: {artifact.title}"] = entry.skipped or "Not built yet."
        if not shown:
            return None
        paper = study.paper
        citation = (f"{paper.citation}, <{paper.url}>" if paper.url else paper.citation) if paper else ""
        return StudyPage(study.id, study.title, citation, shown, absent)

    def _artifact(self, study: Study, artifact: Artifact) -> ShownArtifact | None:
        run, generated = self.source.run, self.source.generated
        if not all(self.source.built(path) for path in study.paths(artifact, run)):
            return None
        withheld = set(artifact.text_files) - {ATLAS_PAGE} if generated else set()
        redrawn = self._redrawn(study, artifact)
        picture, note, tables, pages = "", "", [], {}
        for name in artifact.files:
            suffix = Path(name).suffix
            place = self.source.root / study.path(name, run)
            if generated and name in withheld and suffix == ".png":
                if redrawn:
                    place, note = redrawn[suffix], REDISTRIBUTABLE_NOTE.format(corpora=self._shown_corpora(study, artifact))
                else:
                    place = generated / place.relative_to(self.source.folder)
                    note = (GENERATED_NOTE if place.is_file() else ABSENT_NOTE).format(run=generated.name)
            if suffix == ".png" and place.is_file():
                picture = f"pictures/{study.id}/{place.name}"
                write_small_picture(place, self.out / picture, PICTURE_BYTES)
                if name not in withheld:
                    # The pages of a run on the reader's machine link to the figure as SVG.
                    self.links[place.with_suffix(".svg")] = picture
            elif suffix == ".tsv" and name not in withheld:
                page = f"{name.removesuffix(suffix)}.html"
                layout = page_layout(place.with_suffix(".html")) if page in artifact.files and page not in withheld else None
                tables.append(self._table(study, name, place, layout))
            elif suffix == ".html" and name not in withheld and f"{name.removesuffix(suffix)}.tsv" not in artifact.files:
                link = f"pages/{study.id}/{Path(name).name}"
                self._html(place, link, redrawn.get(suffix))
                pages[f"Open {Path(name).stem.replace('_', ' ')}"] = link
        caption = artifact.caption
        if redrawn and artifact.redistributable:
            caption = artifact.redistributable.caption
        if numbers := redrawn.get(".tsv"):
            tables.append(self._table(study, numbers.name, numbers, None, self.redrawn))
        return ShownArtifact(artifact.id, artifact.number, artifact.title, caption, picture, note, tables, pages)

    def _redrawn(self, study: Study, artifact: Artifact) -> dict[str, Path]:
        """Suffix -> file of an artefact with text that may be redistributed; empty where pages show the text of the corpora."""
        config, run, drawn = self.source.config, self.source.run, artifact.redistributable
        if self.source.generated is None or drawn is None:
            return {}
        if not all(is_part_of_project(config, corpus) for corpus in self._corpora(study, drawn.shows)):
            return {}
        files = [self.source.built(path) for path in study.redistributable_paths(config, artifact, run)]
        return {file.suffix: file for file in files if file} if all(files) else {}

    def _corpora(self, study: Study, roles: Sequence[str]) -> list[str]:
        """Corpora of the roles that the run names."""
        named = study_corpora(self.source.config, self.source.run, study.id)
        return [named[role] for role in roles if role in named]

    def _shown_corpora(self, study: Study, artifact: Artifact) -> str:
        """Titles of the corpora whose text a figure shows that may be redistributed."""
        roles = artifact.redistributable.shows if artifact.redistributable else ()
        inputs = study_inputs(self.source.config, study.id)
        return "; ".join(inputs.title_of(corpus) for corpus in self._corpora(study, roles))

    def _table(
        self, study: Study, name: str, source: Path, layout: PageLayout | None, checked: list[Path] | None = None
    ) -> TableFile:
        size = source.stat().st_size
        link = f"tables/{study.id}/{name}" if size <= TABLE_BYTES else ""
        if link:
            self._copy(source, link)
            self.links[source] = link
        # The first rows of a long table are shown, too.
        (self.tables if checked is None else checked).append(source)
        return TableFile(name, read_table(source), link, size, layout)

    def _copy(self, source: Path, link: str) -> None:
        place = self.out / link
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)

    def _html(self, source: Path, link: str, redrawn: Path | None) -> None:
        if source.name == ATLAS_PAGE and self.source.generated:
            self.atlas_pages[source] = link, redrawn
        else:
            page = source.read_text(encoding="utf-8")
            # Links of a page lead to files beside it, which are elsewhere on the site or not there at all.
            write_text(self.out / link, page if self.source.generated is None else _NAVIGATION.sub("", page, count=1))
            self.links[source] = link

    def write_atlas_pages(self) -> None:
        """Write pages of the atlas with generated sentences and with links to the files that were copied."""
        if self.source.generated is None:
            return
        of_other_run = self.source.generated / "atlas" / ATLAS_PAGE
        for page, (link, redrawn) in self.atlas_pages.items():
            sentences = redrawn or of_other_run
            note = ATLAS_NOTE if redrawn else OTHER_RUN_NOTE.format(run=self.source.generated.name)
            moved = {
                os.path.relpath(file, page.parent): os.path.relpath(copied, Path(link).parent)
                for file, copied in self.links.items()
            }
            write_with_sentences_of(page, sentences if sentences.is_file() else None, note, self.out / link, moved)


def write_pages(source: Source, out: Path, question: str, machine: str) -> list[str]:
    """Write the pages of a run.

    Args:
        source: the run.
        out: folder to write; earlier pages there are replaced.
        question: heading of the overview.
        machine: that built the run, in words.

    Returns:
        The studies that have a page.

    Raises:
        AtlasError: nothing is built, the folder holds other files, a table holds text of a corpus, or the pages are too large.
    """
    if out.exists() and any(out.iterdir()) and not _is_written_here(out):
        raise AtlasError(f"{out}: this folder holds files that are not pages of a run; name a new folder.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as scratch:
        folder = Path(scratch) / "pages"
        built = _write(source, folder, question, machine)
        if out.exists():
            shutil.rmtree(out)
        folder.rename(out)
    return built


def _is_written_here(out: Path) -> bool:
    index = out / "index.md"
    return index.is_file() and MARK in index.read_text(encoding="utf-8")


def _write(source: Source, out: Path, question: str, machine: str) -> list[str]:
    pages = _Pages(source, out)
    title = source.config["runs"][source.run].get("title", source.run)
    listed = listed_artifacts(source.config, source.run)
    shown: dict[str, StudyPage] = {}
    of_run = [study for study in studies().values() if study.id in source.config["runs"][source.run] and study.folder != ""]
    for study in of_run:
        if page := pages.study(study, [entry for entry in listed if entry.study.id == study.id]):
            shown[study.id] = page
            write_text(out / f"{study.id}.md", f"{study_page(page, title)}\n{MARK}\n")
    pages.write_atlas_pages()
    comparisons = _tables(source, "comparison", list(COLUMNS))
    claims = _tables(source, "claims", CLAIMS[1:])
    if not shown:
        raise AtlasError(f"{source.folder}: no study of this run has a comparison.tsv yet: build the run first.")
    claims = claims[CLAIMS]
    dropped = _tables(source, "dropped", ["corpus", "outcome", "unit", "n"])
    atlas = out / "pages" / "atlas" / ATLAS_PAGE
    on_pages = {f"{study}/{part.id}" for study, page in shown.items() for part in page.artifacts}
    overview = Overview(
        question=question,
        run=title,
        studies={study: page.title for study, page in shown.items()},
        not_built=[study.title for study in of_run if study.id not in shown],
        summary=pd.DataFrame() if comparisons.empty else summary_rows(comparisons, claims),
        claims=claims,
        atlas="pages/atlas/atlas.html" if atlas.is_file() else "",
        skipped={
            f"{entry.name}: {entry.artifact.title}": entry.skipped
            for entry in listed
            if entry.skipped and entry.name not in on_pages
        },
        not_named=_not_named(source),
        lacking=_lacking(source),
        dropped=dropped[dropped["outcome"] != "kept"].drop(columns="share", errors="ignore") if not dropped.empty else dropped,
        notes=source.notes,
        made=_made(source, machine),
    )
    write_text(out / "index.md", f"{_WIDE}\n\n{overview_page(overview)}\n{MARK}\n")
    if source.generated:
        examples = corpus_examples(source.folder)
        check_no_corpus_text(pages.tables, examples)
        ours = {corpus: files for corpus, files in examples.items() if is_part_of_project(source.config, corpus)}
        others = {corpus: files for corpus, files in examples.items() if corpus not in ours}
        check_no_corpus_text(pages.redrawn, others, allowed=ours)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if source.generated and size > ALL_BYTES:
        raise AtlasError(
            f"{out.name}: the pages take {size / 1e6:.0f} MB, and the limit is {ALL_BYTES / 1e6:.0f} MB: nothing was written."
        )
    return list(shown)


def _tables(source: Source, name: str, columns: list[str]) -> pd.DataFrame:
    """The tables of this name of all studies as one, with a column `study`."""
    frames = []
    for study in studies().values():
        declared = {artifact.id for artifact in study.artifacts}
        if not study.overview and name in declared and (path := source.built(study.path(f"{name}.tsv", source.run))):
            frames.append(read_table(path, columns).assign(study=study.id))
    if not frames:
        return pd.DataFrame(columns=["study", *columns])
    frame = pd.concat(frames, ignore_index=True)
    return frame[["study", *(column for column in frame if column != "study")]]


def _not_named(source: Source) -> list[tuple[str, str, str]]:
    settings = source.config["runs"][source.run]
    return [
        (study.id, role, declared.use)
        for study in studies().values()
        if study.id in settings
        for role, declared in study.roles.items()
        if not declared.generated and not settings[study.id].get(role)
    ]


def _lacking(source: Source) -> dict[str, str]:
    """What is missing -> artefacts that are built without it, optional packages included."""
    named = {**source.config, "runs": source.config.get("named_runs", source.config["runs"])}
    lacking = {
        need.requirement.sentence: ", ".join(need.lacks)
        for need in needs(named, source.config, artifacts_of(named, [source.run]))
        if need.lacks
    }
    for study in studies().values():
        if study.id in source.config["runs"][source.run]:
            for extra in study.extras(source.config, source.run):
                if extra.problem:
                    lacking[f"{extra.name}: {extra.problem}"] = f"{', '.join(extra.artifacts)}: {extra.lacking}"
    return lacking


def corpus_examples(folder: Path) -> dict[str, Sequence[Path]]:
    """Corpus -> its examples, for the model whose examples come first."""
    examples: dict[str, Sequence[Path]] = {}
    for corpus in sorted((folder / "examples").glob("*/*")):
        examples.setdefault(corpus.name, sorted(corpus.glob("*.parquet")))
    return examples


def is_part_of_project(config: Config, corpus: str) -> bool:
    """Whether a corpus is generated, or a file of this repository, so that its text may be redistributed."""
    source = config["corpora"].get(corpus, {}).get("source", {})
    return "sample" in source or Path(str(source.get("path", ""))).is_relative_to(RESOURCES)


def _made(source: Source, machine: str) -> dict[str, str]:
    """Commit, versions, corpora, date and machine."""
    versions = [["Python", platform.python_version()]]
    versions += [[name, importlib.metadata.version(name)] for name in PACKAGES]
    corpora = _checksums(source.folder / "corpora", reads_generated(source.config, source.run))
    sums = [[f"`{name}`", f"`{digest}`", f"{size:,}"] for name, digest, size in corpora]
    written = (path for study in studies() for path in (source.folder / study).glob("*.tsv"))
    newest = max(path.stat().st_mtime for path in written)
    date = datetime.datetime.fromtimestamp(newest, datetime.UTC).strftime("%-d %B %Y")
    seconds = sum(_seconds(path) for path in (source.folder / "benchmarks").rglob("*.tsv"))
    return {
        "Code": made_by(),
        "Date and machine": f"Results of {date}. {machine} All jobs together took {seconds / 3600:.1f} hours.",
        "Versions": table(("package", "version"), versions),
        "Corpora": "SHA-256 of the files that the run measured, after selection of rows where it names some.\n\n"
        + table(("file", "SHA-256", "bytes"), sums),
    }


def _checksums(folder: Path, with_generated: bool) -> Iterator[tuple[str, str, int]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.endswith(NOT_CORPORA) and (with_generated or not name.startswith(GENERATED)):
            yield name, sha256(path), path.stat().st_size


def _seconds(benchmark: Path) -> float:
    """Wall time of a job; 0 where the file has none."""
    frame = pd.read_csv(benchmark, sep="\t", na_values="-")
    return float(frame["s"].sum()) if "s" in frame else 0.0


def this_machine() -> str:
    """Processor, cores and memory of this machine, in words."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = names[0] if names else platform.processor() or platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"Processor: {processor}, {os.cpu_count()} cores; {memory:.0f} GiB of memory; {platform.system()}."


def check_is_generated(config: Config, run: str) -> None:
    """Check that the figures of a run show generated sentences.

    Raises:
        AtlasError: there is no such run, or it reads other corpora.
    """
    if run not in config["runs"] or not reads_generated(config, run):
        raise AtlasError(
            f"'{run}' is not a run on generated text, and only such figures may be published: name one, such as sample."
        )


def reads_generated(config: Config, run: str) -> bool:
    """Whether a run reads generated text."""
    return ScoreboardInputs(config).reads_sample(SimpleNamespace(run=run))


def default_question(config: Config, run: str) -> str:
    """The question that the overview answers, for any run."""
    text = "generated text" if reads_generated(config, run) else "real text"
    count = sum(study.id in config["runs"][run] and not study.overview for study in studies().values())
    number = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
    return f"Which findings of {number} papers hold for {config['runs'][run]['model']} on {text}, and which do not?"


def up_to_date(run: str, root: Path, options: Sequence[str], partial: bool) -> frozenset[str] | None:
    """Outputs of a run that are up to date, relative to `root`; None for all.

    Raises:
        AtlasError: not all are, and `partial` is not set.
    """
    to_do = outputs_of(run, root, options)
    if not to_do:
        return None
    if not partial:
        raise AtlasError(
            f"results/{run}: {len(to_do)} files are missing or out of date for this code and configuration; "
            f"build the run first, or publish what is up to date (make results RUN={run} PARTIAL=yes PUBLISH=...)."
        )
    return frozenset(outputs_of(run, root, options, all_jobs=True) - to_do)


def main() -> int:
    """Write the pages and say where they are."""
    parser = run_parser(__doc__)
    parser.add_argument("--publish", type=Path, metavar="FOLDER", help="write pages without text of corpora into this folder")
    parser.add_argument("--generated", default="sample", help="run on generated sentences, or its folder")
    parser.add_argument(
        "--checkout", type=Path, default=ROOT, help="folder of the workflow that built the run; default: this one"
    )
    parser.add_argument("--partial", action="store_true", help="leave out what is not built")
    parser.add_argument("--unchecked", action="store_true", help="take all files that are there, whatever code made them")
    parser.add_argument("--question", default="", help="heading of the overview")
    parser.add_argument("--machine", default="", help="the machine that built the run, in words; default: this one")
    chosen, options = parser.parse_known_args()
    root = chosen.checkout.resolve()
    overlays = overlays_of(chosen.run, chosen.configfile, root)
    options = with_overlays(options, overlays)
    out = chosen.publish or root / "results" / chosen.run / "pages"
    try:
        config = without_missing(resolve(configuration_of(root, overlays, options)))
        if chosen.run not in config["runs"]:
            raise AtlasError(f"there is no run '{chosen.run}'. Runs: {', '.join(config['runs'])}.")
        if chosen.publish:
            check_is_generated(config, Path(chosen.generated).name)
        checked = bool(chosen.publish) and not chosen.unchecked
        if checked and not chosen.partial and (ROOT / "results" / chosen.generated).parent == ROOT / "results":
            up_to_date(chosen.generated, ROOT, (), partial=False)
        source = Source(
            run=chosen.run,
            root=root,
            config=config,
            up_to_date=up_to_date(chosen.run, root, options, chosen.partial) if checked else None,
            generated=ROOT / "results" / chosen.generated if chosen.publish else None,
            notes=("Not checked whether these files are up to date.",) if chosen.publish and chosen.unchecked else (),
        )
        question = chosen.question or default_question(config, chosen.run)
        built = write_pages(source, out, question, chosen.machine or this_machine())
    except AtlasError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{out}: {len(built)} pages ({', '.join(built)}) and index.md.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
