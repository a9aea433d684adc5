# What the atlas and the scoreboard read: tables of all studies that a run builds.

from pathlib import Path

from attention_atlas.atlas.names import TABLES as HEAD_TABLES

_OVER_ALL = ("atlas", "scoreboard")
# Tables of models that were trained further, several of them: their measures are means.
_OF_FAMILIES = ("kovaleva2019/figure5", "kovaleva2019/figure8", "stefanik2021/ablation")
# Measures of a model's attention alone: table as the studies call it -> file of the job that measures one model.
_OF_MODEL = {
    "clark2019/surface": "surface.tsv",
    "clark2019/dependency_heads": "dependency_heads.tsv",
    "clark2019/relations": "relations.tsv",
    "guan2020/head_types": "head_types.tsv",
}
PAIRS["scoreboard"] = lambda run: []


def atlas_pairs(run):
    """(model, corpus) of the run's model and those beside it, where the run names sentences."""
    chosen = config["runs"][run]["atlas"]
    if "sentences" not in chosen:
        return []
    return [(model, chosen["sentences"]) for model in compared_models(run)]


def compared_models(run):
    """The model of the atlas, and those that it is compared with."""
    own = study_model(config, run, "atlas")
    return [own, *config["runs"][run]["atlas"].get("compared", [])]


PAIRS["atlas"] = atlas_pairs


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
        study = table.split("/")[0]
        return f"family {config['runs'][run][study]['family']}"
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
    """Params function: table -> file, for the measures of single heads that the run builds.

    What no study of the run measures is measured on the atlas's own sentences, where the run names some.
    """
    others = of_another_shape(wildcards)
    found = {
        table: path
        for table, path in built_tables(wildcards.run).items()
        if table in HEAD_TABLES and table not in others
    }
    return own_tables(wildcards.run) | found


def own_tables(run):
    """Table -> file of the measures of the atlas's model on the atlas's own sentences; none where the run names none."""
    if not has_sentences(run):
        return {}
    return model_tables_of(run, study_model(config, run, "atlas"))


def has_sentences(run):
    """Whether a run names sentences for the atlas, and has their file or waits for it."""
    corpus = config["runs"][run]["atlas"].get("sentences")
    return corpus is not None and (
        config["missing"] == "error" or not missing_files(config, [corpus])
    )


def model_tables_of(run, model):
    folder = f"results/{run}/atlas/models/{model}"
    return {table: f"{folder}/{name}" for table, name in _OF_MODEL.items()}


def head_files(wildcards):
    """Input function: the same as a list."""
    return list(head_tables(wildcards).values())


def head_models(wildcards):
    """Params function: table -> what it is of."""
    own = own_tables(wildcards.run)
    return {
        table: (
            f"{atlas_model(wildcards)}, on the atlas's sentences"
            if path == own.get(table)
            else measured_as(wildcards.run, table)
        )
        for table, path in head_tables(wildcards).items()
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


def measured_shards(folder, suffix):
    """Input function: shards of the atlas's sentences for the model in the path."""

    def paths(wildcards):
        _, corpus = looked_at(wildcards, "atlas", "sentences")
        return shard_paths(wildcards.run, wildcards.model, corpus, folder, suffix)

    return paths


def sentence_memory(wildcards, attempt):
    _, corpus = role_entries(wildcards, "atlas", "sentences")
    model = config["models"][wildcards.model]
    records = limit_for("atlas", "sentences")(wildcards)
    return costs.example_memory(model, corpus, records, 2000) * attempt


def compared_tables(wildcards):
    """Params function: what is known of each compared model, the run's own first."""
    found = []
    for model in compared_models(wildcards.run):
        layers, heads = shape_in_registry(model)
        found.append(
            {
                "name": model,
                "layers": layers,
                "heads": heads,
                "random_weights": has_random_weights(model),
                "tables": model_tables_of(wildcards.run, model),
            }
        )
    return found


def compared_files(wildcards):
    """Input function: the same as a list of files."""
    return [
        path
        for model in compared_tables(wildcards)
        for path in model["tables"].values()
    ]


def has_random_weights(model):
    """Whether the layers of a model are as initialised: a control."""
    entry = config["models"][model]
    return entry["init"] != "pretrained" and "training" not in entry


def relation_files(wildcards):
    """Input function: tables of single heads and relations that the page shows; none where the run has none."""
    tables = head_tables(wildcards)
    names = ("clark2019/dependency_heads", "clark2019/relations")
    return [tables[name] for name in names if name in tables]


def drawn_files(folder, suffix):
    """Input function: the first shard of the atlas's sentences for its own model, where the run names some."""

    def paths(wildcards):
        if not has_sentences(wildcards.run):
            return []
        return first_shard_of("atlas", "sentences", folder, suffix)(wildcards)

    return paths


def page_line(wildcards):
    """Params function: what a reader of the page has to know of the run's numbers."""
    if has_sentences(wildcards.run):
        return setting_for("atlas", "sentences")(wildcards)
    return None
