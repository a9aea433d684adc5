"""Priorities by the longest chain: against all paths of small graphs, and their effect on a schedule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st
from shipped_runs import shipped, wildcards
from snakemake.iocontainers import Wildcards

from attention_atlas.workflow.cost_model import disk_of, workload
from attention_atlas.workflow.plan import Capacity, Planned, makespan, schedule
from attention_atlas.workflow.priorities import (
    HOURS,
    LARGE_SCRATCH,
    LARGE_SCRATCH_BYTES,
    LONGEST_CHAIN,
    SHORTEST_CHAIN,
    ChainPriorities,
    chain_lengths,
    priority_of,
)


def paths_from(job, followers):
    """All paths from a job on, shorter ones included."""
    yield [job]
    for later in followers[job]:
        for path in paths_from(later, followers):
            yield [job, *path]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.sets(st.integers(1, 7))), min_size=1, max_size=8))
def test_the_length_of_a_chain_is_that_of_the_longest_path(drawn):
    amounts = {job: amount for job, (amount, _) in enumerate(drawn)}
    followers = {job: {job + step for step in steps if job + step < len(drawn)} for job, (_, steps) in enumerate(drawn)}
    expected = {job: max(sum(amounts[part] for part in path) for path in paths_from(job, followers)) for job in amounts}
    assert chain_lengths(amounts, followers.__getitem__) == expected


def test_jobs_that_are_already_built_add_nothing():
    followers = {"train": ["measure", "built"], "measure": [], "built": ["measure"]}
    assert chain_lengths({"train": 3.0, "measure": 2.0}, followers.__getitem__) == {"train": 5.0, "measure": 2.0}


def test_each_doubling_of_a_chain_adds_one_to_the_priority_within_bounds():
    added = {1e6: 0, 1.99e6: 0, 2e6: 1, 3.99e6: 1, 4e6: 2, 1.02e8: 6, 1e12: LONGEST_CHAIN - HOURS}
    assert {gflop: priority_of(gflop) - HOURS for gflop in added} == added
    assert priority_of(1e12, LARGE_SCRATCH_BYTES - 1) == LONGEST_CHAIN < priority_of(0, LARGE_SCRATCH_BYTES) == LARGE_SCRATCH


def test_chains_of_minutes_start_in_the_order_of_their_lengths_after_those_of_hours():
    """In the laptop run: SQuAD with the ablations that wait for it, before a fine-tuning that only tables wait for."""
    lengths = [0, 0.5, 4, 5e4, 1e5, 9.9e5]
    priorities = [priority_of(gflop) for gflop in lengths]
    assert priorities == sorted(priorities)
    assert priorities[:2] == [SHORTEST_CHAIN] * 2
    assert len(set(priorities[1:])) == len(priorities) - 1
    assert priorities[-1] < HOURS == priority_of(1e6)
    squad, keyphrases = (
        ("fine_tune", wildcards("laptop", model=name))
        for name in ("minilm-squad-laptop", "minilm-keyphrases-laptop-keyphrases-42")
    )
    ablations = ("guan2020_ablations", wildcards("laptop", shard=0))
    chains = ChainPriorities(shipped(), lambda: Graph([squad, ablations, keyphrases], {0: [1]}))
    assert chains.priority(squad[1], squad[0]) > chains.priority(keyphrases[1], keyphrases[0])


class Graph:
    """What `ChainPriorities` reads of Snakemake's graph: the jobs still to run, and the jobs that read the output of each."""

    def __init__(self, places, followers):
        jobs = [Job(SimpleNamespace(name=rule), dict(names.items())) for rule, names in places]
        self.jobs = jobs
        self.depending = {jobs[place]: dict.fromkeys(jobs[later] for later in rest) for place, rest in followers.items()}

    def needrun_jobs(self):
        return iter(self.jobs)


@dataclass(frozen=True, eq=False)
class Job:
    """A job of `Graph`, with the attributes of Snakemake's jobs; equal only to itself."""

    rule: SimpleNamespace
    wildcards_dict: dict[str, str]


def gflop(rule, names):
    """Declared by a job of the shipped configuration."""
    return workload(shipped(), rule, dict(names.items()))["gflop"]


QQP = ("fine_tune", wildcards("paper", model="bert-base-glue-qqp-42"))
DISABLED = ("kovaleva2019_disabled", wildcards("paper", task="qqp", seed=42))
"""An evaluation that reads the model of `QQP`, and takes longer than its training."""
SQUAD = ("fine_tune", wildcards("paper", model="bert-base-squad"))
"""A training about as long as that of `QQP`."""


def test_a_training_counts_with_the_jobs_that_wait_for_it():
    places = [QQP, DISABLED, SQUAD]
    alone, followed = (ChainPriorities(shipped(), lambda rest=rest: Graph(places, rest)) for rest in ({}, {0: [1]}))
    for rule, names in places:
        assert alone.priority(names, rule) == priority_of(gflop(rule, names))
    assert (
        followed.priority(QQP[1], QQP[0]) == priority_of(gflop(*QQP) + gflop(*DISABLED)) > followed.priority(SQUAD[1], SQUAD[0])
    )
    assert alone.priority(QQP[1], QQP[0]) == alone.priority(SQUAD[1], SQUAD[0])


def test_jobs_without_wildcards_or_declared_work_have_a_priority_too():
    """Those of a run that this configuration lacks too: of a workflow that uses this one as a module."""
    places = [
        ("all", Wildcards()),
        ("clark2019_table1", wildcards()),
        ("fine_tune", wildcards("elsewhere", model="large")),
        QQP,
    ]
    chains = ChainPriorities(shipped(), lambda: Graph(places, {3: [1], 1: [0]}))
    assert [chains.priority(names, rule) for rule, names in places[:3]] == [SHORTEST_CHAIN] * 3


def test_probes_which_take_most_of_the_disk_start_before_long_jobs_whose_outputs_stay():
    """Otherwise caches and checkpoints accumulate beside their scratch space."""
    pos, relations = (
        ("tenney2019_probes", wildcards("paper", model="bert-large-uncased", edge_tasks=task, seed_part=0))
        for task in ("pos", "relations")
    )
    longest = ("fine_tune", wildcards("paper", model="bert-large-mnli"))
    chains = ChainPriorities(shipped(), lambda: Graph([pos, relations, longest], {}))
    assert disk_of(shipped(), pos[0], dict(pos[1].items())).scratch > LARGE_SCRATCH_BYTES
    assert (
        chains.priority(pos[1], pos[0]) > chains.priority(longest[1], longest[0]) > chains.priority(relations[1], relations[0])
    )


def test_a_plan_in_which_the_order_matters_is_shorter_with_priorities():
    """Two processors, three short jobs, and last in the file a training with an evaluation that waits for it."""
    seconds = [4, 4, 4, 3, 9]
    after = [(), (), (), (), (3,)]
    lengths = chain_lengths(dict(enumerate(seconds)), lambda job: [place for place, read in enumerate(after) if job in read])
    without = [Planned("r", time, 1, read) for time, read in zip(seconds, after, strict=True)]
    chained = [replace(job, priority=priority_of(1e6 * lengths[place])) for place, job in enumerate(without)]
    assert makespan(without, 2) == 4 + 3 + 9
    assert makespan(chained, 2) == 3 + 9 == sum(seconds) / 2, "no order is shorter"
    assert schedule(chained, Capacity(2))[3] == (0, 3)
