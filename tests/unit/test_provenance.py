"""The digest of a job's code: it changes with the meaning of what the script imports, and with nothing else."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import attention_atlas
from attention_atlas.corpora.records import READERS, reader_module
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.shown import full_name, shown
from attention_atlas.workflow.study import studies

WORKFLOW = Path(__file__).parents[2] / "workflow"
LIBRARY = WORKFLOW / "lib" / "attention_atlas"
SECOND = '''"""A module."""

import logging

from pack import third

_log = logging.getLogger(__name__)


def work(a=0):
    """A function."""
    if third.VALUE < 0:
        raise ValueError("below zero")
    _log.info("at work: %s", a)
    return third.VALUE + 1
'''
FILES = {
    "lib/pack/__init__.py": '"""A package."""\n',
    "lib/pack/first.py": "import json\n\nfrom pack.inner.second import work\n\n\ndef start():\n    return work()\n",
    "lib/pack/inner/__init__.py": "",
    "lib/pack/inner/second.py": SECOND,
    "lib/pack/inner/words.yaml": "a: 1\n",
    "lib/pack/inner/lexicon/nouns.tsv": "cat\n",
    "lib/pack/inner/notes.md": "notes\n",
    "lib/pack/third.py": "VALUE = 3\n",
    "lib/pack/other/__init__.py": "",
    "lib/pack/other/unrelated.py": "VALUE = 4\n",
    "scripts/go.py": "from pack.first import start\n\nstart()\n",
}


def digest(folder: Path, edits: dict[str, str | None]) -> str:
    """Digest of the script above after edits (path -> new content, None takes the file away) in a new folder."""
    for name, content in (FILES | edits).items():
        if content is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
    return script_digest("go.py", library=folder / "lib", scripts=folder / "scripts")


def second(old: str, new: str) -> dict[str, str]:
    assert SECOND.count(old) == 1
    return {"lib/pack/inner/second.py": SECOND.replace(old, new)}


def third(text: str) -> dict[str, str]:
    return {"lib/pack/third.py": text}


NOTICED = (
    {"scripts/go.py": "from pack.first import start\n\nstart(2)\n"},
    second("VALUE + 1", "VALUE + 2"),
    # A name that the argument of a message assigns can be read later.
    second('"below zero"', '(VALUE := "below zero")'),
    second('_log.info("at work: %s", a)', "third.info('at work: %s', a)"),
    third("VALUE = '3'\n"),
    {"lib/pack/inner/words.yaml": "a: 2\n"},
    {"lib/pack/inner/lexicon/nouns.tsv": None},
    {"lib/pack/inner/__init__.py": "from pack.other import unrelated\n"},
)
IGNORED = (
    third('"""A docstring."""\n\nVALUE = 3\n"""Of the constant."""\n'),
    third("if TYPE_CHECKING:\n    from pack.other import unrelated\n\nVALUE = 3\n"),
    second('"below zero"', 'f"{third.VALUE} is below zero"'),
    second('"at work: %s", a', '"working"'),
    {"lib/pack/other/unrelated.py": "VALUE = 5\n"},
    {"lib/pack/inner/notes.md": "more notes\n", "lib/pack/inner/fourth.py": "VALUE = 5\n"},
)


def test_an_edit_that_the_job_can_notice_changes_the_digest_and_no_other_does(tmp_path):
    before, *after = (digest(tmp_path / str(k), edits) for k, edits in enumerate(({}, *NOTICED, *IGNORED)))
    assert [one != before for one in after] == [True] * len(NOTICED) + [False] * len(IGNORED)


def job_digests(library: Path = WORKFLOW / "lib") -> dict[str, str]:
    """Script, or rule of a page, a table or a figure, -> digest."""
    scripts = [path.name for path in (WORKFLOW / "scripts").glob("*.py")]
    calls = {f"{study}_{item.id}": full_name(item.call) for study in studies() for item in shown(study)}
    named = {name: (name, ()) for name in scripts} | {name: ("run.py", (call,)) for name, call in calls.items()}
    named |= {reader: ("build_examples.py", (reader_module(reader),)) for reader in READERS}
    return {name: script_digest(script, modules=modules, library=library) for name, (script, modules) in named.items()}


@pytest.fixture
def changed_jobs(tmp_path_factory):
    """Jobs whose digest is another one after edits of the library: module -> old and new text, or text to add at the end."""
    before = job_digests()

    def of(edits: dict[str, str | tuple[str, str]]) -> set[str]:
        library = tmp_path_factory.mktemp("library") / "lib"
        shutil.copytree(WORKFLOW / "lib", library, ignore=shutil.ignore_patterns("__pycache__"))
        for name, change in edits.items():
            path = library / "attention_atlas" / name
            path.parent.mkdir(exist_ok=True)
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            assert isinstance(change, str) or text.count(change[0]) == 1, name
            path.write_text(text + change if isinstance(change, str) else text.replace(*change), encoding="utf-8")
        after = job_digests(library)
        return {name for name in before if before[name] != after[name]}

    return of


ADDED = "\nADDED = 1\n"


def test_in_this_library_an_edit_reaches_few_jobs(changed_jobs):
    assert changed_jobs({"studies/clark2019/figures.py": ("PAGE, 4.2, sharex", "PAGE, 4.4, sharex")}) == {"clark2019_figure2"}
    assert changed_jobs({"corpora/conllu.py": ADDED}) & READERS.keys() == {"conllu", "conll2012", "edges", "released_maps"}
    assert changed_jobs({"corpora/alignment.py": ADDED}) >= READERS.keys()


def test_modules_that_serve_the_snakefile_reach_no_job_and_what_surrounds_a_job_every_one(changed_jobs):
    in_jobs = ("__init__.py", "job.py", "run.py", "shown.py")
    serving = [path for path in (LIBRARY / "workflow").glob("*.py") if path.name not in in_jobs]
    serving += [*LIBRARY.glob("studies/*/study.py"), *LIBRARY.glob("studies/*/pages.py")]
    serving += [LIBRARY / name for name in ("atlas/study.py", "scoreboard/study.py")]
    assert len(serving) > 15
    assert changed_jobs({str(path.relative_to(LIBRARY)): ADDED for path in serving}) == set()
    assert changed_jobs({"workflow/job.py": ADDED}) == job_digests().keys()


def test_no_import_of_the_workflow_is_one_that_the_digest_cannot_follow():
    names = []
    # Modules of all studies are imported by their name in one place, whose calls the digest follows; those of pages and of
    # readers, which the digests of their jobs name; and names of the package, which only notebooks use.
    named = {LIBRARY / name for name in ("__init__.py", "studies/__init__.py", "workflow/shown.py", "corpora/records.py")}
    for path in [*(WORKFLOW / "lib").rglob("*.py"), *(WORKFLOW / "scripts").glob("*.py")]:
        source = path.read_text(encoding="utf-8")
        assert (source.count("import_module("), source.count("__import__(")) == (int(path in named), 0), path
        nodes = list(ast.walk(ast.parse(source)))
        assert not any(node.level for node in nodes if isinstance(node, ast.ImportFrom)), path
        of_package = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "attention_atlas"]
        assert not {alias.name for node in of_package for alias in node.names} & {*attention_atlas.__all__}, path
        calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "study_modules"]
        names += [ast.literal_eval(argument) for call in calls for argument in call.args]
    assert sorted(names) == ["head_measures", "study"]


DIGESTS = """
import ast, sys
from attention_atlas.workflow.provenance import script_digest
if sys.argv[1:]:
    ast.parse = None
print(script_digest("one.py"))
"""


def test_a_second_start_parses_nothing_and_an_edit_what_it_changed(tmp_path):
    package, scripts = tmp_path / "lib" / "attention_atlas", tmp_path / "scripts"
    scripts.mkdir()
    for name in ("__init__", "errors", "io/__init__", "io/files", "workflow/__init__", "workflow/provenance"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(LIBRARY / f"{name}.py", package / f"{name}.py")

    def start(*without: str) -> str:
        command = [sys.executable, "-c", DIGESTS, *without]
        return subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path / "lib")}).stdout

    (scripts / "one.py").write_text("from attention_atlas import errors\n")
    assert start("without parsing") == ""
    first = start()
    assert first == start("without parsing") != ""
    # What is kept is for this way of reading modules only, and a damaged file is none.
    with (package / "workflow" / "provenance.py").open("a") as module:
        module.write("# another way\n")
    assert start("without parsing") == ""
    (store,) = (package / "workflow" / "__pycache__").glob("provenance.*.kept")
    store.write_text("{")
    assert start() == first == start("without parsing")
