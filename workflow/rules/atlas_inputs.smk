# What the atlas and the scoreboard read: tables of all studies that a run builds.

from pathlib import Path

from attention_atlas.atlas.names import TABLES as HEAD_TABLES

_OVER_ALL = ("atlas", "scoreboard")
# Tables of models that were trained further, several of them: their measures are means.
_OF_FAMILIES = ("kovaleva2019/figure5", "kovaleva2019/figure8", "stefanik2021/ablation")
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
    """The model whose heads a table of a study measures; of a family its base, which has the same heads."""
    study = table.split("/")[0]
    if study == "michel2019":
        return config["runs"][run][study]["classifier"]
    return study_model(config, run, study)


def measured_as(run, table):
    """What a table of measures is of, in words: a model, or a family of them."""
    if table in _OF_FAMILIES:
        return f"family {config['runs'][run][table.split('/')[0]]['family']}"
    return measured_model(run, table)


def atlas_model(wildcards):
    return study_model(config, wildcards.run, "atlas")


def atlas_shape(wildcards):
    """Params function: layers, and heads a layer."""
    return shape_in_registry(atlas_model(wildcards))


def shape_in_registry(model):
    return [config["models"][model][key] for key in ("layers", "heads")]


def of_another_shape(wildcards):
    """Params function: table -> why it cannot stand in the atlas: its model has other layers or heads."""
    found = {}
    for table in built_tables(wildcards.run).keys() & set(HEAD_TABLES):
        model = measured_model(wildcards.run, table)
        layers, heads = shape_in_registry(model)
        if [layers, heads] != atlas_shape(wildcards):
            found[table] = f"its model {model} has {layers} layers of {heads} heads"
    return dict(sorted(found.items()))


def head_tables(wildcards):
    """Params function: table -> file, for the measures of single heads that the run builds."""
    others = of_another_shape(wildcards)
    return {
        table: path
        for table, path in built_tables(wildcards.run).items()
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


def looks_at_sample(wildcards):
    """Params function: whether a run looks at generated text."""
    run = wildcards.run
    return any(
        "sample" in config["corpora"][corpus]["source"]
        for study in STUDIES
        if study in config["runs"][run]
        for corpus in study_corpora(config, run, study).values()
    )
