"""What a dry run shows where files are missing or a run names less, and that bad configuration is one clear sentence."""

from __future__ import annotations

from planned_jobs import jobs_in
from workspaces import Workspace

from attention_atlas.workflow.config import read_configuration


def give_models(workspace: Workspace) -> None:
    """Put empty files where models are expected."""
    for entry in read_configuration(workspace.folder)["models"].values():
        if "path" in entry["source"]:
            folder = workspace.folder / entry["source"]["path"]
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("config.json", "model.safetensors"):
                (folder / name).write_text("{}", encoding="utf-8")


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


def test_skipping_missing_models_plans_nothing_that_needs_them(workspace):
    (workspace.folder / "mine.yaml").write_text(ABSENT_MODELS, encoding="utf-8")
    done = workspace.snakemake("--dry-run", "--configfile", "config.yaml", "mine.yaml", "--config", "missing=skip")
    jobs = jobs_in(done.stdout)
    assert not {"absent", "absent-translator"} & {job.wildcards.get("model") for job in jobs}
    rules = {job.rule for job in jobs}
    # Figure 5 has a model that is trained here, and Table 6 the classifier; the first model of Tenney et al. is there.
    assert {"michel2019_figure5", "michel2019_table6", "tenney2019_figure1", "tenney2019_comparison"} <= rules
    assert {"tenney2019_figure_a3", "michel2019_table1", "michel2019_table5", "michel2019_comparison"}.isdisjoint(rules)
    line = next(line for line in done.stdout.splitlines() if line.startswith("- model absent: "))
    assert "Skipped: tenney2019: figure_a3. Built without it: tenney2019: figure1," in line
