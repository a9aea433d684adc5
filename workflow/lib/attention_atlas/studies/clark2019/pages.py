"""Tables and figures of Clark et al. (2019) that are rendered from tables."""

from __future__ import annotations

from dataclasses import replace

from attention_atlas.workflow.page import Page, dropped_page, tables

_PUBLISHED = ("published/clark2019.csv",)
_SEGMENTS = {"label": ("label", "segments")}
_DEPENDENCIES = {"label": ("label", "dependencies")}
_BOOTSTRAP = {"resamples": ("settings", "resamples"), "seed": ("settings", "seed")}
_DROPPED = dropped_page("clark2019", "Clark et al. 2019: dropped examples, by reason")

PAGES = (
    Page(
        rule="clark2019_table1",
        function="studies.clark2019.table1:table1",
        inputs={
            "relations_path": "dependencies.tsv",
            "random_path": ("table_if", "random_model", "variants/random/dependencies.tsv"),
        },
        outputs={"out": "table1.tsv", "html_out": "table1.html"},
        params=_DEPENDENCIES,
        resources=_PUBLISHED,
    ),
    Page(
        rule="clark2019_positions",
        function="studies.clark2019.positions:positions",
        inputs={"surface_path": "surface.tsv"},
        outputs={"out": "positions.tsv", "html_out": "positions.html"},
        params=_SEGMENTS,
    ),
    Page(
        rule="clark2019_positions_figure",
        function="studies.clark2019.positions_figure:positions_figure",
        inputs={"positions_path": "positions.tsv"},
        copies={"positions_figure.tsv": "positions_path"},
        pictures="positions_figure",
        params={"threshold": ("settings", "clustering", "position"), **_SEGMENTS},
        resources=_PUBLISHED,
    ),
    Page(
        rule="clark2019_noop",
        function="studies.clark2019.noop:noop_page",
        inputs={"noop_path": "dependency_noop.tsv", "surface_path": ("table_if", "segments", "surface.tsv")},
        outputs={"html_out": "noop.html"},
        copies={"noop.tsv": "noop_path"},
        params=_DEPENDENCIES,
    ),
    Page(
        rule="clark2019_options",
        function="studies.clark2019.options_table:options_table",
        inputs={
            "dependency_options": "dependency_options.tsv",
            "surface_options": "surface_options.tsv",
            "gradient_variants": "gradient_variants.tsv",
            "surface": "surface.tsv",
            "dependencies": "dependencies.tsv",
            "probes": ("table_if", "probe_training", "table3_seeds.tsv"),
        },
        outputs={"out": "options.tsv", "html_out": "options.html"},
        params={"variants": ("variant_tables",), **_DEPENDENCIES},
        reads=(("variant_files",),),
    ),
    replace(
        _DROPPED,
        inputs={"scored_path": ("table_if", "gap", "gap.tsv")},
        params={
            **_DROPPED.params,
            "scored_corpus": ("title_if", "gap"),
            "scored_reason": "the pronoun refers to neither name or to both",
        },
    ),
    Page(
        rule="clark2019_figure1",
        function="studies.clark2019.figure1:figure1",
        inputs={"weights_path": "figure1_weights.tsv"},
        copies={"figure1.tsv": "weights_path"},
        pictures="figure1",
        params={"heads": ("settings", "figure1_heads"), "thresholds": ("settings", "clustering"), **_SEGMENTS},
    ),
    Page(
        rule="clark2019_figure2",
        function="studies.clark2019.figure2:figure2",
        inputs={
            "surface_path": "surface.tsv",
            "random_path": ("table_if", "random_model", "variants/random/surface.tsv"),
        },
        outputs={"out": "figure2.tsv"},
        pictures="figure2",
        params=_SEGMENTS,
        resources=_PUBLISHED,
    ),
    Page(
        rule="clark2019_figure3",
        function="studies.clark2019.figure3:figure3",
        inputs={"table_path": "gradients.tsv"},
        copies={"figure3.tsv": "table_path"},
        pictures="figure3",
        params={"rows": ("settings", "gradients", "rows"), **_SEGMENTS},
    ),
    Page(
        rule="clark2019_figure3_variants",
        function="studies.clark2019.figure3_variants:figure3_variants",
        inputs={
            "table_path": "gradients.tsv",
            "variants_path": "gradient_variants.tsv",
            "surface_path": "surface.tsv",
        },
        outputs={"html_out": "figure3_variants.html"},
        copies={"figure3_variants.tsv": "variants_path"},
        params=_SEGMENTS,
    ),
    Page(
        rule="clark2019_figure4",
        function="studies.clark2019.figure4:figure4",
        inputs={"surface_path": "surface.tsv", "summary_path": "surface_summary.tsv"},
        outputs={"out": "figure4.tsv"},
        pictures="figure4",
        params=_SEGMENTS,
        resources=_PUBLISHED,
    ),
    Page(
        rule="clark2019_figure5",
        function="studies.clark2019.figure5:figure5",
        inputs={"weights_path": "figure5_weights.tsv"},
        copies={"figure5.tsv": "weights_path"},
        pictures="figure5",
        params={"coreference": ("title_if", "coreference"), **_DEPENDENCIES},
    ),
    Page(
        rule="clark2019_figure6",
        function="studies.clark2019.figure6:figure6",
        inputs={
            "heads_path": "clustering.tsv",
            "layers_path": "clustering_layers.tsv",
            "starts_path": "clustering_starts.tsv",
            "test_path": "clustering_test.tsv",
            "segments_path": "surface_summary.tsv",
        },
        copies={
            "figure6.tsv": "heads_path",
            "figure6_layers.tsv": "layers_path",
            "figure6_starts.tsv": "starts_path",
        },
        pictures="figure6",
        params=_SEGMENTS,
    ),
    Page(
        rule="clark2019_figure6_test",
        function="studies.clark2019.figure6_test:figure6_test",
        inputs={"test_path": "clustering_test.tsv", "blocks_path": "head_distance_blocks.tsv"},
        outputs={"html_out": "figure6_test.html"},
        copies={"figure6_test.tsv": "test_path"},
        params={"permutations": ("settings", "clustering", "permutations"), **_SEGMENTS},
    ),
    Page(
        rule="clark2019_table2",
        function="studies.clark2019.table2:table2_pages",
        inputs={
            "table_path": "coreference.tsv",
            "options_path": "coreference_options.tsv",
            "summary_path": "coreference_summary.tsv",
            "windows_path": ("table_if", "coreference_windows", "variants/windows/coreference.tsv"),
            "random_path": ("table_if", "random_model", "variants/random/coreference.tsv"),
        },
        outputs={
            "table_out": "table2.tsv",
            "out": "table2.html",
            "options_out": "table2_options.tsv",
            "options_html_out": "table2_options.html",
        },
        params={"label": ("label", "coreference")},
        resources=_PUBLISHED,
    ),
    Page(
        rule="clark2019_table3",
        function="studies.clark2019.probes.table3:table3",
        inputs={
            "tables__model": ("probe_table", "tsv"),
            "tables__training": ("probe_table", "training.tsv"),
            "tables__random": ("random_probe_tables", "tsv"),
            "tables__random_training": ("random_probe_tables", "training.tsv"),
            "tables__examples": ("examples", "dependencies"),
            "tables__heads": "dependency_heads.tsv",
        },
        outputs={
            "out": "table3.tsv",
            "seeds_out": "table3_seeds.tsv",
            "gains_out": "table3_gains.tsv",
            "leads_out": "table3_leads.tsv",
            "html_out": "table3.html",
        },
        params={
            "limit": ("limit", "dependencies"),
            "training_title": ("title", "probe_training"),
            **_BOOTSTRAP,
            **_DEPENDENCIES,
        },
        resources=_PUBLISHED,
        megabytes=2000,
        minutes=20,
    ),
    Page(
        rule="clark2019_clustering",
        function="studies.clark2019.clustering:cluster_heads",
        inputs={
            "tables__distances": "head_distances.tsv",
            "tables__blocks": "head_distance_blocks.tsv",
            "tables__surface": "surface.tsv",
            "tables__dependencies": "dependencies.tsv",
            "tables__coreference": ("table_if", "coreference", "coreference.tsv"),
        },
        outputs={
            "out": "clustering.tsv",
            "layers_out": "clustering_layers.tsv",
            "test_out": "clustering_test.tsv",
            "starts_out": "clustering_starts.tsv",
        },
        params={"options": ("settings", "clustering"), **_BOOTSTRAP},
        megabytes=2000,
        minutes=30,
    ),
    Page(
        rule="clark2019_comparison",
        function="studies.clark2019.comparison:comparison",
        inputs=tables(
            *("surface", "surface_summary", "surface_claims", "gradients", "gradient_claims"),
            *("dependencies", "dependency_heads", "dependency_summary", "dependency_claims", "clustering_test"),
        )
        | {
            "tables__table2": ("table_if", "coreference", "table2.tsv"),
            "tables__coreference_heads": ("table_if", "coreference", "coreference_heads.tsv"),
            "tables__coreference_claims": ("table_if", "coreference", "coreference_claims.tsv"),
            "tables__table3": ("table_if", "probe_training", "table3.tsv"),
            "tables__table3_gains": ("table_if", "probe_training", "table3_gains.tsv"),
            "tables__table3_leads": ("table_if", "probe_training", "table3_leads.tsv"),
            "tables__training": ("training_summary",),
        },
        outputs={
            "out": "comparison.tsv",
            "html_out": "comparison.html",
            "claims_out": "claims.tsv",
            "claims_html": "claims.html",
        },
        params={
            "labels": ("labels", "segments", "dependencies", "coreference", "probe_training"),
            "thresholds": ("settings", "clustering"),
        },
        resources=_PUBLISHED,
    ),
)
