# What the atlas and the scoreboard read: tables of all studies that a run builds.

from pathlib import Path

from attention_atlas.atlas.names import TABLES as HEAD_TABLES

_OVER_ALL = ("atlas", "scoreboard")
PAIRS["atlas"] = PAIRS["scoreboard"] = lambda run: []


def built_tables(run):
    """study/name -> file of all tables of the studies that the run builds."""
    found = {}
    for artifact in load_manifest():
        if artifact.study in _OVER_ALL or artifact.study not in config["runs"][run]:
            continue
        if wanting(run, artifact) == {}:
            for path in artifact.paths(run):
                if path.endswith(".tsv"):
                    found[f"{artifact.study}/{Path(path).stem}"] = path
    return found


def measured_model(run, table):
    """The model whose heads a table of a study measures."""
    study = table.split("/")[0]
    chosen = config["runs"][run][study]
    if study == "michel2019":
        return chosen["classifier"]
    if table in ("kovaleva2019/figure5", "kovaleva2019/figure8"):
        task = next(iter(chosen["tasks"]))
        seed = family_seeds(config, chosen["family"], task)[0]
        return family_member(chosen["family"], task, seed)
    if table == "stefanik2021/ablation":
        return next(iter(taggers(run).values()))
    return study_model(config, run, study)


def measured_as(run, table):
    """What a table of measures is of, in words: a model, or a family of them."""
    chosen = config["runs"][run][table.split("/")[0]]
    if table in (
        "kovaleva2019/figure5",
        "kovaleva2019/figure8",
        "stefanik2021/ablation",
    ):
        return f"family {chosen['family']}"
    return measured_model(run, table)


def atlas_shape(run):
    entry = config["models"][study_model(config, run, "atlas")]
    return entry["layers"], entry["heads"]


def of_another_shape(run):
    """Table -> why it cannot stand in the atlas: its model has other layers or heads."""
    found = {}
    for table in built_tables(run):
        if table in HEAD_TABLES:
            entry = config["models"][measured_model(run, table)]
            if (entry["layers"], entry["heads"]) != atlas_shape(run):
                name, shape = measured_model(run, table), (
                    entry["layers"],
                    entry["heads"],
                )
                found[table] = (
                    f"its model {name} has {shape[0]} layers of {shape[1]} heads"
                )
    return found


def head_tables(wildcards):
    """Params function: table -> file, for the measures of single heads that the run builds."""
    run = wildcards.run
    others = of_another_shape(run)
    return {
        table: path
        for table, path in built_tables(run).items()
        if table in HEAD_TABLES and table not in others
    }


def head_files(wildcards):
    """Input function: the same as a list."""
    return list(head_tables(wildcards).values())


def head_models(wildcards):
    """Params function: table -> what it is of."""
    return {
        table: measured_as(wildcards.run, table) for table in head_tables(wildcards)
    }


def study_models(wildcards):
    """Params function: study -> models of its measures."""
    found = {}
    for table, model in head_models(wildcards).items():
        names = found.setdefault(table.split("/")[0], [])
        if model not in names:
            names.append(model)
    return {study: ", ".join(names) for study, names in found.items()}


def left_out_tables(wildcards):
    return of_another_shape(wildcards.run)


def atlas_model(wildcards):
    return study_model(config, wildcards.run, "atlas")


def atlas_layers(wildcards):
    return atlas_shape(wildcards.run)[0]


def atlas_heads(wildcards):
    return atlas_shape(wildcards.run)[1]


def atlas_draws(wildcards):
    """Params function: how often heads are drawn anew and shuffled."""
    chosen = config["runs"][wildcards.run]["atlas"]
    return {key: chosen[key] for key in ("resamples", "shuffles", "seed")}


def tables_named(name):
    """Params function: study -> its table of this name, for those that have one."""

    def found(wildcards):
        tables = built_tables(wildcards.run)
        return {
            study: tables[f"{study}/{name}"]
            for study in STUDIES
            if f"{study}/{name}" in tables
        }

    return found


def board_files(wildcards):
    """Input function: comparisons and claims of all studies."""
    return [
        path
        for name in ("comparison", "claims")
        for path in tables_named(name)(wildcards).values()
    ]


def board_note(wildcards):
    """What a reader of the scoreboard has to know."""
    if any(
        "sample" in config["corpora"][corpus]["source"]
        for study in STUDIES
        for corpus in run_corpora(wildcards.run, study)
    ):
        return "Generated text and a small model: hardly any number is the papers' quantity, so that almost all are marked as not comparable; what is judged are settings, recomputed values, and claims that can be put to any model."
    return "A number is compared only with the same model on the same data."


def run_corpora(run, study):
    if study not in config["runs"][run]:
        return []
    return study_corpora(config, run, study).values()
