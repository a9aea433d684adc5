"""Configuration checks that the schema cannot express: names must be known, and some keys must occur together."""

from __future__ import annotations

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.known import check_known, check_reader
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.studies import studies, study_corpora
from attention_atlas.workflow.study import Study

TASK_READERS = {"questions": "squad", "labels": "glue", "translation": "parallel", "tags": "keyphrases"}
"""Task that a model can be fine-tuned for -> the reader that its corpus needs."""
_SOURCES = {
    "models": ("package", "path", "hub", "fine_tuned", "untrained"),
    "corpora": ("sample", "path", "url", "hub", "sacrebleu"),
}
# Keys that each kind of source needs: one from each group.
_SOURCE_NEEDS: dict[str, list[tuple[str, ...]]] = {
    "package": [("module",)],
    "url": [("sha256", "content_sha256")],
    "sacrebleu": [("pair",)],
}
_SOURCE_KEYS = {
    "package": {"module", "folder"},
    "path": {"mirror"},
    "fine_tuned": set(),
    "untrained": set(),
    "sample": set(),
    "sacrebleu": {"pair"},
    "url": {"sha256", "content_sha256", "content_files", "mirror"},
    "hub": {"revision", "config", "split", "column", "rows"},
}
_SAMPLE_SUFFIX = {
    "conllu": ".conllu",
    "segments": ".txt",
    "conll2012": ".conll",
    "gap": ".tsv",
    "vectors": ".vec",
    "squad": ".json",
    "glue": ".jsonl",
    "frames": ".json",
    "parallel": ".jsonl",
    "lines": ".txt",
    "edges": ".jsonl",
    "keyphrases": ".jsonl",
    "sentences": ".txt",
}
_SAMPLED = {"order", "seed"}
_READER_KEYS = {
    "conllu": {"view", "relations", "skip", *_SAMPLED},
    "segments": {"lines", "recipe", "segment_ids", "per_document", *_SAMPLED},
    "conll2012": {"windows", "trees", "files", "language", *_SAMPLED},
    "gap": {"skip", *_SAMPLED},
    "vectors": {"encoding"},
    "squad": {"windows", "stride", *_SAMPLED},
    "glue": {"task", "overlong", "skip", *_SAMPLED},
    "frames": {"skip", *_SAMPLED},
    "parallel": {"languages", "tokenised", "translations", "skip", *_SAMPLED},
    "lines": set(),
    "edges": {"format", "edge_tasks", "relations", "part", "trees", "files", "language", "skip", *_SAMPLED},
    "keyphrases": {"stemmed", "keyphrase_set", "document_names", "overlong", "skip", *_SAMPLED},
    "sentences": {"skip", *_SAMPLED},
}


def check_source_keys(config: Config) -> None:
    """Check that each entry of the registries has exactly one source, and only keys of this source and its reader.

    Raises:
        AtlasError: names the key.
    """
    for registry, kinds in _SOURCES.items():
        for name, entry in config[registry].items():
            place = f"config: {registry}.{name}"
            source = entry["source"]
            source_kinds = [kind for kind in kinds if kind in source]
            if len(source_kinds) != 1:
                listed = "none of them" if not source_kinds else " and ".join(source_kinds)
                raise AtlasError(f"{place}.source: give exactly one of {', '.join(kinds)}; found {listed}.")
            for keys in _SOURCE_NEEDS.get(source_kinds[0], ()):
                if not any(key in source for key in keys):
                    raise AtlasError(f"{place}.source: a source of kind {source_kinds[0]} needs the key '{keys[0]}' as well.")
            wrong = sorted(set(source) - {source_kinds[0]} - _SOURCE_KEYS[source_kinds[0]])
            if wrong:
                raise AtlasError(f"{place}.source.{wrong[0]}: this key does not belong to a source of kind {source_kinds[0]}.")
    for name, entry in config["corpora"].items():
        sample = entry["source"].get("sample")
        if sample and not sample.endswith(_SAMPLE_SUFFIX[entry["reader"]]):
            raise AtlasError(f"config: corpora.{name}.source.sample: the reader {entry['reader']} cannot read {sample}.")
        if "sacrebleu" in entry["source"] and entry["reader"] != "parallel":
            raise AtlasError(f"config: corpora.{name}.source.sacrebleu: test sets of translation need the reader parallel.")
        if entry["reader"] == "glue" and "task" not in entry:
            raise AtlasError(f"config: corpora.{name}.task: the reader glue needs the name of a task, such as mrpc.")
        if entry["reader"] == "parallel" and "languages" not in entry:
            raise AtlasError(f"config: corpora.{name}.languages: the reader parallel needs two languages, such as [en, fr].")
        if entry["reader"] == "edges" and "edge_tasks" not in entry:
            raise AtlasError(f"config: corpora.{name}.edge_tasks: the reader edges needs tasks, such as [pos].")
        for key, reader in (("trees", "conllu"), ("translations", "lines")):
            if key in entry:
                check_known(entry[key], config["corpora"], "corpus", f"corpora.{name}.{key}")
                check_reader(config, entry[key], reader, f"corpora.{name}.{key}")
        foreign_keys = set().union(*_READER_KEYS.values()) - _READER_KEYS[entry["reader"]]
        for key in sorted(foreign_keys & set(entry)):
            readers = " and ".join(reader for reader, keys in _READER_KEYS.items() if key in keys)
            raise AtlasError(
                f"config: corpora.{name}.{key}: this key belongs to the reader {readers}, not to {entry['reader']}."
            )


