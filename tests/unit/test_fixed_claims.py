"""Claims that were fixed before any result on real text was known: their list stays, and later changes are marked."""

import hashlib

import pandas as pd
import pytest
from rules_text import ROOT

from attention_atlas.published.compare import BEFORE_RESULTS, LATER, REWORDED, TEST_CHANGED, fixed, key, listed, totals

LISTED = ROOT / "docs/results/claims-before-the-run.tsv"
PARTS = r"\b(dobj|det|pobj|poss|Decoder attention|Encoder attention|run_bertology|fairseq)\b|[\d.]+"
"""Names of the part that decides a claim on several, and numbers, in the statistic of a claim."""


def test_the_list_is_that_of_the_commit_before_the_first_build():
    # No claim is added to this file, nor changed.
    digest = hashlib.sha256(LISTED.read_bytes()).hexdigest()
    assert digest == "ae8b97be33294d707c79acb17324ad84ef4f861ced5c09070664bea82d83727e"


def test_every_listed_claim_is_followed_to_its_words_of_today():
    first = pd.read_csv(LISTED, sep="\t").set_index("claim")
    today = {row["before"] or row["claim"]: row for row in listed().values()}
    assert today.keys() == set(first.index)
    for claim, row in today.items():
        assert (row["study"], float(row["threshold"])) == (first.loc[claim, "study"], first.loc[claim, "threshold"]), claim


@pytest.mark.parametrize(
    ("statement", "threshold", "mark"),
    [
        ("Section 3.2: over half of the attention in layers 3 to 5 goes to [SEP]", 0.5, BEFORE_RESULTS),
        ("Section 3.2: over half of the attention in layers 6 to 10 goes to [SEP]", 0.5, BEFORE_RESULTS),
        ("Section 3.2: over half of the attention in layers 3 to 5 goes to [SEP]", 0.4, TEST_CHANGED),
        ("Section 3.2: most of the attention in layers 3 to 5 goes to [SEP]", 0.5, LATER),
        ("Removing the worst heads improves token F1", 0, REWORDED),
        ("Fine-tuning from pre-trained weights beats random weights in every task (Table 1)", 0, REWORDED),
        (
            "Fine-tuning from pre-trained weights beats random weights in every task (Table 1) (1 of 2 tasks trained)",
            0,
            REWORDED,
        ),
        ("Some heads attend to keyphrase words more than to other words", 0, TEST_CHANGED),
    ],
)
def test_a_claim_is_fixed_with_its_words_and_its_threshold(statement, threshold, mark):
    assert fixed(statement, threshold) == mark


def test_verdicts_are_counted_apart():
    verdicts = [(BEFORE_RESULTS, "holds"), (REWORDED, "undecided"), (TEST_CHANGED, "holds"), (LATER, "does not hold")]
    counts = ("1 hold, 0 do not hold, 1 undecided", "1 hold, 0 do not hold, 0 undecided", "0 hold, 1 do not hold")
    for text, shown in zip(totals(pd.DataFrame(verdicts, columns=["fixed", "verdict"])), counts, strict=True):
        assert shown in text


def changed_without_mark(claims: pd.DataFrame, published: pd.DataFrame) -> list[str]:
    """Claims that count as fixed, but that the last published run does not have, or tests in another way."""
    claims, published = (table.assign(key=table["claim"].map(key)) for table in (claims, published))
    both = claims[claims["fixed"].isin([BEFORE_RESULTS, REWORDED])].merge(published, "left", "key", suffixes=("", "_old"))
    same = (both["threshold"] == both["threshold_old"]) & (both["side"] == both["side_old"])
    new, old = (both[name].fillna("").str.replace(PARTS, "", regex=True) for name in ("statistic", "statistic_old"))
    return both.loc[~same | (new != old), "claim"].tolist()


def test_a_claim_that_was_changed_after_the_last_published_run_is_marked():
    published = pd.concat(pd.read_csv(path, sep="\t") for path in sorted((ROOT / "docs/results/laptop").rglob("claims.tsv")))
    claims = published.drop(columns="fixed", errors="ignore")
    claims = claims.assign(fixed=list(map(fixed, claims["claim"], claims["threshold"])))
    assert changed_without_mark(claims, published) == []
    counted = claims["fixed"].isin([BEFORE_RESULTS, REWORDED])
    for change in ({"threshold": 0.123}, {"side": "else"}, {"statistic": "another"}, {"claim": "new"}):
        assert len(changed_without_mark(claims.assign(**change), published)) == counted.sum() > 30
    for path in (ROOT / "results").glob("*/claims.tsv"):
        assert changed_without_mark(pd.read_csv(path, sep="\t"), published) == [], f"{path}: mark it in fixed_claims.tsv"
