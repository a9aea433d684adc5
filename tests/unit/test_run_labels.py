"""Lines of several settings: each setting is named once, and so is each caveat."""

from attention_atlas.io.tables import RunLabel, joint_lines

SAMPLE = RunLabel("Run", "m", "text", sample=True)
CAVEAT = "Generated text: not the papers' data, numbers are not comparable."


def test_a_caveat_of_several_models_stands_once_at_the_end():
    labels = [SAMPLE, RunLabel("Run", "m", "pairs", sample=True), RunLabel("Run", "second", "text", sample=True)]
    assert joint_lines(labels) == ["Run: m on text; pairs.", "Run: second on text.", CAVEAT]


def test_one_model_is_one_line():
    assert joint_lines([SAMPLE, SAMPLE]) == [SAMPLE.line] == [f"Run: m on text. {CAVEAT}"]


def test_models_without_caveats_have_none():
    assert joint_lines([RunLabel("Run", "a", "t"), RunLabel("Run", "b", "t")]) == ["Run: a on t.", "Run: b on t."]


def test_every_caveat_is_kept():
    converted = RunLabel("Run", "a", "t", converted=True)
    assert joint_lines([converted, SAMPLE])[-1] == f"{converted.caveats[0]} {CAVEAT}"
