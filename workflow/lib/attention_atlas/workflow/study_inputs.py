"""Inputs, parameters and resources of the rules of a study; most methods return what Snakemake calls with a job's wildcards."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from attention_atlas.corpora.keyphrases import BOTH, CONTROLLED, UNCONTROLLED
from attention_atlas.errors import AtlasError
from attention_atlas.io.data_files import RESOURCES
from attention_atlas.io.html_pages import ASSETS
from attention_atlas.models.devices import FLOAT32
from attention_atlas.workflow.artifacts import Links, built_tables, listed_artifacts, page_links
from attention_atlas.workflow.paths import (
    Config,
    Pair,
    card_path,
    checkpoint_path,
    family_member,
    family_seeds,
    limit_of,
    shard_paths,
    study_model,
    tokenizer_path,
)
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.requirements import raw_path
from attention_atlas.workflow.resources import Resource, map_megabytes, model_megabytes
from attention_atlas.workflow.shared_inputs import Parameter, SharedInputs, Wildcards
from attention_atlas.workflow.shown import Shown, full_name
from attention_atlas.workflow.study import role_pair, study, study_corpora, study_examples

Files = Callable[[Wildcards], list[str]]
File = Callable[[Wildcards], str]
Number = Callable[[Wildcards], int]
Nested = Callable[[Wildcards], Mapping[Any, Any]]
"""Function from wildcards to files by one or several levels of keys, or lists of these; numbers are no files."""
_KEYPHRASE_SETS = {
    UNCONTROLLED: "uncontrolled keyphrases",
    CONTROLLED: "controlled keyphrases",
    BOTH: "uncontrolled and controlled keyphrases",
}


def leaves(by_key: Nested) -> Files:
    """All files of a nested parameter, in order, without duplicates."""

    def listed(group: Any) -> list[str]:
        if isinstance(group, str):
            return [group]
        parts = group.values() if isinstance(group, Mapping) else group if isinstance(group, list) else ()
        return [path for part in parts for path in listed(part)]

    return lambda wildcards: list(dict.fromkeys(listed(by_key(wildcards))))


class StudyInputs(SharedInputs):
    """Input, parameter and resource functions of the rules of one study; the roles are those that it declares."""

    def __init__(self, config: Config, study_id: str):
        super().__init__(config)
        self.study = study(study_id)
        self.built_tables = functools.cache(functools.partial(built_tables, config))
        self.listed = functools.cache(functools.partial(listed_artifacts, config))

    # --- look-ups ---------------------------------------------------------------------------------------------------

    def study_settings(self, wildcards: Wildcards) -> dict[str, Any]:
        """Settings of the study in the run of a job."""
        return self.config["runs"][wildcards.run][self.study.id]

    def base_model(self, run: str) -> str:
        """The model of the study in a run."""
        return study_model(self.config, run, self.study.id)

    def pair(self, wildcards: Wildcards, role: str) -> Pair:
        """Model and corpus in the path; where it names none, those of a role, which may have wildcards
        (`{wildcards.experiment}`), of a member of a group, or of the variant in the path.

        Raises:
            AtlasError: the run names no corpus for the role.
        """
        if role in self.study.groups:
            model, corpus = self.member(wildcards, role)[1]
        else:
            variant = PurePosixPath(wildcards.get("variant", "")).name
            model, corpus = role_pair(self.config, wildcards.run, self.study.id, role.format(wildcards=wildcards), variant)
        return wildcards.get("model", model), wildcards.get("corpus", corpus)

    def member(self, wildcards: Wildcards, group: str) -> tuple[str, Pair]:
        """The member of a group that the path names (`{task}`), or the first one: its name, its model and corpus.

        Raises:
            AtlasError: the group has none of this name in the run.
        """
        members = self.study.groups[group](self.config, wildcards.run)
        name = wildcards.get("task") or next(iter(members))
        if name not in members:
            raise AtlasError(f"run {wildcards.run}: {self.study.id} has no {name}, but {', '.join(members) or 'nothing'}.")
        model, corpus, *_ = members[name]
        return name, (model, corpus)

    def title_of(self, corpus: str) -> str:
        """Name of a corpus in tables and figures: its title; for keyphrases also the set and the documents in its entry."""
        entry = self.config["corpora"][corpus]
        parts = [str(entry.get("title", corpus))]
        if "keyphrase_set" in entry:
            parts.append(_KEYPHRASE_SETS[entry["keyphrase_set"]])
        if ranges := entry.get("document_names"):
            parts.append(f"documents {' and '.join(' to '.join(bounds) for bounds in ranges)}")
        return ", ".join(parts)

    def label_of(self, wildcards: Wildcards, model: str, corpus: str, name: str = "") -> dict[str, Any]:
        """Label of the run in a table or figure, see `io.run_label`; with another name of the model.

        Models are the published ones only in float32: values of another precision are not compared with published values.
        """
        published = self.config["gpu_precision"] == FLOAT32
        entry = self.config["corpora"][corpus]
        return {
            "run": self.run_title(wildcards),
            "model": self.with_precision(name or model),
            "corpus": self.title_of(corpus),
            "model_reference": self.config["models"][model].get("reference", "") if published else "",
            "corpus_reference": entry.get("reference", ""),
            "sample": "sample" in entry["source"],
            "converted": entry["view"] == "stanford",
            "stand_in": self.config["runs"][wildcards.run]["stand_ins"],
        }

    # --- files ------------------------------------------------------------------------------------------------------

    def shards(self, role: str, *setting: str, folder: str = "attention", suffix: str = "safetensors") -> Files:
        """All shards of a role, or those with the records of a setting (see `bounded`)."""

        def paths(wildcards: Wildcards) -> list[str]:
            records = self.bounded(role, *setting)(wildcards) if setting else None
            return shard_paths(self.config, wildcards.run, *self.pair(wildcards, role), folder, suffix, records)

        return paths

    def examples(self, role: str, *setting: str) -> Files:
        """All examples of a role, or those with the records of a setting."""
        return self.shards(role, *setting, folder="examples", suffix="parquet")

    def first(self, files: Files) -> Files:
        """The first of the files, for what a figure shows."""
        return lambda wildcards: files(wildcards)[:1]

    def of_role(self, role: str, pattern: str) -> File:
        """The file of a role's model and corpus, of a pattern with these in its path."""

        def path(wildcards: Wildcards) -> str:
            model, corpus = self.pair(wildcards, role)
            return pattern.format(run=wildcards.run, model=model, corpus=corpus)

        return path

    def raw(self, role: str) -> File:
        """The raw file of a role's corpus."""
        return lambda wildcards: raw_path(self.config, wildcards.run, self.pair(wildcards, role)[1])

    def card(self, role: str) -> File:
        """Card of a role's model, or of that of a setting, see `model_name`."""
        name = self.model_name(role)
        return lambda wildcards: card_path(wildcards.run, name(wildcards))

    def tokenizer(self, role: str) -> File:
        """Tokenizer of a role's model."""
        name = self.model_name(role)
        return lambda wildcards: tokenizer_path(wildcards.run, name(wildcards))

    def if_named(self, key: str, files: File | Files) -> Files:
        """Files; none if the run does not name what they need (nested keys with dots)."""

        def paths(wildcards: Wildcards) -> list[str]:
            settings: Any = self.study_settings(wildcards)
            for part in key.split("."):
                settings = settings.get(part) if settings else None
            named = files(wildcards) if settings else []
            return [named] if isinstance(named, str) else named

        return paths

    def table_if(self, key: str, name: str) -> Files:
        """A table of the study; none if the run does not name what the table needs."""
        return self.if_named(key, lambda wildcards: self.study.measured_path(name, wildcards.run))

    def of_group(self, group: str, pattern: str) -> Nested:
        """Name -> file, for the models of a group; the name is the task in the path."""

        def by_name(wildcards: Wildcards) -> dict[str, str]:
            members = self.study.groups[group](self.config, wildcards.run)
            return {
                name: pattern.format(run=wildcards.run, model=model, corpus=corpus, task=name)
                for name, (model, corpus, *_) in members.items()
            }

        return by_name

    def of_group_by_kind(self, group: str, pattern: str, **kinds: str) -> dict[str, Nested]:
        """Parameter -> the same, for files that differ in the `{kind}` of the pattern."""
        return {name: self.of_group(group, pattern.replace("{kind}", kind)) for name, kind in kinds.items()}

    def corpora_in_path(self, **settings: Sequence[str]) -> Nested:
        """Name -> shards of examples for the model in the path, and number of records, see `examples.read_corpus`.

        Args:
            settings: name -> keys of the setting that names the corpus, see `settings`; without those that a run does not name.
        """

        def by_name(wildcards: Wildcards) -> dict[str, list[Any]]:
            corpora = {}
            for name, (*path, last) in settings.items():
                if corpus := self.settings(*path)(wildcards).get(last):
                    paths = shard_paths(self.config, wildcards.run, wildcards.model, corpus, "examples", "parquet")
                    corpora[name] = [paths, limit_of(self.config, wildcards.run, corpus)]
            return corpora

        return by_name

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

    # --- the study's family of fine-tuned models ----------------------------------------------------------------------

    def by_seed(self, group: str, pattern: str) -> Nested:
        """Member of a group -> seed -> file, for the models that are fine-tuned on it."""

        def by_member(wildcards: Wildcards) -> dict[str, dict[int, str]]:
            run, family = wildcards.run, self.study_settings(wildcards)["family"]
            return {
                task: {seed: pattern.format(run=run, task=task, seed=seed) for seed in family_seeds(self.config, family, task)}
                for task in self.study.groups[group](self.config, run)
            }

        return by_member

    def tuned(self, group: str) -> Parameter:
        """State (tuned, random: the weights that training starts from) -> seed -> registry entry, for a member of a group."""
        return lambda wildcards: {
            state: {seed: self.weights_entry(wildcards.run, model) for seed, model in seeds.items()}
            for state, seeds in self._family(wildcards, group).items()
        }

    def tuned_weights(self, group: str) -> Files:
        """Weights of these models."""
        return lambda wildcards: [
            checkpoint_path(wildcards.run, model)
            for seeds in self._family(wildcards, group).values()
            for model in seeds.values()
        ]

    def of_seed(self, group: str) -> Parameter:
        """Registry entry of the one that is trained from pre-trained weights with the seed in the path, or the first seed."""
        return lambda wildcards: self.weights_entry(wildcards.run, self._seed_model(wildcards, group))

    def seed_weights(self, group: str) -> File:
        """Its weights."""
        return lambda wildcards: checkpoint_path(wildcards.run, self._seed_model(wildcards, group))

    def _family(self, wildcards: Wildcards, group: str) -> dict[str, dict[int, str]]:
        family, (task, _) = self.study_settings(wildcards)["family"], self.member(wildcards, group)
        return {
            state: {seed: family_member(family, task, seed, random) for seed in family_seeds(self.config, family, task, random)}
            for state, random in (("tuned", False), ("random", True))
        }

    def _seed_model(self, wildcards: Wildcards, group: str) -> str:
        models = self._family(wildcards, group)["tuned"]
        seed = wildcards.get("seed")
        return next(iter(models.values())) if seed is None else models[int(seed)]

    # --- parameters -------------------------------------------------------------------------------------------------

    def parameters(self, call: str, *settings: str, resources: Sequence[str] = (), **renamed: str) -> dict[str, Any]:
        """The `params` of a rule: the function that it calls, settings, and the digest of its code.

        Args:
            call: `module:function` of the study.
            settings: settings of the study, or values of `Study.inputs`, that are parameters under their names.
            resources: data files below workflow/resources that the function reads.
            renamed: parameter -> setting (nested keys with dots).
        """
        function = f"{self.study.id}.{call}"
        values = {parameter: self.of_run(key) for parameter, key in ({key: key for key in settings} | renamed).items()}
        code = script_digest("run.py", *resources, modules=(full_name(function),))
        return {"call": function, **values, "code": code}

    def of_run(self, name: str) -> Parameter:
        """What a run gives to a parameter: files or values that the study declares (`Study.inputs`), else a setting."""
        declared = self.study.inputs.get(name)
        return self.settings(*name.split(".")) if declared is None else lambda wildcards: declared(self, wildcards.run)

    def settings(self, *path: str) -> Parameter:
        """A setting of the study in the run, by its keys, which may have wildcards (`{wildcards.task}`)."""

        def leaf(wildcards: Wildcards) -> Any:
            value: Any = self.study_settings(wildcards)
            for key in path:
                value = value[key.format(wildcards=wildcards)]
            return value

        return leaf

    def setting_if(self, key: str, otherwise: Any = None) -> Parameter:
        """A setting of the study in the run, or another value if the run does not name it."""
        return lambda wildcards: self.study_settings(wildcards).get(key, otherwise)

    def bounded(self, role: str, *setting: str) -> Number:
        """Records of a role by a setting, at most as many as the run has."""
        records = self.settings(*setting)
        return lambda wildcards: min(int(records(wildcards)), self.limit(role)(wildcards))

    def limit(self, role: str) -> Number:
        """Records of a role that the run reads at most."""
        return lambda wildcards: limit_of(self.config, wildcards.run, self.pair(wildcards, role)[1])

    def limits(self, *same: str, **roles: str | tuple[str, ...]) -> Callable[[Wildcards], dict[str, int]]:
        """The same for each parameter: parameter -> role, or role and keys of a setting, see `bounded`.

        Args:
            same: roles that are the names of their parameters.
            roles: parameter -> role.
        """
        functions = {
            parameter: self.limit(role) if isinstance(role, str) else self.bounded(*role)
            for parameter, role in {**dict(zip(same, same, strict=True)), **roles}.items()
        }
        return lambda wildcards: {parameter: limit(wildcards) for parameter, limit in functions.items()}

    def opened(self, role: str, *settings: str) -> Parameter:
        """What a role's model is opened from for its task: reader of its corpus, model, card and tokenizer; and settings."""

        def by_name(wildcards: Wildcards) -> dict[str, Any]:
            files = {"card": self.card(role)(wildcards), "tokenizer": self.tokenizer(role)(wildcards)}
            reader = self.config["corpora"][self.pair(wildcards, role)[1]]["reader"]
            values = {key: self.study_settings(wildcards)[key] for key in settings}
            return {"reader": reader, "model": self.model(role)(wildcards), **files, **values}

        return by_name

    def model_name(self, key: str = "") -> File:
        """Name of the model of a role or a group, or of the one that a setting names, else of the study's."""

        def name(wildcards: Wildcards) -> str:
            role = key.format(wildcards=wildcards)
            if role in self.study.groups or role in self.study.roles:
                return self.pair(wildcards, key)[0]
            return str(self.study_settings(wildcards).get(role) or self.base_model(wildcards.run))

        return name

    def model(self, key: str = "") -> Parameter:
        """Registry entry of that model."""
        name = self.model_name(key)
        return lambda wildcards: self.weights_entry(wildcards.run, name(wildcards))

    def corpus_value(self, role: str, key: str) -> Parameter:
        """A key of the registry entry of a role's corpus; empty if the run names no such corpus."""

        def value(wildcards: Wildcards) -> Any:
            corpus = self.study_settings(wildcards).get(role)
            return self.config["corpora"][corpus][key] if corpus else ""

        return value

    # --- what is shown ------------------------------------------------------------------------------------------------

    def read_by(self, item: Shown) -> dict[str, Any]:
        """Parameter -> table that a table or figure reads; none for an optional one that the run lacks."""
        files: dict[str, Any] = {parameter: self.study.path(file, "{run}") for parameter, file in item.inputs.items()}
        return files | {parameter: self.table_if(*of_run) for parameter, of_run in item.optional.items()}

    def gathered(self, item: Shown) -> dict[str, Parameter]:
        """Parameters that are mappings of files, see `Shown.gathers`."""
        return {name: self.of_run(name) if name in self.study.inputs else getattr(self, name) for name in item.gathers}

    def written_by(self, item: Shown, report: Callable[..., Any]) -> dict[str, Any]:
        """Kind of file -> file; the SVG of a figure and the page of a table are in the report."""
        files = {kind: self.study.path(name, "{run}") for kind, name in item.outputs.items()}
        reported = "svg" if item.kind == "figure" else "html"
        artifact = item.part_of or ("" if item.kind == "page" else item.id)
        return files | ({reported: report(files[reported], **self.about(artifact))} if artifact else {})

    def about(self, name: str) -> dict[str, Any]:
        """Caption, category and labels of an artefact in the report; category and labels identify the text of the caption."""
        artifact = self.study.artifact(name)
        return {
            "caption": "../report/artifact.rst",
            "category": self.study.title,
            "labels": {"run": "{run}", "artefact": artifact.number, "shows": artifact.title},
        }

    def parameters_of(self, item: Shown) -> dict[str, Any]:
        """The `params` of the rule of a table or figure: made again with another caption, or other published values."""
        page = item.outputs.get("html")
        published = f"published/{self.study.id}.csv"
        resources = (*((published,) if (RESOURCES / published).is_file() else ()), *item.resources, *(ASSETS if page else ()))
        params = self.parameters(item.call.partition(".")[2], *item.settings, resources=resources) | self.gathered(item)
        params |= {"caption": item.caption, "labels": self.labels(*item.labels), "run_title": self.run_title}
        if item.titles:
            params["titles"] = self.titles(*item.titles)
        if page:
            paper = self.study.paper
            heading = f"{paper.citation}, {item.number}: {item.title}" if paper else item.title
            params |= {"heading": heading, "links": self.links(page)}
        return params

    def run_title(self, wildcards: Wildcards) -> str:
        """Title of the run in tables and figures."""
        return str(self.config["runs"][wildcards.run].get("title", wildcards.run))

    def titles(self, *roles: str) -> Parameter:
        """Role -> name of its corpus, for the roles that the run names."""

        def by_role(wildcards: Wildcards) -> dict[str, str]:
            named = study_corpora(self.config, wildcards.run, self.study.id)
            return {role: self.title_of(named[role]) for role in roles if role in named}

        return by_role

    def labels(self, *roles: str) -> Parameter:
        """Role -> label, for the roles that the run names; of a group, name -> label; of neither, the run's title."""

        def by_role(wildcards: Wildcards) -> dict[str, Any]:
            named = study_corpora(self.config, wildcards.run, self.study.id)
            pairs: dict[str, tuple[str, ...]] = {}
            for role in roles:
                if role in self.study.groups:
                    pairs |= self.study.groups[role](self.config, wildcards.run)
                elif role in named:
                    pairs[role] = self.pair(wildcards, role)
            return {name: self.label_of(wildcards, *pair) for name, pair in pairs.items()}

        return by_role

    def links(self, page: str) -> Callable[[Wildcards], dict[str, Links]]:
        """Name of the output -> links of an HTML page, a file below the study's folder; `Table.write` puts them into it."""
        return lambda wildcards: {"html": page_links(self.config, wildcards.run, self.study, page)}

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
            records, tokens = limit_of(self.config, wildcards.run, corpus), self.config["corpora"][corpus]["max_tokens"]
            return attempt * map_megabytes(self.config["models"][model], tokens, records, stored)

        return megabytes
