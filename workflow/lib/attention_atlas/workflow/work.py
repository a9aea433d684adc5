"""What a job works on: model, corpus, records and settings, from which its cost, memory, threads and device follow.

Kinds of work of the cost model (`cost_model`); those that all rules share (passes through models) are in `passes`:
    gcells: 1e9 cells of attention maps that are read or written
    gpairs: 1e9 cells compared between two heads
    gfitted: 1e9 features that regressions are fitted to
    records: examples
    kwords, distance_kwords: 1,000 words that the probes of one seed, or the probes on distances, are trained on
    kdecoded: 1,000 sentences that probes are evaluated on
    kmaps: 1,000 maps that are classified as images
    gdrawn: 1e9 random weights that are drawn for untrained models
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from attention_atlas.models.head_training import CHOSEN, head_training_steps
from attention_atlas.workflow import passes
from attention_atlas.workflow.costs import VOCABULARY, Shape, shape_of, typical_tokens
from attention_atlas.workflow.lookups import Config, Pair, limit_of

GIGA = 1e9
TRANSLATION_VOCABULARY = 50_000
"""Vocabulary size of a translation model that is not known before the model is loaded (Helsinki-NLP: 53,017 and 59,514)."""
Work = dict[str, float]
"""Kind of work -> amount."""


@dataclass(frozen=True)
class Place:
    """Identity of a job: its run, the study of its rule (empty for the shared rules) and its wildcards."""

    config: Config
    run: str
    study: str
    wildcards: Mapping[str, str]

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the study in the run; empty for the shared rules."""
        settings: Mapping[str, Any] = self.config["runs"][self.run][self.study] if self.study else {}
        return settings


@dataclass(frozen=True)
class Part:
    """What a job works on.

    Attributes:
        place: run, study and wildcards of the job.
        model_name, corpus_name: names in the registries.
        records: records of the corpus that the job reads.
        total: records of the corpus that all jobs of the rule read together.
    """

    place: Place
    model_name: str
    corpus_name: str
    records: int
    total: int

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `Place`."""
        return self.place.settings

    @property
    def model(self) -> Mapping[str, Any]:
        """Registry entry of the model."""
        entry: Mapping[str, Any] = self.place.config["models"][self.model_name]
        return entry

    @property
    def corpus(self) -> Mapping[str, Any]:
        """Registry entry of the corpus."""
        entry: Mapping[str, Any] = self.place.config["corpora"][self.corpus_name]
        return entry

    @property
    def shape(self) -> Shape:
        """Shape of the model."""
        return shape_of(self.model)

    @property
    def heads(self) -> int:
        """Number of heads of the whole model."""
        return self.shape.layers * self.shape.heads

    @property
    def tokens(self) -> float:
        """Mean number of tokens per example."""
        return typical_tokens(self.corpus)

    @property
    def gflop(self) -> float:
        """GFLOP of a forward pass over the records."""
        return self.records * self.shape.forward_flop(self.tokens) / GIGA

    @property
    def forward(self) -> Work:
        """Work of a forward pass over the records, in batches of similar length."""
        return passes.forward(self.shape, self.records, self.tokens)

    @property
    def gcells(self) -> float:
        """Cells of the maps of the records, in 1e9."""
        return self.records * self.shape.cells(self.tokens) / GIGA

    @property
    def gpairs(self) -> float:
        """Cells of the maps of the records, compared between all pairs of heads, in 1e9."""
        return self.records * self.tokens**2 * self.heads * (self.heads - 1) / 2 / GIGA


@dataclass(frozen=True)
class Job:
    """Inputs and resources of the jobs of a rule.

    Attributes:
        reads: model and corpus of a job; None if neither its work nor its memory depends on them.
        work: amounts of work, for the cost model; None for jobs that always take a few seconds.
        gpu_work: amounts of work on a GPU; None where they are the same.
        memory: upper limit in megabytes; None if the rule sets a fixed number.
        minutes: upper limit of the run time; None if the rule sets a fixed number.
        passes: forward passes over single examples, which determine its number of threads; None for one thread.
        records: maximum number of records, from the study's settings.
        whole_shards: whether it works on a whole shard even if the run reads fewer records.
        gpu: whether it runs on a GPU if there is one.
        model_bound: whether most of its time is spent on model operations, which can run on a GPU.
        kept_bytes: size of its output files; None for tables and figures, which are small.
        attention: whether these files are attention maps, removed after their last reader if `keep_attention` is false.
        scratch_bytes: disk space in use only while it runs.
        measured_as: rule whose coefficients of the cost model it shares; empty if it has separate ones.
    """

    reads: Callable[[Place], Pair] | None = None
    work: Callable[[Part], Work] | None = None
    gpu_work: Callable[[Part], Work] | None = None
    memory: Callable[[Part], int] | None = None
    minutes: Callable[[Part], int] | None = None
    passes: Callable[[Part], float] | None = None
    records: Callable[[Mapping[str, Any]], int] | None = None
    whole_shards: bool = False
    gpu: bool = False
    model_bound: bool = False
    kept_bytes: Callable[[Part], float] | None = None
    attention: bool = False
    scratch_bytes: Callable[[Part], float] | None = None
    measured_as: str = ""

    def part(self, place: Place) -> Part:
        """What a job works on.

        Raises:
            AtlasError: the run does not name the corpus or model that the job reads.
        """
        if self.reads is None:
            raise ValueError("the resources of this job do not depend on a model or corpus")
        model, corpus = self.reads(place)
        total = limit_of(place.config, place.run, corpus)
        if self.records is not None:
            total = min(total, self.records(place.settings))
        records = total
        if "shard" in place.wildcards:
            size = place.config["corpora"][corpus]["shard"]
            records = size if self.whole_shards else min(size, total - int(place.wildcards["shard"]) * size)
        return Part(place, model, corpus, records, total)


def in_path(place: Place) -> Pair:
    """Model and corpus in the path."""
    return place.wildcards["model"], place.wildcards["corpus"]


def in_training(place: Place) -> Pair:
    """The fine-tuned model in the path, and the corpus that it is trained on."""
    model = place.wildcards["model"]
    return model, place.config["models"][model]["training"]["corpus"]


def mlm_head_gflop(part: Part) -> float:
    """Training steps of a masked-LM head, as GFLOP of the vocabulary scores, forward and backward."""
    settings = part.model["mlm_head"]
    masked_tokens = CHOSEN * settings["copies"] * part.total * part.tokens
    predictions = float(head_training_steps(settings, masked_tokens) * settings["batch"])
    return 6 * predictions * VOCABULARY * part.shape.hidden / GIGA


def random_batches(part: Part) -> bool:
    """Whether training batches contain examples of any length."""
    settings = part.model["training"]
    return settings["task"] == "translation" or settings.get("batches") == "random"


def translation_vocabulary(part: Part) -> int:
    """Vocabulary size of a translation model; for a model trained in the workflow, that of its base."""
    models = part.place.config["models"]
    base = models.get(part.model["source"].get("fine_tuned", ""), part.model)
    return int(base["source"].get("untrained", {}).get("vocabulary", TRANSLATION_VOCABULARY))
