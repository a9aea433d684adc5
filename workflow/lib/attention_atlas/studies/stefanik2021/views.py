"""Attention of all heads over sentences and pairs of sentences: pages of bertviz, and the table of a static figure.

The pages work offline: they contain the scripts that bertviz loads from the network (d3, jQuery, require.js).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.text import WORD, spaces_in
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import write_text
from attention_atlas.io.installed_files import script_text
from attention_atlas.io.tables import write_table
from attention_atlas.methods.head_tables import map_rows
from attention_atlas.models.card import read_card
from attention_atlas.models.extraction import attention_maps
from attention_atlas.models.loading import load_model

MODEL_VIEW = ["pair", "layer", "head", "query", "key", "query_token", "key_token", "weight", "second"]
_SCRIPTS = {"XStatic-jQuery": "jquery.min.js", "mpld3": "d3.v5.min.js"}
"""Package -> its file that the pages contain."""
# Replaces require.js: both libraries are already loaded.
_SHIM = "var require = {config: function () {}}; function requirejs(_, use) { use(window.jQuery, window.d3); }"
_CSS = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem; color: #1a1a1a; background: #fff; }
h1 { font-size: 1.3rem; margin: 0 0 .2rem; } h2 { font-size: 1.05rem; margin: 1.5rem 0 .2rem; }
p { margin: .2rem 0 1rem; color: #444; max-width: 60rem; }
"""
_VIEWS = {
    "model_view": (
        "Model view",
        "All heads at once: each row is one layer and each column is one head. Click one to enlarge it.",
    ),
    "head_view": (
        "Head view",
        "One layer at a time: choose it above the sentence. The coloured squares are the heads of the layer, with head 1 on "
        "the left: click one to show or hide it. Point at a token to see which tokens it attends to.",
    ),
}
_COUNTED_FROM_0 = {
    "model_view": (
        ".text(config.heads[i])",
        ".text(config.layers[i])",
        "'Layer ' + config.layers[layerIndex] + \", Head \" + config.heads[headIndex]",
    ),
    "head_view": (".text(layer)",),
}
"""Places where the scripts of bertviz write the number of a layer or head, which they count from 0."""
_NUMBER = re.compile(r"config\.(?:heads|layers)\[\w+\]|(?<=\.text\()layer(?=\))")


@dataclass(frozen=True)
class Viewed:
    """A sentence or a pair: its tokens, where the second sentence begins (None without one), maps [layer, head, n, n]."""

    texts: tuple[str, ...]
    tokens: tuple[str, ...]
    second: int | None
    maps: npt.NDArray[np.float32]


def write_views(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    tokenizer_path: str | Path,
    pairs: Sequence[Sequence[str]],
    run: str,
    pages: Mapping[str, str | Path],
    out: str | Path,
) -> None:
    """Write a page for each view, with all pairs, and the maps as a table (`MODEL_VIEW`; pair, layer and head from 1).

    Args:
        model_entry, card_path, tokenizer_path: the model.
        pairs: one sentence or two each.
        run: title of the run on the pages.
        pages: model_view and head_view -> HTML file.
        out: table to write; second: first token (from 1) of the second sentence.

    Raises:
        AtlasError: the model cannot be loaded, or a pair is too long for it.
    """
    card = read_card(card_path)
    model = load_model(model_entry)  # a few sentences need no GPU
    examples = [_example(number, pair, WordPieces(tokenizer_path), card.max_tokens) for number, pair in enumerate(pairs)]
    maps = attention_maps(model, examples, card.pad or 0)
    viewed = [_viewed(pair, example, maps[example.record]) for pair, example in zip(pairs, examples, strict=True)]
    write_table(pd.concat([_rows(number, pair) for number, pair in enumerate(viewed, start=1)])[MODEL_VIEW], out)
    for view, path in pages.items():
        write_text(path, view_page(view, viewed, f"{run}: {card.name}."))


