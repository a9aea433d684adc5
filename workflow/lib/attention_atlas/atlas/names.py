"""Tables that the atlas reads; imports nothing heavy, since the workflow needs them at every start."""

TABLES = (
    "clark2019/surface",
    "clark2019/figure3",
    "clark2019/dependency_heads",
    "clark2019/relations",
    "clark2019/coreference_heads",
    "guan2020/head_types",
    "kovaleva2019/head_classes",
    "kovaleva2019/figure3",
    "kovaleva2019/figure5",
    "kovaleva2019/figure8",
    "michel2019/figure1",
    "michel2019/head_importance",
    "stefanik2021/relative_attention",
    "stefanik2021/head_ranking",
    "stefanik2021/ablation",
)
"""`study/name` of the tables with measures of single heads, see `measures.SOURCES`."""
