"""Links of pages: each names a file of the run, a figure of its artefact, or the paper of the study."""

import pytest
from shipped_runs import shipped, wildcards

from attention_atlas.workflow.artifacts import page_links
from attention_atlas.workflow.study import is_part_of, studies
from attention_atlas.workflow.study_inputs import StudyInputs

RUN = "sample"
PAGES = [
    (study, artifact, name)
    for study in studies().values()
    for artifact in study.artifacts
    if is_part_of(shipped(), RUN, study, artifact)
    for name in artifact.files
    if name.endswith(".html") and name != "atlas.html"
]


def addresses(study, name):
    return [address for _, address in page_links(shipped(), RUN, study, name)]


@pytest.mark.parametrize(("study", "artifact", "name"), PAGES, ids=[f"{study.id}-{name}" for study, _, name in PAGES])
def test_a_page_links_to_its_table_and_to_files_of_its_run(study, artifact, name):
    built = {file for each in study.artifacts if is_part_of(shipped(), RUN, study, each) for file in each.files}
    local = [address for address in addresses(study, name) if not address.startswith("https://")]
    assert set(local) <= built
    assert len(set(local)) == len(local)
    assert {file for file in artifact.files if file.endswith(".tsv")} <= set(local)
    assert ("comparison.html" in local) == (study.id != "atlas" and name != "comparison.html")
    papers = [address for address in addresses(study, name) if address.startswith("https://")]
    if study.overview:
        assert papers == [each.paper.url for each in studies().values() if each.paper and each.paper.url]
    else:
        assert papers == ([study.paper.url] if study.paper.url else [])


def test_a_page_links_to_the_figure_of_its_artefact():
    pictures = [name for name in addresses(studies()["atlas"], "findings.html") if name.endswith((".svg", ".pdf"))]
    assert pictures == ["correlations.svg", "correlations.pdf"]


def test_the_atlas_and_what_is_no_page_of_an_artefact_have_no_links():
    assert addresses(studies()["atlas"], "atlas.html") == []
    assert addresses(studies()["clark2019"], "nosuch.html") == []


def test_every_study_names_its_paper():
    for study in studies().values():
        assert (study.paper is None) == study.overview
        if study.paper is not None:
            assert study.paper.citation.endswith((f"({study.id[-4:]})", f"({study.id[-4:]}), slides"))


def test_rules_take_their_links_from_the_inputs_of_their_study():
    inputs = StudyInputs(shipped(), "clark2019")
    links = inputs.links("gap.html")(wildcards(RUN))
    assert links == {"html": page_links(shipped(), RUN, studies()["clark2019"], "gap.html")}
