"""What code an output depends on: a digest of a job's script and of everything it imports from this package.

Snakemake hashes the script of a rule but not the modules that it imports. The digest, put into the rule's `params`, makes an
edit re-run exactly the jobs that import the edited module. Comments, layout of lines and docstrings do not count.

What was found of a file is kept by its content, beside Python's own compiled files: parsing all modules would take a
quarter of the time in which the workflow starts.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import functools
import hashlib
import json
import sys
from pathlib import Path

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import write_text

_LIBRARY = Path(__file__).resolve().parents[2]
_SCRIPTS = _LIBRARY.parent / "scripts"
_RESOURCES = _LIBRARY.parent / "resources"
_STUDIES = "attention_atlas.studies"
_MOST = 5000  # modules and earlier versions of them that are kept, before all is forgotten
_DATA_SUFFIXES = {".yaml", ".tsv", ".json", ".css", ".html"}


def script_digest(script: str, *resources: str, library: Path = _LIBRARY, scripts: Path = _SCRIPTS) -> str:
    """Twelve hex digits that change with the meaning of `script` or of any library module it needs.

    Args:
        script: file name below workflow/scripts.
        resources: data files below workflow/resources that the job reads as well.
        library: folder that holds the package.
        scripts: folder of the scripts.
    """
    digest = hashlib.sha256(_fingerprint(scripts / script))
    for path in sorted(_closure(scripts / script, library)):
        digest.update(str(path.relative_to(library)).encode())
        digest.update(_fingerprint(path))
    for name in resources:
        digest.update((_RESOURCES / name).read_bytes())
    return digest.hexdigest()[:12]


def _fingerprint(path: Path) -> bytes:
    return _read(path)[0]


def _imports(path: Path) -> tuple[str, ...]:
    return _read(path)[1]


@functools.cache
def _read(path: Path) -> tuple[bytes, tuple[str, ...]]:
    """A hash of a file's meaning, and what it imports."""
    content = path.read_bytes()
    if path.suffix != ".py":
        return hashlib.sha256(content).digest(), ()
    key = hashlib.sha256(_own_code() + content).hexdigest()
    known = _kept()
    if key not in known:
        known[key] = _parsed(content.decode("utf-8"))
    meaning, names = known[key]
    return bytes.fromhex(meaning), tuple(names)


def _store() -> Path:
    return Path(__file__).with_name("__pycache__") / f"provenance.{sys.implementation.cache_tag}.kept"


@functools.cache
def _own_code() -> bytes:
    """Another way of reading modules finds nothing of what this one has kept."""
    return hashlib.sha256(Path(__file__).read_bytes()).digest()


@functools.cache
def _kept() -> dict[str, tuple[str, list[str]]]:
    """Hash of a module's content -> as `_parsed` gives it; what is added is kept for the next start when the process ends."""
    found: dict[str, tuple[str, list[str]]] = {}
    with contextlib.suppress(OSError, ValueError):
        found = dict(json.loads(_store().read_text(encoding="utf-8")))
    if len(found) > _MOST:
        found = {}
    before = len(found)

    def keep() -> None:
        if len(found) > before and not sys.dont_write_bytecode:
            with contextlib.suppress(OSError, AtlasError):
                write_text(_store(), json.dumps(found))

    atexit.register(keep)
    return found


def _parsed(source: str) -> tuple[str, list[str]]:
    """A hash of a module's meaning, and what it imports."""
    tree = ast.parse(source)
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = _without_docstring(node.body)
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "study_modules":
            names += [f"{_STUDIES}.*.{ast.literal_eval(argument)}" for argument in node.args]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), names


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return body[1:] if docstring else body


def _closure(script: Path, library: Path) -> set[Path]:
    """Modules of the package reached from `script` by import, with the data files in their folders' packages."""
    todo, seen = [script], set()
    while todo:
        for name in _imports(todo.pop()):
            for path in _files(name, library):
                if path not in seen:
                    seen.add(path)
                    if path.suffix == ".py":
                        todo.append(path)
    return seen


@functools.cache
def _files(name: str, library: Path) -> tuple[Path, ...]:
    if "*" in name:
        each = [path.relative_to(library).with_suffix("") for path in sorted(library.glob(f"{name.replace('.', '/')}.py"))]
        return tuple(path for module in each for path in _files(".".join(module.parts), library))
    stem = library.joinpath(*name.split("."))
    if not stem.is_relative_to(library) or name.split(".")[0] not in _packages(library):
        return ()
    # An import runs the packages above as well.
    above = [folder / "__init__.py" for folder in (stem, *stem.parents) if folder.is_relative_to(library)]
    packages = tuple(path for path in above if path.is_file())
    module = stem.with_suffix(".py")
    if module.is_file():
        # Lexicons and templates lie in a folder beside the module that reads them.
        return (module, *_data(module.parent), *packages)
    return packages


@functools.cache
def _packages(library: Path) -> frozenset[str]:
    return frozenset(path.parent.name for path in library.glob("*/__init__.py"))


@functools.cache
def _data(folder: Path) -> tuple[Path, ...]:
    found = [p for p in folder.rglob("*") if p.suffix in _DATA_SUFFIXES and p.is_file()]
    own = [p for p in found if all(not (up / "__init__.py").exists() for up in _between(p.parent, folder))]
    return tuple(sorted(own))


def _between(inner: Path, outer: Path) -> list[Path]:
    """Folders from `inner` up to, but not including, `outer`."""
    folders = []
    while inner != outer:
        folders.append(inner)
        inner = inner.parent
    return folders
