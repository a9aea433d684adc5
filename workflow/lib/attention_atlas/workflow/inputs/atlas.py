"""Inputs and parameters of the atlas: tables of single heads of all studies that a run builds."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from attention_atlas.atlas.head_measures import HEAD_SCORES, MODEL_TABLES
from attention_atlas.atlas.overview import ID, compared_models, has_sentences, mlm_head_corpus
from attention_atlas.methods.head_measures import Source, parts_of
from attention_atlas.methods.pattern_texts import parse_patterns
from attention_atlas.workflow.inputs.shared import File, OptionalFile, Wildcards
from attention_atlas.workflow.inputs.study import StudyInputs
from attention_atlas.workflow.lookups import Config, study_model
from attention_atlas.workflow.needs import is_part_of, missing_for
from attention_atlas.workflow.paths import shard_paths, tokenised_by
from attention_atlas.workflow.studies import studies
from attention_atlas.workflow.targets import built_tables

HEAD_RELATIONS = "clark2019/dependency_head_relations"
"""Table of the relations of each head, which the page of the atlas shows."""
DEPENDENCIES = "clark2019/dependencies"
"""Table of the best head of each relation, which the compared models are tested on."""


def head_sources() -> dict[str, Source]:
    """Table -> the source of measures of single heads that reads it."""
    return {table: source for study in studies().values() for source in study.measures for table in source.tables}


class AtlasInputs(StudyInputs):
    """Input and parameter functions of the atlas."""

    def __init__(self, config: Config):
        super().__init__(config, ID)
        self._built_tables = functools.cache(functools.partial(built_tables, config))

    # --- the model --------------------------------------------------------------------------------------------------

    def shape(self, wildcards: Wildcards) -> list[int]:
        """Number of layers, and of heads per layer."""
        return self._shape_of(self.base_model(wildcards.run))

    def _shape_of(self, model: str) -> list[int]:
        return [self.config["models"][model][key] for key in ("layers", "heads")]

    # --- tables of single heads -------------------------------------------------------------------------------------

    def _head_tables(self, run: str) -> dict[str, str]:
        """Table -> file, for the measures of single heads from the studies of the run."""
        sources = head_sources()
        return {table: path for table, path in self._built_tables(run).items() if table in sources}

    def _measured_model(self, run: str, table: str) -> str:
        """The model whose heads a table measures; for a family, its base, which has the same heads."""
        source = head_sources()[table]
        if source.model:
            return str(self.config["runs"][run][source.study][source.model])
        return study_model(self.config, run, source.study)

    def skipped_tables(self, wildcards: Wildcards) -> dict[str, str]:
        """Table -> why it cannot be part of the atlas: its model has a different number of layers or heads."""
        skipped = {}
        for table in self._head_tables(wildcards.run):
            model = self._measured_model(wildcards.run, table)
            layers, heads = self._shape_of(model)
            if [layers, heads] != self.shape(wildcards):
                skipped[table] = f"its model {model} has {layers} layers of {heads} heads"
        return dict(sorted(skipped.items()))

    def head_tables(self, wildcards: Wildcards) -> dict[str, str]:
        """Table -> file, for the measures of single heads of a run.

        Measures that no study of the run provides are computed on the atlas's sentences, if the run names some.
        """
        skipped = self.skipped_tables(wildcards)
        study_tables = {table: path for table, path in self._head_tables(wildcards.run).items() if table not in skipped}
        return self._sentence_tables(wildcards.run) | study_tables

    def _sentence_tables(self, run: str) -> dict[str, str]:
        """Table -> file of the measures of the atlas's model on its sentences; empty if the run names no sentences."""
        if not has_sentences(self.config, run):
            return {}
        model = self.base_model(run)
        return {**self._tables_of(run, model), **{table: self._table_of(run, model, table) for table in MODEL_TABLES}}

    def _tables_of(self, run: str, model: str) -> dict[str, str]:
        """Table -> file of the job that measures a model on the atlas's sentences."""
        tables = [table for table, source in head_sources().items() if source.attention_alone]
        return {table: self._table_of(run, model, table) for table in tables}

    def _table_of(self, run: str, model: str, table: str) -> str:
        return f"results/{run}/{ID}/models/{model}/{table.partition('/')[2]}.tsv"

    def head_files(self, wildcards: Wildcards) -> list[str]:
        """The same as a list."""
        return list(self.head_tables(wildcards).values())

    def head_models(self, wildcards: Wildcards) -> dict[str, str]:
        """Table -> the model, or the family of models, whose heads it measures."""
        run = wildcards.run
        on_sentences = self._sentence_tables(run)
        return {
            table: (
                f"{self.base_model(run)}, on the atlas's sentences"
                if path == on_sentences.get(table) and table not in MODEL_TABLES
                else self._measured_name(run, table)
            )
            for table, path in self.head_tables(wildcards).items()
        }

    def _measured_name(self, run: str, table: str) -> str:
        source = head_sources()[table]
        if source.family:
            return f"family {self.config['runs'][run][source.study]['family']}"
        return self._measured_model(run, table)

    def measure_sources(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Measure -> the table with its values, and the figure or page that shows them, if the run has one."""
        tables = self.head_tables(wildcards)
        # Several sources may read the same table.
        sources = [source for study in studies().values() for source in study.measures if source.table in tables]
        patterns = parse_patterns(self.study_settings(wildcards)["patterns"]) if HEAD_SCORES in tables else []
        return {
            measure.name: [tables[source.table], *self._shown_in(wildcards.run, source.study, measure.item)]
            for source in sources
            for measure in source.measures
            # Intervals and null distributions are beside their measures.
            if measure.name not in {part for whole in source.measures for part in parts_of(whole.name)}
        } | {pattern.measure: [tables[HEAD_SCORES]] for pattern in patterns}

    def _shown_in(self, run: str, study_id: str, number: str) -> list[str]:
        """The figure or page of a study of the run with a given number in the paper; at most one."""
        if study_id not in self.config["runs"][run]:
            return []
        declared = studies()[study_id]
        for artifact in declared.artifacts:
            if artifact.number == number and is_part_of(self.config, run, declared, artifact):
                suffix = {"figure": "svg", "table": "html"}[artifact.kind]
                missing = missing_for(self.config, run, declared, artifact)
                return [] if missing else [declared.path(f"{artifact.id}.{suffix}", run)]
        return []

    def source_files(self, wildcards: Wildcards) -> list[str]:
        """Those of them that the page depends on: all but figures, since the target of all tables builds no figure."""
        return [path for path in self._linked_files(wildcards) if not path.endswith(".svg")]

    def linked_figures(self, wildcards: Wildcards) -> list[str]:
        """Figures that the page links to."""
        return [path for path in self._linked_files(wildcards) if path.endswith(".svg")]

    def _linked_files(self, wildcards: Wildcards) -> list[str]:
        return list(dict.fromkeys(path for paths in self.measure_sources(wildcards).values() for path in paths))

    def study_models(self, wildcards: Wildcards) -> dict[str, str]:
        """Study -> models of its measures."""
        names: dict[str, list[str]] = {}
        for table, model in self.head_models(wildcards).items():
            listed = names.setdefault(table.partition("/")[0], [])
            if model not in listed:
                listed.append(model)
        return {study: ", ".join(listed) for study, listed in names.items()}

    def relation_file(self, wildcards: Wildcards) -> str | list[str]:
        """The table of the relations of each head; empty if the run has none."""
        return self.head_tables(wildcards).get(HEAD_RELATIONS, [])

    def draws(self, wildcards: Wildcards) -> dict[str, int]:
        """Number of resamples and permutations of heads, and their seed."""
        chosen = self.study_settings(wildcards)
        return {key: chosen[key] for key in ("resamples", "shuffles", "seed")}

    # --- sentences ------------------------------------------------------------------------------------------------

    def shown_sentences(self, folder: str, suffix: str) -> OptionalFile:
        """The first shard of the sentences whose attention the page shows; empty if the run names none."""

        def path(wildcards: Wildcards) -> str | list[str]:
            if not has_sentences(self.config, wildcards.run):
                return []
            return self.first_shard(self._shown_role(wildcards), folder, suffix)(wildcards)

        return path

    def _shown_role(self, wildcards: Wildcards) -> str:
        return "shown" if "shown" in self.study_settings(wildcards) else "sentences"

    def attended_file(self, name: str) -> OptionalFile:
        """A table of what heads attend to; empty if the run names no sentences."""

        def path(wildcards: Wildcards) -> str | list[str]:
            named = has_sentences(self.config, wildcards.run)
            return self._table_of(wildcards.run, self.base_model(wildcards.run), f"{ID}/{name}") if named else []

        return path

    def head_for_losses(self, suffix: str) -> File:
        """Masked-LM head of the model in the path: that of Clark et al. in the run, otherwise one for the atlas's sentences."""

        def path(wildcards: Wildcards) -> str:
            corpus = mlm_head_corpus(self.config, wildcards.run, wildcards.model)
            return f"results/{wildcards.run}/models/{wildcards.model}/mlm_head/{corpus}.{suffix}"

        return path

    def random_scores(self, wildcards: Wildcards) -> str:
        """Scores of models with random weights of the same architecture as the model in the path.

        Models that read the same examples share them: all were made from the same files.
        """
        return f"results/{wildcards.run}/{ID}/models/{tokenised_by(self.config, wildcards.model)}/random_scores.safetensors"

    def pattern_files(self, wildcards: Wildcards) -> list[str]:
        """Files that define the run's attention patterns."""
        patterns = parse_patterns(self.study_settings(wildcards)["patterns"])
        return sorted({str(pattern.path) for pattern in patterns})

    def page_label(self, wildcards: Wildcards) -> dict[str, Any] | None:
        """Label of the run's numbers on the page."""
        if has_sentences(self.config, wildcards.run):
            label: dict[str, Any] = self.label("sentences")(wildcards)
            return label
        return None

    # --- compared models --------------------------------------------------------------------------------------------

    def series_models(self, wildcards: Wildcards) -> list[str]:
        """Names of the models of the run's series; none in a run without one."""
        return list(self.study_settings(wildcards).get("series", []))

    def compared_tables(self, wildcards: Wildcards) -> list[dict[str, Any]]:
        """Tables and properties of each compared model, the run's model first.

        All are measured on the atlas's sentences, with the tables that need only attention and the scores of heads. The run's
        model has further tables, from the studies of the run and from masking its heads.
        """
        compared = []
        for model in compared_models(self.config, wildcards.run):
            layers, heads = self._shape_of(model)
            compared.append(
                {
                    "name": model,
                    "layers": layers,
                    "heads": heads,
                    "random_weights": self._has_random_weights(model),
                    "tables": self._tables_of(wildcards.run, model)
                    | {table: self._table_of(wildcards.run, model, table) for table in (DEPENDENCIES, HEAD_SCORES)},
                }
            )
        return compared

    def compared_files(self, wildcards: Wildcards) -> list[str]:
        """The same as a list of files."""
        return [path for model in self.compared_tables(wildcards) for path in model["tables"].values()]

    def page_models(self, wildcards: Wildcards) -> list[dict[str, Any]]:
        """What the page shows of each compared model, the run's model first; empty if the run compares none."""
        settings = self.study_settings(wildcards)
        if not settings.get("compared") or not has_sentences(self.config, wildcards.run):
            return []
        corpus = settings[self._shown_role(wildcards)]
        models = self.compared_tables(wildcards)
        for model in models:
            first = {
                name: shard_paths(self.config, wildcards.run, model["name"], corpus, folder, suffix)[0]
                for name, folder, suffix in (
                    ("shard", "attention", "safetensors"),
                    ("examples", "examples", "parquet"),
                    ("dropped", "examples", "dropped.tsv"),
                )
            }
            evidence = {
                name: self._table_of(wildcards.run, model["name"], f"{ID}/attended_{name}") for name in ("pairs", "kinds")
            }
            model |= {"sentences": first, "evidence": evidence}
        return models

    def page_files(self, wildcards: Wildcards) -> list[str]:
        """The same as a list of files."""
        return _files_of(self.page_models(wildcards))

    def page_table(self, name: str, key: str) -> OptionalFile:
        """A table of the atlas that the page shows, if the run has what the table needs."""

        def path(wildcards: Wildcards) -> str | list[str]:
            has_it = self.page_models(wildcards) and self.study_settings(wildcards).get(key)
            return self.study.path(name, wildcards.run) if has_it else []

        return path

    def _has_random_weights(self, model: str) -> bool:
        """Whether the layers of a model are randomly initialised: a control."""
        entry = self.config["models"][model]
        return entry["init"] != "pretrained" and "training" not in entry


def _files_of(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """Files of what the page shows of compared models."""
    return [path for model in models for part in ("tables", "sentences", "evidence") for path in model[part].values()]


INPUTS = AtlasInputs
