"""Section 4, options: the page of the agreement of the types of heads across options, seeds and methods."""

from __future__ import annotations

from pathlib import Path

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table


def agreement_page(
    agreement_path: str | Path, summary_path: str | Path, fits: int, label: RunLabel, html_out: str | Path
) -> None:
    """Write the page.

    Args:
        agreement_path, summary_path: tables of `clustering.cluster_heads`.
        fits: number of halves of the data for stability.
        label: run, model and corpus.
        html_out: file to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(agreement_path, ["aspect", "setting", "clusters", "heads", "ari", "silhouette"])
    examples = int(read_quantities(summary_path)["examples"])
    notes = [
        label.line,
        f"Clusters of the heads by their mean features over {examples} questions, with one choice changed at a time. ARI: "
        "adjusted Rand index against the clusters as chosen (1: identical, 0: chance). Silhouette: how well the clusters are "
        f"separated (-1 to 1). Stability: mean share of heads in the same cluster over all pairs of {fits} fits, each on "
        "half of the heads or of the inputs. The paper calls 3 and 5 clusters stable too, but hard to distinguish by eye.",
    ]
    names = {"ari": "ARI", "stability_heads": "Stability, halved heads", "stability_inputs": "Stability, halved inputs"}
    formats = {"clusters": "d", "heads": "d", "ari": ".3f", "silhouette": ".3f"} | dict.fromkeys(
        ("stability_heads", "stability_inputs"), ".1%"
    )
    write_html_table(table, html_out, "Guan et al. 2020: agreement of the types of heads", notes, names, formats)
