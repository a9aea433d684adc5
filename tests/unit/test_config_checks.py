"""The one sentence that each mistake in a configuration gets."""

from __future__ import annotations

import pytest
from small_config import ABSENT, SHIPPED, SMALL, changed, sentence, with_family

from attention_atlas.workflow.config import resolve

HUB = {"hub": "someone/something", "revision": "0" * 40}
URL = {"url": "https://example.org/a.txt", "sha256": "0" * 64}
SHAPE = {"layers": 3, "heads": 4}
CLARK, ATLAS = "runs/one/clark2019", "runs/one/atlas"
IN_SMALL = [
    ("target", ["one"], "config: unknown key 'target'; did you mean 'targets'. Known keys: targets, missing,"),
    ("models/tiny/source/foldr", "x", "config: models.tiny.source: unknown key 'foldr'; did you mean 'folder'."),
    (f"{CLARK}/options/wordmode", "mean", "options: unknown key 'wordmode'; did you mean 'word_mode'."),
    ("targets", ["oen"], "config: targets: there is no run 'oen'; did you mean 'one'. Known: one."),
    ("runs/one/model", "tniy", "config: runs.one.model: there is no model 'tniy'; did you mean 'tiny'. Known: large, tiny."),
    ("runs/one/limits", {"tree": 3}, "config: runs.one.limits: there is no corpus 'tree'; did you mean 'trees'."),
    (f"{CLARK}/segments", "pair", "runs.one.clark2019.segments: there is no corpus 'pair'; did you mean 'pairs'."),
    (f"{CLARK}/variants", {"recipe": "x"}, "runs.one.clark2019.variants.recipe: there is no corpus 'x'. Known:"),
    (f"{CLARK}/variants", {"casing": "pairs"}, "clark2019.variants.casing: there is no model 'pairs'. Known:"),
    (f"{CLARK}/variants", {"segment_ids": "trees"}, "variants.segment_ids: corpus 'trees' has the reader conllu"),
    (f"{CLARK}/segments", "trees", "corpus 'trees' has the reader conllu, but segments is needed here."),
    ("models", ABSENT, "config: the key 'models' is missing. Registry of models: the name used in paths"),
    ("models/tiny/source", ABSENT, "config: models.tiny: the key 'source' is missing. Exactly one of package, path, hub"),
    (ATLAS, {"compared": ["large"]}, "runs.one.atlas.compared: models are compared on sentences: name"),
    (ATLAS, {"sentences": "trees", "shown": "trees"}, "runs.one.atlas.shown"),
    (ATLAS, {"sentences": "trees", "compared": ["larg"]}, "atlas.compared: there is no model 'larg'; did you mean"),
    (ATLAS, {"sentences": "trees", "compared": ["tiny"]}, "atlas.compared: 'tiny' is the model of the atlas itself"),
    ("runs/one/model", ABSENT, "config: runs.one.model: the study clark2019 needs a model; name one of the registry."),
    ("models/tiny/source/hub", "a/b", "give exactly one of untrained, fine_tuned, package, path, hub; found path and hub."),
    ("corpora/trees/source", {"url": URL["url"]}, "trees.source: the source url needs the key 'sha256' as well. SHA-256 of"),
    ("models/tiny/source", {"hub": "a/b"}, "the shape of a/b is not known yet: state layers, heads and hidden_size, or run"),
    ("models/tiny/source", {"package": "p"}, "models.tiny.source: the source package needs the key 'module' as well."),
    ("corpora/trees/source", HUB | {"revision": "../x"}, "trees.source.revision: '../x' does not match '^[A-Za-z0-9]"),
    ("corpora/trees/source", URL | {"url": "http://x"}, "config: corpora.trees.source.url: 'http://x' does not match"),
    ("models/tiny/sha256", "0" * 63, "config: models.tiny.sha256:"),
    (f"{CLARK}/options/entropy_smoothing", "1e-3", "(write 1.0e-3, not 1e-3: YAML reads the latter as text)."),
    ("corpora/pairs/limit", "10", "config: corpora.pairs.limit: '10' is not of type 'integer'. Use at most this many records"),
    ("models/tiny/dtype", "float", "'float' is not one of auto, float32, float16, bfloat16; did you mean 'float32'."),
    ("corpora/pairs/view", "stanford", "corpora.pairs.view: this key belongs to the reader conllu, not to segments."),
    ("corpora/trees/recipe", "clean", "corpora.trees.recipe: this key belongs to the reader segments, not to conllu."),
    ("corpora/Ähre", SMALL["corpora"]["pairs"], "config: corpora: 'Ähre' does not match"),
    ("runs/other/extends", "ones", "config: runs.other.extends: there is no run 'ones'; did you mean 'one'."),
    ("runs/one/extends", "one", "config: runs.one.extends: runs extend each other in a cycle (one): remove one."),
    ("runs/one/extends", ["one"], "config: runs.one.extends: ['one'] is not of type 'string'. Run whose keys"),
    (f"{CLARK}/figure1_heads", "best", "config: runs.one.clark2019.figure1_heads: 'best' does not fit."),
    (f"{CLARK}/figure5_heads", {"dobj": [0, 1]}, "clark2019.figure5_heads.dobj.0: 0 is less than the minimum of 1."),
]
FAMILY, KOVALEVA = "families/small", "runs/one/kovaleva2019"
IN_FAMILY = [
    (f"{FAMILY}/base", "tinny", "config: families.small.base: there is no model 'tinny'; did you mean 'tiny'"),
    (f"{FAMILY}/tasks/rte/corpus", "mrpc-train", "corpus 'mrpc-train' is one of the task mrpc, not of rte."),
    (f"{FAMILY}/tasks/nosuchtask", {"corpus": "x"}, "config: families.small.tasks"),
    (f"{KOVALEVA}/family", "smal", "kovaleva2019.family: there is no family 'smal'; did you mean 'small'"),
    (f"{KOVALEVA}/tasks/qnli", "rte-dev", "tasks.qnli: the family 'small' has no task 'qnli'; its tasks: rte, mrpc."),
    (f"{KOVALEVA}/tasks/rte", "mrpc-dev", "corpus 'mrpc-dev' is one of the task mrpc, not of rte."),
    ("models/small-rte-1", SMALL["models"]["tiny"], "'small-rte-1' is in the registry of models already"),
]
SAMPLE, MARIAN, SQUAD = "runs/sample", "models/marian-sample", "models/minilm-squad"
TWICE = {"source": {"fine_tuned": "minilm-squad"}, "training": {"task": "questions", "corpus": "squad-flat"}, "layers": 6}
DYNAMICS = SHIPPED["runs"]["sample"]["michel2019"] | {"trained_translator": None, "dynamics_importance": None}
DYNAMICS = {key: value for key, value in DYNAMICS.items() if value}


