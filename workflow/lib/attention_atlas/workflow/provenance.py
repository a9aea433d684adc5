"""What code an output depends on: a digest of a job's script and of everything it imports from the library.

Snakemake hashes the script of a rule but not the modules that it imports. With the digest in a rule's `params`, an edit re-runs
exactly the jobs whose results it can change. The digest ignores what cannot change a result: comments, line breaks, docstrings,
the arguments of `raise` and of logger calls, and the modules of `WITHOUT_RESULTS`.

Digests of modules are cached by their content, in the folder of Python's compiled files: parsing all modules would take a
quarter of the start time.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import functools
import hashlib
import json
import os
import re
import sys
from pathlib import Path

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import RESOURCES, write_text

_LIBRARY = Path(__file__).resolve().parents[2]
_SCRIPTS = _LIBRARY.parent / "scripts"
WITHOUT_RESULTS = ("attention_atlas.errors", "attention_atlas.io.messages", "attention_atlas.workflow.study_inputs")
"""Modules that cannot change a table, a figure or a tensor: messages, progress, redaction of logs, and what notebooks call."""
_OWN_DIGEST = hashlib.sha256(Path(__file__).read_bytes()).digest()
_STORE = Path(__file__).with_name("__pycache__") / f"provenance.{sys.implementation.cache_tag}.kept"
_LOGGING = re.compile(r"_?log\.(debug|info|warning|error|exception)")
_MAX_STORED = 5000  # cache entries (modules and their earlier versions) before it is emptied
_DATA_SUFFIXES = {".yaml", ".tsv", ".json", ".css", ".html"}


def script_digest(
    script: str, *resources: str, modules: tuple[str, ...] = (), library: Path = _LIBRARY, scripts: Path = _SCRIPTS
) -> str:
    """Twelve hex digits that change if an edit of `script`, or of a library module that it needs, can change its result.

    `resources`: data files below workflow/resources that the job reads as well; `modules`: modules that the script imports by
    name at run time, such as those of pages. Of `module:function` only what the function can reach in its module counts: other
    tables and figures beside it do not.
    """
    path, files = str(scripts / script), _tree(str(library))
    meaning, imports = _read(path)
    digest, names = hashlib.sha256(meaning), [*imports]
    for module, _, function in (module.partition(":") for module in modules):
        names.append(module.rpartition(".")[0] if function else module)
        if function:
            meaning, imports = _read(os.path.join(files.folder, files.files(module)[0]), function)
            digest.update(meaning)
            names += imports
    for name in sorted(files.closure(tuple(names))):
        digest.update(name.encode())
        digest.update(_read(os.path.join(files.folder, name))[0])
    for name in resources:
        digest.update((RESOURCES / name).read_bytes())
    return digest.hexdigest()[:12]


class _Tree:
    """The files of a library by import name; file names are relative to its folder."""

    def __init__(self, folder: str):
        self.folder = folder
        self._modules: dict[str, str] = {}
        self._data: dict[str, tuple[str, ...]] = {}
        for place, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name != "__pycache__"]
            relative = os.path.relpath(place, folder)
            for name in names:
                path = name if relative == "." else os.path.join(relative, name)
                if name.endswith(".py"):
                    module = path.removesuffix(".py").replace(os.sep, ".")
                    self._modules[module.removesuffix(".__init__")] = path
                elif os.path.splitext(name)[1] in _DATA_SUFFIXES:
                    package = self._package(relative)
                    self._data[package] = (*self._data.get(package, ()), path)

    def _package(self, relative: str) -> str:
        """The package that contains a folder (or is it): lexicons and templates belong to the modules there."""
        while relative and not os.path.isfile(os.path.join(self.folder, relative, "__init__.py")):
            relative = os.path.dirname(relative)
        return relative

    def closure(self, imports: tuple[str, ...]) -> set[str]:
        """Files of all modules reached through imports, with the data files in their folders."""
        waiting, reached = [imports], set()
        while waiting:
            for name in waiting.pop():
                for path in self.files(name):
                    if path not in reached:
                        reached.add(path)
                        if path.endswith(".py"):
                            waiting.append(_read(os.path.join(self.folder, path))[1])
        return reached

    @functools.cache  # noqa: B019  # there is one tree for each library
    def files(self, name: str) -> tuple[str, ...]:
        """Files of an imported name: its module, the data in its folder, and its parent packages, which are imported too."""
        if "*" in name:
            before, _, after = name.partition("*")
            named = (module for module in sorted(self._modules) if module.startswith(before) and module.endswith(after))
            matching = [module for module in named if "." not in module[len(before) : len(module) - len(after)]]
            return tuple(path for module in matching for path in self.files(module))
        if name in WITHOUT_RESULTS:
            return ()
        parts = name.split(".")
        packages = [".".join(parts[:size]) for size in range(len(parts), 0, -1)]
        above = [self._modules[package] for package in packages if self._is_package(package)]
        if name in self._modules and not self._is_package(name):
            path = self._modules[name]
            return (path, *sorted(self._data.get(os.path.dirname(path), ())), *above)
        return tuple(above) if self._is_package(parts[0]) else ()

    def _is_package(self, name: str) -> bool:
        return self._modules.get(name, "").endswith("__init__.py")


_tree = functools.cache(_Tree)


@functools.cache
def _read(path: str, function: str = "") -> tuple[bytes, tuple[str, ...]]:
    """A hash of a file, or of what one of its functions can reach in it, without what the digest ignores, and its imports."""
    with open(path, "rb") as file:
        content = file.read()
    if not path.endswith(".py"):
        return hashlib.sha256(content).digest(), ()
    # With this module, so that editing it invalidates the cache.
    key = hashlib.sha256(_OWN_DIGEST + function.encode() + content).hexdigest()
    known = _stored()
    if key not in known:
        known[key] = _parsed(content.decode("utf-8"), function)
    meaning, names = known[key]
    return bytes.fromhex(meaning), tuple(names)


@functools.cache
def _stored() -> dict[str, tuple[str, list[str]]]:
    """Cache: hash of a module's content -> result of `_parsed`. New entries are written when the process ends."""
    known: dict[str, tuple[str, list[str]]] = {}
    with contextlib.suppress(OSError, ValueError):
        known = dict(json.loads(_STORE.read_text(encoding="utf-8")))
    if len(known) > _MAX_STORED:
        known = {}
    before = len(known)

    def keep() -> None:
        if len(known) > before:
            with contextlib.suppress(OSError, AtlasError):
                write_text(_STORE, json.dumps(known))

    atexit.register(keep)
    return known


