"""What a study shows: functions marked `@table`, `@figure` or `@page`. The mark is the declaration, the docstring the caption.

The arguments of a mark are literals: the workflow reads all declarations from the source and imports no pandas and no drawing
library at its start. The function is imported where it is called: in its job, a test or a notebook.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LIBRARY = Path(__file__).resolve().parents[1]
STUDIES = LIBRARY / "studies"
SUFFIXES = {"figure": ("svg", "png", "pdf", "tsv"), "table": ("tsv", "html"), "page": ("html",)}  # kind -> endings of its files
OF_RUN = ("labels", "run_title")  # parameters of a function that are neither in its mark nor settings


@dataclass(frozen=True)
class Shown:
    kind: str  # table, figure, or page: a function that returns the text of an HTML page
    call: str  # `study.module:function`
    caption: str  # first paragraph of the docstring of the function; at most 60 words
    arguments: tuple[str, ...]  # names of the function's parameters
    number: str = ""  # in the paper; default: the name of the function in words, such as Figure 2 or Options
    title: str = ""  # what it shows
    # The table or figure that its files belong to; a table with it, and a page, is no artefact of its own.
    part_of: str = ""
    # Tables of the study, by the names of the parameters: `masked/answers.parquet` is the parameter `answers`, or
    # `masked_answers`. A function with a parameter `frames` gets all its tables there, name -> frame.
    reads: tuple[str, ...] = ()
    # Name -> key of the study's settings, and a table that only runs with this key have.
    optional: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # Parameters that are mappings of files: `Study.inputs` or `StudyInputs` has a function of that name.
    gathers: tuple[str, ...] = ()
    # Roles of corpora, or groups of models (`Study.groups`), that its page or figure names; a function with a parameter
    # `labels` gets these, and one with `run_title` the title of the run.
    labels: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()  # roles of corpora; the parameter `titles` gets role -> title, for those that the run names
    needs: tuple[str, ...] = ()  # these as in `study.Artifact`
    uses: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # that other rules write
    text_files: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()  # data files below workflow/resources that it reads, beside the published values
    megabytes: int = 1000  # upper limits of its job
    minutes: int = 10

    def __post_init__(self) -> None:
        words = re.sub(r"(?<=[a-z])(?=\d)", " ", self.id).replace("_", " ")
        object.__setattr__(self, "number", self.number or words.capitalize())

    @property
    def id(self) -> str:
        """Name of its files: that of the function."""
        return self.call.partition(":")[2]

    @property
    def study(self) -> str:
        return self.call.partition(".")[0]

    @property
    def inputs(self) -> dict[str, str]:
        """Parameter, or name in `frames` -> file in the study's folder."""
        files = {}
        for name in self.reads:
            folder, _, table = name.partition(".")[0].rpartition("/")
            long = f"{folder}_{table}"
            files[long if long in self.arguments else table] = name if "." in name else f"{name}.tsv"
        return files | {name: file for name, (_, file) in self.optional.items()}

    @property
    def marked(self) -> list[str]:
        """Parameters that the mark names."""
        tables = ["frames"] if "frames" in self.arguments else [*self.inputs]
        return [*tables, *self.gathers, *(["titles"] if self.titles else [])]

    @property
    def settings(self) -> list[str]:
        """The other parameters: settings of the study, or values of `Study.inputs`."""
        return [name for name in self.arguments if name not in (*self.marked, *OF_RUN)]

    @property
    def outputs(self) -> dict[str, str]:
        """Kind of file -> file in the study's folder."""
        names = {suffix: f"{self.id}.{suffix}" for suffix in SUFFIXES[self.kind]}
        return {suffix: name for suffix, name in names.items() if name not in self.files}

    def tables(self, by_name: dict[str, Any]) -> dict[str, Any]:
        """Parameter -> tables, of name -> table."""
        return {"frames": by_name} if "frames" in self.arguments else by_name


class Marked(Shown):
    """A function with its mark. Called, it is the function."""

    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def of(self, folder: str | Path, *overlays: str | Path, **changes: Any) -> Any:
        """The same of a built run: `figure2.of("results/sample")`."""
        from attention_atlas.workflow.study_inputs import drawn_again

        return drawn_again(self, folder, overlays, changes)


def _mark(kind: str, **literals: Any) -> Callable[[Callable[..., Any]], Marked]:
    def mark(function: Callable[..., Any]) -> Marked:
        module = function.__module__.removeprefix("attention_atlas.").removeprefix("studies.")
        call = f"{module}:{function.__name__}"
        names = tuple(inspect.signature(function).parameters)
        marked = Marked(kind, call, _caption(inspect.getdoc(function)), names, **literals)
        object.__setattr__(marked, "function", function)
        object.__setattr__(marked, "__doc__", function.__doc__)
        return marked

    return mark


table, figure, page = (functools.partial(_mark, kind) for kind in ("table", "figure", "page"))


def _caption(docstring: str | None) -> str:
    return " ".join((docstring or "").partition("\n\n")[0].split())


@functools.cache
def shown(study: str, folder: Path = STUDIES) -> tuple[Shown, ...]:
    """What a study shows, read from the source: figures before tables, each in the order of its module."""
    items = []
    for path in sorted(Path(LIBRARY if (LIBRARY / study).is_dir() else folder, study).glob("*.py")):
        source = path.read_text(encoding="utf-8")
        # Most modules have no mark, and need not be parsed at every start.
        body = ast.parse(source).body if any(f"@{kind}(" in source for kind in SUFFIXES) else []
        for node in (node for node in body if isinstance(node, ast.FunctionDef)):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id in SUFFIXES:
                    items.append(_declared(f"{study}.{path.stem}", node, mark, mark.func.id))
    return tuple(sorted(items, key=lambda item: item.kind != "figure"))


def _declared(module: str, node: ast.FunctionDef, mark: ast.Call, kind: str) -> Shown:
    literals = {str(word.arg): ast.literal_eval(word.value) for word in mark.keywords}
    arguments = tuple(argument.arg for argument in node.args.args)
    item = Shown(kind, f"{module}:{node.name}", _caption(ast.get_docstring(node)), arguments, **literals)
    if absent := set(item.marked) - set(arguments):
        raise TypeError(f"{item.call} has no parameter {', '.join(sorted(absent))}")
    return item


def full_name(call: str) -> str:
    """`study.module:function` with its package; an overview over all studies, such as the atlas, stands beside the studies."""
    return f"attention_atlas.{call}" if (LIBRARY / call.partition(".")[0]).is_dir() else f"attention_atlas.studies.{call}"


def call_function(call: str) -> Any:
    """The function of a study, marked or not, by `study.module:function`."""
    module, _, name = full_name(call).partition(":")
    return getattr(importlib.import_module(module), name)


def named(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of the package of a study, for notebooks: `clark2019.figure2` is the marked function."""
    study = package.rpartition(".")[2]

    def get(name: str) -> Any:
        if call := next((item.call for item in shown(study) if item.id == name), ""):
            return call_function(call)
        raise AttributeError(f"{study} has no table or figure {name}")

    return get, lambda: sorted(item.id for item in shown(study))
