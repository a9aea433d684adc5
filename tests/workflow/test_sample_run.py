"""The sample run from start to end, smaller, and what happens afterwards: nothing, or only what has to."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from planned_jobs import jobs_in
from rules_text import every_rule
from workspaces import EDGE_TASK, GLUE_TASK, OVERLAY, ROOT, SMALL, Workspace, digests

from attention_atlas.atlas.page import data_of_page
from attention_atlas.attention.cache import read_attention
from attention_atlas.io.tables import escaped
from attention_atlas.methods.head_types import FEATURES, TYPES, UNNAMED, fits
from attention_atlas.published.compare import VERDICTS
from attention_atlas.studies.kovaleva2019 import CLASSES
from attention_atlas.workflow.config import read_configuration
from attention_atlas.workflow.study import artifacts
from tools.results import write_results

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
"""Rule that runs a model, or makes what models are run on -> a file of one of its jobs in the small run.

Nearly none is made from another one's, so that few further jobs have to run.
"""
UNTRAINED = "results/sample/models/marian-sample-untrained/untrained/config.json"
TORCH_OR_NUMPY = "clark2019_clustering"
"""The rule that computes with torch on a GPU and with numpy elsewhere: the same within rounding (a test of its own)."""
SNAKEMAKE = 300
"""Megabytes of the Snakemake around a job on a cluster."""
PRETENDED = ROOT / "tests" / "pretend_gpu"
TIMED = ("michel2019_timing", "michel2019_table4")
"""Rules whose tables are of seconds, which differ."""
FIGURES_REPEATED = {
    "clark2019_figure2",
    "guan2020_figure2",
    "kovaleva2019_figure3",
    "michel2019_figure2",
    "tenney2019_figure1",
    "stefanik2021_head_ranking",
    "atlas_correlations",
}


def test_every_artefact_is_there_and_every_rule_has_had_a_job(done):
    for study, artifact in ARTIFACTS:
        for path in study.paths(artifact, "sample"):
            assert (done.folder / path).stat().st_size > 100, path
    output = done.snakemake(*SMALL, "--dry-run", "--forceall").stdout
    jobs = jobs_in(output)
    assert every_rule() - {job.rule for job in jobs} == {"fetch_corpus"}, "which needs a network"
    for job in jobs:
        # A scheduler ends a job that takes more than it asked for; on a cluster Snakemake stands around it.
        taken = pd.read_csv(done.folder / job.benchmark, sep="\t", na_values="-")["max_rss"].iloc[0]
        assert not taken > job.megabytes - SNAKEMAKE, f"{job.benchmark}: {taken} MiB of {job.megabytes} MB"


_REPORTED = re.compile(
    r'"(results/sample/[^"]+)": \{"name".{,400}?"labels": (\{[^}]*\}).{,200}?"caption": ("(?:[^"\\]|\\.)*")', flags=re.S
)
"""A file in a report: path, labels, caption."""


@pytest.mark.long
def test_the_report_holds_every_artefact_with_its_caption(done, tmp_path):
    done.snakemake(*SMALL, "--report", str(tmp_path / "report.zip"))
    assert (tmp_path / "report.zip").stat().st_size > 100_000
    with zipfile.ZipFile(tmp_path / "report.zip") as archive:
        page = archive.read("report/report.html").decode("utf-8")
        sizes = {Path(info.filename).name: info.file_size for info in archive.infolist() if "/data/raw/" in info.filename}
    reported = {path: (json.loads(labels), json.loads(caption)) for path, labels, caption in _REPORTED.findall(page)}
    for study, artifact in ARTIFACTS:
        suffix = ".svg" if artifact.kind == "figure" else ".html"
        path = next(path for path in study.paths(artifact, "sample") if path.endswith(suffix))
        labels, caption = reported[path]
        assert labels == {"run": "sample", "artefact": artifact.number, "shows": artifact.title}
        text = html.unescape(re.sub("<[^>]+>", "", caption))
        assert text.split() == f"{artifact.caption} Run sample.".split()
        assert sizes[Path(path).name] > 100


def test_links_of_every_page_lead_to_files_of_the_run(done):
    linked = 0
    for study, artifact in ARTIFACTS:
        for path in (done.folder / path for path in study.paths(artifact, "sample") if path.endswith(".html")):
            navigation = re.search(r"<nav aria-label='Files and sources'>(.*?)</nav>", path.read_text(encoding="utf-8"))
            if path.name == "atlas.html":
                assert navigation is None
                continue
            addresses = [html.unescape(address) for address in re.findall("href='(.*?)'", navigation[1])]
            local = [address for address in addresses if not address.startswith("https://")]
            assert [address for address in local if not (path.parent / address).is_file()] == [], path
            linked += len(local)
    assert linked > 90


def test_every_link_of_the_index_page_leads_to_a_file(done):
    """Relative links alone: the page is read from the disk, without a network."""
    folder = done.folder / "results/sample"
    page = (folder / "index.html").read_text(encoding="utf-8")
    links = set(re.findall(r'(?:href|src)="([^"]+)"', page))
    sections = {link for link in links if link.startswith("#")}
    assert all(f'id="{link[1:]}"' in page for link in sections)
    assert [link for link in links - sections if not (folder / link).is_file()] == []
    declared = {path for study, artifact in ARTIFACTS for path in study.paths(artifact, "sample")}
    assert declared == {f"results/sample/{link}" for link in links - sections}
    assert "http" not in page


def test_a_second_start_does_nothing(done):
    assert "Nothing to be done" in done.snakemake(*SMALL).stdout


DRAW_AGAIN = """
from attention_atlas.workflow.shown import call_function, shown
from attention_atlas.workflow.study import studies

