"""What a dry run shows: every target of every run can be planned, and bad configuration is one clear sentence."""

from __future__ import annotations

import pytest
from planned_jobs import jobs_in
from workspaces import Workspace

from attention_atlas.workflow.config import read_configuration, resolve
from attention_atlas.workflow.study import artifacts, studies

RULES = ("all", *studies(), "tables", "figures", "attention")
GLUE = ("MRPC", "SST-2", "QQP", "RTE", "QNLI", "MNLI")


def give_models(workspace: Workspace) -> None:
    """Put empty files where models are expected."""
    for entry in read_configuration(workspace.folder)["models"].values():
        if "path" in entry["source"]:
            folder = workspace.folder / entry["source"]["path"]
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("config.json", "model.safetensors"):
                (folder / name).write_text("{}", encoding="utf-8")


def give_licensed_files(workspace: Workspace) -> None:
    """Put empty files where licensed corpora and models are expected; a dry run reads no data."""
    give_models(workspace)
    licensed = workspace.folder / "licensed"
    (licensed / "conll-2012" / "development").mkdir(parents=True)
    (licensed / "conll-2012" / "train").mkdir()
    for part in ("train", "development"):
        (licensed / "conll-formatted-ontonotes-5.0" / part).mkdir(parents=True)
    for folder in ("wsj", "ud-2.2", "spr1"):
        (licensed / folder).mkdir()
    for task in GLUE:
        (licensed / "glue" / task).mkdir(parents=True)
        for part in ("train", *(("dev_matched", "dev_mismatched") if task == "MNLI" else ("dev",))):
            (licensed / "glue" / task / f"{part}.tsv").touch()
    (licensed / "iwslt14").mkdir()
    for part in ("train", "valid", "test"):
        for language in ("de", "en"):
            (licensed / "iwslt14" / f"{part}.{language}").touch()
    for name in ("ud-2.2/en_ewt-ud-train.conllu", "ud-2.2/en_ewt-ud-dev.conllu", "spr1/spr1.train.json", "spr1/spr1.dev.json"):
        (licensed / name).touch()
    for name in ("Hulth2003.tar.gz", "wsj/dev.conllu", "wsj/train.conllu", "glove.6B.100d.txt", "framenet_473.json"):
        (licensed / name).touch()


@pytest.mark.parametrize("run", ["sample", "laptop", "open", "paper"])
def test_every_declared_file_can_be_planned(workspace, run):
    give_licensed_files(workspace)
    config = read_configuration(workspace.folder)
    # A run without a second model has no figure of two models.
    named = {study: set(settings) for study, settings in resolve(config)["runs"][run].items() if study in studies()}
    of_run = [(study, artifact) for study, artifact in artifacts() if study.id in named]
    built = [(study, artifact) for study, artifact in of_run if set(artifact.needs) <= named[study.id]]
    files = [path for study, artifact in built for path in study.paths(artifact, run)]
    assert len(built) >= len(of_run) - (run == "laptop") > 70
    jobs = workspace.jobs(*files)
    assert {"extract_attention", "clark2019_surface", "clark2019_dependencies", "clark2019_comparison"} <= set(jobs)
    assert {"guan2020_features", "guan2020_ablations", "guan2020_figure4", "guan2020_comparison"} <= set(jobs)
    assert {"kovaleva2019_measures", "kovaleva2019_disabled", "kovaleva2019_frames", "kovaleva2019_comparison"} <= set(jobs)
    assert {"michel2019_masked", "michel2019_heldout", "michel2019_pruned", "michel2019_dynamics", "michel2019_timing"} <= set(
        jobs
    )
    assert jobs["fine_tune_by_epoch"] == 1
    assert {"tenney2019_probes", "tenney2019_figure1", "tenney2019_comparison"} <= set(jobs)
    assert ("tenney2019_figure_a3" in jobs) == (run != "laptop")
    assert {
        "stefanik2021_detection",
        "stefanik2021_head_ranking",
        "stefanik2021_comparison",
    } <= set(jobs)
    assert jobs["stefanik2021_removal"] >= (2 if run == "sample" else 3), "one a seed"


