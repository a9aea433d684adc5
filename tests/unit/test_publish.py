"""Pages of a run for the site: text of a corpus only where its licence allows it, every artefact, no dead link."""

import re

import pandas as pd
import pytest
from small_config import SHIPPED, changed, give_model

from attention_atlas.io.files import write_text
from attention_atlas.io.tables import write_table
from attention_atlas.published.compare import CLAIM_COLUMNS, COLUMNS
from attention_atlas.scoreboard.tables import summary_rows
from attention_atlas.workflow.artifacts import listed_artifacts
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.study import studies
from tools import publish
from tools.publish import may_be_passed_on, text_corpora

OTHERS = {"head": ["1-1"], "n": [7], "mean": [0.25]}
OTHERS |= {name: ["x"] for name in "relation heldout_accuracy target weights mean_attention over root_alignment value".split()}
"""A row of every table without text, with the columns that sentences name."""
CANARY = "seven yellow canaries sang loudly beneath the old bridge"


def built(folder, licence=""):
    """The configuration of a run whose study Clark et al. is built, with a canary in every file that shows text."""
    config = changed("runs/one/title", "One")
    for place, title in (("pairs", "My segments"), ("trees", "My trees")):
        write_text(folder / f"{place}.txt", CANARY)
        config["corpora"][place] |= {"source": {"path": str(folder / f"{place}.txt")}, "title": title}
    config["corpora"]["pairs"]["licence"] = licence
    config["models"]["tiny"]["source"]["path"] = str(folder / "tiny")
    give_model(folder, config["models"]["tiny"])
    results, clark = folder / "results" / "one", studies()["clark2019"]
    for artifact in clark.artifacts:
        for name in artifact.files:
            path = folder / clark.path(name, "one")
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".tsv":
                text = {"sentence": [CANARY]} if name in artifact.text_files else OTHERS
                write_table(pd.DataFrame(text), path)
            else:
                shown = CANARY if name in artifact.text_files else "drawn"
                path.write_text(f"<h1>A</h1>\n<nav aria-label='Files and sources'>x</nav>{shown}", encoding="utf-8")
    numbers = [1.0, "above", 0.0, -1.0, 3.0, 0.95, 30]
    tested = ["a claim", "x", "undecided", "mean | share", *numbers, "documents", "paper", "added later"]
    claims = pd.DataFrame([tested], columns=list(CLAIM_COLUMNS))
    value = dict.fromkeys(COLUMNS, "") | {"item": "Table 1", "quantity": "accuracy", "published": 34.5, "ours": 34.5}
    values = pd.DataFrame([value | {"verdict": "match"}], columns=list(COLUMNS))
    write_table(claims, results / "clark2019/claims.tsv")
    write_table(values, results / "clark2019/comparison.tsv")
    write_table(claims.assign(study="clark2019"), results / "claims.tsv")
    summary = summary_rows(values.assign(study="clark2019"), claims.assign(study="clark2019"))
    write_table(summary, results / "scoreboard.tsv")
    return resolve(config)


@pytest.mark.parametrize(
    ("licence", "is_free"),
    [
        *((text, True) for text in ("CC BY 4.0", "CC BY-SA 3.0", "CC BY-SA 4.0 (free; Universal Dependencies 2.2)", "CC0")),
        *((text, False) for text in ("", "CC BY-NC-ND 4.0", "LDC99T42", "OANC, CC BY 3.0 and MIT", "see CC BY 4.0")),
    ],
)
def test_text_of_a_corpus_is_published_with_its_name_if_the_licence_allows_it(tmp_path, licence, is_free):
    out = tmp_path / "docs"
    assert publish.publish(built(tmp_path, licence), "one", tmp_path, out, "Commit 1.") == ["clark2019"]
    files = {str(path.relative_to(out)): path.read_text(encoding="utf-8") for path in out.rglob("*") if path.is_file()}
    figure1 = re.search(r"^## Figure 1: .*?(?=^## |\Z)", files["clark2019.md"], re.DOTALL | re.MULTILINE)[0]
    assert ("![Figure 1](clark2019/figure1.svg)" in figure1) == is_free
    assert (f"Text: My segments, {licence}." in figure1) == is_free
    assert ("Not published, because it shows text that may not be passed on (My segments)" in figure1) == (not is_free)
    assert {name for name in files if CANARY in files[name]} == (
        {"clark2019/figure1.svg", "clark2019/figure1.tsv"} if is_free else set()
    ), "the trees of Figure 5 have no licence"


def test_figures_of_the_shipped_runs_that_show_text_are_published_where_all_licences_allow_it():
    config = resolve(SHIPPED)

    assert not may_be_passed_on({"source": {"path": "nowhere/workflow/resources/wsj.jsonl"}})

    def published(run):
        shown = [entry for entry in listed_artifacts(config, run) if entry.artifact.text_files]
        corpora = {
            f"{entry.study.id}/{entry.artifact.id}": [config["corpora"][name] for name in text_corpora(config, run, entry)]
            for entry in shown
        }
        assert all(corpora.values()), "an artefact that shows text names its corpora"
        return {name for name, named in corpora.items() if all(map(may_be_passed_on, named))}

    free = {"clark2019/figure1", "clark2019/figure5", "guan2020/figure1", "kovaleva2019/figure4", "tenney2019/figure3"}
    assert published("laptop") == {*free, "atlas/measures"}, "the captions of STS-B may not be passed on"
    assert published("paper") == {"clark2019/figure1", "guan2020/figure1", "kovaleva2019/figure4"}
