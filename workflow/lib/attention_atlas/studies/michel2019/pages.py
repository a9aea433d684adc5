"""Tables and figures of Michel et al. (2019) that are rendered from tables."""

from __future__ import annotations

from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION
from attention_atlas.studies.michel2019.names import HELDOUT_ROLES
from attention_atlas.workflow.page import Page, dropped_page, tables

EXPERIMENTS = (TRANSLATION, CLASSIFICATION)
ROLES_OF_FIGURE2 = tuple(f"{name}{part}" for name in EXPERIMENTS for part in ("", "_other"))
SCORED_ROLES = tuple(f"{name}_importance" for name in EXPERIMENTS)
"""Roles with the examples that importance is computed on."""
_PUBLISHED = ("published/michel2019.csv",)
_BOTH = {"labels": ("labels", *EXPERIMENTS)}
_FOUR = {"labels": ("labels", *ROLES_OF_FIGURE2)}
_TRANSLATOR = {"translator": ("translation_model", TRANSLATION)}
_BOOTSTRAP = {"resamples": ("settings", "resamples"), "seed": ("settings", "seed")}
_MASKED, _MASKED_SECOND = "masked/{experiment}.parquet", "masked/{experiment}_other.parquet"
_PRUNED, _GRADIENTS = "pruned/{experiment}.parquet", "gradients/{experiment}.parquet"
PAGES = (
    Page(
        rule="michel2019_ablation",
        grouped=False,
        function="studies.michel2019.ablation_tables:ablation_tables",
        outputs={
            "out": "ablation.tsv",
            "translation_out": "ablation_best_translation.tsv",
            "classification_out": "ablation_best_classification.tsv",
            "statistics_out": "ablation_statistics.tsv",
        },
        params={"answers": ("each_experiment", _MASKED), **_BOOTSTRAP},
        reads=(("files_of_experiments", _MASKED),),
        megabytes=4000,
        minutes=120,
    ),
    Page(
        rule="michel2019_table1",
        function="studies.michel2019.table1:table1",
        inputs={"path": "ablation.tsv"},
        outputs={"out": "table1.tsv", "html_out": "table1.html"},
        params={"label": ("label", TRANSLATION), **_TRANSLATOR},
        resources=_PUBLISHED,
    ),
    Page(
        rule="michel2019_table2",
        function="studies.michel2019.best_heads:table2",
        inputs={"path": "ablation_best_translation.tsv"},
        outputs={"out": "table2.tsv", "html_out": "table2.html"},
        params={"label": ("label", TRANSLATION), **_TRANSLATOR},
        resources=_PUBLISHED,
    ),
    Page(
        rule="michel2019_table3",
        function="studies.michel2019.best_heads:table3",
        inputs={"path": "ablation_best_classification.tsv"},
        outputs={"out": "table3.tsv", "html_out": "table3.html"},
        params={"label": ("label", CLASSIFICATION)},
        resources=_PUBLISHED,
    ),
    Page(
        rule="michel2019_table5",
        function="studies.michel2019.heldout_heads:table5",
        inputs={"masked": _MASKED.format(experiment=TRANSLATION), "heldout": f"heldout/{TRANSLATION}.parquet"},
        outputs={"out": "table5.tsv", "html_out": "table5.html"},
        params={
            "label": ("label", HELDOUT_ROLES[TRANSLATION]),
            "selection_label": ("label", TRANSLATION),
            **_TRANSLATOR,
            **_BOOTSTRAP,
        },
        megabytes=2000,
        minutes=60,
        resources=_PUBLISHED,
    ),
    Page(
        rule="michel2019_table6",
        function="studies.michel2019.heldout_heads:table6",
        inputs={"masked": _MASKED.format(experiment=CLASSIFICATION), "heldout": f"heldout/{CLASSIFICATION}.parquet"},
        outputs={"out": "table6.tsv", "html_out": "table6.html"},
        params={"label": ("label", CLASSIFICATION), "selection_label": ("label", HELDOUT_ROLES[CLASSIFICATION]), **_BOOTSTRAP},
        megabytes=2000,
        minutes=60,
        resources=_PUBLISHED,
    ),
    Page(
        rule="michel2019_correlations",
        grouped=False,
        function="studies.michel2019.correlations:correlations",
        outputs={"out": "correlation_heads.tsv", "correlations_out": "correlations.tsv", "html_out": "correlations.html"},
        params={
            "answers": ("each_experiment", _MASKED),
            "second_answers": ("each_experiment", _MASKED_SECOND),
            "extremes": ("settings", "excluded_extremes"),
            "second_data": ("second_data",),
            **_FOUR,
            **_TRANSLATOR,
            **_BOOTSTRAP,
        },
        reads=(("files_of_experiments", _MASKED), ("files_of_experiments", _MASKED_SECOND)),
        megabytes=4000,
        minutes=120,
    ),
    Page(
        rule="michel2019_head_importance",
        grouped=False,
        function="studies.michel2019.head_importance:importance_table",
        outputs={
            "out": "head_importance.tsv",
            "html_out": "head_importance.html",
            "statistics_out": "importance_statistics.tsv",
        },
        params={
            "derivatives": ("each_experiment", _GRADIENTS),
            "models": ("experiment_models",),
            "labels": ("labels", *SCORED_ROLES),
            "batch": ("settings", "importance", "batch"),
            **_BOOTSTRAP,
        },
        reads=(("files_of_experiments", _GRADIENTS),),
        megabytes=4000,
        minutes=120,
    ),
    Page(
        rule="michel2019_pruning",
        grouped=False,
        function="studies.michel2019.curves:pruning_curves",
        outputs={
            "curves_out": "pruning_curves.tsv",
            "by_kind_out": "pruning_curves_by_kind.tsv",
            "out": "pruning.tsv",
            "html_out": "pruning.html",
            "statistics_out": "pruning_statistics.tsv",
        },
        params={"answers": ("each_experiment", _PRUNED), **_BOTH, **_TRANSLATOR, **_BOOTSTRAP},
        reads=(("files_of_experiments", _PRUNED),),
        megabytes=4000,
        minutes=120,
    ),
    Page(
        rule="michel2019_figure1",
        function="studies.michel2019.figure1:figure1",
        inputs={"path": "ablation.tsv"},
        copies={"figure1.tsv": "path"},
        pictures="figure1",
        params={**_BOTH, **_TRANSLATOR},
        resources=_PUBLISHED,
    ),
    Page(
        rule="michel2019_figure2",
        function="studies.michel2019.figure2:figure2",
        inputs={"path": "correlation_heads.tsv", "correlations_path": "correlations.tsv"},
        copies={"figure2.tsv": "path"},
        pictures="figure2",
        params={**_FOUR, **_TRANSLATOR},
        resources=_PUBLISHED,
    ),
    Page(
        rule="michel2019_figure3",
        function="studies.michel2019.figure3:figure3",
        inputs={"path": "pruning_curves.tsv"},
        copies={"figure3.tsv": "path"},
        pictures="figure3",
        params={**_BOTH, **_TRANSLATOR},
        resources=_PUBLISHED,
    ),
    Page(
        rule="michel2019_figure4",
        function="studies.michel2019.figure4:figure4",
        inputs={"path": "pruning_curves_by_kind.tsv"},
        copies={"figure4.tsv": "path"},
        pictures="figure4",
        params={"label": ("label", TRANSLATION), **_TRANSLATOR},
        resources=_PUBLISHED,
    ),
    Page(
        rule="michel2019_figure5",
        function="studies.michel2019.figure5:figure5",
        inputs={"path": "dynamics.parquet"},
        outputs={"out": "figure5.tsv", "statistics_out": "figure5_statistics.tsv"},
        pictures="figure5",
        params={"label": ("label", "dynamics"), "translator": ("translation_model", "dynamics"), **_BOOTSTRAP},
        megabytes=2000,
        minutes=60,
        resources=_PUBLISHED,
    ),
    Page(
        rule="michel2019_comparison",
        function="studies.michel2019.comparison:comparison",
        inputs=tables(
            *("table1", "table2", "table3", "correlations", "pruning", "figure3", "figure4", "head_importance"),
            *("ablation_statistics", "pruning_statistics", "importance_statistics"),
        )
        | {f"tables__{name}": ("table_if", "dynamics", f"{name}.tsv") for name in ("figure5", "figure5_statistics")}
        | {
            f"tables__{name}": ("table_if", HELDOUT_ROLES[task], f"{name}.tsv")
            for name, task in (("table5", TRANSLATION), ("table6", CLASSIFICATION))
        },
        outputs={
            "out": "comparison.tsv",
            "html_out": "comparison.html",
            "claims_out": "claims.tsv",
            "claims_html": "claims.html",
        },
        params={
            "definition": ("settings", "importance", "definition"),
            **_TRANSLATOR,
            "labels": ("labels", *ROLES_OF_FIGURE2, HELDOUT_ROLES[TRANSLATION]),
        },
        resources=_PUBLISHED,
    ),
    dropped_page("michel2019", "Michel et al. 2019: dropped examples, by reason"),
)
