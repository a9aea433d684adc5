"""The declared artefacts: made by a rule, with caption and links, on the index page and in the last lines of a run."""

from __future__ import annotations

from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.workflow.artifacts import listed_artifacts
from attention_atlas.workflow.requirements import without_missing
from attention_atlas.workflow.study_inputs import StudyInputs

RUN = "sample"


def test_artefacts_of_a_run_are_listed_with_the_reason_why_some_are_not_built():
    entries = StudyInputs(shipped(), "scoreboard").of_run("entries")(wildcards())
    assert len(entries) == len(listed_artifacts(shipped(), RUN)) > 70
    config = shipped_copy("skip")
    config["corpora"]["sample-frames"]["source"] = {"path": "absent/frames.json"}
    del config["runs"][RUN]["clark2019"]["gap"]
    reduced = without_missing(config)
    skipped = {f"{one.study.id}/{one.artifact.id}": one.skipped for one in listed_artifacts(reduced, RUN) if one.skipped}
    assert "absent/frames.json" in skipped["kovaleva2019/figure3"]
    assert skipped["clark2019/gap"] == "The run names no gap (runs.sample.clark2019)."
    files = StudyInputs(reduced, "scoreboard").of_run("built")(wildcards())
    assert files["scoreboard.tsv"] == "results/sample/scoreboard.tsv"
    assert not any(file.startswith(f"{name}.") for file in files for name in skipped)
