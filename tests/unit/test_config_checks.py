"""The one sentence that each mistake in a configuration gets."""

import pytest
from small_config import ABSENT, SHIPPED, SMALL, changed, sentence, with_family

CLARK, ATLAS = "runs/one/clark2019", "runs/one/atlas"
IN_SMALL = [
    ("target", ["one"], "config: unknown key 'target'; did you mean 'targets'. Known keys: targets, missing,"),
    ("targets", ["oen"], "config: targets: there is no run 'oen'; did you mean 'one'. Known: one."),
    (f"{CLARK}/segments", "pair", "runs.one.clark2019.segments: there is no corpus 'pair'; did you mean 'pairs'."),
    (f"{CLARK}/segments", "trees", "corpus 'trees' has the reader conllu, but segments is needed here."),
    (ATLAS, {"sentences": "trees", "compared": ["tiny"]}, "atlas.compared: 'tiny' is the model of the atlas itself"),
    ("runs/one/model", ABSENT, "config: runs.one.model: the study clark2019 needs a model; name one of the registry."),
    ("models/tiny/source/hub", "a/b", "one of untrained, fine_tuned, package, path, hub, released; found path and hub."),
    ("corpora/trees/source", {"url": "https://a.org/a.txt"}, "trees.source: the source url needs the key 'sha256' as well."),
    ("models/tiny/source", {"hub": "a/b"}, "the shape of a/b is not known yet: state layers, heads and hidden_size, or run"),
    (f"{CLARK}/options/entropy_smoothing", "1e-3", "(write 1.0e-3, not 1e-3: YAML reads the latter as text)."),
    ("corpora/pairs/view", "stanford", "corpora.pairs.view: this key belongs to the reader conllu, not to segments."),
    ("runs/one/title", "</script><script>", "config: runs.one.title: '</script><script>' does not match"),
    ("runs/two\n", {}, "does not match"),
    ("runs/one/extends", "one", "config: runs.one.extends: runs extend each other in a cycle (one): remove one."),
]
FAMILY, KOVALEVA = "families/small", "runs/one/kovaleva2019"
IN_FAMILY = [
    (f"{FAMILY}/tasks/rte/corpus", "mrpc-train", "corpus 'mrpc-train' is one of the task mrpc, not of rte."),
    (f"{KOVALEVA}/tasks/qnli", "rte-dev", "tasks.qnli: the family 'small' has no task 'qnli'; its tasks: rte, mrpc."),
    (f"{KOVALEVA}/tasks/rte", "mrpc-dev", "corpus 'mrpc-dev' is one of the task mrpc, not of rte."),
]
SAMPLE, MARIAN, SQUAD = "runs/sample", "models/marian-sample", "models/minilm-squad"
TWICE = {"source": {"fine_tuned": "minilm-squad"}, "training": {"task": "questions", "corpus": "squad-flat"}, "layers": 6}
IN_SHIPPED = [
    ("corpora/sample-segments/level", "words", "runs.sample.clark2019.segments: its measures are over word pieces"),
    ("corpora/sample-questions/level", "words", "runs.sample.guan2020.questions: distances are those of word pieces"),
    (f"{SAMPLE}/guan2020/compared/pretrain/model", "bert-base-uncased", "has 12 layers of 12 heads, the study's model 6 of 12"),
    ("runs/released/clark2019/gradients", True, "only maps of the model were released: set gradients: false"),
    ("runs/released/clark2019/segments", "released-dev", "has the reader released_maps, but segments is needed here."),
    ("runs/released/clark2019/dependencies", "released-segments", "reader released_maps, but conllu is needed here."),
    (f"{SAMPLE}/clark2019/segments", "released-segments", "model 'minilm' on corpus 'released-segments': the source released"),
    ("runs/released/atlas", {"sentences": "sample-trees"}, "the source released and the reader released_maps go together."),
    ("corpora/released-dev/level", "tokens", "released-dev: maps of a treebank need level: words and trees, those of text"),
    (f"{SQUAD}/layers", 7, "models.minilm-squad.layers: 7 contradicts its base 'minilm', which says 6"),
    ("models/other", TWICE, "models.other.source.fine_tuned: 'minilm-squad' is fine-tuned itself"),
    (f"{MARIAN}-untrained/init", "pretrained", "marian-sample-untrained.init: an untrained model has no pre-trained weights"),
    (f"{MARIAN}-untrained/source/untrained/hidden_size", 100, "untrained: a hidden size of 100 does not fit 8 heads"),
    (f"{MARIAN}/training/keep_epochs", [2, 9], "models.marian-sample.training.keep_epochs: 9 is more than its 6 epochs"),
    (f"{SAMPLE}/michel2019/trained_translator", "minilm-squad", "'minilm-squad' is trained for questions, not for translation"),
    (
        "runs/paper/michel2019/translation_test",
        "newstest2014-moses",
        "tokenised by moses, but model 'opus-mt-tc-big-en-fr' needs",
    ),
    (f"{SAMPLE}/tenney2019/tasks/roles/training", "ewt-edges-train", "has targets for pos, dependencies, not for roles"),
    (f"{SAMPLE}/tenney2019/second_model", "minilm", "second_model: 'minilm' is the model of the study; name another one"),
    (f"{SAMPLE}/tenney2019/random_model", "minilm-squad", "'minilm-squad' is not random: set init: random_encoder"),
    ("runs/any/stefanik2021/test", "sample-keyphrases-test", "family: taggers need all of family, development, test"),
]


@pytest.mark.parametrize(
    ("base", "place", "value", "expected"),
    [(base, *row) for base, rows in ((SMALL, IN_SMALL), (with_family(), IN_FAMILY), (SHIPPED, IN_SHIPPED)) for row in rows],
    ids=[f"{place}={value!r:.20}" for rows in (IN_SMALL, IN_FAMILY, IN_SHIPPED) for place, value, _ in rows],
)
def test_a_mistake_gets_one_sentence_that_names_the_key(base, place, value, expected):
    message = sentence(changed(place, value, base))
    assert expected in message
    assert message.startswith("config: ")
    assert "\n" not in message
    assert message.endswith((".", ")"))
