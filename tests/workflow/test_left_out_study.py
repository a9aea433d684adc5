"""Each study can be left out, declaration, rules and code: everything else can still be planned."""

import shutil

import pytest
from workspaces import ROOT, Workspace, copy_workflow

from attention_atlas.workflow.config import read_configuration, write_configuration
from attention_atlas.workflow.study import studies

IN_SAMPLE = read_configuration(ROOT)["runs"]["sample"]
STUDIES = [study.id for study in studies().values() if not study.overview and study.id in IN_SAMPLE]
TARGETS = ("--", "all", "attention")


def leave_out(workspace: Workspace, study: str) -> None:
    """Take away all that belongs to a study alone, and its settings in the runs."""
    shutil.rmtree(workspace.folder / "workflow/lib/attention_atlas/studies" / study)
    for path in ("rules/{}.smk", "schemas/studies/{}.yaml", "resources/published/{}.csv"):
        (workspace.folder / "workflow" / path.format(study)).unlink()
    config = read_configuration(workspace.folder)
    for run in config["runs"].values():
        run.pop(study, None)
    write_configuration(config, workspace.folder)


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Rule -> number of jobs with all studies."""
    workspace = copy_workflow(tmp_path_factory.mktemp("complete"))
    return workspace.jobs(*TARGETS)


@pytest.mark.long
@pytest.mark.parametrize("study", STUDIES)
def test_without_a_study_all_others_are_planned_as_before(workspace, complete, study):
    assert any(rule.startswith(study) for rule in complete)
    leave_out(workspace, study)
    jobs = workspace.jobs(*TARGETS)
    assert not [rule for rule in jobs if rule.startswith(study)]
    remaining_studies = tuple(name for name in (*STUDIES, "atlas", "scoreboard") if name != study)

    def of_others(counts: dict[str, int]) -> dict[str, int]:
        return {rule: count for rule, count in counts.items() if rule.startswith(remaining_studies)}

    assert of_others(jobs) == of_others(complete)
    # Models, corpora and caches that nothing else reads are not made either; no job is new.
    assert all(count <= complete[rule] for rule, count in jobs.items())
