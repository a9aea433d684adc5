"""Tables and figures of Kovaleva et al. (2019) that are rendered from tables."""

from __future__ import annotations

from attention_atlas.workflow.page import Page, dropped_page, tables

_PUBLISHED = ("published/kovaleva2019.csv",)
_DIGITISED = tuple(
    f"published/digitised/{name}.csv"
    for name in (
        *("fig3_framenet", "fig5_cosine", "fig6_sep_cls", "fig7_cls_last_layer", "fig8_disable_head"),
        "notebook_qqp_features",
    )
)
_LABELS = {"labels": ("task_labels",)}
_FRAMES = {"label": ("label", "frames")}
_BOOTSTRAP = {"resamples": ("settings", "resamples"), "seed": ("settings", "seed")}


def _task_figure(figure: str, table: str, digitised: str, **inputs: str) -> Page:
    """A figure of all tasks, drawn from a table that it copies, beside values that were read off the paper's figure."""
    return Page(
        rule=f"kovaleva2019_{figure}",
        function=f"studies.kovaleva2019.{figure}:{figure}",
        inputs={"path": table, **inputs},
        copies={f"{figure}.tsv": "path"},
        pictures=figure,
        params=_LABELS,
        resources=(f"published/digitised/{digitised}.csv",),
    )


PAGES = (
    Page(
        rule="kovaleva2019_table1",
        function="studies.kovaleva2019.table1:table1",
        outputs={"out": "table1.tsv", "gains_out": "table1_gains.tsv", "html_out": "table1.html"},
        params={"predictions": ("predictions",), **_BOOTSTRAP, **_LABELS},
        reads=(("prediction_files",),),
        resources=_PUBLISHED,
        megabytes=2000,
        minutes=30,
    ),
    Page(
        rule="kovaleva2019_disabling",
        grouped=False,
        function="studies.kovaleva2019.disabling_tables:disabling_tables",
        outputs={
            "by_seed_out": "disabling_by_seed.tsv",
            "heads_out": "disabling_heads.tsv",
            "layers_out": "disabling_layers.tsv",
            "out": "disabling.tsv",
            "html_out": "disabling.html",
        },
        params={"files": ("by_task_and_seed", "disabled"), **_BOOTSTRAP, **_LABELS},
        reads=(("files_of", "disabled"),),
        megabytes=4000,
        minutes=120,
    ),
    Page(
        rule="kovaleva2019_figure1",
        function="studies.kovaleva2019.figure1:figure1",
        inputs={"path": "drawn.tsv"},
        copies={"figure1.tsv": "path"},
        pictures="figure1",
        params={"label": ("drawn_label",)},
    ),
    Page(
        rule="kovaleva2019_figure2",
        function="studies.kovaleva2019.figure2:figure2",
        inputs={"path": "changes/classes.tsv", "patterns_path": "patterns.tsv"},
        copies={"figure2.tsv": "path"},
        pictures="figure2",
        params=_LABELS,
        resources=_PUBLISHED,
    ),
    Page(
        rule="kovaleva2019_figure3",
        function="studies.kovaleva2019.figure3:figure3",
        inputs={"path": "frames.tsv"},
        outputs={"out": "figure3.tsv"},
        pictures="figure3",
        params={"direction": ("settings", "direction"), "pairing": ("settings", "pairing"), **_FRAMES},
        resources=("published/digitised/fig3_framenet.csv",),
    ),
    Page(
        rule="kovaleva2019_figure4",
        function="studies.kovaleva2019.figure4:figure4",
        inputs={"path": "frame_sentence.tsv"},
        copies={"figure4.tsv": "path"},
        pictures="figure4",
        params=_FRAMES,
    ),
    _task_figure("figure5", "changes/cosine.tsv", "fig5_cosine"),
    _task_figure("figure6", "changes/special.tsv", "fig6_sep_cls"),
    _task_figure("figure7", "changes/first_row.tsv", "fig7_cls_last_layer"),
    _task_figure("figure8", "disabling_heads.tsv", "fig8_disable_head"),
    _task_figure("figure9", "disabling_layers.tsv", "fig9_disable_layer", by_seed_path="disabling_by_seed.tsv"),
    Page(
        rule="kovaleva2019_features",
        function="studies.kovaleva2019.features:features_page",
        inputs={"path": "changes/features.tsv", "statistics_path": "changes/statistics.tsv"},
        outputs={"html_out": "features.html"},
        copies={"features.tsv": "path"},
        params=_LABELS,
    ),
    Page(
        rule="kovaleva2019_links",
        function="studies.kovaleva2019.link_tables:links_page",
        inputs={"path": "changes/links.tsv"},
        outputs={"html_out": "links.html"},
        copies={"links.tsv": "path"},
        params=_LABELS,
    ),
    Page(
        rule="kovaleva2019_options",
        function="studies.kovaleva2019.options:options_page",
        inputs={"path": "changes/options.tsv"},
        outputs={"html_out": "options.html"},
        copies={"options.tsv": "path"},
        params=_LABELS,
    ),
    dropped_page("kovaleva2019", "Kovaleva et al. 2019: dropped examples, by reason"),
    Page(
        rule="kovaleva2019_comparison",
        function="studies.kovaleva2019.comparison:comparison",
        inputs=tables(
            "table1",
            "figure2",
            "figure5",
            "figure6",
            "figure7",
            "figure8",
            "figure9",
            "features",
            "links",
            "disabling",
            "patterns",
        )
        | {"tables__statistics": "changes/statistics.tsv", "tables__gains": "table1_gains.tsv"}
        | {"tables__figure3": ("frame_table",)},
        outputs={
            "out": "comparison.tsv",
            "html_out": "comparison.html",
            "digitised_out": "digitised.tsv",
            "digitised_html": "digitised.html",
            "claims_out": "claims.tsv",
            "claims_html": "claims.html",
        },
        params={"labels": ("compared_labels",), "recipe": ("recipe",)},
        resources=(*_PUBLISHED, *_DIGITISED),
        megabytes=2000,
        minutes=30,
    ),
)
