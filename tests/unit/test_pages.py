"""Pages as parts of rules, and what the job of a page calls."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from shipped_runs import shipped, wildcards

from attention_atlas.io.run_label import RunLabel
from attention_atlas.workflow.page import Page
from attention_atlas.workflow.pages import PageRule, page_rules
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.render import PICTURES, render
from attention_atlas.workflow.studies import studies

RULES = {rule.page.rule: rule for rule in page_rules(shipped())}
LOOKED_UP = {name: rule for name, rule in RULES.items() if rule.study.id in shipped()["runs"]["sample"]}
"""Rules of the studies that the sample run has."""
LABEL = {
    **{"run": "Small run", "model": "tiny", "corpus": "two sentences", "model_reference": "", "corpus_reference": ""},
    **{"sample": True, "converted": False, "stand_in": False},
}


def marked(path: str, **about: object) -> tuple[str, dict[str, object]]:
    """In place of Snakemake's `report`."""
    return path, about


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_page_names_every_parameter_of_its_function_that_has_no_default(rule: PageRule):
    module, _, name = rule.page.function.partition(":")
    function = getattr(importlib.import_module(f"attention_atlas.{module}"), name)
    parameters = inspect.signature(function).parameters
    pictures = {"pictures"} if rule.page.pictures else set()
    passed = {name.partition("__")[0] for name in (*rule.page.inputs, *rule.page.outputs, *rule.page.params)} | pictures
    assert passed <= parameters.keys()
    assert {name for name, parameter in parameters.items() if parameter.default is parameter.empty} <= passed


@pytest.mark.parametrize("rule", LOOKED_UP.values(), ids=LOOKED_UP)
def test_inputs_and_parameters_of_a_page_can_be_looked_up_in_a_run(rule: PageRule):
    looked_up = [*rule.unnamed_files(), *rule.files().values(), *rule.params().values()]
    for value in looked_up:
        if callable(value):
            value(wildcards())
        else:
            assert isinstance(value, str)


def test_rule_names_begin_with_their_study_and_are_unique():
    assert len(RULES) == sum(len(study.pages) for study in studies().values()) > 0
    assert all(page.rule.startswith(f"{study.id}_") for study in studies().values() for page in study.pages)


def test_the_parts_of_the_rule_of_a_figure():
    rule = RULES["clark2019_figure2"]
    assert (rule.name, rule.group) == ("figure2", "clark2019_pages")
    files = rule.files()
    assert files["surface_path"] == "results/{run}/clark2019/surface.tsv"
    assert files["random_path"](wildcards("sample")) == ["results/sample/clark2019/variants/random/surface.tsv"]
    outputs = rule.outputs(marked)
    assert outputs["out"] == "results/{run}/clark2019/figure2.tsv"
    assert outputs["png"] == "results/{run}/clark2019/figure2.png"
    path, about = outputs["svg"]
    assert path == "results/{run}/clark2019/figure2.svg"
    assert about["caption"] == "../report/artifact.rst"
    assert about["category"] == "Clark et al. (2019): What Does BERT Look At?"
    params = rule.params()
    assert params["function"] == "studies.clark2019.figure2:figure2"
    assert params["label"](wildcards("sample"))["corpus"] == "generated sample, segments by the authors' recipe"


def test_a_table_that_a_run_may_lack_is_looked_up():
    windows = RULES["clark2019_table2"].files()["windows_path"]
    assert windows(wildcards("sample")) == ["results/sample/clark2019/variants/windows/coreference.tsv"]
    assert windows(wildcards("any")) == []


def test_every_artefact_is_reported_once_under_its_name():
    """By pages and by the rules that render what they compute; see the outputs of the rules' files for those."""
    reported: dict[tuple[str, str], list[str]] = {}
    for rule in RULES.values():
        for value in rule.outputs(marked).values():
            if isinstance(value, tuple):
                about = value[1]
                reported.setdefault((about["category"], about["labels"]["artefact"]), []).append(value[0])
    rules = "".join(path.read_text(encoding="utf-8") for path in Path("workflow/rules").resolve().glob("*.smk"))
    for study in studies().values():
        for artifact in study.artifacts:
            by_rule = f'{study.id}.about("{artifact.id}")'
            assert (study.title, artifact.number) in reported or by_rule in rules, by_rule
    assert max(len(paths) for paths in reported.values()) <= 2, "a picture and the page of its numbers"


