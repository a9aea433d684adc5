"""Declaration of the atlas: one row per head over all studies of a run; which tables of a run it reads, and of which models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from attention_atlas.atlas.head_measures import HEAD_SCORES, MEASURES, MODEL_TABLES
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_measures import Source
from attention_atlas.workflow.config import check_known
from attention_atlas.workflow.paths import Config, Pair, has_files, shard_paths, study_model, tokenised_by
from attention_atlas.workflow.study import Role, Study, shown_artifacts, studies

if TYPE_CHECKING:
    from attention_atlas.workflow.study_inputs import StudyInputs

ID = "atlas"
HEAD_RELATIONS = "clark2019/dependency_head_relations"
"""Table of the relations of each head, which the page shows."""
ROLES = {
    "sentences": Role(
        "conllu",
        "at level tokens: what the page shows attention on, and what compared models are measured on; measures that no study "
        "of the run makes are made on it.",
    ),
    "shown": Role(
        "sentences", "the sentences that the page shows, at level tokens, in place of `sentences`.", example="my-sentences"
    ),
}


def compared_models(config: Config, run: str) -> list[str]:
    """The model of the atlas, and the models that it is compared with."""
    return [study_model(config, run, ID), *config["runs"][run][ID].get("compared", [])]


def has_sentences(config: Config, run: str) -> bool:
    """Whether a run names sentences for the atlas whose file exists or is made by the run."""
    corpus = config["runs"][run][ID].get("sentences")
    return corpus is not None and (config["missing"] == "error" or has_files(config, [corpus]))


def pairs(config: Config, run: str) -> list[Pair]:
    """(model, corpus) whose attention is cached: those of all compared models, if the run names sentences."""
    settings = config["runs"][run][ID]
    return [(model, settings[role]) for model in compared_models(config, run) for role in ROLES if role in settings]


def check(config: Config, run: str, place: str) -> None:
    """Check that compared models are known and have sentences cached over word pieces."""
    settings = config["runs"][run][ID]
    for name in settings.get("compared", []):
        check_known(name, config["models"], "model", f"{place}.compared")
        if name == study_model(config, run, ID):
            raise AtlasError(f"config: {place}.compared: '{name}' is the model of the atlas itself: name other models.")
    for key, what in {"compared": "models are compared", "shown": "heads are measured"}.items():
        if "sentences" not in settings and settings.get(key):
            raise AtlasError(f"config: {place}.{key}: {what} on sentences: name a corpus under {place}.sentences.")
    for role in ROLES:
        if role in settings and config["corpora"][settings[role]]["level"] != "tokens":
            raise AtlasError(f"config: {place}.{role}: the corpus '{settings[role]}' must have level: tokens.")


def head_sources() -> dict[str, Source]:
    """Table -> the source of measures of single heads that reads it."""
    return {table: source for study in studies().values() for source in study.measures for table in source.tables}


def shape_of(config: Config, model: str) -> list[int]:
    """Number of layers, and of heads per layer."""
    return [config["models"][model][key] for key in ("layers", "heads")]


def table_of(run: str, model: str, table: str) -> str:
    """File of a model measured on the atlas's sentences."""
    return f"results/{run}/{ID}/models/{model}/{table.partition('/')[2]}.tsv"


def sentence_tables(run: str, model: str, *further: str) -> dict[str, str]:
    """Table -> file of the measures that need only attention on the atlas's sentences, and of further tables."""
    tables = [table for table, source in head_sources().items() if source.attention_alone]
    return {table: table_of(run, model, table) for table in (*tables, *further)}


def skip_reasons(inputs: StudyInputs, run: str) -> dict[str, str]:
    """Table -> why it cannot be part of the atlas: its model has a different number of layers or heads."""
    skipped = {}
    for table in sorted(inputs.built_tables(run).keys() & head_sources().keys()):
        layers, heads = shape_of(inputs.config, model := _measured_model(inputs.config, run, table))
        if [layers, heads] != shape_of(inputs.config, inputs.base_model(run)):
            skipped[table] = f"its model {model} has {layers} layers of {heads} heads"
    return skipped


def _measured_model(config: Config, run: str, table: str) -> str:
    """The model whose heads a table measures; for a family, its base, which has the same heads."""
    source = head_sources()[table]
    return str(config["runs"][run][source.study][source.model]) if source.model else study_model(config, run, source.study)


def head_tables(inputs: StudyInputs, run: str) -> dict[str, str]:
    """Table -> file of measures of single heads: of the studies, else on the atlas's sentences, if the run names some."""
    sources, skipped = head_sources(), skip_reasons(inputs, run)
    by_study = {name: path for name, path in inputs.built_tables(run).items() if name in sources and name not in skipped}
    on_sentences = _on_sentences(inputs, run)
    clark, settings = inputs.config["runs"][run].get("clark2019", {}), inputs.config["runs"][run][ID]
    if on_sentences and [clark.get(key) for key in ("dependencies", "seed")] != [settings["sentences"], settings["seed"]]:
        # Norm-weighted attention and the effect of masking are those on the relations chosen on the atlas's sentences.
        by_study.pop(HEAD_RELATIONS, None)
    return on_sentences | by_study


