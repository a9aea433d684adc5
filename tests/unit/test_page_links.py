"""Links of pages: each names a file of the run, a figure that belongs to the table, or the paper of the study."""

from pathlib import PurePosixPath

import pytest
from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.workflow.inputs import study_inputs
from attention_atlas.workflow.needs import is_part_of
from attention_atlas.workflow.page_links import page_links
from attention_atlas.workflow.studies import studies

RUN = "sample"
PAGES = [
    (study, artifact, name)
    for study in studies().values()
    for artifact in study.artifacts
    if is_part_of(shipped(), RUN, study, artifact)
    for name in artifact.files
    if name.endswith(".html") and name != "atlas.html"
]


def addresses(study, name, config=None):
    return [address for _, address in page_links(config or shipped(), RUN, study, name)]


@pytest.mark.parametrize(("study", "artifact", "name"), PAGES, ids=[f"{study.id}-{name}" for study, _, name in PAGES])
def test_a_page_links_to_its_table_and_to_files_of_its_run(study, artifact, name):
    built = {file for each in study.artifacts if is_part_of(shipped(), RUN, study, each) for file in each.files}
    local = [address for address in addresses(study, name) if not address.startswith("https://")]
    assert set(local) <= built
    assert len(set(local)) == len(local)
    assert {file for file in artifact.files if file.endswith(".tsv")} <= set(local)
    assert ("comparison.html" in local) == (study.id not in ("atlas",) and artifact.id != "comparison")
    papers = [address for address in addresses(study, name) if address.startswith("https://")]
    if study.overview:
        assert papers == [each.paper.url for each in studies().values() if each.paper and each.paper.url]
    else:
        assert papers == ([study.paper.url] if study.paper.url else [])


@pytest.mark.parametrize(
    ("study", "page", "figures"),
    [
        ("clark2019", "figure3_variants.html", ["figure3"]),
        ("clark2019", "figure6_test.html", ["figure6"]),
        ("clark2019", "table2_options.html", []),
        ("kovaleva2019", "disabling.html", ["figure8", "figure9"]),
        ("kovaleva2019", "frame_options.html", ["figure3"]),
        ("michel2019", "pruning.html", ["figure3"]),
        ("stefanik2021", "ablation.html", ["ablation"]),
        ("tenney2019", "order.html", []),
    ],
)
def test_a_page_links_to_its_figures(study, page, figures):
    pictures = [address for address in addresses(studies()[study], page) if PurePosixPath(address).suffix in (".svg", ".pdf")]
    assert pictures == [f"{name}.{suffix}" for name in figures for suffix in ("svg", "pdf")]


def test_a_figure_that_the_run_does_not_build_is_not_linked():
    config, michel = shipped_copy(), studies()["michel2019"]
    assert "figure3.svg" in addresses(michel, "pruning.html", config)
    del config["runs"][RUN]["michel2019"]["translation"]
    assert "figure3.svg" not in addresses(michel, "pruning.html", config)


def test_the_atlas_and_what_is_no_page_of_an_artefact_have_no_links():
    assert addresses(studies()["atlas"], "atlas.html") == []
    assert addresses(studies()["clark2019"], "nosuch.html") == []


def test_every_study_names_its_paper():
    for study in studies().values():
        assert (study.paper is None) == study.overview
        if study.paper is not None:
            assert study.paper.citation.endswith((f"({study.id[-4:]})", f"({study.id[-4:]}), slides"))


def test_rules_take_their_links_from_the_inputs_of_their_study():
    inputs = study_inputs(shipped(), "clark2019")
    links = inputs.links(html="gap.html")(wildcards(RUN))
    assert links == {"html": page_links(shipped(), RUN, studies()["clark2019"], "gap.html")}
