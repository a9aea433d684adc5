"""What the target rules build: artefacts and caches of the target runs, and what is done about missing files."""

import pytest
from small_config import SMALL, changed, give_model, shipped, shipped_copy, wildcards

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.artifacts import Targets, built_tables
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.requirements import MISSING, required_for, without_missing
from attention_atlas.workflow.study import studies

CLARK = studies()["clark2019"]
TREES = "corpus trees: nowhere/trees.conllu does not exist."


def small(missing: str = "error", **changes) -> tuple[Targets, list[str]]:
    """Those of the small configuration, and what the user is warned of."""
    named, warned = resolve(SMALL | {"missing": missing} | changes), []
    return Targets(without_missing(named), warned.append, named), warned


def missing_for(config, run, study, artifact):
    return {title: one for title, one in required_for(config, run, study, artifact).items() if one.state == MISSING}


def test_files_of_an_artefact_that_are_missing(without_files):
    give_model(without_files, SMALL["models"]["tiny"])
    config = resolve(SMALL)
    missing = {artifact.id: missing_for(config, "one", CLARK, artifact) for artifact in CLARK.artifacts}
    # What needs the treebank waits for it; what needs the generated segments alone does not.
    assert {title: one.sentence for title, one in missing["table1"].items()} == {"corpus trees": TREES}
    assert (missing["options"], missing["figure2"]) == (missing["table1"], {})
    # So do those that a study reads for every artefact, its models, and what these are trained on.
    guan, own = studies()["guan2020"], {"model bert-large-wwm-squad"}
    training = {f"corpus {task}-{part}" for task in ("mrpc", "mnli") for part in ("train", "dev")} | {"model bert-large-wwm"}
    # Models that are compared can be left out, the study's own cannot.
    for what, expected in (("error", own | training), ("skip", own)):
        paper = shipped_copy(what)
        for name in ("bert-large-wwm", "bert-large-wwm-squad"):
            paper["models"][name]["source"] = {"path": f"models/{name}"}
        assert set(missing_for(paper, "paper", guan, guan.artifact("figure1"))) == expected


def test_missing_files_are_an_error_that_names_them(without_files):
    config = changed("corpora/trees/licence", "LDC99T42", changed("corpora/trees/layout", "ten columns"))
    give_model(without_files, SMALL["models"]["tiny"])
    built_targets, warned = small(corpora=config["corpora"])
    with pytest.raises(AtlasError, match=r"^Missing, but needed by the target runs \(one\):\n") as caught:
        built_targets.artifacts()(wildcards())
    _, line, last = str(caught.value).splitlines()
    assert line.startswith(
        f"- {TREES} Licence: LDC99T42. Expected layout: ten columns. Needed by: clark2019: figure5, figure6,"
    )
    assert ("missing: skip" in last, warned) == (True, [])
    # What does not need them can be built by itself.
    assert built_targets.artifacts(kind="figure", study="guan2020")(wildcards()) == []


def test_what_needs_missing_files_is_skipped_with_a_warning(without_files):
    give_model(without_files, SMALL["models"]["tiny"])
    built_targets, warned = small("skip")
    paths = built_targets.artifacts()(wildcards())
    assert "results/one/clark2019/figure2.svg" in paths
    assert not [path for path in paths if "/table1." in path]
    (text,) = warned
    without = "Built without it: clark2019: figure6, dropped, options, comparison, claims."
    assert text.endswith(f"- {TREES} Skipped: clark2019: figure5, table1. {without}")
    tables = built_tables(built_targets.config, "one")
    assert tables["clark2019/surface"] == "results/one/clark2019/surface.tsv"
    assert not {"clark2019/dependencies", "clark2019/table2"} & set(tables)
    # An overview is made from no overview.
    assert not [name for name in built_tables(shipped(), "sample") if name.startswith(("atlas/", "scoreboard/"))]
    (without_files / "nowhere").mkdir()
    (without_files / "nowhere/trees.conllu").touch()
    built_targets, warned = small("skip")
    assert "results/one/clark2019/table1.tsv" in built_targets.artifacts()(wildcards())
    assert warned == []
