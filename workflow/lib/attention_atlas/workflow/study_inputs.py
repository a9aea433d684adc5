"""Inputs, parameters and resources of the rules of a study; most methods return what Snakemake calls with a job's wildcards."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from snakemake.iocontainers import Wildcards as JobWildcards

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import ASSETS, RESOURCES
from attention_atlas.workflow.artifacts import Links, built_tables, listed_artifacts, page_links
from attention_atlas.workflow.config import read_configuration, resolve
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
)
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.requirements import raw_path
from attention_atlas.workflow.shared_inputs import (
    Parameter,
    Resource,
    SharedInputs,
    Wildcards,
    at_first,
    gpus,
    map_megabytes,
    model_megabytes,
)
from attention_atlas.workflow.shown import Shown, full_name
from attention_atlas.workflow.study import role_pair, studies, study_corpora, study_examples

Files = Callable[[Wildcards], list[str]]
File = Callable[[Wildcards], str]
Nested = Callable[[Wildcards], Mapping[Any, Any]]
"""Function from wildcards to files by one or several levels of keys, or lists of these; numbers are no files."""


def of_job(method: Callable[..., Any]) -> Callable[..., Callable[[Wildcards], Any]]:
    """A method that is called in a rule without wildcards, and returns what Snakemake calls with those of a job."""
    return lambda self, *arguments, **named: lambda wildcards: method(self, wildcards, *arguments, **named)


def leaves(by_key: Nested) -> Files:
    """All files of a nested parameter, in order, without duplicates."""

    def listed(group: Any) -> list[str]:
        if isinstance(group, str):
            return [group]
        parts = group.values() if isinstance(group, Mapping) else group if isinstance(group, list) else ()
        return [path for part in parts for path in listed(part)]

    return lambda wildcards: list(dict.fromkeys(listed(by_key(wildcards))))


class StudyInputs(SharedInputs):
    def __init__(self, config: Config, study_id: str):
        super().__init__(config)
        self.study = studies()[study_id]
        self.built_tables = functools.cache(functools.partial(built_tables, config))
        self.listed = functools.cache(functools.partial(listed_artifacts, config))

    def study_settings(self, wildcards: Wildcards) -> dict[str, Any]:
        return self.config["runs"][wildcards.run][self.study.id]

    def base_model(self, run: str) -> str:
        return study_model(self.config, run, self.study.id)

    def pair(self, wildcards: Wildcards, role: str) -> Pair:
        """Model and corpus in the path; where it names none, those of a role, which may have wildcards
        (`{wildcards.experiment}`), of a member of a group, or of the variant in the path.
        """
        if role in self.study.groups:
            model, corpus = self.member(wildcards, role)[1]
        else:
            variant = PurePosixPath(wildcards.get("variant", "")).name
            model, corpus = role_pair(self.config, wildcards.run, self.study.id, role.format(wildcards=wildcards), variant)
        return wildcards.get("model", model), wildcards.get("corpus", corpus)

    def member(self, wildcards: Wildcards, group: str) -> tuple[str, Pair]:
        """The member of a group that the path names (`{task}`), or the first one: its name, its model and corpus."""
        members = self.study.groups[group](self.config, wildcards.run)
        name = wildcards.get("task") or next(iter(members))
        if name not in members:
            raise AtlasError(f"run {wildcards.run}: {self.study.id} has no {name}, but {', '.join(members) or 'nothing'}.")
        model, corpus, *_ = members[name]
        return name, (model, corpus)

    def title_of(self, corpus: str) -> str:
        """Name of a corpus in tables and figures: its title; for keyphrases also the documents in its entry."""
        entry = self.config["corpora"][corpus]
        parts = [str(entry.get("title", corpus))]
        if ranges := entry.get("document_names"):
            parts.append(f"documents {' and '.join(' to '.join(bounds) for bounds in ranges)}")
        return ", ".join(parts)

    def label_of(self, wildcards: Wildcards, model: str, corpus: str, name: str = "") -> dict[str, Any]:
        """Label of the run in a table or figure, see `io.tables.RunLabel`; with another name of the model."""
        entry = self.config["corpora"][corpus]
        return {
            "run": self.run_title(wildcards),
            "model": name or model,
            "corpus": self.title_of(corpus),
            "model_reference": self.config["models"][model].get("reference", ""),
            "corpus_reference": entry.get("reference", ""),
            "sample": "sample" in entry["source"],
            "converted": entry["view"] == "stanford",
            "released": "released" in self.config["models"][model]["source"],
            "stand_in": self.config["runs"][wildcards.run]["stand_ins"],
        }

    @of_job
    def shards(
        self, wildcards: Wildcards, role: str, *setting: str, folder: str = "attention", suffix: str = "safetensors"
    ) -> list[str]:
        """All shards of a role, or those with the records of a setting (see `bounded`)."""
        records = self.bounded(role, *setting)(wildcards) if setting else None
        return shard_paths(self.config, wildcards.run, *self.pair(wildcards, role), folder, suffix, records)

    def examples(self, role: str, *setting: str) -> Files:
        return self.shards(role, *setting, folder="examples", suffix="parquet")

    def maps(self, role: str, *setting: str, attention: str = "attention", examples: str = "examples") -> dict[str, Files]:
        """Parameter -> files of a role: its maps with their descriptions, and its examples, unless this name is empty."""

        def with_descriptions(wildcards: Wildcards) -> list[str]:
            of_kinds = (self.shards(role, *setting, suffix=suffix)(wildcards) for suffix in ("safetensors", "json"))
            return [path for paths in of_kinds for path in paths]

        return {attention: with_descriptions} | ({examples: self.examples(role, *setting)} if examples else {})

    @of_job
    def first(self, wildcards: Wildcards, files: Files) -> list[str]:
        return files(wildcards)[:1]

    @of_job
    def of_role(self, wildcards: Wildcards, role: str, pattern: str) -> str:
        """The file of a role's model and corpus, of a pattern with these in its path."""
        model, corpus = self.pair(wildcards, role)
        return pattern.format(run=wildcards.run, model=model, corpus=corpus)

    @of_job
    def raw(self, wildcards: Wildcards, role: str) -> str:
        return raw_path(self.config, wildcards.run, self.pair(wildcards, role)[1])

    @of_job
    def card(self, wildcards: Wildcards, role: str) -> str:
        return card_path(wildcards.run, self.model_name(role)(wildcards))

    @of_job
    def tokenizer(self, wildcards: Wildcards, role: str) -> str:
        return f"results/{wildcards.run}/models/{self.model_name(role)(wildcards)}/tokenizer.json"

    @of_job
    def if_named(self, wildcards: Wildcards, key: str, files: File | Files) -> list[str]:
        """Files; none if the run does not name what they need (nested keys with dots)."""
        settings: Any = self.study_settings(wildcards)
        for part in key.split("."):
            settings = settings.get(part) if settings else None
        named = files(wildcards) if settings else []
        return [named] if isinstance(named, str) else named

    def table_if(self, key: str, name: str) -> Files:
        return self.if_named(key, lambda wildcards: self.study.measured_path(name, wildcards.run))

    @of_job
    def of_group(self, wildcards: Wildcards, group: str, pattern: str) -> dict[str, str]:
        """Name -> file, for the models of a group; the name is the task in the path."""
        members = self.study.groups[group](self.config, wildcards.run)
        return {
            name: pattern.format(run=wildcards.run, model=model, corpus=corpus, task=name)
            for name, (model, corpus, *_) in members.items()
        }

    def of_group_by_kind(self, group: str, pattern: str, **kinds: str) -> dict[str, Nested]:
        """Parameter -> the same, for files that differ in the `{kind}` of the pattern."""
        return {name: self.of_group(group, pattern.replace("{kind}", kind)) for name, kind in kinds.items()}

    @of_job
    def corpora_in_path(self, wildcards: Wildcards, /, **settings: Sequence[str]) -> dict[str, list[Any]]:
        """Name -> shards of examples for the model in the path, and number of records, see `examples.read_corpus`.

        `settings`: name -> keys of the setting that names the corpus; those that a run does not name are left out.
        """
        named = {name: self.settings(*path)(wildcards).get(last) for name, (*path, last) in settings.items()}
        place = self.config, wildcards.run, wildcards.model
        return {
            name: [shard_paths(*place, corpus, "examples", "parquet"), limit_of(self.config, wildcards.run, corpus)]
            for name, corpus in named.items()
            if corpus
        }

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

    @of_job
    def by_seed(self, wildcards: Wildcards, group: str, pattern: str) -> dict[str, dict[int, str]]:
        """Member of a group -> seed -> file, for the models that are fine-tuned on it."""
        run, family = wildcards.run, self.study_settings(wildcards)["family"]
        return {
            task: {seed: pattern.format(run=run, task=task, seed=seed) for seed in family_seeds(self.config, family, task)}
            for task in self.study.groups[group](self.config, run)
        }

    @of_job
    def tuned(self, wildcards: Wildcards, group: str) -> dict[str, dict[int, Any]]:
        """State (tuned, random: the weights that training starts from) -> seed -> registry entry, for a member of a group."""
        return {
            state: {seed: self.weights_entry(wildcards.run, model) for seed, model in seeds.items()}
            for state, seeds in self._family(wildcards, group).items()
        }

    @of_job
    def tuned_weights(self, wildcards: Wildcards, group: str) -> list[str]:
        models = [model for seeds in self._family(wildcards, group).values() for model in seeds.values()]
        return [checkpoint_path(wildcards.run, model) for model in models]

    @of_job
    def of_seed(self, wildcards: Wildcards, group: str) -> dict[str, Any]:
        """Registry entry of the one that is trained from pre-trained weights with the seed in the path, or the first seed."""
        return self.weights_entry(wildcards.run, self._seed_model(wildcards, group))

    @of_job
    def seed_weights(self, wildcards: Wildcards, group: str) -> str:
        return checkpoint_path(wildcards.run, self._seed_model(wildcards, group))

    def _family(self, wildcards: Wildcards, group: str) -> dict[str, dict[int, str]]:
        family, (task, _) = self.study_settings(wildcards)["family"], self.member(wildcards, group)
        return {
            state: {seed: family_member(family, task, seed, random) for seed in family_seeds(self.config, family, task, random)}
            for state, random in (("tuned", False), ("random", True))
        }

    def _seed_model(self, wildcards: Wildcards, group: str) -> str:
        models = self._family(wildcards, group)["tuned"]
        return models[int(wildcards.get("seed", next(iter(models))))]

    def parameters(self, call: str, *settings: str, resources: Sequence[str] = (), **renamed: str) -> dict[str, Any]:
        """The `params` of a rule: the function that it calls, settings, and the digest of its code.

        `call`: `module:function` of the study; `settings`: settings of the study, or values of `Study.inputs`, that are
        parameters under their names; `resources`: data files below workflow/resources that the function reads; `renamed`:
        parameter -> setting (nested keys with dots).
        """
        function = f"{self.study.id}.{call}"
        keys = dict(zip(settings, settings, strict=True)) | renamed
        values = {parameter: self.of_run(key) for parameter, key in keys.items()}
        return {"call": function, **values, "code": script_digest("run.py", *resources, modules=(full_name(function),))}

    def of_run(self, name: str) -> Parameter:
        """What a run gives to a parameter: files or values that the study declares (`Study.inputs`), else a setting."""
        declared = self.study.inputs.get(name)
        return self.settings(*name.split(".")) if declared is None else lambda wildcards: declared(self, wildcards.run)

    @of_job
    def settings(self, wildcards: Wildcards, *path: str) -> Any:
        """A setting of the study in the run, by its keys, which may have wildcards (`{wildcards.task}`)."""
        keys = (key.format(wildcards=wildcards) for key in path)
        return functools.reduce(lambda settings, key: settings[key], keys, self.study_settings(wildcards))

    @of_job
    def bounded(self, wildcards: Wildcards, role: str, *setting: str) -> int:
        """Records of a role by a setting, at most as many as the run has."""
        return min(int(self.settings(*setting)(wildcards)), self.limit(role)(wildcards))

    @of_job
    def limit(self, wildcards: Wildcards, role: str) -> int:
        return limit_of(self.config, wildcards.run, self.pair(wildcards, role)[1])

    @of_job
    def limits(self, wildcards: Wildcards, /, *same: str, **roles: str | tuple[str, ...]) -> dict[str, int]:
        """Parameter (or `same`) -> role, or role and keys of a setting, see `bounded`; 0 for a role that the run lacks."""
        named = {**dict(zip(same, same, strict=True)), **roles}
        unnamed = self.study.roles.keys() - study_corpora(self.config, wildcards.run, self.study.id)
        functions = {name: self.limit(role) if isinstance(role, str) else self.bounded(*role) for name, role in named.items()}
        return {name: 0 if named[name] in unnamed else limit(wildcards) for name, limit in functions.items()}

    @of_job
    def opened(self, wildcards: Wildcards, role: str, *settings: str) -> dict[str, Any]:
        """What a role's model is opened from for its task: reader of its corpus, model, card and tokenizer; and settings."""
        files = {"card": self.card(role)(wildcards), "tokenizer": self.tokenizer(role)(wildcards)}
        reader = self.config["corpora"][self.pair(wildcards, role)[1]]["reader"]
        values = {key: self.study_settings(wildcards)[key] for key in settings}
        return {"reader": reader, "model": self.model(role)(wildcards), **files, **values}

    @of_job
    def model_name(self, wildcards: Wildcards, key: str = "") -> str:
        """Name of the model of a role or a group, or of the one that a setting names, else of the study's."""
        role = key.format(wildcards=wildcards)
        if role in self.study.groups or role in self.study.roles:
            return self.pair(wildcards, key)[0]
        return str(self.study_settings(wildcards).get(role) or self.base_model(wildcards.run))

    @of_job
    def model(self, wildcards: Wildcards, key: str = "") -> dict[str, Any]:
        return self.weights_entry(wildcards.run, self.model_name(key)(wildcards))

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
        if item.kind == "page" and not item.part_of:
            return files
        reported, artifact = "svg" if item.kind == "figure" else "html", self.study.artifact(item.part_of or item.id)
        # Category and labels identify the text of the caption.
        labels = {"run": "{run}", "artefact": artifact.number, "shows": artifact.title}
        marked = report(files[reported], caption="../report/artifact.rst", category=self.study.title, labels=labels)
        return files | {reported: marked}

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

    @of_job
    def links(self, wildcards: Wildcards, page: str) -> dict[str, Links]:
        return {"html": page_links(self.config, wildcards.run, self.study, page)}

    def run_title(self, wildcards: Wildcards) -> str:
        return str(self.config["runs"][wildcards.run].get("title", wildcards.run))

    @of_job
    def titles(self, wildcards: Wildcards, *roles: str) -> dict[str, str]:
        """Role -> name of its corpus, for the roles that the run names."""
        named = study_corpora(self.config, wildcards.run, self.study.id)
        return {role: self.title_of(named[role]) for role in roles if role in named}

    @of_job
    def labels(self, wildcards: Wildcards, *roles: str) -> dict[str, Any]:
        """Role -> label, for the roles that the run names; of a group, name -> label; of neither, the run's title."""
        named = study_corpora(self.config, wildcards.run, self.study.id)
        pairs: dict[str, tuple[str, ...]] = {}
        for role in roles:
            if role in self.study.groups:
                pairs |= self.study.groups[role](self.config, wildcards.run)
            elif role in named:
                pairs[role] = self.pair(wildcards, role)
        return {name: self.label_of(wildcards, *pair) for name, pair in pairs.items()}

    def model_resources(self, runtime: int) -> dict[str, Resource | int]:
        """Of a job that runs the largest model of the study in a run on its longest texts, for at most so many minutes."""

        def megabytes(wildcards: Wildcards, attempt: int) -> int:
            pairs = study_examples(self.config, wildcards.run, self.study.id)
            longest = max(self.config["corpora"][corpus]["max_tokens"] for _, corpus in pairs)
            return attempt * max(model_megabytes(self.config["models"][model], longest) for model, _ in pairs)

        return {"mem_mb": megabytes, **at_first(runtime=runtime), "gpu": gpus(self.config)}

    def map_resources(self, role: str, runtime: int, stored: float = 0, **further: int) -> dict[str, Resource | int]:
        """Of a job that reads the maps of a role, and stores some bytes for each head and record; and further resources."""

        def megabytes(wildcards: Wildcards, attempt: int) -> int:
            model, corpus = self.pair(wildcards, role)
            records, tokens = limit_of(self.config, wildcards.run, corpus), self.config["corpora"][corpus]["max_tokens"]
            return attempt * map_megabytes(self.config["models"][model], tokens, records, stored)

        return {"mem_mb": megabytes, **at_first(runtime=runtime), **further}


def drawn_again(function: Shown, folder: str | Path, overlays: Iterable[str | Path], changes: Mapping[str, Any]) -> Any:
    """What a marked function makes of a built run, see `Marked.of`."""
    # Not above: pandas, which the start of the workflow does not need.
    from attention_atlas.workflow.run import called

    folder = Path(folder).resolve()
    root, job = folder.parent.parent, JobWildcards(fromdict={"run": folder.name})
    inputs = StudyInputs(resolve(read_configuration(root, overlays) | {"missing": "skip"}), function.study)

    def of_job(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value(job) if callable(value) else value for name, value in values.items()}

    files = {name: f.format(run=job.run) if isinstance(f, str) else f for name, f in of_job(inputs.read_by(function)).items()}
    with contextlib.chdir(root):
        return called(function, files, of_job(inputs.parameters_of(function)), changes)[0]
