"""The digest of a job's code: it changes with the meaning of what the script imports, and with nothing else."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attention_atlas.corpora.records import READERS, reader_module
from attention_atlas.workflow import provenance
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.shown import full_name, shown
from attention_atlas.workflow.study import studies

WORKFLOW = Path(__file__).parents[2] / "workflow"
LIBRARY = WORKFLOW / "lib" / "attention_atlas"
SCRIPT = "go.py"
FILES = {
    "lib/pack/__init__.py": '"""A package."""\n',
    "lib/pack/first.py": "import json\n\nfrom pack.inner.second import work\n\n\ndef start():\n    return work()\n",
    "lib/pack/inner/__init__.py": "",
    "lib/pack/inner/second.py": (
        '"""A module."""\n\nfrom pack import third\n\n\nclass Worker:\n    """A class."""\n\n    def run(self):\n'
        '        """A method."""\n        return third.VALUE + 1\n\n\ndef work():\n    return Worker().run()\n'
    ),
    "lib/pack/inner/words.yaml": "a: 1\n",
    "lib/pack/inner/lexicon/nouns.tsv": "cat\n",
    "lib/pack/inner/notes.md": "notes\n",
    "lib/pack/third.py": "VALUE = 3\n",
    "lib/pack/other/__init__.py": "",
    "lib/pack/other/unrelated.py": "VALUE = 4\n",
    "lib/pack/other/unrelated.yaml": "b: 1\n",
    "lib/json/thing.py": "NOT_OURS = 1\n",
    "scripts/go.py": "from pack.first import start\n\nstart()\n",
    "scripts/other.py": "print()\n",
}


@pytest.fixture
def digest(tmp_path_factory):
    """Digest of the script above after edits: path -> new content, None takes the file away."""

    def of(*resources: str, **edits) -> str:
        # A new folder each time: what a path holds is remembered for the life of a process.
        folder = tmp_path_factory.mktemp("project")
        for name, content in {**FILES, **edits.get("files", {})}.items():
            if content is not None:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(content, encoding="utf-8")
        return script_digest(SCRIPT, *resources, library=folder / "lib", scripts=folder / "scripts")

    return of


def edited(name: str, old: str, new: str) -> dict[str, str]:
    assert FILES[name].count(old) == 1
    return {name: FILES[name].replace(old, new)}


@pytest.mark.parametrize(
    "files",
    [
        edited("scripts/go.py", "start()\n", "start(2)\n"),
        edited("lib/pack/first.py", "return work()", "return work() + 1"),
        edited("lib/pack/inner/second.py", "VALUE + 1", "VALUE + 2"),
        edited("lib/pack/third.py", "3", "4"),
        edited("lib/pack/third.py", "3", "'3'"),
        {"lib/pack/inner/words.yaml": "a: 2\n"},
        {"lib/pack/inner/lexicon/nouns.tsv": "dog\n"},
        {"lib/pack/inner/words.yaml": None},
        {"lib/pack/inner/words.yaml": None, "lib/pack/inner/wordz.yaml": FILES["lib/pack/inner/words.yaml"]},
        {"lib/pack/inner/__init__.py": "from pack.other import unrelated\n"},
        {"lib/pack/__init__.py": "import os\nos.environ['A'] = 'b'\n"},
    ],
)
def test_an_edit_that_the_job_can_notice_changes_the_digest(digest, files):
    assert digest(files=files) != digest()


@pytest.mark.parametrize(
    "files",
    [
        {"lib/pack/third.py": "# why three\nVALUE = 3  # three\n"},
        {"lib/pack/third.py": "\n\nVALUE = (\n    3\n)\n"},
        {"lib/pack/third.py": '"""Now with a docstring."""\n\nVALUE = 3\n'},
        {"lib/pack/third.py": 'VALUE = 3\n"""Now with a docstring of the constant."""\n'},
        edited("lib/pack/inner/second.py", '"""A module."""', '"""Another text."""'),
        edited("lib/pack/inner/second.py", '"""A method."""', '"""Another text."""'),
        {"lib/pack/third.py": "if TYPE_CHECKING:\n    from pack.other import unrelated\n\nVALUE = 3\n"},
        {"lib/pack/other/unrelated.py": "VALUE = 5\n"},
        {"lib/pack/inner/notes.md": "more notes\n"},
        {"lib/pack/inner/fourth.py": "VALUE = 5\n"},
        {"lib/json/thing.py": "NOT_OURS = 2\n"},
        {"scripts/other.py": "print(2)\n"},
    ],
)
def test_other_edits_do_not_change_the_digest(digest, files):
    assert digest(files=files) == digest()


def test_modules_without_results_do_not_count(digest, monkeypatch):
    before, edit = digest(), edited("lib/pack/third.py", "3", "4")
    assert digest(files=edit) != before
    monkeypatch.setattr(provenance, "WITHOUT_RESULTS", ("pack.third",))
    assert digest(files=edit) == digest()


def test_named_resources_count(digest, tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "RESOURCES", tmp_path)
    (tmp_path / "values.yaml").write_text("a: 1\n")
    first = digest("values.yaml")
    (tmp_path / "values.yaml").write_text("a: 2\n")
    assert len({first, digest("values.yaml"), digest()}) == 3


def job_digests(library: Path = WORKFLOW / "lib") -> dict[str, str]:
    """Script, or rule of a page, a table or a figure, -> digest."""
    scripts = [path.name for path in (WORKFLOW / "scripts").glob("*.py")]
    calls = {f"{study}_{item.id}": full_name(item.call) for study in studies() for item in shown(study)}
    return {name: script_digest(name, library=library) for name in scripts} | {
        rule: script_digest("run.py", modules=(call,), library=library) for rule, call in calls.items()
    }


def edited_library(folder: Path, *paths: Path) -> Path:
    """A copy of the library in which these modules have something more."""
    shutil.copytree(WORKFLOW / "lib", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in paths:
        with (folder / path.relative_to(WORKFLOW / "lib")).open("a", encoding="utf-8") as module:
            module.write("\nADDED = 1\n")
    return folder


def changed_jobs(library: Path) -> set[str]:
    """Jobs whose digest is another one with a changed library."""
    before, after = job_digests(), job_digests(library)
    return {name for name in before if before[name] != after[name]}


def test_in_this_library_an_edit_of_a_figure_or_a_reader_reaches_few_jobs(tmp_path):
    figures = LIBRARY / "studies" / "clark2019" / "figures.py"
    edited = edited_library(tmp_path / "figure")
    text = figures.read_text(encoding="utf-8").replace("PAGE, 4.2, sharex", "PAGE, 4.4, sharex")
    (edited / figures.relative_to(LIBRARY.parent)).write_text(text, encoding="utf-8")
    assert changed_jobs(edited) == {"clark2019_figure2"}
    assert changed_jobs(edited_library(tmp_path / "reader", LIBRARY / "corpora" / "questions.py")) == set()


@pytest.mark.parametrize(
    ("module", "changed"),
    [
        ("conllu", {"conllu", "conll2012", "edges"}),
        ("alignment", READERS.keys()),
    ],
)
def test_an_edit_of_a_reader_reaches_the_examples_of_the_corpora_that_it_reads(tmp_path, module, changed):
    edited = edited_library(tmp_path / "lib", LIBRARY / "corpora" / f"{module}.py")

    def digest(reader: str, **library: Path) -> str:
        return script_digest("build_examples.py", modules=(reader_module(reader),), **library)

    assert {reader for reader in READERS if digest(reader) != digest(reader, library=edited)} == changed


def test_in_this_library_new_measures_of_heads_reach_the_atlas_and_a_new_study_no_job(tmp_path):
    library = edited_library(tmp_path / "lib")
    added = library / "attention_atlas" / "studies" / "nobody2000"
    added.mkdir()
    for name in ("__init__", "study"):
        (added / f"{name}.py").write_text("STUDY = None\n")
    assert changed_jobs(library) == set()
    measured = tmp_path / "measured"
    shutil.copytree(library, measured)
    (measured / "attention_atlas" / "studies" / "nobody2000" / "head_measures.py").write_text("MEASURES = ()\n")
    changed = changed_jobs(measured)
    assert {"atlas_findings", "atlas_atlas"} <= changed
    assert not {name for name in changed if not name.startswith("atlas_")}


def test_modules_that_serve_the_snakefile_reach_no_job(tmp_path):
    in_jobs = ("__init__.py", "job.py", "run.py", "shown.py")
    serving = [path for path in (LIBRARY / "workflow").rglob("*.py") if path.name not in in_jobs]
    serving += [*LIBRARY.glob("studies/*/study.py"), *LIBRARY.glob("studies/*/pages.py")]
    serving += [LIBRARY / name for name in ("atlas/study.py", "scoreboard/study.py")]
    assert len(serving) > 15
    assert changed_jobs(edited_library(tmp_path / "serving", *serving)) == set()
    # What surrounds a job reaches every one.
    assert changed_jobs(edited_library(tmp_path / "job", LIBRARY / "workflow" / "job.py")) == job_digests().keys()


def test_no_import_of_the_workflow_is_one_that_the_digest_cannot_follow():
    names = []
    # Modules of all studies are imported by their name in one place, whose calls the digest follows; those of pages and of
    # readers, which the digests of their jobs name.
    named = {LIBRARY / name for name in ("studies/__init__.py", "workflow/shown.py", "corpora/records.py")}
    for path in [*(WORKFLOW / "lib").rglob("*.py"), *(WORKFLOW / "scripts").glob("*.py")]:
        source = path.read_text(encoding="utf-8")
        assert (source.count("import_module("), source.count("__import__(")) == (int(path in named), 0), path
        nodes = list(ast.walk(ast.parse(source)))
        assert not any(node.level for node in nodes if isinstance(node, ast.ImportFrom)), path
        calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "study_modules"]
        # Under another name, or handed on, the function would be called where nobody sees it.
        assert len(calls) == sum("study_modules" in (getattr(node, "id", ""), getattr(node, "attr", "")) for node in nodes), (
            path
        )
        names += [ast.literal_eval(argument) for call in calls for argument in call.args]
    assert sorted(names) == ["head_measures", "study"]


DIGESTS = """
import ast, sys
from attention_atlas.workflow.provenance import script_digest
if sys.argv[2:]:
    ast.parse = None
