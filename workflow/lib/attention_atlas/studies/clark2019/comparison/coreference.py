"""Table 2 beside the published one."""

from __future__ import annotations

import pandas as pd

from attention_atlas.io.setting import Setting
from attention_atlas.published.compare import CLOSE, NO, Measured
from attention_atlas.studies.clark2019.comparison.sameness import COREFERENCE, same

# Name of a system in the published list -> in table2.tsv.
_SYSTEMS = {"nearest": "nearest", "headmatch": "head_match", "rulebased": "rule_based", "head5_4": "best_head"}
_NEURAL = "another system's result on whole documents, copied by the paper; it is not rebuilt here"


def coreference_rows(table2: pd.DataFrame, setting: Setting) -> dict[str, Measured]:
    """Rows of Table 2 and of the coreference head in Figure 5.

    The paper names head 5-4; the row here is the best head of this run, chosen as the paper chose its own.

    Args:
        table2: table2.tsv.
        setting: model and coreference corpus of the run.
    """
    rows = {"t2_neural_all": Measured(None, NO, _NEURAL)}
    for prefix, system in _SYSTEMS.items():
        comparable, why = same(setting, COREFERENCE, needs_model=system == "best_head", best=CLOSE)
        for row in table2[table2["system"] == system].itertuples():
            named = f"best head here: {row.layer:.0f}-{row.head:.0f}; {why}" if system == "best_head" else why
            ours = Measured(
                100 * float(row.accuracy), comparable, named, 100 * float(row.ci_low), 100 * float(row.ci_high), int(row.n)
            )
            rows[f"t2_{prefix}_{row.mention_type}"] = ours
    rows["fig5_coref_5_4"] = rows["t2_head5_4_all"]
    return rows
