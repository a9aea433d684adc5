"""The sample run from start to end, smaller, and what happens afterwards: nothing, or only what has to."""

import re

import numpy as np
import pandas as pd
import pytest
from planned_jobs import jobs_in
from rules_text import MEASURED, RULES, bases_of, every_rule, rules_of
from workspaces import EDGE_TASK, LAYERS, OVERLAY, ROOT, SHOWN_BY_JOBS, SMALL, Workspace, digests

from attention_atlas.atlas.page import data_of_page
from attention_atlas.methods.head_types import FEATURES, TYPES, UNNAMED, fits
from attention_atlas.workflow.config import read_configuration
from attention_atlas.workflow.study import artifacts

LIBRARY = "workflow/lib/attention_atlas"
IN_SAMPLE = read_configuration(ROOT)["runs"]["sample"]
ARTIFACTS = [(study, artifact) for study, artifact in artifacts() if study.id in IN_SAMPLE]
"""All artefacts of the studies that the sample run has."""
REPEATED = {
    "describe_model": "models/minilm-random-1/card.json",
    "build_examples": "examples/minilm/sample-gap/0.parquet",
    "fine_tune": "models/minilm-glue-mrpc-random-42/checkpoint/config.json",
    "mlm_head": "models/minilm/mlm_head/sample-segments.safetensors",
    "extract_attention": "attention/minilm/sample-frames/0.safetensors",
    "atlas_random_scores": "atlas/models/minilm/random_scores.safetensors",
    "atlas_head_scores": "atlas/models/minilm/head_scores.tsv",
    "atlas_relations": "atlas/models/minilm/relation_effects.tsv",
    "clark2019_gradients": "clark2019/gradients.tsv",
    "clark2019_probes": "clark2019/probes/minilm.tsv",
    "clark2019_clustering": "clark2019/head_distances.tsv",
    "guan2020_ablations": "guan2020/ablations/shards/0.parquet",
    "guan2020_answers": "guan2020/answers.parquet",
    "kovaleva2019_predictions": "kovaleva2019/predictions/mrpc.parquet",
    "kovaleva2019_patterns": "kovaleva2019/patterns/network.safetensors",
    "kovaleva2019_measures": "kovaleva2019/measures/mrpc-42.safetensors",
    "michel2019_masked": "michel2019/masked/translation.parquet",
    "michel2019_pruned": "michel2019/pruned/classification.parquet",
    "michel2019_dynamics": "michel2019/dynamics.parquet",
    "stefanik2021_removal": "stefanik2021/removals/minilm-keyphrases-keyphrases-42.parquet",
    "stefanik2021_scores": "stefanik2021/extraction/baselines.tsv",
    "tenney2019_probes": f"tenney2019/probes/minilm/{EDGE_TASK}.scores.tsv",
}
"""Rule that runs a model, or makes what models are run on -> a file of one of its jobs, nearly none made from another one's."""
UNTRAINED = "results/sample/models/marian-sample-untrained/untrained/config.json"
TORCH_OR_NUMPY = "clark2019_clustering"
"""The rule that computes with torch on a GPU and with numpy elsewhere: the same within rounding (a test of its own)."""
SNAKEMAKE = 300
"""Megabytes of the Snakemake around a job on a cluster."""
TIMED = ("michel2019_timing", "michel2019_table4")
"""Rules whose tables are of seconds, which differ."""
WITHOUT_JOBS = {"fetch_corpus", "read_attention"}
"""Rules that need a network, or the maps that authors released."""
PRETENDED = ROOT / "tests" / "pretend_gpu"


def test_every_rule_that_measures_has_had_a_job_and_a_few_others(done):
    jobs = jobs_in(done.snakemake(*SMALL, "--dry-run", "--forceall").stdout)
    assert every_rule() - {job.rule for job in jobs} == WITHOUT_JOBS
    ended = {job.rule for job in jobs if (done.folder / job.benchmark).exists()}
    assert ended == (rules_of(*RULES).keys() - WITHOUT_JOBS) | SHOWN_BY_JOBS
    assert not [path for job in jobs if job.rule in ended for path in job.outputs if not (done.folder / path).exists()]