def _example(number: int, texts: Sequence[str], pieces: WordPieces, bound: int) -> Example:
    words = [WORD.findall(text) for text in texts]
    assembled = pieces.assemble([pieces.pieces(part, spaces_in(text, part)) for text, part in zip(texts, words, strict=True)])
    if len(assembled.input_ids) > bound:
        raise AtlasError(
            f"pairs: {texts[0]!r}: {len(assembled.input_ids)} word pieces, but the model takes {bound}: shorten it."
        )
    all_words = tuple(word for sentence in words for word in sentence)
    return Example(
        number, " / ".join(texts), assembled.input_ids, assembled.segment_ids, assembled.tokens, assembled.word, all_words
    )


def _viewed(texts: Sequence[str], example: Example, maps: npt.NDArray[np.float16]) -> Viewed:
    second = None
    if len(texts) == 2:
        first_words = len(WORD.findall(texts[0]))
        second = next(k for k, word in enumerate(example.word) if word >= first_words)
    return Viewed(tuple(texts), example.tokens, second, maps.astype(np.float32))


def _rows(number: int, pair: Viewed) -> pd.DataFrame:
    frames = []
    for layer, head in np.ndindex(pair.maps.shape[:2]):
        frames.append(map_rows(pair.tokens, pair.maps[layer, head]).assign(layer=layer + 1, head=head + 1))
    return pd.concat(frames).assign(pair=number, second=pair.second + 1 if pair.second is not None else 0)


def view_page(view: str, viewed: Sequence[Viewed], line: str) -> str:
    """A page with a view (model_view or head_view) of each sentence or pair; layers and heads are counted from 1.

    Raises:
        AtlasError: a package that the page takes its scripts from is not installed.
    """
    import bertviz

    draw: Callable[..., Any] = getattr(bertviz, view)
    title, instructions = _VIEWS[view]
    parts = []
    for number, pair in enumerate(viewed, start=1):
        # Four decimals are enough to draw; converted to doubles, they are written with four.
        layers = [torch.from_numpy(layer.astype(np.float64).round(4))[None] for layer in pair.maps]
        options = {"display_mode": "light"} if view == "model_view" else {}
        page = draw(layers, list(pair.tokens), sentence_b_start=pair.second, html_action="return", **options)
        markup = _without_network(_counted_from_1(page.data, view), f"{view}-{number}")
        parts.append(f"<h2>{escape(' / '.join(pair.texts))}</h2>\n{markup}")
    scripts = "\n".join(f"<script>{script_text(package, name)}</script>" for package, name in _SCRIPTS.items())
    return (
        f"<!doctype html>\n<html lang='en'>\n<head><meta charset='utf-8'><title>{title}</title><style>{_CSS}</style></head>\n"
        f"<body>\n<h1>{title}</h1>\n<p>{escape(line)} {instructions}</p>\n<noscript><p>This page needs scripts; the figure "
        f"model_view.svg beside it shows the same without.</p></noscript>\n{scripts}\n<script>{_SHIM}</script>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _counted_from_1(html: str, view: str) -> str:
    """The markup of bertviz with layers and heads counted from 1, as in all tables and figures.

    Raises:
        AtlasError: this version of bertviz writes them elsewhere.
    """
    for place in _COUNTED_FROM_0[view]:
        if html.count(place) != 1:
            version = distribution_version("bertviz")
            raise AtlasError(f"bertviz {version} numbers layers and heads in an unknown place: pip install bertviz==1.4.1.")
        html = html.replace(place, _NUMBER.sub(r"(\g<0> + 1)", place))
    return html


def _without_network(html: str, name: str) -> str:
    """The markup of bertviz without the script from the network, and with an element id that is the same in every run."""
    markup, _, code = html.partition('<script type="text/javascript">')
    code, _, rest = code.rpartition("</script>")
    markup = re.sub(r'<script src="[^"]*"></script>', "", markup)
    # The text must not contain the end tag of its script.
    code = re.sub(r"https://cdnjs[^']*", "", code).replace("</", "<\\/")
    return re.sub(r"bertviz-[0-9a-f]{32}", name, f"{markup}<script>{code}</script>{rest}")