def test_the_digest_of_a_page_is_that_of_its_function():
    one, two = (RULES[f"clark2019_figure{number}"].params()["code"] for number in (2, 4))
    assert one != two
    assert (
        one
        == script_digest("render.py", "published/clark2019.csv", modules=("attention_atlas.studies.clark2019.figure2",))
        != script_digest("render.py")
    )


# --- the job of a page -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tables:
    """Files of a group."""

    first: str | Path
    second: str | Path | None = None


CALLS: list[dict[str, object]] = []


def page(
    tables: Tables, many: Sequence[str], label: RunLabel, labels: Mapping[str, RunLabel], extra: str | None, out: str
) -> None:
    """What a page calls."""
    CALLS.append(locals())


def picture(pictures: Mapping[str, str]) -> None:
    """What a figure calls."""
    CALLS.append(locals())


def copied(path: str, pictures: Mapping[str, str]) -> None:
    """What a figure calls that is drawn from one table."""
    CALLS.append(locals())


@pytest.fixture
def here(monkeypatch):
    """This module as one of the library."""
    CALLS.clear()
    monkeypatch.setattr(importlib, "import_module", lambda name: {"attention_atlas.here": inspect.getmodule(page)}[name])


def test_files_labels_and_groups_reach_the_function(here):
    files = {"tables__first": "a.tsv", "tables__second": [], "many": ["b.tsv"], "extra": ["c.tsv"]}
    render("here:page", files, {"out": "d.tsv"}, {"label": LABEL, "labels": {"questions": LABEL}})
    assert [
        {
            "tables": Tables("a.tsv", None),
            "many": ["b.tsv"],
            "label": RunLabel(**LABEL),
            "labels": {"questions": RunLabel(**LABEL)},
            "extra": "c.tsv",
            "out": "d.tsv",
        }
    ] == CALLS


def test_outputs_are_grouped_as_files_are(here):
    files = {"tables__first": "a.tsv", "many": ["b.tsv"], "extra": []}
    render("here:page", files, {"tables__second": "c.tsv", "out": "d.tsv"}, {"label": LABEL, "labels": {}})
    assert CALLS[0]["tables"] == Tables("a.tsv", "c.tsv")
    assert CALLS[0]["out"] == "d.tsv"


def test_pictures_are_one_parameter(here):
    paths = {kind: f"figure.{kind}" for kind in PICTURES}
    render("here:picture", {}, paths, {})
    assert [{"pictures": paths}] == CALLS


def test_a_name_that_is_no_parameter_is_refused(here):
    with pytest.raises(TypeError, match="here:picture has no parameter colour"):
        render("here:picture", {}, {}, {"colour": "blue"})


def test_the_numbers_of_a_figure_are_copied_from_the_table_that_it_shows(here, tmp_path):
    (tmp_path / "gradients.tsv").write_text("a\n1\n", encoding="utf-8")
    outputs = {kind: f"figure.{kind}" for kind in PICTURES}
    render("here:copied", {"path": str(tmp_path / "gradients.tsv")}, outputs | {"copy_of__path": str(tmp_path / "f.tsv")}, {})
    assert (tmp_path / "f.tsv").read_text(encoding="utf-8") == "a\n1\n"
    assert [{"path": str(tmp_path / "gradients.tsv"), "pictures": outputs}] == CALLS


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.page.copies], ids=lambda rule: rule.page.rule)
def test_a_page_copies_what_it_reads(rule: PageRule):
    assert set(rule.page.copies.values()) <= set(rule.page.inputs)
    assert not set(rule.page.copies) & {*rule.page.inputs.values(), *rule.page.outputs.values()}


def test_a_page_knows_its_module():
    assert Page("x_y", "studies.clark2019.figure2:figure2").module == "attention_atlas.studies.clark2019.figure2"