def _parsed(source: str, function: str = "") -> tuple[str, list[str]]:
    """A hash of the parts of a module, or of one of its functions, that can change results, and its imports."""
    tree = ast.parse(source)
    # Names for type checkers are never imported in a job.
    tree.body = [node for node in tree.body if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")]
    for node in ast.walk(tree):
        _remove_texts(node)
    if function:
        tree.body = _reached(tree.body, function)
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "study_modules":
            names += [f"attention_atlas.studies.*.{ast.literal_eval(argument)}" for argument in node.args]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), names


def _remove_texts(node: ast.AST) -> None:
    """Remove docstrings from a node, and messages: the arguments of `raise` and of a logger's call."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        node.body = [part for part in node.body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
    call = node.exc if isinstance(node, ast.Raise) else node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not (isinstance(node, ast.Raise) or _LOGGING.fullmatch(ast.unparse(call.func))):
        return
    # Later code may read a name that an argument assigns.
    if not any(isinstance(part, ast.NamedExpr) for part in ast.walk(call)):
        call.args, call.keywords = [], []


def _reached(body: list[ast.stmt], function: str) -> list[ast.stmt]:
    """The statements of a module that a function can reach by names: definitions, constants and imports; and all others."""
    defined: dict[str, list[ast.stmt]] = {}
    for statement in body:
        for name in _defined(statement):
            defined.setdefault(name, []).append(statement)
    if function not in defined:
        raise AtlasError(f"there is no function {function}: the rule that calls it names another one than its module has.")
    # Statements that define nothing, such as calls, run whenever the module is imported.
    waiting = [*defined[function], *(statement for statement in body if not _defined(statement))]
    reached: set[int] = set()
    while waiting:
        statement = waiting.pop()
        if id(statement) not in reached:
            reached.add(id(statement))
            names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            waiting += [named for name in names & defined.keys() for named in defined[name]]
    return [statement for statement in body if id(statement) in reached]


def _defined(statement: ast.stmt) -> set[str]:
    """Names that a statement of a module defines."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