@pytest.mark.long
def test_every_artefact_is_there_and_no_job_took_more_memory_than_it_asked_for(complete):
    for study, artifact in ARTIFACTS:
        for path in study.paths(artifact, "sample"):
            assert (complete.folder / path).stat().st_size > 100, path
    assert complete.jobs(*SMALL) == {}
    for job in jobs_in(complete.snakemake(*SMALL, "--dry-run", "--forceall").stdout):
        # A scheduler ends a job that takes more than it asked for; on a cluster Snakemake stands around it.
        taken = pd.read_csv(complete.folder / job.benchmark, sep="\t", na_values="-")["max_rss"].iloc[0]
        assert not taken > job.megabytes - SNAKEMAKE, f"{job.benchmark}: {taken} MiB of {job.megabytes} MB"


def table(done: Workspace, name: str) -> pd.DataFrame:
    return pd.read_csv(done.folder / f"results/sample/{name}.tsv", sep="\t")


def test_tables_of_clark2019_and_guan2020_hold_what_they_must(done):
    heads, table1 = table(done, "clark2019/dependency_heads"), table(done, "clark2019/table1")
    assert (heads.groupby("relation").size() == LAYERS * 12 * 2).all()
    assert ((heads["correct"] / heads["n"] - heads["accuracy"]).abs() < 1e-5).all()
    best = heads[heads["relation"].isin(table1["relation"])].groupby("relation")["accuracy"].max()
    assert np.allclose(table1.set_index("relation")["accuracy"], best[table1["relation"]], atol=1e-5)
    assert table1["accuracy"].between(table1["accuracy_ci_low"], table1["accuracy_ci_high"]).all()
    distances = table(done, "clark2019/head_distances")
    assert len(distances) == 36 * 35 / 2
    assert distances["js"].between(0, np.log(2)).all()
    coreference = table(done, "clark2019/table2").set_index(["system", "mention_type"])
    heads = table(done, "clark2019/coreference_heads").query("mention_type == 'all'")
    assert coreference.loc[("best_head", "all"), "correct"] == heads["correct"].max()
    types, table2 = table(done, "guan2020/head_types"), table(done, "guan2020/table2")
    assert set(types["cluster"]) == set(TYPES)
    assert types[list(FEATURES)].sum(axis=1).to_numpy() == pytest.approx(1, abs=2e-3)
    unnamed = (types["type"] == UNNAMED).groupby(types["cluster"]).all()[list(TYPES)]
    means = types.groupby("cluster")[list(FEATURES)].mean().loc[list(TYPES)]
    assert unnamed.tolist() == (np.diag(fits(means.to_numpy())) <= 0).tolist(), "only what fits its name has it"
    pruned, counts = table2.set_index("row")["heads"], types["cluster"].value_counts()
    assert (pruned[2], pruned[3]) == (counts["dense"], counts["diagonal"])


def test_the_atlas_has_all_measures_and_the_scoreboard_all_values(done):
    heads, measures = table(done, "atlas/heads"), table(done, "atlas/measures")
    assert heads[["model", "layer", "head"]].drop_duplicates().shape[0] == len(heads) == 36
    assert measures["note"].isna().all(), "every measure has values"
    assert set(measures["measure"]) <= set(heads.columns)
    page = (done.folder / "results/sample/atlas/atlas.html").read_text(encoding="utf-8")
    assert len(page.encode()) <= 3_000_000, "it opens fast"
    assert (data_of_page(page)["layers"], data_of_page(page)["heads"]) == (3, 12)
    values, board = table(done, "comparison"), table(done, "scoreboard").set_index("study")
    sizes = [len(pd.read_csv(path, sep="\t")) for path in (done.folder / "results/sample").glob("*2*/comparison.tsv")]
    assert (len(sizes), sum(sizes)) == (6, len(values))
    compared = ["match", "covered_by_our_interval", "differs"]
    assert board.loc["all", compared].tolist() == [0, 0, 0], "sample numbers are not the papers'"


