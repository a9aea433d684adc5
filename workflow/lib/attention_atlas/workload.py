"""How much work a job does, by its rule and shapes, and how long that takes: a linear model fitted to measured jobs.

    seconds = fixed + sum over kinds of work (amount x seconds for one)

Kinds of work:
    gflop: 1e9 floating-point operations of a model
    gsearch, searches: the same for each beam of a translation's search; translations
    steps: 1e9 operations of training a head for hidden pieces
    gcells: 1e9 cells of attention maps that are read or written
    gstates: 1e9 numbers of hidden states that are written
    gpairs: 1e9 cells compared between two heads
    gfitted: 1e9 features that regressions are fitted to
    records: examples
    kwords, distance_kwords: 1,000 words that the probes of one seed are trained on; that probes on distances are
    kdecoded: 1,000 sentences that probes are judged on
    kprobed: 1,000 sentences that edge probes are trained on, times thousands of width
    kmaps: 1,000 maps that are looked at as pictures
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from attention_atlas.costs import VOCABULARY, Shape, shape_of, typical_tokens
from attention_atlas.files import read_yaml
from attention_atlas.runs import limit_of, study_model

COEFFICIENTS_PATH = Path(__file__).resolve().parents[2] / "resources" / "costs.yaml"
GIGA = 1e9
MASKINGS = 3
"""Ways of hiding pieces for which derivatives are taken (Figure 3)."""
Work = dict[str, float]


@dataclass(frozen=True)
class Part:
    """What a job works on: a model's shape, a corpus and its records, and the run's settings of the study.

    For probes, too: whether the model is the run's own, and the records that they are judged on; for Michel et al., which
    experiment.
    """

    shape: Shape
    tokens: float
    records: int
    settings: Mapping[str, Any]
    own: bool = True
    judged: int = 0
    experiment: str = ""

    @property
    def gflop(self) -> float:
        return self.records * self.shape.forward_flop(self.tokens) / GIGA

    @property
    def gcells(self) -> float:
        return self.records * self.shape.cells(self.tokens) / GIGA

    @property
    def gstates(self) -> float:
        return self.records * self.tokens * (self.shape.layers + 1) * self.shape.hidden / GIGA

    @property
    def gpairs(self) -> float:
        heads = self.shape.layers * self.shape.heads
        return self.records * self.tokens**2 * heads * (heads - 1) / 2 / GIGA


def _probes(part: Part) -> Work:
    probes = part.settings["probes"]
    words = probes["epochs"] * len(probes["seeds"]) * part.records * part.tokens / 1000
    kinds = 5 if part.own else 2  # with both places of ROOT: attention, attention and words, distances; or the second alone
    judged = kinds * len(probes["seeds"]) * len(probes["decodings"]) * part.judged / 1000
    return {"kwords": words, "distance_kwords": words if part.own else 0.0, "kdecoded": judged}


def _fine_tuning(part: Part) -> Work:
    """Forward and backward passes over all epochs."""
    return {"gflop": 3 * part.settings["epochs"] * part.gflop}


def _ablations(part: Part) -> Work:
    """A forward pass for every condition: rows with one and with two definitions of a sentence, each with its random sets."""
    conditions = 26 * (1 + part.settings["ablations"]["random_sets"]) + 1
    return {"gflop": conditions * part.gflop, "records": conditions * part.records}


def _predictions(part: Part) -> Work:
    """A forward pass of every model of a task, and of the pre-trained one."""
    return {"gflop": 3 * part.gflop, "records": part.records}


def _measures(part: Part) -> Work:
    """Two models on the examples, and on padded ones; every map is looked at as a picture."""
    padded = part.settings["padded"]
    records = min(padded["records"], part.records)
    flop = 2 * (part.gflop + records * part.shape.forward_flop(padded["length"]) / GIGA)
    return {"gflop": flop, "kmaps": part.records * part.shape.layers * part.shape.heads / 1000}


def _disabled(part: Part) -> Work:
    """Every head and every layer, each from its layer on; heads and layers three times where actions are compared."""
    conditions = 3 * part.shape.layers * (part.shape.heads + 1) / 2
    return {"gflop": conditions * part.gflop, "records": conditions * part.records}


_TRANSLATION_KINDS = 3
"""Kinds of attention of a translation model, each with as many heads."""


def _conditions(part: Part, count: float) -> Work:
    """So many passes over the examples of an experiment of Michel et al.; a search for every beam where it translates."""
    if part.experiment == "classification":
        return {"gflop": count * part.gflop, "records": count * part.records}
    return {"gsearch": count * part.settings["beams"] * part.gflop, "searches": count * part.records}


def _heads_of(part: Part) -> int:
    kinds = 1 if part.experiment == "classification" else _TRANSLATION_KINDS
    return kinds * part.shape.layers * part.shape.heads


def _masked(part: Part) -> Work:
    """Each head alone, all others of its layer, each head on a second corpus; the layers before the changed one are known."""
    return _conditions(part, 1.5 * _heads_of(part))


def _steps(part: Part) -> float:
    return 100 / part.settings["pruning"]["step"]


def _pruned(part: Part) -> Work:
    """Steps of four orders and the random ones, and of each kind of attention by itself."""
    kinds = 0 if part.experiment == "classification" else _TRANSLATION_KINDS
    return _conditions(part, _steps(part) * (4 + kinds + part.settings["pruning"]["random_orders"]))


def _dynamics(part: Part) -> Work:
    """Steps of one order after each epoch that is kept (four, if it is not known here)."""
    return _conditions(part, 4 * _steps(part))


def _speed(part: Part) -> Work:
    """Four models, at every batch size."""
    speed = part.settings["speed"]
    return {"gflop": 4 * len(speed["batches"]) * speed["repeats"] * part.gflop}


def _edge_probes(part: Part) -> Work:
    """1,000 sentences that a probe is trained on, for all its probes, by the width of the states."""
    training = part.settings["training"]
    each = len(part.settings["layer0"]) * (part.shape.layers + 1) + 3 if part.own else 2
    probes = part.settings["tasks_of_job"] * len(part.settings["seeds"]) * each
    return {"kprobed": probes * training["most_steps"] * training["batch"] * part.shape.hidden / 1e6}


def _detection(part: Part) -> Work:
    """Regressions of words on all heads: one a fold, and those on resampled documents."""
    features = part.records * part.tokens * part.shape.layers * part.shape.heads
    return {"gfitted": (part.settings["fits"] + part.settings["folds"]) * features / GIGA}


def _removals(part: Part) -> Work:
    """Each head on its own from its layer on, and steps of three orders and the random ones."""
    sets = 100 / part.settings["step"] * (3 + part.settings["random_orders"])
    return {"gflop": (part.shape.layers * part.shape.heads / 2 + sets) * part.gflop}


# Rule -> (role whose corpus it reads, "" for the corpus in the path; its work).
_WORK: dict[str, tuple[str, Callable[[Part], Work]]] = {
    "build_examples": ("", lambda p: {"records": p.records}),
    "extract_attention": ("", lambda p: {"gflop": p.gflop, "gcells": p.gcells}),
    "mlm_head": ("", lambda p: {"gflop": p.settings["copies"] * p.gflop, "steps": _head_gflop(p)}),
    "clark2019_surface": ("segments", lambda p: {"gcells": p.gcells}),
    "clark2019_dependencies": ("dependencies", lambda p: {"gcells": p.gcells, "records": p.records}),
    "clark2019_gradients": ("segments", lambda p: {"gflop": MASKINGS * 3 * p.gflop, "gcells": MASKINGS * p.gcells}),
    "clark2019_coreference": ("coreference", lambda p: {"gcells": p.gcells, "records": p.records}),
    "clark2019_coreference_windows": ("coreference_windows", lambda p: {"gcells": p.gcells, "records": p.records}),
    "clark2019_gap": ("gap", lambda p: {"gcells": p.gcells}),
    "clark2019_word_vectors": ("probe_training", lambda p: {"records": p.records}),
    "clark2019_probes": ("probe_training", _probes),
    "clark2019_head_distances": ("segments", lambda p: {"gpairs": p.gpairs}),
    "fine_tune": ("training", _fine_tuning),
    "guan2020_features": ("", lambda p: {"gcells": p.gcells}),
    "guan2020_ablations": ("questions", _ablations),
    "kovaleva2019_predictions": ("task", _predictions),
    "kovaleva2019_measures": ("task", _measures),
    "kovaleva2019_disabled": ("task", _disabled),
    "kovaleva2019_frames": ("frames", lambda p: {"gcells": p.gcells, "records": p.records}),
    "michel2019_masked": ("experiment", _masked),
    "michel2019_pruned": ("experiment", _pruned),
    "michel2019_dynamics": ("dynamics", _dynamics),
    "michel2019_table4": ("classification", _speed),
    "cache_hidden_states": ("", lambda p: {"gflop": p.gflop, "gstates": p.gstates}),
    "tenney2019_probes": ("edge_tasks", _edge_probes),
    "stefanik2021_words": ("documents", lambda p: {"gcells": p.gcells, "records": p.records}),
    "stefanik2021_detection": ("documents", _detection),
    "stefanik2021_baselines": ("documents", lambda p: {"records": p.records}),
    "stefanik2021_removal": ("test", _removals),
}
_SAME_COST = {
    "clark2019_surface_variant": "clark2019_surface",
    "clark2019_dependencies_variant": "clark2019_dependencies",
    "fine_tune_by_epoch": "fine_tune",
}
# Role of Michel et al. -> the key that names its model.
_MODELS = {"translation": "translator", "classification": "classifier", "dynamics": "trained"}
# What a GPU takes over: rules whose floating-point operations are a model's.
ON_GPU = ("extract_attention", "mlm_head", "fine_tune", "clark2019_gradients", "guan2020_ablations")
ON_GPU += ("kovaleva2019_predictions", "kovaleva2019_measures", "kovaleva2019_disabled")
ON_GPU += ("cache_hidden_states", "tenney2019_probes", "stefanik2021_removal")
ON_GPU += ("michel2019_masked", "michel2019_pruned", "michel2019_dynamics", "michel2019_table4")


def _head_gflop(part: Part) -> float:
    """Steps of training a head for hidden pieces, as GFLOP of the scores over all pieces, forward and backward."""
    return 6 * part.settings["steps"] * part.settings["batch"] * VOCABULARY * part.shape.hidden / GIGA


def workload(config: Mapping[str, Any], rule: str, wildcards: Mapping[str, str]) -> Work:
    """Amounts of work of a job, by kind; empty for jobs of a fixed few seconds.

    Args:
        config: the resolved configuration.
        rule, wildcards: of the job; `run` is one of the wildcards.
    """
    rule = _SAME_COST.get(rule, rule)
    if rule not in _WORK:
        return {}
    role, work = _WORK[rule]
    run = wildcards["run"]
    if role == "training":
        settings = config["models"][wildcards["model"]]["training"]
        model, corpus = wildcards["model"], settings["corpus"]
    elif role == "task":
        study = rule.split("_")[0]
        settings = config["runs"][run][study]
        corpus, model = settings["tasks"][wildcards["task"]], study_model(config, run, study)
    elif role == "edge_tasks":
        settings = config["runs"][run]["tenney2019"]
        first, *more = wildcards["edge_tasks"].split("-")
        corpus, model = settings["tasks"][first]["training"], wildcards["model"]
        settings = settings | {"tasks_of_job": 1 + len(more)}
    elif rule.startswith("michel2019"):
        settings = config["runs"][run]["michel2019"]
        role = wildcards.get("experiment", role)
        corpus, model = settings[role], settings[_MODELS[role]]
    elif not role:
        corpus, model = wildcards["corpus"], wildcards["model"]
        settings = config["models"][model]["mlm_head"]
    else:
        study = rule.split("_")[0]
        settings = config["runs"][run][study]
        corpus, model = settings[role], wildcards.get("model") or study_model(config, run, study)
    entry = config["corpora"][corpus]
    records = limit_of(config, run, corpus)
    if rule == "guan2020_features":
        records = min(records, config["runs"][run]["guan2020"]["samples"])
    bound = {"kovaleva2019_measures": "measured", "kovaleva2019_disabled": "ablated"}.get(rule)
    if bound:
        records = min(records, settings[bound])
    if rule == "michel2019_table4":
        records = min(records, settings["speed"]["records"])
    if "shard" in wildcards:
        records = min(entry["shard"], records - int(wildcards["shard"]) * entry["shard"])
        if rule in ("build_examples", "extract_attention", "cache_hidden_states"):
            records = entry["shard"]  # shards are whole
    own = (
        role in ("", "training", "task", *_MODELS)
        or model == settings.get("other_model")
        or model == study_model(config, run, rule.split("_")[0])
    )
    judged = limit_of(config, run, settings["dependencies"]) if role == "probe_training" else 0
    return work(Part(shape_of(config["models"][model]), typical_tokens(entry), records, settings, own, judged, role))


def seconds(coefficients: Mapping[str, Mapping[str, float]], rule: str, work: Work) -> float:
    """Expected seconds of a job; jobs of rules that were never measured take those of a typical small job."""
    own = coefficients.get(_SAME_COST.get(rule, rule)) or coefficients["other"]
    return own.get("fixed", 0.0) + sum(amount * own.get(kind, 0.0) for kind, amount in work.items())


def fit(measured: Iterable[tuple[str, Work, float]]) -> dict[str, dict[str, float]]:
    """Coefficients of each rule by non-negative least squares of relative errors.

    Args:
        measured: rule, work and seconds of each measured job.

    Returns:
        rule -> {"fixed": seconds, kind of work: seconds for one}; under "other" the median of all jobs without work.
    """
    by_rule: dict[str, list[tuple[Work, float]]] = {}
    for rule, work, taken in measured:
        by_rule.setdefault(_SAME_COST.get(rule, rule), []).append((work, taken))
    fixed = [taken for jobs in by_rule.values() for work, taken in jobs if not work]
    found = {"other": {"fixed": float(np.median(fixed)) if fixed else 2.0}}
    for rule, jobs in by_rule.items():
        kinds = sorted({kind for work, _ in jobs for kind in work})
        times = np.asarray([max(taken, 0.1) for _, taken in jobs])
        columns = np.asarray([[1.0, *(work.get(kind, 0.0) for kind in kinds)] for work, _ in jobs])
        solution, _ = nnls(columns / times[:, None], np.ones(len(jobs)))
        found[rule] = {name: float(value) for name, value in zip(["fixed", *kinds], solution, strict=True) if value > 0}
    return found


def read_coefficients(path: str | Path = COEFFICIENTS_PATH) -> dict[str, Any]:
    """The fitted coefficients and what they were measured on."""
    found: dict[str, Any] = read_yaml(Path(path))
    return found


@dataclass(frozen=True)
class Planned:
    """A job of a plan: its rule, seconds, processors, and the jobs that it waits for, by position."""

    rule: str
    seconds: float
    threads: int
    after: tuple[int, ...]


def makespan(jobs: Sequence[Planned], processors: int, delay: float = 0.0) -> float:
    """Seconds from the first start to the last end when every job starts as soon as it can, longest first.

    Args:
        jobs: each after the jobs that it waits for.
        processors: how many there are; a job that wants more takes all.
        delay: seconds between a job being ready and its start (a cluster's queue and start-up).
    """
    # A job's weight is the longest way from it to the end.
    weight = [job.seconds for job in jobs]
    for place in range(len(jobs) - 1, -1, -1):
        for before in jobs[place].after:
            weight[before] = max(weight[before], jobs[before].seconds + weight[place])
    waiting = [len(set(job.after)) for job in jobs]
    followers: list[list[int]] = [[] for _ in jobs]
    for place, job in enumerate(jobs):
        for before in set(job.after):
            followers[before].append(place)
    ready = [(-weight[place], place) for place, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    running: list[tuple[float, int]] = []
    now, free = 0.0, processors
    while ready or running:
        held = []
        while ready:
            entry = heapq.heappop(ready)
            wanted = min(jobs[entry[1]].threads, processors)
            if wanted <= free:
                free -= wanted
                heapq.heappush(running, (now + delay + jobs[entry[1]].seconds, entry[1]))
            else:
                held.append(entry)
        for entry in held:
            heapq.heappush(ready, entry)
        now, done = heapq.heappop(running)
        free += min(jobs[done].threads, processors)
        for place in followers[done]:
            waiting[place] -= 1
            if not waiting[place]:
                heapq.heappush(ready, (-weight[place], place))
    return now