def test_target_rules_can_be_planned(workspace):
    assert set(RULES) <= workspace.jobs("--", *RULES).keys()


def test_the_attention_of_all_artefacts_is_declared(workspace):
    """A cache that an artefact reads and no study declares among its pairs would be missing from the target `attention`."""
    give_licensed_files(workspace)
    targets = ("--config", "targets=[sample,laptop,paper]", "--")
    declared, read = (jobs_in(workspace.snakemake("--dry-run", *targets, rule).stdout) for rule in ("attention", "all"))
    caches = [{job.outputs[0] for job in jobs if job.rule == "extract_attention"} for jobs in (declared, read)]
    assert caches[0] == caches[1] != set()


def test_missing_licensed_file_is_named_with_licence_and_layout(workspace):
    done = workspace.snakemake("--dry-run", "--config", "targets=[paper]", check=False)
    assert done.returncode != 0
    assert "licensed/wsj/dev.conllu does not exist" in done.stdout
    assert "LDC99T42" in done.stdout
    assert "basic Stanford Dependencies in columns 7-8" in done.stdout
    assert "licensed/conll-2012/development does not exist" in done.stdout
    assert "LDC2013T19" in done.stdout
    assert "licensed/glue/MNLI/train.tsv does not exist" in done.stdout
    assert "missing: skip" in done.stdout


def test_missing_licensed_file_is_named_when_its_table_is_asked_for(workspace):
    done = workspace.snakemake("--dry-run", "results/paper/clark2019/table1.tsv", check=False)
    assert done.returncode != 0
    assert "licensed/wsj/dev.conllu does not exist" in done.stdout


def test_skipping_missing_files_keeps_everything_else(workspace):
    give_models(workspace)
    jobs = workspace.jobs("--config", "targets=[paper]", "missing=skip")
    assert {"clark2019_figure1", "clark2019_figure2", "clark2019_figure4"} <= set(jobs)
    assert {"clark2019_table1", "clark2019_table2", "clark2019_table3"}.isdisjoint(jobs)
    assert {"clark2019_figure3", "clark2019_gap"} <= set(jobs)
    # The models that would be trained on missing files are left out of the comparison of models.
    assert {"guan2020_figure4", "guan2020_table2"} <= set(jobs)
    # MNLI is what the classifier of Michel et al. is trained on, and missing; translations are held out on another test set.
    assert {"michel2019_table1", "michel2019_comparison", "michel2019_figure5"}.isdisjoint(jobs)
    assert "michel2019_table5" in jobs
    # Of the tasks of Kovaleva et al. STS-B is open: five seeds, and one from random weights.
    assert {"kovaleva2019_measures", "kovaleva2019_comparison"} <= set(jobs)
    assert "kovaleva2019_frames" not in jobs
    assert jobs["fine_tune"] == 6


ABSENT_MODELS = """
targets: [mine]
models:
  absent: {source: {path: models/absent}, layers: 6, heads: 12, hidden_size: 384}
  absent-translator: {source: {path: models/translator}, layers: 2, heads: 8, hidden_size: 128}
runs:
  mine:
    extends: sample
    tenney2019: {second_model: absent}
    michel2019: {translator: absent-translator}
"""


@pytest.fixture
def absent_models(workspace):
    """A run with a translation model and a second model whose folders are not there, and how it is named to Snakemake."""
    (workspace.folder / "mine.yaml").write_text(ABSENT_MODELS, encoding="utf-8")
    return "--configfile", "config.yaml", "mine.yaml"


def test_missing_models_are_an_error_before_any_job(workspace, absent_models):
    done = workspace.snakemake(*absent_models, check=False)
    assert done.returncode != 0
    assert "- model absent: the folder models/absent does not exist." in done.stdout
    assert "- model absent-translator: the folder models/translator does not exist." in done.stdout
    assert "Job stats" not in done.stdout


