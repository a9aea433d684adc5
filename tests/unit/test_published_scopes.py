"""What the paper run could match: models and data of the published values against those that the configuration declares."""

import re
from collections import Counter
from pathlib import Path

import pytest

from attention_atlas.io.tables import RunLabel
from attention_atlas.published.compare import CLOSE, EXACT, NO
from attention_atlas.published.matching import sameness
from attention_atlas.published.values import Published, load_published
from attention_atlas.workflow.config import read_configuration, resolve

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ("clark2019", "guan2020", "kovaleva2019", "michel2019", "tenney2019", "stefanik2021")


@pytest.fixture(scope="module")
def config():
    return resolve(read_configuration(ROOT))


def labels(config, study, key="model") -> dict[str, RunLabel]:
    """Role -> label of the paper run, with the references of the registries; `key` names the model of the edge probes."""

    def label(model, corpus) -> RunLabel:
        references = (config[kind][name].get("reference", "") for kind, name in (("models", model), ("corpora", corpus)))
        return RunLabel("Paper run", model, corpus, *references)

    run = config["runs"]["paper"]
    settings = run[study]
    if study == "clark2019":
        return {
            role: label(run["model"], settings[role]) for role in ("segments", "dependencies", "coreference", "probe_training")
        }
    if study == "guan2020":
        return {"questions": label(settings["model"], settings["questions"])}
    if study == "kovaleva2019":
        base = config["families"][settings["family"]]["base"]
        return {role: label(base, corpus) for role, corpus in [*settings["tasks"].items(), ("frames", settings["frames"])]}
    if study == "michel2019":
        return {
            "translation": label(settings["translator"], settings["translation"]),
            "translation_test": label(settings["translator"], settings["translation_test"]),
            "classification": label(settings["classifier"], settings["classification"]),
        }
    if study == "tenney2019":
        return {task: label(settings[key], corpora["development"]) for task, corpora in settings["tasks"].items()}
    return {}


def kinds_of_values(config, study) -> list[tuple[Published, str]]:
    """Every published value, and how it compares if the paper run has measured all that it can."""
    values = []
    run_labels = labels(config, study)
    # Figure A.3 of Tenney et al. has a second model.
    second_labels = labels(config, study, "second_model") if study == "tenney2019" else {}
    second_models = {label.model_reference for label in second_labels.values()}
    for value in load_published(study).values():
        kind = "never" if value.never else value.comparable
        if kind in (EXACT, CLOSE):
            chosen = second_labels if value.same.get("model") in second_models else run_labels
            kind = sameness(value, chosen).comparable if value.role else NO
        values.append((value, kind))
    return values


def test_what_the_paper_run_could_match_is_what_the_documentation_says(config):
    rows = {study: Counter(kind for _, kind in kinds_of_values(config, study)) for study in STUDIES}
    rows["all"] = sum(rows.values(), Counter())
    page = (ROOT / "docs/runs.md").read_text(encoding="utf-8")
    for study, counts in rows.items():
        row = f"| {study} | {counts.total()} | " + " | ".join(str(counts[kind]) for kind in (EXACT, CLOSE, NO, "never")) + " |"
        assert row in page, row
    assert rows["michel2019"][NO] > 0.6 * rows["michel2019"].total(), "most need the checkpoint converted from fairseq"
    assert not rows["tenney2019"][EXACT], "probes are trained anew"
    assert rows["all"][EXACT] == rows["clark2019"][EXACT], "all else needs training or a figure"
    could = [value for value, kind in kinds_of_values(config, "clark2019") if kind == EXACT]
    sized = sum(value.size is not None for value in could)
    assert f"{sized} of the {len(could)} have a published size" in page


def test_every_obstacle_is_short_enough_to_be_counted():
    reasons = {value.never for study in STUDIES for value in load_published(study).values() if value.never}
    assert all(len(reason) < 50 and not re.search(r"[.;]", reason) for reason in reasons)
    assert len(reasons) < 20