print([script_digest(name) for name in ("one.py", "other.py")])
"""


def test_a_second_start_parses_nothing_and_an_edit_what_it_changed(tmp_path):
    package, scripts = tmp_path / "lib" / "attention_atlas", tmp_path / "scripts"
    package.mkdir(parents=True)
    scripts.mkdir()
    names = ("__init__", "errors", "io/__init__", "io/files", "workflow/__init__", "workflow/provenance")
    for name in names:
        (package / name).parent.mkdir(exist_ok=True)
        shutil.copy(WORKFLOW / "lib" / "attention_atlas" / f"{name}.py", package / f"{name}.py")
    (scripts / "one.py").write_text("from attention_atlas import errors\n")
    (scripts / "other.py").write_text("import json\n")

    def start(*without: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", DIGESTS, "-", *without]
        environment = {"PYTHONPATH": str(tmp_path / "lib")}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    assert start("without").returncode != 0
    first = start().stdout
    assert first == start("without").stdout != ""
    (scripts / "one.py").write_text("from attention_atlas import errors  # a remark\n")
    assert "'NoneType' object is not callable" in start("without").stderr
    assert start().stdout == first == start("without").stdout
    # What is kept is for this way of reading modules only, and a damaged file is none.
    (store,) = (package / "workflow" / "__pycache__").glob("provenance.*.kept")
    with (package / "workflow" / "provenance.py").open("a") as module:
        module.write("# another way\n")
    assert start("without").returncode != 0
    store.write_text("{")
    assert start().stdout == first == start("without").stdout
