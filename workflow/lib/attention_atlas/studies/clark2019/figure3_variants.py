"""Figure 3, variants: the page of the gradients by layer in every variant that the paper leaves open."""

from __future__ import annotations

from pathlib import Path

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.clark2019.sink import strongest_special_token

_TARGETS = ("sep", "cls", "punct", "other")


def figure3_variants(
    table_path: str | Path, variants_path: str | Path, surface_path: str | Path, label: RunLabel, html_out: str | Path
) -> None:
    """Write the page of the variants.

    Args:
        table_path, variants_path: tables of `gradients.measure_gradients`.
        surface_path: measures of all heads, for the special token that the model attends to most.
        label: run, model and corpus.
        html_out: file to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    variants = read_table(variants_path, ["masking", "rows", "measure", "layer", *_TARGETS, "sep_to_other"])
    heads = read_table(table_path, ["mlm_head"])["mlm_head"]
    head = heads.iloc[0] if len(heads) else "the model has no [MASK]"
    notes = [
        label.line,
        f"Prediction of masked tokens: {head}. Gradient of the loss summed over the predicted tokens with respect to each "
        "attention weight, which is taken as a free variable. Masked: 15 % of the tokens masked as in pre-training, loss on "
        "those; unmasked: no token masked, loss on every token. Per weight: mean over weights to tokens of the class; per "
        "query: summed over the tokens of the class, mean over queries; gradient x attention: as per weight, of the product's "
        "magnitude. Rows: the queries that a mean is over. predicted: those of predicted tokens, the same in every layer; all: "
        "all queries, of which in the last layer only those of predicted tokens have a gradient; reachable: all, but in the "
        "last layer only those of predicted tokens, which causes a jump there.",
        *filter(None, [strongest_special_token(surface_path)]),
    ]
    names = {"sep": "to [SEP]", "cls": "to [CLS]", "punct": "to . and ,", "sep_to_other": "[SEP] to other"}
    formats = dict.fromkeys((*_TARGETS, "sep_to_other"), ".3g") | {"layer": "d"}
    write_html_table(variants, html_out, "Clark et al. 2019, Figure 3: the variants", notes, names, formats)
