"""Pages of a study: tables and figures rendered from tables, each by one function call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PageValue = str | tuple[Any, ...]
"""Of an input: a file below the study's folder; of a parameter: its value. A tuple is looked up in the study's inputs: a method
of wildcards, or one that gives such a function, with its arguments: `("run_title",)`, `("label", "segments")`."""


@dataclass(frozen=True)
class Page:
    """A rule that renders a table or a figure.

    Attributes:
        rule: name of the rule, starting with the study.
        function: `module:function` below attention_atlas; called with the parameters below as keyword arguments.
        inputs: parameter -> file. `tables__surface` is the attribute `surface` of the parameter `tables`, a dataclass.
        outputs: parameter -> file; `outputs__order` is the attribute `order` of the parameter `outputs`.
        copies: file -> parameter of the input that it is a copy of, if the numbers of a table or figure are a whole table that
            another rule measured.
        pictures: name of a figure, saved as SVG, PNG and PDF to the paths in the parameter `pictures`; empty if there is none.
        params: parameter -> value; labels (`StudyInputs.label`) become a `RunLabel`.
        reads: further input files, named in `params`.
        reported: file -> its artefact in the report, if the names differ.
        resources: data files below workflow/resources that the function reads.
        megabytes, minutes: upper limits of the job.
        grouped: whether the rule takes seconds and shares a cluster job with others of its study; False where
            jobs that run models depend on it.
    """

    rule: str
    function: str
    inputs: Mapping[str, PageValue] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    pictures: str = ""
    params: Mapping[str, PageValue] = field(default_factory=dict)
    reads: tuple[PageValue, ...] = ()
    reported: Mapping[str, str] = field(default_factory=dict)
    resources: tuple[str, ...] = ()
    megabytes: int = 1000
    minutes: int = 10
    grouped: bool = True

    @property
    def module(self) -> str:
        """The module of the function, with its package."""
        return f"attention_atlas.{self.function.partition(':')[0]}"


def tables(*names: str) -> dict[str, PageValue]:
    """Inputs of a page that takes tables of its study as a mapping `tables`: name -> file."""
    return {f"tables__{name}": f"{name}.tsv" for name in names}


def dropped_page(study: str, title: str) -> Page:
    """The page with the dropped records of a study; every study has one."""
    return Page(
        rule=f"{study}_dropped",
        function="methods.dropped:dropped_table",
        outputs={"out": "dropped.tsv", "html_out": "dropped.html"},
        params={"corpora": ("shards_by_corpus",), "line": ("run_title",), "title": title},
        reads=(("example_files",),),
    )
