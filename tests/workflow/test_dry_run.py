"""What a dry run shows where files are missing or a run names less, and that bad configuration is one clear sentence."""

from small_config import give_model

from attention_atlas.workflow.config import read_configuration


def test_skipping_missing_files_keeps_everything_else(workspace):
    for entry in read_configuration(workspace.folder)["models"].values():
        give_model(workspace.folder, entry)
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
