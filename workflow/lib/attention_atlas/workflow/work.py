"""What a job works on: model, corpus, records and settings, from which its cost, memory, threads and device follow.

Kinds of work, for the cost model (`cost_model`); those that all rules share, of passes through models, are in `passes`:
    gcells: 1e9 cells of attention maps that are read or written
    gpairs: 1e9 cells compared between two heads
    gfitted: 1e9 features that regressions are fitted to
    records: examples
    kwords, distance_kwords: 1,000 words that the probes of one seed are trained on; that probes on distances are
    kdecoded: 1,000 sentences that probes are evaluated on
    kmaps: 1,000 maps that are classified as pictures
    gdrawn: 1e9 random weights that are drawn for models without training
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from attention_atlas.workflow import passes
from attention_atlas.workflow.costs import VOCABULARY, Shape, shape_of, typical_tokens
from attention_atlas.workflow.lookups import Config, Pair, limit_of

GIGA = 1e9
TRANSLATION_VOCABULARY = 50_000
"""Pieces of a translation model whose vocabulary is not known before it is loaded (Helsinki-NLP: 53,017 and 59,514)."""
Work = dict[str, float]
"""Kind of work -> amount."""


@dataclass(frozen=True)
class Place:
    """Where a job is: its run, the study of its rule (empty for the shared rules) and its wildcards."""

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
        place: where the job is.
        model_name, corpus_name: in the registries.
        records: of the corpus that the job reads.
        total: of the corpus that all jobs of the rule read together.
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
        """Of the model."""
        return shape_of(self.model)

    @property
    def heads(self) -> int:
        """Of the whole model."""
        return self.shape.layers * self.shape.heads

    @property
    def tokens(self) -> float:
        """Tokens of an example on average."""
        return typical_tokens(self.corpus)

    @property
    def gflop(self) -> float:
        """A forward pass over the records."""
        return self.records * self.shape.forward_flop(self.tokens) / GIGA

    @property
    def forward(self) -> Work:
        """A forward pass over the records, in batches of like length."""
        return passes.forward(self.shape, self.records, self.tokens)

    @property
    def gcells(self) -> float:
        """Cells of the maps of the records."""
        return self.records * self.shape.cells(self.tokens) / GIGA

    @property
    def gpairs(self) -> float:
        """Cells of the maps of the records, compared between all pairs of heads."""
        return self.records * self.tokens**2 * self.heads * (self.heads - 1) / 2 / GIGA


@dataclass(frozen=True)
class Job:
    """What the jobs of a rule take.

    Attributes:
        reads: model and corpus of a job; None where neither its work nor its memory depends on them.
        work: amounts of work, for the cost model; None for jobs of a fixed few seconds.
        memory: megabytes that it stays below; None where the rule names a fixed number.
        minutes: that it stays below; likewise.
        passes: forward passes over single examples, from which its number of threads follows; None for one thread.
        records: bound of the records from the study's settings.
        whole_shards: whether it works on a whole shard, also where the run reads fewer records.
        gpu: whether it runs on a GPU where there is one.
        model_bound: whether most of its time is that of a model's operations, which a GPU takes over.
        kept_bytes: of its output files; None for tables and figures, which take little.
        attention: whether these files are attention maps, which go after their last reader where `keep_attention` is false.
        scratch_bytes: that it takes while it runs.
        measured_as: rule whose coefficients of the cost model it shares; empty for its own.
    """

    reads: Callable[[Place], Pair] | None = None
    work: Callable[[Part], Work] | None = None
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
            AtlasError: the run does not name what it reads.
        """
        if self.reads is None:
            raise ValueError("what this job takes does not depend on what it reads")
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
    """Model and corpus of the path."""
    return place.wildcards["model"], place.wildcards["corpus"]


def in_training(place: Place) -> Pair:
    """The fine-tuned model in the path, and what it is trained on."""
    model = place.wildcards["model"]
    return model, place.config["models"][model]["training"]["corpus"]


def mlm_head_gflop(part: Part) -> float:
    """Steps of training a masked-language-model head, as GFLOP of the scores over the vocabulary, forward and backward."""
    settings = part.model["mlm_head"]
    predictions = float(settings["steps"] * settings["batch"])
    return 6 * predictions * VOCABULARY * part.shape.hidden / GIGA


def padded_tokens(part: Part) -> float:
    """Tokens of an example in training, padding included: a random batch is trained in parts of like length."""
    return min(part.tokens * (1.2 if random_batches(part) else 1.1), float(part.corpus["max_tokens"]))


def random_batches(part: Part) -> bool:
    """Whether examples of any length share a batch in training."""
    settings = part.model["training"]
    return settings["task"] == "translation" or settings.get("batches") == "random"


def translation_vocabulary(part: Part) -> int:
    """Pieces that a translation model knows: of those that are trained here as their base says."""
    models = part.place.config["models"]
    base = models.get(part.model["source"].get("fine_tuned", ""), part.model)
    return int(base["source"].get("untrained", {}).get("vocabulary", TRANSLATION_VOCABULARY))
