"""The tool of the rehearsal: what it keeps between starts, and what it says of a scoreboard; and the small models."""

import pytest
from rules_text import ROOT

from attention_atlas.io.files import write_text
from attention_atlas.workflow.config import read_configuration, resolve
from tools.rehearse import REASONS, RUN, configuration, faults


@pytest.mark.parametrize(
    ("verdicts", "reasons", "expected"),
    [
        ("nn", REASONS, []),
        ("nn", REASONS[1:], ["no record was dropped for the reason 'several roots'."]),
        ("nmd", REASONS, ["1 values have the verdict 'match'.", "1 values have the verdict 'differs'."]),
        ("-", REASONS, ["no value would be compared with the run paper's models and corpora."]),
    ],
)
def test_faults_of_a_rehearsal(tmp_path, verdicts, reasons, expected):
    rows = {"n": "not comparable\tgenerated stand-ins", "m": "match\t", "d": "differs\t", "-": "not comparable\t"}
    folder = tmp_path / "results" / RUN
    write_text(folder / "comparison.tsv", "id\tverdict\tobstacle\n" + "".join(f"{key}\t{rows[key]}\n" for key in verdicts))
    write_text(folder / "examples/m/c/0.dropped.tsv", "record\treason\n" + "".join(f"0\t{reason}\n" for reason in reasons))
    assert [sentence.split(": ", 1)[1] for sentence in faults(tmp_path)] == expected


def test_the_run_differs_from_paper_in_sizes_and_draws_alone():
    config = resolve(configuration({}))
    paper, rehearsal = config["runs"]["paper"], config["runs"][RUN]
    assert rehearsal["stand_ins"]
    assert not paper["stand_ins"]
    # Every model and corpus that `paper` names, in its place, from a source of the same kind.
    registries = {**config["models"], **config["corpora"], **config["families"]}

    def named(settings, place=()):
        if isinstance(settings, dict):
            return {leaf for key, value in settings.items() for leaf in named(value, (*place, key))}
        return {(*place, settings)} if isinstance(settings, str) and settings in registries else set()

    assert named(paper) == named(rehearsal)
    shipped, overlay = read_configuration(ROOT), configuration({})
    for registry in ("models", "corpora"):
        for name, entry in shipped[registry].items():
            overlaid = overlay[registry][name]
            assert entry["source"].keys() == overlaid["source"].keys(), name
            assert all(entry.get(key) == overlaid.get(key) for key in ("reader", "task", "layers", "heads")), name
