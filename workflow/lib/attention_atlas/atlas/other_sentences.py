"""The page of an atlas with the sentences of another run's page: where those of its corpus may not be passed on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_atlas.atlas.embedded_data import read_page, with_data
from attention_atlas.io.files import write_text

_EMPTY: Mapping[str, Any] = {"sentences": [], "evidence": {"texts": [], "pairs": []}, "shown_note": ""}


def write_with_sentences_of(
    page: str | Path, sentences_page: str | Path | None, note: str, out: str | Path, moved: Mapping[str, str] | None = None
) -> None:
    """Write a page of an atlas whose numbers are those of one run, and whose sentences those of another.

    Sentences, and the pairs of words with the largest weights, are taken for each model that both pages show with the same
    name and as many heads. For all other models the page shows none. A measure keeps its links to files that `moved` names.

    Args:
        page: atlas.html of the run.
        sentences_page: atlas.html of the other run; None for a page without sentences.
        note: what the page says beside the sentences.
        out: file to write.
        moved: address of a file, seen from the page -> its address, seen from `out`.

    Raises:
        AtlasError: a page does not have the data of an atlas.
    """
    text, data = read_page(Path(page))
    shown = read_page(Path(sentences_page))[1] if sentences_page else {"others": []}
    models = {model["name"]: model for model in (shown, *shown["others"]) if "name" in model}
    for model in (data, *data["others"]):
        source: Mapping[str, Any] = models.get(model["name"], _EMPTY)
        if source is not _EMPTY and (source["layers"], source["heads"]) != (model["layers"], model["heads"]):
            source = _EMPTY
        model["sentences"] = source["sentences"]
        model["evidence"] |= {name: source["evidence"][name] for name in ("texts", "pairs")}
        # By position: the table, and the figure or page that shows it.
        links = {name: [(moved or {}).get(address, "") for address in files] for name, files in model["sources"].items()}
        model["sources"] = {name: addresses for name, addresses in links.items() if any(addresses)}
        model["shown_note"] = " ".join(filter(None, (note, source["shown_note"]))) if source["sentences"] else ""
    write_text(out, with_data(text, data))
