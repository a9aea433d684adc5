"""Names of model, corpus and run in tables and figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class RunLabel:
    """Names of a run, its model and its corpus."""

    run: str
    model: str  # model, corpus: names of the model and of the corpus
    corpus: str
    # model_reference, corpus_reference: the published model and data set, if these are used exactly, otherwise ""
    model_reference: str = ""
    corpus_reference: str = ""
    sample: bool = False
    converted: bool = False  # whether its relations were converted from Universal Dependencies
    stand_in: bool = False  # whether model and corpus are generated stand-ins for the published ones with the same names

    @property
    def line(self) -> str:
        """One line below figures and above tables."""
        return " ".join(filter(None, (self.names, *self.caveats)))

    @property
    def names(self) -> str:
        """Run, model and corpus in one sentence."""
        return f"{self.run}: {self.model} on {self.corpus}."

    @property
    def caveats(self) -> tuple[str, ...]:
        """Reasons why the numbers cannot be compared with the papers', one sentence each."""
        origin = ("Relations converted from Universal Dependencies, not annotated as such.",) if self.converted else ()
        if self.stand_in:
            return *origin, "Generated text and a small random model stand for those named: numbers are not comparable."
        return (*origin, "Generated text: not the papers' data, numbers are not comparable.") if self.sample else origin


def joint_lines(labels: Iterable[RunLabel]) -> list[str]:
    """The lines of several settings: those that differ only in the corpus share a line; then each caveat once."""
    groups: dict[RunLabel, list[str]] = {}
    for label in labels:
        corpora = groups.setdefault(replace(label, corpus="", corpus_reference=""), [])
        if label.corpus not in corpora:
            corpora.append(label.corpus)
    if len(groups) == 1:
        return [replace(label, corpus="; ".join(corpora)).line for label, corpora in groups.items()]
    names = [replace(label, corpus="; ".join(corpora)).names for label, corpora in groups.items()]
    caveats = dict.fromkeys(caveat for label in groups for caveat in label.caveats)
    return [*dict.fromkeys(names), *([" ".join(caveats)] if caveats else [])]
