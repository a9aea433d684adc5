"""Model, corpus and run, in the words that tables and figures show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Setting:
    """Names of a run's parts.

    Attributes:
        run: title of the run.
        model, corpus: names of the model and of the corpus.
        model_reference, corpus_reference: the published model and data set that these are (not resemble), or "".
        sample: whether the corpus is generated.
        converted: whether its relations were converted from Universal Dependencies.
    """

    run: str
    model: str
    corpus: str
    model_reference: str = ""
    corpus_reference: str = ""
    sample: bool = False
    converted: bool = False

    @property
    def line(self) -> str:
        """One line below figures and above tables."""
        warning = " Generated text: not the papers' data, numbers are not comparable." if self.sample else ""
        origin = " Relations converted from Universal Dependencies, not annotated as such." if self.converted else ""
        return f"{self.run}: {self.model} on {self.corpus}.{origin}{warning}"


def setting_of(values: Mapping[str, Any]) -> Setting:
    """A setting from the parameters of a job."""
    return Setting(**values)


def joint_lines(settings: Iterable[Setting]) -> list[str]:
    """The lines of several settings; those that differ in their corpus alone share one."""
    groups: dict[Setting, list[str]] = {}
    for setting in settings:
        corpora = groups.setdefault(replace(setting, corpus="", corpus_reference=""), [])
        if setting.corpus not in corpora:
            corpora.append(setting.corpus)
    return [replace(setting, corpus="; ".join(corpora)).line for setting, corpora in groups.items()]