def _on_sentences(inputs: StudyInputs, run: str) -> dict[str, str]:
    """Table -> file of the measures of the atlas's model on its sentences; empty if the run names no sentences."""
    return sentence_tables(run, inputs.base_model(run), *MODEL_TABLES) if has_sentences(inputs.config, run) else {}


def table_models(inputs: StudyInputs, run: str) -> dict[str, str]:
    """Table -> the model, or the family of models, whose heads it measures."""
    on_sentences, sources = _on_sentences(inputs, run), head_sources()

    def measured(table: str, path: str) -> str:
        if path == on_sentences.get(table) and table not in MODEL_TABLES:
            return f"{inputs.base_model(run)}, on the atlas's sentences"
        if sources[table].family:
            return f"family {inputs.config['runs'][run][sources[table].study]['family']}"
        return _measured_model(inputs.config, run, table)

    return {table: measured(table, path) for table, path in head_tables(inputs, run).items()}


def page_tables(inputs: StudyInputs, run: str) -> dict[str, dict[str, str]]:
    """Model -> table -> file of what all compared models are measured by, the run's model first; empty without others."""
    compares = inputs.config["runs"][run][ID].get("compared") and has_sentences(inputs.config, run)
    models = compared_models(inputs.config, run) if compares else []
    return {model: sentence_tables(run, model, HEAD_SCORES) for model in models}


def random_weights(inputs: StudyInputs, run: str) -> dict[str, bool]:
    """Model -> whether its layers are randomly initialised: a control."""
    entries = {model: inputs.config["models"][model] for model in compared_models(inputs.config, run)}
    return {model: entry["init"] != "pretrained" and "training" not in entry for model, entry in entries.items()}


def _models_of_page(inputs: StudyInputs, run: str) -> list[str]:
    return list(page_tables(inputs, run)) or ([inputs.base_model(run)] if has_sentences(inputs.config, run) else [])


def of_sentences(folder: str, *suffixes: str) -> Callable[[StudyInputs, str], dict[str, list[str]]]:
    """Model -> files of the first shard of the sentences whose attention the page shows."""

    def files(inputs: StudyInputs, run: str) -> dict[str, list[str]]:
        config, models = inputs.config, _models_of_page(inputs, run)
        corpus = config["runs"][run][ID].get("shown", config["runs"][run][ID].get("sentences"))
        return {model: [shard_paths(config, run, model, corpus, folder, s)[0] for s in suffixes] for model in models}

    return files


def evidence(name: str) -> Callable[[StudyInputs, str], dict[str, str]]:
    """Model -> a table of what its heads attend to."""
    return lambda inputs, run: {model: table_of(run, model, f"{ID}/{name}") for model in _models_of_page(inputs, run)}


def relations(inputs: StudyInputs, run: str) -> dict[str, str]:
    """Model -> the table of the relations of each head, if the run has one."""
    of_page = page_tables(inputs, run)
    by_model = {model: tables[HEAD_RELATIONS] for model, tables in of_page.items() if HEAD_RELATIONS in tables}
    of_base = head_tables(inputs, run).get(HEAD_RELATIONS)
    return by_model | ({inputs.base_model(run): of_base} if of_base else {})


def random_scores(config: Config, run: str, model: str) -> str:
    """Scores of random weights in the architecture of a model; models that read the same examples share them."""
    return f"results/{run}/{ID}/models/{tokenised_by(config, model)}/random_scores.safetensors"


def mlm_head(config: Config, run: str, model: str, suffix: str) -> str:
    """Masked-LM head of a model (safetensors), or its description (json): that of Clark et al. if the run needs one there, so
    that only one is trained; otherwise on the atlas's sentences.
    """
    clark = config["runs"][run].get("clark2019", {})
    shared = "segments" in clark and study_model(config, run, "clark2019") == model
    corpus = clark["segments"] if shared else config["runs"][run][ID]["sentences"]
    return f"results/{run}/models/{model}/mlm_head/{corpus}.{suffix}"


STUDY = Study(
    id=ID,
    order=1,
    title="The atlas: one row for each head over all studies",
    description="One row for each head over all studies of the run.",
    roles=ROLES,
    artifacts=shown_artifacts(ID),
    pairs=pairs,
    optional={"sentences": ("compared", "shown"), "compared": (), "shown": ()},
    check=check,
    measures=MEASURES,
    inputs={
        "model": lambda inputs, run: inputs.base_model(run),
        "tables": head_tables,
        "table_models": table_models,
        "skip_reasons": skip_reasons,
        "page_tables": page_tables,
        "shapes": lambda inputs, run: {model: shape_of(inputs.config, model) for model in compared_models(inputs.config, run)},
        "random_weights": random_weights,
        "relations": relations,
        "pairs": evidence("attended_pairs"),
        "kinds": evidence("attended_kinds"),
        "attention": of_sentences("attention", "safetensors", "json"),
        "examples": of_sentences("examples", "parquet"),
        "dropped": of_sentences("examples", "dropped.tsv"),
    },
    overview=True,
)