def test_skipping_missing_models_plans_nothing_that_needs_them(workspace, absent_models):
    done = workspace.snakemake("--dry-run", *absent_models, "--config", "missing=skip")
    jobs = jobs_in(done.stdout)
    assert not {"absent", "absent-translator"} & {job.wildcards.get("model") for job in jobs}
    rules = {job.rule for job in jobs}
    # Figure 5 has a model that is trained here, and Table 6 the classifier; the first model of Tenney et al. is there.
    assert {
        "michel2019_figure5",
        "michel2019_table6",
        "tenney2019_figure1",
        "tenney2019_comparison",
        "scoreboard_scoreboard",
    } <= rules
    assert {"tenney2019_figure_a3", "michel2019_table1", "michel2019_table5", "michel2019_comparison"}.isdisjoint(rules)
    line = next(line for line in done.stdout.splitlines() if line.startswith("- model absent: "))
    assert "Skipped: tenney2019: figure_a3. Built without it: tenney2019: figure1," in line


def test_a_run_without_a_role_leaves_its_artefacts_out_and_says_so_when_asked(workspace):
    overlay = workspace.folder / "mine.yaml"
    overlay.write_text(
        "targets: [mine]\nruns: {mine: {model: minilm, clark2019: {segments: sample-segments, dependencies: sample-trees}}}\n",
        encoding="utf-8",
    )
    files = ("--configfile", "config.yaml", "mine.yaml")
    jobs = workspace.jobs(*files)
    assert {"clark2019_figure3", "clark2019_figure6", "clark2019_comparison"} <= set(jobs)
    assert {"clark2019_table2", "clark2019_table3", "clark2019_gap"}.isdisjoint(jobs)
    done = workspace.snakemake("--dry-run", *files, "--", "results/mine/clark2019/table2.html", check=False)
    assert "runs.mine.clark2019 names no corpus for the role 'coreference', which this file needs" in done.stdout


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("target=[sample]", "config: unknown key 'target'; did you mean 'targets'"),
        ("targets=[smaple]", "config: targets: there is no run 'smaple'; did you mean 'sample'"),
        ("missing=ignore", "config: missing: 'ignore' is not one of error, skip"),
    ],
)
def test_a_typo_is_one_sentence_before_any_job(workspace, setting, sentence):
    done = workspace.snakemake("--config", setting, check=False)
    assert done.returncode != 0
    assert sentence in done.stdout
    assert "Job stats" not in done.stdout


def test_unknown_corpus_in_an_overlay_is_one_sentence(workspace):
    overlay = workspace.folder / "mine.yaml"
    overlay.write_text("runs: {mine: {extends: sample, clark2019: {dependencies: ewt}}}\n", encoding="utf-8")
    done = workspace.snakemake("--dry-run", "--configfile", "config.yaml", "mine.yaml", check=False)
    assert "config: runs.mine.clark2019.dependencies: there is no corpus 'ewt'" in done.stdout


def test_another_model_is_an_overlay(workspace):
    overlay = workspace.folder / "mine.yaml"
    (workspace.folder / "my-model").mkdir()
    for name in ("config.json", "model.safetensors"):
        (workspace.folder / "my-model" / name).write_text("{}", encoding="utf-8")
    overlay.write_text(
        "targets: [mine]\n"
        "models: {mine: {source: {path: my-model}, layers: 4, heads: 4}}\n"
        "runs: {mine: {extends: sample, model: mine}}\n",
        encoding="utf-8",
    )
    output = workspace.snakemake("--dry-run", "--configfile", "config.yaml", "mine.yaml").stdout
    assert "results/mine/attention/mine/sample-trees/0.safetensors" in output
    assert "clark2019_dropped" in output, "a run without a title is called by its name"


def test_an_optional_file_that_is_not_there_leaves_its_figures_out(workspace):
    done = workspace.snakemake("--dry-run", "--config", "targets=[laptop]", "--", "kovaleva2019")
    assert "- corpus framenet-473: licensed/framenet_473.json does not exist." in done.stdout
    jobs = workspace.jobs("--config", "targets=[laptop]", "--", "kovaleva2019")
    assert {"kovaleva2019_figure2", "kovaleva2019_comparison"} <= set(jobs)
    assert {"kovaleva2019_frames", "kovaleva2019_figure3"}.isdisjoint(jobs)
