"""Figure: coefficients, permutation importance and mixing weights of all heads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.figures.style import DIVERGING, PAGE, SEQUENTIAL, footnote, panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.stefanik2021.figures.head_map import draw_head_map


def logistic_regression(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw coefficients, permutation importance and mixing weights of all heads.

    Args:
        path: table `regression.COEFFICIENTS`.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    names = ["layer", "head", "coefficient", "ci_low", "ci_high", "permutation_importance", "mix_weight"]
    table = read_table(path, names)
    figure, axes = panels(PAGE / 3, 2.6, 3)
    significant = table[(table["ci_low"] > 0) | (table["ci_high"] < 0)]
    draw_head_map(axes[0], table.assign(value=table["coefficient"]), "Coefficient", DIVERGING, significant, width=PAGE / 3)
    axes[0].set_title("Logistic regression")
    # A useless head has a loss around 0, of either sign.
    lost = table.assign(value=1000 * table["permutation_importance"])
    draw_head_map(axes[1], lost, "AUC lost (thousandths)", DIVERGING, table.iloc[:0], width=PAGE / 3)
    axes[1].set_title("Permutation importance")
    draw_head_map(
        axes[2], table.assign(value=table["mix_weight"]), "Softmax weight", SEQUENTIAL, table.iloc[:0], low=0, width=PAGE / 3
    )
    axes[2].set_title("Scalar mix")
    save_figure(figure, pictures, footnote(label, f"{len(table)} heads"))