for item in [item for study in studies() for item in shown(study)]:
    drawn = call_function(item.call).of("results/sample", "small.yaml")
    assert len(drawn if item.kind == "page" else drawn.frame), item.call
"""


@pytest.mark.long
def test_everything_is_drawn_again_in_a_notebook_and_the_page_on_that_runs(done, tmp_path):
    page = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert len(blocks) == 3
    shutil.copytree(done.folder, tmp_path / "run", ignore=shutil.ignore_patterns(".snakemake"))
    for code in (DRAW_AGAIN, "".join(blocks)):
        command, library = [sys.executable, "-c", code], {**os.environ, "PYTHONPATH": "workflow/lib"}
        again = subprocess.run(command, cwd=tmp_path / "run", env=library, capture_output=True, text=True)
        assert again.returncode == 0, again.stderr


def test_tables_of_guan2020_hold_what_they_must(done):
    folder = done.folder / "results/sample/guan2020"
    types = pd.read_csv(folder / "head_types.tsv", sep="\t")
    assert len(types) == 72
    assert set(types["cluster"]) == set(TYPES)
    assert (types["type"] == types["cluster"].where(types["type"] != UNNAMED, UNNAMED)).all()
    unnamed = (types["type"] == UNNAMED).groupby(types["cluster"]).all()[list(TYPES)]
    means = types.groupby("cluster")[list(FEATURES)].mean().loc[list(TYPES)]
    assert unnamed.tolist() == (np.diag(fits(means.to_numpy())) <= 0).tolist(), "only what fits its name has it"
    assert types[list(FEATURES)].sum(axis=1).to_numpy() == pytest.approx(1, abs=2e-3)
    table2, table3 = (pd.read_csv(folder / f"{name}.tsv", sep="\t") for name in ("table2", "table3"))
    assert table2["row"].tolist() == list(range(1, 12))
    assert table3["row"].tolist() == [1, *(row for row in range(12, 20) for _ in range(2))]
    pruned = table2.set_index("row")["heads"]
    counts = types["cluster"].value_counts()
    assert (pruned[2], pruned[3]) == (counts["dense"], counts["diagonal"])
    controlled = table2["random_sets"] > 0
    assert controlled.any()
    assert table2["em_random_drop"].notna().tolist() == controlled.tolist()
    compared = pd.read_csv(folder / "figure4.tsv", sep="\t")
    assert compared.groupby("model").size().to_dict() == dict.fromkeys(("pretrain", "squad"), 2 * 72)
    comparison = pd.read_csv(folder / "comparison.tsv", sep="\t").set_index("id")
    assert not comparison["comparable"].isin(["exact", "close"]).any(), "sample numbers are not the papers'"


def test_the_atlas_has_all_measures_and_the_scoreboard_all_values(done):
    folder = done.folder / "results/sample"
    heads, measures = (pd.read_csv(folder / f"atlas/{name}.tsv", sep="\t") for name in ("heads", "measures"))
    assert heads[["model", "layer", "head"]].drop_duplicates().shape[0] == len(heads) == 72
    assert measures["note"].isna().all(), "every measure has values"
    assert set(measures["measure"]) <= set(heads.columns)
    assert heads["pattern_class"].isin(CLASSES).all()
    page = (folder / "atlas" / "atlas.html").read_text(encoding="utf-8")
    assert len(page.encode()) <= 3_000_000, "it opens fast"
    data = data_of_page(page)
    assert (data["layers"], data["heads"]) == (6, 12)
    matching = pd.read_csv(folder / "atlas" / "matching.tsv", sep="\t")
    assert matching.groupby("model")["random_weights"].first().to_dict() == {"minilm-random-1": True}
    entropy = pd.read_csv(folder / "clark2019/figure4.tsv", sep="\t").query("source == 'all'")
    assert heads["entropy"].tolist() == entropy.sort_values(["layer", "head"])["entropy"].tolist()
    ranking = pd.read_csv(folder / "stefanik2021/head_ranking.tsv", sep="\t").sort_values(["layer", "head"])
    assert heads["keyphrase_auc"].tolist() == ranking["auc"].tolist()
    assert set(measures.set_index("measure").loc[["masked", "importance"], "model"]) == {"minilm-glue-mrpc-42"}
    values, board = (pd.read_csv(folder / f"{name}.tsv", sep="\t") for name in ("comparison", "scoreboard"))
    comparison_sizes = [len(pd.read_csv(path, sep="\t")) for path in sorted(folder.glob("*2*/comparison.tsv"))]
    assert len(comparison_sizes) == 6
    assert len(values) == sum(comparison_sizes) == board.set_index("study").loc["all", "values"]
    for verdict in VERDICTS:
        counts = board[verdict.replace(" ", "_")]
        assert counts.iloc[:-1].sum() == counts.iloc[-1] == (values["verdict"] == verdict).sum()
    board = board.set_index("study")
    compared = ["match", "covered_by_our_interval", "differs"]
    assert board.loc["all", compared].tolist() == [0, 0, 0], "sample numbers are not the papers'"
    assert board.loc["stefanik2021", "obstacles"] == "corpus not published (13)"


def test_the_page_of_results_has_the_verdicts_of_the_tables(done, tmp_path):
    folder = done.folder / "results/sample"
    (tmp_path / "sample").mkdir()
    for name in ("scoreboard.tsv", "claims.tsv"):
        shutil.copy(folder / name, tmp_path / "sample" / name)
    path, summary = write_results("sample", tmp_path / "sample", "Commit 1.")
    verdicts = pd.read_csv(folder / "comparison.tsv", sep="\t")["verdict"].value_counts()
    counts = " | ".join(str(verdicts[verdict]) for verdict in VERDICTS if verdict in verdicts)
    assert f"| all | {verdicts.sum()} | {counts} |" in summary
    page = path.read_text(encoding="utf-8")
    assert all(escaped(claim) in page for claim in pd.read_csv(folder / "claims.tsv", sep="\t")["claim"])


def test_tables_of_stefanik2021_hold_what_they_must(done):
    folder = done.folder / "results/sample/stefanik2021"
    names = ("relative_attention", "head_ranking", "fine_tuning", "ablation", "cumulative_ablation", "baselines")
    tables = {name: pd.read_csv(folder / f"{name}.tsv", sep="\t") for name in names}
    assert tables["relative_attention"].groupby("reduction").size().to_dict() == {"max": 72, "mean": 72}
    assert sorted(tables["head_ranking"]["slide_rank"]) == list(range(1, 73))
    whole = tables["fine_tuning"].query("model == 'whole'")
    assert (whole["delta"] == 0).all()
    assert set(whole["seed"]) == {"42", "43", "mean"}
    assert len(tables["ablation"]) == 3 * 72 * 2
    start = tables["cumulative_ablation"].query("heads_removed == 0")
    assert start.groupby(["seed", "metric"])["value"].nunique().eq(1).all(), "all orders begin with the full model"
    assert tables["baselines"].groupby("method").size().eq(4).all()
    verdicts = pd.read_csv(folder / "comparison.tsv", sep="\t")["verdict"]
    assert set(verdicts) <= {"not comparable", "not computed"}


def test_tables_of_kovaleva2019_hold_what_they_must(done):
    folder = done.folder / "results/sample/kovaleva2019"
    tables = {
        name: pd.read_csv(folder / f"{name}.tsv", sep="\t") for name in ("table1", *(f"figure{n}" for n in (2, 5, 6, 8, 9)))
    }
    assert set(tables["table1"]["task"]) == {GLUE_TASK}
    assert set(tables["table1"]["state"]) == {"untrained", "random", "tuned", "majority"}
    assert tables["figure2"].groupby(["task", "annotator"])["share"].sum().to_numpy() == pytest.approx(1, abs=1e-5)
    assert tables["figure5"]["value"].between(-0.001, 1.001).all()
    assert (tables["figure5"].groupby(["task", "crop"]).size() == 72).all()
    wide = tables["figure6"].pivot(index=["task", "layer", "head"], columns="feature", values="value")
    assert (wide["sep_sum"] >= wide["sep"] - 1e-6).all()
    assert (wide["sep_sum"] + wide["cls"] <= 1.001).all()
    assert (tables["figure8"].groupby("task").size() == 72).all()
    assert (tables["figure9"].groupby("task").size() == 6).all()
    comparison = pd.read_csv(folder / "comparison.tsv", sep="\t").set_index("id")
    assert not comparison["comparable"].isin(["exact", "close"]).any()


def test_tables_hold_what_they_must(done):
    folder = done.folder / "results/sample/clark2019"
    heads = pd.read_csv(folder / "dependency_heads.tsv", sep="\t")
    assert (heads.groupby("relation").size() == 6 * 12 * 2).all()
    assert ((heads["correct"] / heads["n"] - heads["accuracy"]).abs() < 1e-5).all()
    table1 = pd.read_csv(folder / "table1.tsv", sep="\t")
    best = heads[heads["relation"].isin(table1["relation"])].groupby("relation")["accuracy"].max()
    assert np.allclose(table1.set_index("relation")["accuracy"], best[table1["relation"]], atol=1e-5)
    assert (table1["accuracy_ci_low"] <= table1["accuracy"]).all()
    assert (table1["accuracy"] <= table1["accuracy_ci_high"]).all()
    assert (table1["heldout_accuracy"] <= table1["accuracy"] + 1e-9).all()
    comparison = pd.read_csv(folder / "comparison.tsv", sep="\t")
    assert not comparison["comparable"].isin(["exact", "close"]).any(), "sample numbers are never compared with the papers'"
    assert not comparison["why"].eq("nothing in this run measures it").any()
    distances = pd.read_csv(folder / "head_distances.tsv", sep="\t")
    assert len(distances) == 72 * 71 / 2
    assert distances["js"].between(0, np.log(2)).all()
    probes = pd.read_csv(folder / "table3.tsv", sep="\t").set_index(["probe", "root_alignment", "punctuation"])
    assert {"right_branching", "distances_words", "attention_only", "attention_words"} <= set(probes.index.get_level_values(0))
    assert probes["uas"].between(0, 1).all()
    coreference = pd.read_csv(folder / "table2.tsv", sep="\t").set_index(["system", "mention_type"])
    heads = pd.read_csv(folder / "coreference_heads.tsv", sep="\t").query("mention_type == 'all'")
    assert coreference.loc[("best_head", "all"), "correct"] == heads["correct"].max()


@pytest.mark.parametrize("corpus", ["sample-segments", "sample-trees"])
def test_cached_maps_are_attention(done, corpus):
    folder = done.folder / f"results/sample/attention/minilm/{corpus}"
    examples = list(read_attention(folder))
    assert examples
    for example in examples:
        assert example.maps.shape == (6, 12, len(example.tokens), len(example.tokens))
        assert np.allclose(example.maps.astype(np.float32).sum(axis=-1), 1, atol=5e-3)
        assert np.allclose(example.word_maps().sum(axis=-1), 1, atol=5e-3)


STYLES = {
    "clark2019_figure2": ("studies/clark2019/figures.py", "PAGE, 4.2, sharex", "PAGE, 4.4, sharex"),
    "atlas_correlations": ("atlas/figures.py", "len(names) + 0.6, TALLEST", "len(names) + 0.7, TALLEST"),
}
"""Rule of a figure -> its module, and an edit of its style."""


CAPTION = ("studies/clark2019/figures.py", "fifteen tokens of one segment", "fifteen tokens of a segment")
"""Module of a figure, and an edit of its caption."""
MEASUREMENT = ("studies/clark2019/surface.py", '"shortest": min(lengths)', '"shortest": min(lengths) + 0')
"""Module of a measurement, and an edit of its code."""


def edit(copy: Workspace, name: str, old: str, new: str) -> Path:
    """Replace what stands once in a file of the library; the file."""
    source = copy.folder / LIBRARY / name
    text = source.read_text(encoding="utf-8")
    assert text.count(old) == 1, (name, old)
    source.write_text(text.replace(old, new), encoding="utf-8")
    return source


@pytest.mark.parametrize("rule", [pytest.param(rule, marks=pytest.mark.long) if k else rule for k, rule in enumerate(STYLES)])
def test_a_style_edit_reruns_one_figure_and_a_comment_nothing(copy, rule):
    engine = copy.folder / LIBRARY / "attention/engine.py"
    engine.write_text(engine.read_text(encoding="utf-8") + "\n# a remark\n", encoding="utf-8")
    edit(copy, *STYLES[rule])
    assert copy.jobs(*SMALL) == {rule: 1, "scoreboard_index": 1, "all": 1}


RESULTS = (
    ("methods/surface.py", "if 0 < seps < n else none", "if 1 < seps < n else none", "clark2019_surface"),
    ("methods/options.py", 'word_mode: str = "mean"', 'word_mode: str = "max"', "clark2019_dependencies"),
    ("io/tables.py", 'float_format="%.6g"', 'float_format="%.7g"', "clark2019_surface"),
)
"""Module, an edit, and a rule whose results that can change: a condition, a default, a format."""


@pytest.mark.parametrize(
    ("name", "old"),
    [row[:2] for row in (*STYLES.values(), *RESULTS, CAPTION, MEASUREMENT)],
)
def test_text_to_edit_occurs_once(name, old):
    """Without the built run, so that a changed sentence fails here first, and not after the build."""
    assert (ROOT / LIBRARY / name).read_text(encoding="utf-8").count(old) == 1


@pytest.mark.long
def test_what_can_change_a_result_reruns_its_jobs(copy):
    for name, old, new, rule in RESULTS:
        before = (copy.folder / LIBRARY / name).read_text(encoding="utf-8")
        source = edit(copy, name, old, new)
        assert rule in copy.jobs(*SMALL), name
        source.write_text(before, encoding="utf-8")
    assert copy.jobs(*SMALL) == {}


@pytest.mark.long
def test_an_edit_of_a_measurement_keeps_the_cache(copy):
    edit(copy, *MEASUREMENT)
    jobs = copy.jobs(*SMALL)
    assert jobs["clark2019_surface"] == 1
    assert "extract_attention" not in jobs
    assert "clark2019_dependencies" not in jobs


@pytest.mark.long
def test_another_caption_reruns_its_figure_alone(copy):
    edit(copy, *CAPTION)
    assert copy.jobs(*SMALL) == {"clark2019_figure1": 1, "scoreboard_index": 1, "all": 1}


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
def test_another_model_makes_only_its_own(copy):
    overlay = copy.folder / "small.yaml"
    overlay.write_text(OVERLAY.replace("random_models: []", "random_models: [minilm-random-2]"), encoding="utf-8")
    # Its card, two shards of the treebank and one of the training treebank, its probes, and the tables that name it; not the
    # examples, which models with one tokenizer share.
    assert copy.jobs(*SMALL) == {
        **{"describe_model": 1, "extract_attention": 3, "clark2019_probes": 1},
        **{"clark2019_probe_scores": 1, "clark2019_table3": 1, "clark2019_options": 1, "clark2019_dropped": 1},
        **{"clark2019_comparison": 1, "clark2019_claims": 1},
        **dict.fromkeys((f"scoreboard_{name}" for name in ("comparison", "claims", "scoreboard", "index")), 1),
        "all": 1,
    }


@pytest.mark.long
def test_a_new_option_leaves_the_cache_alone(copy):
    overlay = copy.folder / "small.yaml"
    changed = OVERLAY.replace("resamples: 100", "resamples: 100\n      options: {word_mode: first}", 1)
    overlay.write_text(changed, encoding="utf-8")
    jobs = copy.jobs(*SMALL)
    assert jobs["clark2019_dependencies"] == 1
    assert not {"extract_attention", "build_examples", "clark2019_probes", "clark2019_coreference"} & jobs.keys()


@pytest.mark.long
def test_the_same_jobs_give_the_same_bytes_also_on_a_pretended_gpu(copy):
    """Every kind of job once more: one job of each rule that runs a model, all those of tables, a figure of each study.

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
    drawn = {rule for rule in rules if "figure" in rule and rule not in FIGURES_REPEATED}
    copy.snakemake(*SMALL, "--forceall", "--allowed-rules", *sorted(rules - drawn))
    second = digests(copy)
    assert second.keys() == first.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_every_rule_that_runs_a_model_is_repeated():
    texts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    parts = re.split(r"^(?:use )?rule (\w+)(?: as (\w+) with)?:$", texts, flags=re.MULTILINE)
    with_model: set[str] = set()
    # A rule takes over the environment of another one, which may follow in another file.
    for _ in range(3):
        for base, name, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            if "envs/model.yaml" in text or (name and base in with_model):
                with_model.add(name or base)
    # What is fetched is not made here; `fine_tune_by_epoch` is `fine_tune`.
    assert with_model - {
        "fetch_corpus",
        "untrained_model",
        "measured_by_model",
        "fine_tune_by_epoch",
        *TIMED,
    } == REPEATED.keys() - {"build_examples"}
