"""Inputs and parameters that the rules of any study may need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attention_atlas.corpora.keyphrases import BOTH, CONTROLLED, UNCONTROLLED
from attention_atlas.models.precision import FLOAT32
from attention_atlas.workflow.inputs.shared import File, Files, SharedInputs, Wildcards
from attention_atlas.workflow.lookups import Config, Pair, limit_of, study_model
from attention_atlas.workflow.page_links import Links, page_links
from attention_atlas.workflow.paths import card_path, raw_path, shard_paths, tokenizer_path
from attention_atlas.workflow.resources import Resource, map_megabytes, model_megabytes
from attention_atlas.workflow.studies import role_pair, study, study_corpora, study_examples

Parameter = Callable[[Wildcards], Any]
_KEYPHRASE_SETS = {
    UNCONTROLLED: "uncontrolled keyphrases",
    CONTROLLED: "controlled keyphrases",
    BOTH: "uncontrolled and controlled keyphrases",
}


class StudyInputs(SharedInputs):
    """Input, parameter and resource functions of the rules of one study; the roles are those that it declares."""

    def __init__(self, config: Config, study_id: str):
        super().__init__(config)
        self.study = study(study_id)

    # --- look-ups ---------------------------------------------------------------------------------------------------

    def study_settings(self, wildcards: Wildcards) -> dict[str, Any]:
        """Settings of the study in the run of a job."""
        settings: dict[str, Any] = self.config["runs"][wildcards.run][self.study.id]
        return settings

    def base_model(self, run: str) -> str:
        """The model of the study in a run."""
        return study_model(self.config, run, self.study.id)

    def pair(self, wildcards: Wildcards, role: str) -> Pair:
        """Model and corpus of a role, or of the variant in the path.

        Raises:
            AtlasError: the run names no corpus for the role.
        """
        return role_pair(self.config, wildcards.run, self.study.id, role, wildcards.get("variant"))

    def title_of(self, corpus: str) -> str:
        """Name of a corpus in tables and figures: its title; for keyphrases also the set and the documents in its entry."""
        entry = self.config["corpora"][corpus]
        parts = [str(entry.get("title", corpus))]
        if "keyphrase_set" in entry:
            parts.append(_KEYPHRASE_SETS[entry["keyphrase_set"]])
        if ranges := entry.get("document_names"):
            parts.append(f"documents {' and '.join(' to '.join(bounds) for bounds in ranges)}")
        return ", ".join(parts)

    def label_of(self, wildcards: Wildcards, model: str, corpus: str) -> dict[str, Any]:
        """Label of the run in a table or figure, see `io.run_label`.

        Models are the published ones only in float32: values of another precision are not compared with published values.
        """
        published = self.config["gpu_precision"] == FLOAT32
        entry = self.config["corpora"][corpus]
        return {
            "run": self.run_title(wildcards),
            "model": self.with_precision(model),
            "corpus": self.title_of(corpus),
            "model_reference": self.config["models"][model].get("reference", "") if published else "",
            "corpus_reference": entry.get("reference", ""),
            "sample": "sample" in entry["source"],
            "converted": entry["view"] == "stanford",
            "stand_in": self.config["runs"][wildcards.run]["stand_ins"],
        }

    # --- files of a role --------------------------------------------------------------------------------------------

    def shards(self, role: str, folder: str = "attention", suffix: str = "safetensors") -> Files:
        """All shards of a role."""

        def paths(wildcards: Wildcards) -> list[str]:
            return shard_paths(self.config, wildcards.run, *self.pair(wildcards, role), folder, suffix)

        return paths

    def examples(self, role: str) -> Files:
        """All examples of a role."""
        return self.shards(role, "examples", "parquet")

    def shard(self, role: str, folder: str = "attention", suffix: str = "safetensors") -> File:
        """The shard in the path, of a role."""

        def path(wildcards: Wildcards) -> str:
            return self.shards(role, folder, suffix)(wildcards)[int(wildcards.shard)]

        return path

    def first_shard(self, role: str, folder: str = "attention", suffix: str = "safetensors") -> File:
        """The first shard of a role, for examples shown in figures."""

        def path(wildcards: Wildcards) -> str:
            return self.shards(role, folder, suffix)(wildcards)[0]

        return path

    def per_shard(self, role: str, pattern: str) -> Files:
        """A file for each shard of a role."""

        def paths(wildcards: Wildcards) -> list[str]:
            count = len(self.shards(role)(wildcards))
            return [pattern.format(run=wildcards.run, shard=shard) for shard in range(count)]

        return paths

    def shards_in_path(self, role: str, folder: str = "attention", suffix: str = "safetensors") -> Files:
        """All shards of a role, for the model in the path."""

        def paths(wildcards: Wildcards) -> list[str]:
            _, corpus = self.pair(wildcards, role)
            return shard_paths(self.config, wildcards.run, wildcards.model, corpus, folder, suffix)

        return paths

    def card(self, role: str) -> File:
        """Card of a role's model."""
        return lambda wildcards: card_path(wildcards.run, self.pair(wildcards, role)[0])

    def tokenizer(self, role: str) -> File:
        """Tokenizer of a role's model."""
        return lambda wildcards: tokenizer_path(wildcards.run, self.pair(wildcards, role)[0])

    def mlm_head(self, role: str, suffix: str) -> File:
        """Masked-LM head of a role's model for the text of the role, or its description."""

        def path(wildcards: Wildcards) -> str:
            model, corpus = self.pair(wildcards, role)
            return f"results/{wildcards.run}/models/{model}/mlm_head/{corpus}.{suffix}"

        return path

    def table_if(self, key: str, name: str) -> Files:
        """A table of the study; empty if the run does not name what the table needs."""

        def path(wildcards: Wildcards) -> list[str]:
            return [self.study.measured_path(name, wildcards.run)] if key in self.study_settings(wildcards) else []

        return path

    def vectors_file(self) -> Files:
        """The word vectors that the run names, if any."""

        def path(wildcards: Wildcards) -> list[str]:
            corpus = self.study_settings(wildcards).get("vectors")
            return [raw_path(self.config, wildcards.run, corpus)] if corpus else []

        return path

    # --- dropped records --------------------------------------------------------------------------------------------

    def shards_by_corpus(self, wildcards: Wildcards) -> dict[str, list[Any]]:
        """Corpus -> tables of examples, tables of dropped records, limit: for the table of dropped records."""
        run, by_corpus = wildcards.run, {}
        unnamed = None if self.study.names_models else self.base_model(run)
        for model, corpus in study_examples(self.config, run, self.study.id):
            name = self.title_of(corpus)
            name = name if model == unnamed else f"{name} ({model})"
            files = [shard_paths(self.config, run, model, corpus, "examples", suffix) for suffix in ("parquet", "dropped.tsv")]
            # Two corpora may have the same title.
            by_corpus[corpus if name in by_corpus else name] = [*files, limit_of(self.config, run, corpus)]
        return by_corpus

    def example_files(self, wildcards: Wildcards) -> list[str]:
        """All tables of examples and of dropped records that the study reads."""
        groups = self.shards_by_corpus(wildcards).values()
        return [path for examples, dropped, _ in groups for path in (*examples, *dropped)]

    # --- parameters -------------------------------------------------------------------------------------------------

    def settings(self, *path: str) -> Parameter:
        """A setting of the study in the run, by its keys."""

        def leaf(wildcards: Wildcards) -> Any:
            value: Any = self.study_settings(wildcards)
            for key in path:
                value = value[key]
            return value

        return leaf

    def limit(self, role: str) -> Callable[[Wildcards], int]:
        """Records of a role that the run reads at most."""
        return lambda wildcards: limit_of(self.config, wildcards.run, self.pair(wildcards, role)[1])

    def model_name(self, role: str = "") -> File:
        """Name of a role's model, or of the study's."""
        return lambda wildcards: self.pair(wildcards, role)[0] if role else self.base_model(wildcards.run)

    def model_of_study(self, wildcards: Wildcards) -> str:
        """Name of the study's model."""
        return self.base_model(wildcards.run)

    def model(self, role: str = "") -> Parameter:
        """Registry entry of a role's model, or of the study's."""
        name = self.model_name(role)
        return lambda wildcards: self.weights_entry(wildcards.run, name(wildcards))

    def title(self, role: str) -> File:
        """Name of a role's corpus in tables."""
        return lambda wildcards: self.title_of(self.pair(wildcards, role)[1])

    def title_if(self, role: str) -> File:
        """The same; empty if the run names no such corpus."""

        def name(wildcards: Wildcards) -> str:
            corpus = self.study_settings(wildcards).get(role)
            return self.title_of(corpus) if corpus else ""

        return name

    def label(self, role: str) -> Parameter:
        """Label of a role's model and corpus in tables and figures."""
        return lambda wildcards: self.label_of(wildcards, *self.pair(wildcards, role))

    def labels(self, *roles: str) -> Parameter:
        """Role -> label, for the roles that the run names."""

        def by_role(wildcards: Wildcards) -> dict[str, Any]:
            named = study_corpora(self.config, wildcards.run, self.study.id)
            return {role: self.label(role)(wildcards) for role in roles if role in named}

        return by_role

    def about(self, name: str) -> dict[str, Any]:
        """Caption, category and labels of an artefact in the report; category and labels identify the text of the caption."""
        artifact = self.study.artifact(name)
        return {
            "caption": "../report/artifact.rst",
            "category": self.study.title,
            "labels": {"run": "{run}", "artefact": artifact.number, "shows": artifact.title},
        }

    def links(self, **pages: str) -> Callable[[Wildcards], dict[str, Links]]:
        """Links of the HTML pages of a rule: name of the output -> its links; `job` puts them into the pages.

        Args:
            pages: name of the output -> file below the study's folder.
        """

        def by_output(wildcards: Wildcards) -> dict[str, Links]:
            return {output: page_links(self.config, wildcards.run, self.study, name) for output, name in pages.items()}

        return by_output

    # --- resources --------------------------------------------------------------------------------------------------

    def model_memory(self) -> Resource:
        """Megabytes of a job that runs the largest model of the study in a run on its longest texts."""

        def megabytes(wildcards: Wildcards, attempt: int) -> int:
            pairs = study_examples(self.config, wildcards.run, self.study.id)
            models, corpora = (sorted(set(names)) for names in zip(*pairs, strict=True))
            longest = max(self.config["corpora"][corpus]["max_tokens"] for corpus in corpora)
            return attempt * max(model_megabytes(self.config["models"][model], longest) for model in models)

        return megabytes

    def map_memory(self, role: str, stored: float = 0) -> Resource:
        """Megabytes of a job that reads the maps of a role; it stores some bytes for each head and record."""

        def megabytes(wildcards: Wildcards, attempt: int) -> int:
            model, corpus = self.pair(wildcards, role)
            entry = self.config["models"][wildcards.get("model", model)]
            records = limit_of(self.config, wildcards.run, corpus)
            return attempt * map_megabytes(entry, self.config["corpora"][corpus]["max_tokens"], records, stored)

        return megabytes