def check_names(config: Config) -> None:
    """Check a whole configuration: targets, models, and the studies of all runs.

    Raises:
        AtlasError: names the key, the problem and, if possible, the most similar known name.
    """
    for run in config["targets"]:
        check_known(run, config["runs"], "run", "targets")
    licences = {entry["accept_licence"]: "" for entry in config["corpora"].values() if "accept_licence" in entry}
    for licence in config["accept_licences"]:
        check_known(licence, licences, "licence", "accept_licences")
    for name in config["models"]:
        _check_training(config, name)
    for run, settings in config["runs"].items():
        for corpus in settings["limits"]:
            check_known(corpus, config["corpora"], "corpus", f"runs.{run}.limits")
        if "model" in settings:
            check_known(settings["model"], config["models"], "model", f"runs.{run}.model")
        for study in studies().values():
            if study.id in settings:
                _check_study(config, run, study)


def _check_training(config: Config, name: str) -> None:
    """Check that a fine-tuned model has a known base model of the same shape, and a matching corpus and task."""
    entry, place = config["models"][name], f"models.{name}"
    if "untrained" in entry["source"]:
        _check_untrained(config, name)
    base = entry["source"].get("fine_tuned")
    if base is None:
        if "training" in entry:
            raise AtlasError(f"config: {place}.training: only a model with source: {{fine_tuned: ...}} is trained.")
        return
    if "training" not in entry:
        raise AtlasError(f"config: {place}.training: a fine-tuned model needs a task and a corpus.")
    check_known(base, config["models"], "model", f"{place}.source.fine_tuned")
    if "fine_tuned" in config["models"][base]["source"]:
        raise AtlasError(f"config: {place}.source.fine_tuned: '{base}' is fine-tuned itself; start from a model that is not.")
    corpus = entry["training"]["corpus"]
    check_known(corpus, config["corpora"], "corpus", f"{place}.training.corpus")
    check_reader(config, corpus, TASK_READERS[entry["training"]["task"]], f"{place}.training.corpus")
    late = [epoch for epoch in entry["training"].get("keep_epochs", ()) if epoch > entry["training"]["epochs"]]
    if late:
        raise AtlasError(
            f"config: {place}.training.keep_epochs: {late[0]} is more than its {entry['training']['epochs']} epochs."
        )
    for key in ("layers", "heads", "hidden_size"):
        if entry[key] != config["models"][base][key]:
            raise AtlasError(f"config: {place}.{key}: it is {entry[key]}, but '{base}' has {config['models'][base][key]}.")


def _check_untrained(config: Config, name: str) -> None:
    """Check that an untrained model has random weights, a vocabulary from parallel text, and a width divisible by its heads."""
    entry, place = config["models"][name], f"models.{name}"
    corpus = entry["source"]["untrained"]["corpus"]
    check_known(corpus, config["corpora"], "corpus", f"{place}.source.untrained.corpus")
    check_reader(config, corpus, "parallel", f"{place}.source.untrained.corpus")
    if entry["init"] != "random":
        raise AtlasError(f"config: {place}.init: an untrained model has no pre-trained weights: set init: random.")
    hidden = entry["source"]["untrained"]["hidden_size"]
    if entry["hidden_size"] != hidden:
        raise AtlasError(
            f"config: {place}.hidden_size: it is {entry['hidden_size']}, but source.untrained.hidden_size is {hidden}."
        )
    if hidden % entry["heads"]:
        raise AtlasError(
            f"config: {place}.source.untrained.hidden_size: {hidden} cannot be shared among {entry['heads']} heads."
        )


def _check_study(config: Config, run: str, study: Study) -> None:
    """Check that model, family and corpora are known, that readers fit their roles, and run the checks of the study."""
    settings = config["runs"][run][study.id]
    place = f"runs.{run}.{study.id}"
    if "family" in settings:
        check_known(settings["family"], config["families"], "family", f"{place}.family")
    elif not study.names_models and not (settings.get("model") or config["runs"][run].get("model")):
        raise AtlasError(f"config: runs.{run}.model: the study {study.id} needs a model; name one of the registry.")
    if "model" in settings:
        check_known(settings["model"], config["models"], "model", f"{place}.model")
    for role, corpus in study_corpora(config, run, study.id).items():
        check_known(corpus, config["corpora"], "corpus", f"{place}.{role}")
        check_reader(config, corpus, study.roles[role].reader, f"{place}.{role}")
    study.check(config, run, place)