def edit(copy: Workspace, name: str, old: str, new: str) -> None:
    """Replace what stands once in a file of the library."""
    source = copy.folder / LIBRARY / name
    text = source.read_text(encoding="utf-8")
    assert text.count(old) == 1, (name, old)
    source.write_text(text.replace(old, new), encoding="utf-8")


FIGURE2 = ("studies/clark2019/figures.py", "PAGE, 4.2, sharex", "PAGE, 4.4, sharex")
MESSAGE = ("there is nothing to train on: no example", "there is nothing to learn from: no example")


def test_an_edit_of_a_figure_reruns_it_alone_and_a_comment_or_a_message_nothing(copy):
    engine = copy.folder / LIBRARY / "attention/engine.py"
    engine.write_text(engine.read_text(encoding="utf-8") + "\n# a remark\n", encoding="utf-8")
    edit(copy, "models/fine_tuning.py", *MESSAGE)
    edit(copy, *FIGURE2)
    omitted = every_rule() - rules_of(*RULES).keys() - SHOWN_BY_JOBS
    assert copy.jobs(*SMALL, "--omit-from", *omitted) == {"clark2019_figure2": 1}


@pytest.mark.long
def test_twice_as_many_segments_make_only_new_shards(copy):
    overlay = copy.folder / "small.yaml"
    overlay.write_text(OVERLAY.replace("sample-segments: {limit: 12", "sample-segments: {limit: 24"), encoding="utf-8")
    jobs = copy.jobs(*SMALL)
    assert (jobs["extract_attention"], jobs["build_examples"]) == (1, 1)
    # What reads the segments is measured again; what reads other corpora, and models and raw text, is not.
    assert (jobs["clark2019_surface"], jobs["clark2019_clustering"]) == (1, 1)
    assert not {"sample_corpus", "describe_model", "clark2019_dependencies", "clark2019_probes"} & jobs.keys()


@pytest.mark.long
def test_the_same_jobs_give_the_same_bytes_also_on_a_pretended_gpu(copy):
    """Every kind of job once more: one job of each rule that runs a model, all those of tables and figures.

    The jobs with models run on a GPU that is pretended: their tensors are kept apart as those of a real one are, the arithmetic
    is the same.
    """
    first = digests(copy)
    (copy.folder / UNTRAINED).unlink()
    for path in REPEATED.values():
        (copy.folder / f"results/sample/{path}").unlink()
    there = {rule: f"results/sample/{path}" for rule, path in REPEATED.items() if rule != TORCH_OR_NUMPY}
    output = copy.snakemake(*SMALL, "--allowed-rules", *there, "--", *there.values(), PYTHONPATH=str(PRETENDED)).stdout
    assert set(re.findall(r"Finished jobid: \d+ \(Rule: (\w+)\)", output)) == there.keys()
    planned = copy.snakemake(*SMALL, "--config", "device=cuda", "--dry-run", "--forceall").stdout
    jobs = jobs_in(planned)
    asking = {job.rule for job in jobs if job.gpus}
    used = {job.rule for job in jobs if "on a pretended GPU" in (copy.folder / job.log).read_text(encoding="utf-8")}
    assert used == asking & there.keys()
    rest = [UNTRAINED, f"results/sample/{REPEATED[TORCH_OR_NUMPY]}"]
    copy.snakemake(*SMALL, "--allowed-rules", "untrained_model", TORCH_OR_NUMPY, "--", *rest)
    rules = copy.jobs(*SMALL, "--forceall").keys() - REPEATED.keys() - {"untrained_model", *TIMED}
    copy.snakemake(*SMALL, "--forceall", "--allowed-rules", *sorted(rules))
    second = digests(copy)
    assert second.keys() == first.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_every_rule_that_runs_a_model_is_repeated():
    texts = rules_of(MEASURED, *RULES)
    with_model = {rule for rule in rules_of(*RULES) if any("envs/model.yaml" in texts[base][1] for base in bases_of(rule))}
    # What is fetched is not made here; `fine_tune_by_epoch` is `fine_tune`.
    others = {"fetch_corpus", "untrained_model", "fine_tune_by_epoch", *TIMED}
    assert with_model - others == REPEATED.keys() - {"build_examples"}
