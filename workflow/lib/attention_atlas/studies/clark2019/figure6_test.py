"""Figure 6, test: the page of the test whether heads of one layer are alike."""

from __future__ import annotations

from pathlib import Path

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table


def figure6_test(
    test_path: str | Path, blocks_path: str | Path, permutations: int, label: RunLabel, html_out: str | Path
) -> None:
    """Write the page of the test whether heads of one layer are alike.

    Args:
        test_path: table of `clustering.cluster_heads`.
        blocks_path: table of blocks of `head_distances`.
        permutations: of the layer labels.
        label: run, model and corpus.
        html_out: file to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    test = read_table(test_path, ["quantity", "value", "ci_low", "ci_high", "n", "meaning"])
    blocks = read_table(blocks_path, ["block", "unit"])
    notes = [
        label.line,
        f"{test['n'].iloc[0]} heads. Divergence: Jensen-Shannon, natural logarithm, mean over all tokens of all segments; the "
        "published code reports the sum, which differs only in scale. Permutation test: the layer labels of the "
        f"heads are shuffled {permutations} times. "
        f"Interval: bootstrap over {blocks['block'].nunique()} {blocks['unit'].iloc[0]}.",
    ]
    write_html_table(
        test, html_out, "Clark et al. 2019, Figure 6: are heads of one layer alike?", notes, formats={"n": "d", "units": "d"}
    )
