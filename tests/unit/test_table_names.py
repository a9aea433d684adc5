"""Tables have the name of the rule that writes them; those of the paper's tables and figures are written by their pages."""

import re
from pathlib import PurePosixPath

import pytest
from rules_text import RULES, rules_of
from shipped_runs import shipped

from attention_atlas.workflow.pages import page_rules
from attention_atlas.workflow.studies import studies

MEASURED = {name: body for path in RULES if path.stem in studies() for name, body in rules_of(path).items()}
"""Rule of a study -> its text."""
PAGES = list(page_rules(shipped()))
NUMBERED = re.compile(r"(table|figure)_?a?\d+")
ALLOWED = {
    # The tables of a model have the names of the tables of studies in whose place the atlas reads them.
    "atlas_of_model",
}


def outputs_of(rule: str, body: str) -> list[PurePosixPath]:
    """Tables that a rule writes, below the folder of its study; those of a variant below the variant's."""
    study = rule.partition("_")[0]
    (block,) = re.findall(r"^    output:\n((?: {8}.*\n)*)", body, flags=re.M)
    paths = re.findall(rf'"results/{{run}}/{study}/([^"]+\.tsv)"', block)
    return [PurePosixPath(re.sub(r"^variants/[^/]+/", "", path)) for path in paths]


def names_of(rule: str) -> set[str]:
    """What the tables of a rule may begin with: its name without the study, in the singular too (`dependency_heads`)."""
    name = re.sub(r"_(variant|windows|joined)$", "", rule.partition("_")[2])
    return {name, re.sub(r"ies$", "y", name), name.removesuffix("s")}


def is_named_after(path: PurePosixPath, rule: str) -> bool:
    """Whether a table is in the folder of a rule, or begins with its name."""
    return path.parts[0] in names_of(rule) or any(re.fullmatch(rf"{name}(_\w+)?", path.stem) for name in names_of(rule))


def test_the_tables_of_rules_are_found():
    assert len(MEASURED) > 20
    assert outputs_of("clark2019_coreference", MEASURED["clark2019_coreference"])[0] == PurePosixPath("coreference.tsv")
    assert outputs_of("clark2019_surface_variant", MEASURED["clark2019_surface_variant"])[0] == PurePosixPath("surface.tsv")


@pytest.mark.parametrize("rule", sorted(set(MEASURED) - ALLOWED))
def test_a_rule_that_measures_names_its_tables_after_itself(rule):
    for path in outputs_of(rule, MEASURED[rule]):
        assert is_named_after(path, rule), path


@pytest.mark.parametrize("rule", [rule for rule in PAGES if not rule.study.overview], ids=lambda rule: rule.page.rule)
def test_a_page_writes_the_numbers_of_its_artefact_alone(rule):
    for name in {*rule.page.outputs.values(), *rule.page.copies}:
        path = PurePosixPath(name)
        if path.suffix == ".tsv" and NUMBERED.match(path.stem):
            assert len(path.parts) == 1
            assert path.stem == rule.name or path.stem.startswith(f"{rule.name}_"), name


def test_only_pages_write_the_numbers_of_the_papers_tables_and_figures():
    """Or a rule of the artefact's own name: Table 4 of Michel et al. measures speed."""
    named = {
        (rule, path.stem) for rule, body in MEASURED.items() for path in outputs_of(rule, body) if NUMBERED.fullmatch(path.stem)
    }
    assert named == {("michel2019_table4", "table4")}


def test_no_page_reads_a_copy_so_that_none_waits_for_a_figure():
    for study in studies().values():
        copies = {study.path(name, "sample") for page in study.pages for name in page.copies}
        for page in study.pages:
            for name in (value for value in page.inputs.values() if isinstance(value, str)):
                assert study.measured_path(name, "sample") not in copies, (page.rule, name)