def mine(reader, source, **more):
    return {"reader": reader, "source": source, "limit": 3, **more}


IN_SHIPPED = [
    ("runs/laptop/clark2019/dependncies", "x", "config: runs.laptop.clark2019: unknown key 'dependncies'"),
    ("corpora/ewt-dev/source/rows", 3, "corpora.ewt-dev.source.rows: this key belongs to the source hub, not to url"),
    ("corpora/sample-segments/level", "words", "runs.sample.clark2019.segments: its measures are over word pieces"),
    ("corpora/sample-questions/level", "words", "runs.sample.guan2020.questions: distances are those of word pieces"),
    ("corpora/sample-trees/level", "words", "atlas.sentences: the corpus 'sample-trees' must have level: tokens"),
    (f"{SAMPLE}/guan2020/compared/pretrain/model", "minilms", "pretrain.model: there is no model 'minilms'; did you mean"),
    (f"{SAMPLE}/guan2020/compared/pretrain/model", "bert-base-uncased", "has 12 layers of 12 heads, the study's model 6 of 12"),
    (f"{SQUAD}/source/fine_tuned", "bert", "models.minilm-squad.source.fine_tuned: there is no"),
    (f"{SQUAD}/layers", 7, "models.minilm-squad.layers: 7 contradicts its base 'minilm', which says 6"),
    (f"{SQUAD}/training/corpus", "sample-trees", "'sample-trees' has the reader conllu, but squad is needed here"),
    (
        "models/other",
        {"source": {"fine_tuned": "minilm"}},
        "a source of kind fine_tuned and the key training (task, corpus) go",
    ),
    ("models/other", TWICE, "models.other.source.fine_tuned: 'minilm-squad' is fine-tuned itself"),
    (f"{MARIAN}-untrained/init", "pretrained", "marian-sample-untrained.init: an untrained model has no pre-trained weights"),
    (f"{MARIAN}-untrained/source/untrained/hidden_size", 100, "untrained: a hidden size of 100 does not fit 8 heads"),
    (f"{MARIAN}-untrained/source/untrained/corpus", "sample-trees", "reader conllu, but parallel is needed here"),
    (f"{MARIAN}/training/keep_epochs", [2, 9], "models.marian-sample.training.keep_epochs: 9 is more than its 6 epochs"),
    ("corpora/sample-parallel/translations", "sample-trees", "has the reader conllu, but lines is needed here"),
    ("corpora/mine", mine("parallel", {"path": "a"}), "corpora.mine: the reader parallel needs the key 'languages' as well"),
    ("corpora/mine", mine("parallel", {"sacrebleu": ["wmt13"]}), "the source sacrebleu needs the key 'pair' as well"),
    ("corpora/mine", mine("lines", {"sacrebleu": ["wmt13"], "pair": "en-fr"}), "test sets of translation need the reader"),
    ("corpora/mine", mine("edges", {"sample": "edges.jsonl"}), "the reader edges needs the key 'edge_tasks' as well"),
    ("corpora/mine", mine("glue", {"path": "x"}, task="mrpc", part="all"), "mine.part: this key belongs to the reader edges"),
    (f"{SAMPLE}/michel2019/trained_translator", "minilm-squad", "'minilm-squad' is trained for questions, not for translation"),
    (f"{SAMPLE}/michel2019/trained_translator", "marian-sample-untrained", "no epoch of 'marian-sample-untrained' is kept"),
    ("runs/mine", {"michel2019": DYNAMICS}, "Figure 5 needs the keys trained_translator, dynamics, dynamics_importance"),
    (f"{SAMPLE}/tenney2019/tasks/roles/training", "ewt-edges-train", "has targets for pos, dependencies, not for roles"),
    (f"{SAMPLE}/tenney2019/tasks/pos/training", "sample-trees", "reader conllu, but edges is needed here"),
    (f"{SAMPLE}/tenney2019/second_model", "minilm", "second_model: 'minilm' is the model of the study; name another one"),
    (f"{SAMPLE}/tenney2019/second_model", "minilm-random-1", "tenney2019.second_model is the random_model"),
    (f"{SAMPLE}/tenney2019/random_model", "minilm-squad", "'minilm-squad' is not random: set init: random_encoder"),
    (f"{SAMPLE}/stefanik2021/family", "minilm-glue", "stefanik2021.family: the family 'minilm-glue' has no task keyphrases"),
    ("runs/any/stefanik2021/test", "sample-keyphrases-test", "family: taggers need all of family, development, test"),
    ("families/minilm-keyphrases/tasks/keyphrases/corpus", "sample-rte-train", "reader glue, but keyphrases is needed here"),
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


def test_good_sources_of_every_kind_pass(tmp_path):
    for source in (HUB, URL, {"hub": str(tmp_path)}, {"sample": "ud.conllu"}, {"path": "x"}):
        assert resolve(changed("corpora/trees/source", source))["corpora"]["trees"]["source"].items() >= source.items()
    for source in (HUB, {"hub": "a/b", "revision": "v1.0"}, {"hub": str(tmp_path)}, {"package": "p", "module": "m"}):
        read = resolve(changed("models/tiny", SHAPE | {"source": source}))["models"]["tiny"]["source"]
        assert read.items() >= source.items()
