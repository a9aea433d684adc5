"""The atlas: one row per head over all studies, correlations between measures, and findings across papers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.shown import named

# The workflow imports this package at every start; importing pandas would take most of a second.
if TYPE_CHECKING:
    import pandas as pd

    from attention_atlas.attention.cache import CachedExample

_NAMES = ("measure", "title", "group", "study", "item", "unit", "higher_means", "model", "kind", "n_unit", "null", "about")


@dataclass(frozen=True)
class BuiltAtlas:
    """The atlas of a run: its folder, the model, and its tables with types; pairs and kinds only in a run with sentences."""

    folder: Path
    model: str
    heads: pd.DataFrame
    measures: pd.DataFrame
    correlations: pd.DataFrame
    pairs: pd.DataFrame | None
    kinds: pd.DataFrame | None

    def corpora(self) -> list[str]:
        """Corpora for which attention maps of this model are on disk."""
        folders = (self.folder / "attention" / self.model).glob("*")
        return sorted(folder.name for folder in folders if any(folder.glob("*.safetensors")))

    def maps(self, corpus: str) -> Iterator[CachedExample]:
        """The sentences of a corpus with their maps, [layer, head, n, n] float16; row = query token."""
        from attention_atlas.attention.cache import read_attention

        if corpus not in self.corpora():
            kept = ", ".join(self.corpora()) or "none"
            raise AtlasError(
                f"{self.folder}: there are no maps of {self.model} on '{corpus}' (maps exist for: {kept}). Build the run's "
                "target attention with keep_attention: true."
            )
        return read_attention(self.folder / "attention" / self.model / corpus)


__getattr__, __dir__ = named(__name__)


def load(folder: str | Path) -> BuiltAtlas:
    """The atlas of a built run (a folder such as results/sample) as data: tables with types, and the maps that still exist."""
    import pandas as pd

    from attention_atlas.atlas.correlations import CORRELATIONS
    from attention_atlas.atlas.measures import MEASURES
    from attention_atlas.atlas.sentences import ATTENDED_PAIRS, KINDS
    from attention_atlas.io.tables import read_table

    run = Path(folder)
    tables = run / "atlas"
    if not (tables / "heads.tsv").is_file():
        raise AtlasError(f"{run}: there is no atlas (atlas/heads.tsv) in this folder: name the folder of a built run.")
    heads = read_table(tables / "heads.tsv", ["model", "layer", "head"])
    model = str(heads["model"].iloc[0])
    types = {
        **dict.fromkeys(_NAMES, "category"),
        **dict.fromkeys(("heads", "n", "inside_null"), "Int64"),
        **dict.fromkeys(("note", "warning"), "string"),
        "chance": "float64",
    }
    pairs, kinds = (tables / "models" / model / f"attended_{name}.tsv" for name in ("pairs", "kinds"))
    has_attended = pairs.is_file() and kinds.is_file()
    return BuiltAtlas(
        folder=run,
        model=model,
        heads=heads.astype({column: "category" for column in heads if not pd.api.types.is_numeric_dtype(heads[column])}),
        measures=read_table(tables / "measures.tsv", MEASURES).astype(types),
        correlations=read_table(tables / "correlations.tsv", CORRELATIONS),
        pairs=read_table(pairs, ATTENDED_PAIRS) if has_attended else None,
        kinds=read_table(kinds, KINDS) if has_attended else None,
    )
