"""The one sentence that each mistake in a configuration gets."""

from __future__ import annotations

import copy
import re

import pytest
from small_config import ABSENT, SHIPPED, SMALL, changed, sentence, with_family

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import resolve

WITHOUT_TRAINING = {
    key: value
    for key, value in SHIPPED["runs"]["sample"]["michel2019"].items()
    if key not in ("trained_translator", "dynamics", "dynamics_importance")
}
HUB = {"hub": "someone/something", "revision": "0" * 40}
URL = {"url": "https://example.org/a.txt", "sha256": "0" * 64}
MISTAKES = [
    (
        "target",
        ["one"],
        "config: unknown key 'target'; did you mean 'targets'. Known keys: targets, missing, accept_licences, data_mirror,",
    ),
    (
        "sample/documets",
        3,
        "config: sample: unknown key 'documets'; did you mean 'documents'. Known keys: documents, train_documents, seed.",
    ),
    ("models/tiny/layer", 3, "config: models.tiny: unknown key 'layer'; did you mean 'layers'."),
    ("models/tiny/source/foldr", "x", "config: models.tiny.source: unknown key 'foldr'; did you mean 'folder'."),
    ("corpora/pairs/recpie", "clean", "config: corpora.pairs: unknown key 'recpie'; did you mean 'recipe'."),
    ("corpora/pairs/source/pth", "x", "config: corpora.pairs.source: unknown key 'pth'; did you mean 'path'."),
    ("runs/one/modle", "tiny", "config: runs.one: unknown key 'modle'; did you mean 'model'."),
    ("runs/one/clark2020", {}, "config: runs.one: unknown key 'clark2020'; did you mean 'clark2019'."),
    ("runs/one/clark2019/fold", 5, "config: runs.one.clark2019: unknown key 'fold'; did you mean 'folds'."),
    ("runs/one/clark2019/variants/recipes", "x", "unknown key 'recipes'; did you mean 'recipe'."),
    ("runs/one/clark2019/options/wordmode", "mean", "options: unknown key 'wordmode'; did you mean 'word_mode'."),
    ("zebra", 1, "config: unknown key 'zebra'. Known keys:"),
    ("targets", ["oen"], "config: targets: there is no run 'oen'; did you mean 'one'. Known: one."),
    ("runs/one/model", "tniy", "config: runs.one.model: there is no model 'tniy'; did you mean 'tiny'. Known: large, tiny."),
    ("runs/one/clark2019/model", "tin", "config: runs.one.clark2019.model: there is no model 'tin'; did you mean 'tiny'."),
    (
        "runs/one/limits",
        {"tree": 3},
        "config: runs.one.limits: there is no corpus 'tree'; did you mean 'trees'. Known: pairs, trees.",
    ),
    ("runs/one/clark2019/segments", "pair", "runs.one.clark2019.segments: there is no corpus 'pair'; did you mean 'pairs'."),
    ("runs/one/clark2019/variants", {"recipe": "x"}, "runs.one.clark2019.variants.recipe: there is no corpus 'x'. Known:"),
    ("runs/one/clark2019/variants", {"casing": "pairs"}, "clark2019.variants.casing: there is no model 'pairs'. Known:"),
    (
        "runs/one/clark2019/segments",
        "trees",
        "config: runs.one.clark2019.segments: corpus 'trees' has the reader conllu, but segments is needed here.",
    ),
    (
        "runs/one/clark2019/dependencies",
        "pairs",
        "config: runs.one.clark2019.dependencies: corpus 'pairs' has the reader segments, but conllu is needed here.",
    ),
    ("runs/one/clark2019/variants", {"segment_ids": "trees"}, "variants.segment_ids: corpus 'trees' has the reader conllu"),
    ("models", ABSENT, "config: the key 'models' is missing. Registry of models: the name used in paths"),
    (
        "models/tiny/source",
        ABSENT,
        "config: models.tiny: the key 'source' is missing. Exactly one of package, path, hub, fine_tuned, untrained.",
    ),
    ("corpora/pairs/limit", ABSENT, "config: corpora.pairs: the key 'limit' is missing. Use at most this many records"),
    ("corpora/pairs/reader", ABSENT, "config: corpora.pairs: the key 'reader' is missing. conllu: dependency trees"),
    (
        "runs/one/clark2019/dependencies",
        ABSENT,
        "config: runs.one.clark2019: the key 'dependencies' is missing. Corpus of reader",
    ),
    ("runs/one/atlas", {"compared": ["large"]}, "runs.one.atlas.compared: models are compared on sentences: name"),
    ("runs/one/atlas", {"sentences": "trees", "shown": "trees"}, "runs.one.atlas.shown"),
    ("runs/one/atlas", {"sentences": "trees", "compared": ["larg"]}, "atlas.compared: there is no model 'larg'; did you mean"),
    ("runs/one/atlas", {"sentences": "trees", "compared": ["tiny"]}, "atlas.compared: 'tiny' is the model of the atlas itself"),
    ("runs/one/atlas", {"sentences": "pairs"}, "atlas.sentences: corpus 'pairs' has the reader segments, but conllu is needed"),
    ("runs/one/model", ABSENT, "config: runs.one.model: the study clark2019 needs a model; name one of the registry."),
    (
        "models/tiny/source/hub",
        "a/b",
        "config: models.tiny.source: give exactly one of untrained, fine_tuned, package, path, hub; found path and hub.",
    ),
    (
        "models/tiny/source",
        {"folder": "x"},
        "models.tiny.source: give exactly one of untrained, fine_tuned, package, path, hub; found none of them.",
    ),
    (
        "corpora/trees/source/url",
        URL["url"],
        "trees.source: give exactly one of sacrebleu, sample, path, url, hub; found path and url.",
    ),
    ("corpora/trees/source", {"url": URL["url"]}, "trees.source: the source url needs the key 'sha256' as well. SHA-256 of"),
    (
        "models/tiny/source",
        {"hub": "a/b"},
        "the shape of a/b is not known yet: state layers, heads and hidden_size, or run `hf download a/b config.json` first.",
    ),
    ("models/tiny/source", {"package": "p"}, "models.tiny.source: the source package needs the key 'module' as well."),
    ("corpora/trees/source", {**HUB, "revision": "../x"}, "trees.source.revision: '../x' does not match '^[A-Za-z0-9]"),
    ("corpora/trees/source", {**URL, "url": "http://x"}, "config: corpora.trees.source.url: 'http://x' does not match"),
    ("models/tiny/sha256", "0" * 63, "config: models.tiny.sha256:"),
    (
        "runs/one/clark2019/options/entropy_smoothing",
        "1e-3",
        "options.entropy_smoothing: '1e-3' should be of type number (write 1.0e-3, not 1e-3: YAML reads the latter as text).",
    ),
    ("corpora/pairs/limit", "10", "config: corpora.pairs.limit: '10' should be of type integer. Use at most this many records"),
    ("corpora/pairs/limit", 0, "config: corpora.pairs.limit: 0 is less than the minimum of 1."),
    ("models/tiny/layers", True, "config: models.tiny.layers: True should be of type integer."),
    ("data_mirror", 3, "config: data_mirror: 3 should be of type string or null."),
    (
        "models/tiny/dtype",
        "float",
        "models.tiny.dtype: 'float' is not one of auto, float32, float16, bfloat16; did you mean 'float32'.",
    ),
    ("missing", "warn", "config: missing: 'warn' is not one of error, skip."),
    ("corpora/pairs/view", "stanford", "corpora.pairs.view: this key belongs to the reader conllu, not to segments."),
    *[
        (f"corpora/trees/{key}", value, f"corpora.trees.{key}: this key belongs to the reader segments, not to conllu.")
        for key, value in (("lines", "sentences"), ("recipe", "clean"), ("segment_ids", "pair"))
    ],
    ("corpora/pairs/skip", 1, "corpora.pairs.skip: this key belongs to the reader conllu and gap and glue and frames and"),
    ("corpora/pairs/windows", "all", "corpora.pairs.windows: this key belongs to the reader conll2012 and squad, not to"),
    ("corpora/Ähre", SMALL["corpora"]["pairs"], "config: corpora: 'Ähre' does not match"),
    ("runs/with space", {}, "config: runs: 'with space' does not match"),
    ("models/a_b", SMALL["models"]["tiny"], "config: models: 'a_b' does not match"),
    ("runs", {2019: {}}, "config: runs: 2019 should be of type string."),
    ("runs/one", None, "config: runs.one: None should be of type object."),
    ("runs/one/extends", "two", "config: runs.one.extends: there is no run 'two'."),
    ("runs/other/extends", "ones", "config: runs.other.extends: there is no run 'ones'; did you mean 'one'."),
    ("runs/one/extends", "one", "config: runs.one.extends: runs extend each other in a cycle (one): remove one."),
    ("runs/one/extends", ["one"], "config: runs.one.extends: ['one'] should be of type string. Run whose keys"),
    ("runs/one/extends", 1, "config: runs.one.extends: 1 should be of type string."),
    ("runs/one/clark2019/figure1_heads", [[1, 1]], "config: runs.one.clark2019.figure1_heads: [[1, 1]] is too short."),
    ("runs/one/clark2019/figure5_heads", {"dobj": [0, 1]}, "clark2019.figure5_heads.dobj.0: 0 is less than the minimum of 1."),
]


@pytest.mark.parametrize(
    ("place", "value", "expected"), MISTAKES, ids=[f"{place}={value!r:.20}" for place, value, _ in MISTAKES]
)
def test_a_mistake_gets_one_sentence_that_names_the_key(place, value, expected):
    message = sentence(changed(place, value))
    assert expected in message
    assert message.startswith("config: ")
    assert "\n" not in message
    assert message.endswith((".", ")"))


def test_good_sources_of_every_kind_pass(tmp_path):
    for source in (HUB, URL, {"hub": str(tmp_path)}, {"sample": "ud.conllu"}, {"path": "x"}):
        assert resolve(changed("corpora/trees/source", source))["corpora"]["trees"]["source"].items() >= source.items()
    stated = changed("models/tiny/heads", 4, changed("models/tiny/layers", 3))
    for source in (
        HUB,
        {"hub": "a/b"},
        {"hub": "a/b", "revision": "v1.0"},
        {"hub": str(tmp_path)},
        {"package": "p", "module": "m"},
    ):
        assert resolve(changed("models/tiny/source", source, stated))["models"]["tiny"]["source"].items() >= source.items()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"runs": {"laptop": {"clark2019": {"dependncies": "x"}}}}, "config: runs.laptop.clark2019: unknown key 'dependncies'"),
        ({"runs": {"laptop": {"titel": "x"}}}, "config: runs.laptop: unknown key 'titel'"),
        ({"runs": {"open": {"titel": "x"}}}, "config: runs.open: unknown key 'titel'"),
        (
            {"corpora": {"ewt-dev": {"source": {"rows": 3}}}},
            "corpora.ewt-dev.source.rows: this key belongs to the source hub, not to url",
        ),
        (
            {"corpora": {"sample-segments": {"level": "words"}}},
            "runs.sample.clark2019.segments: its measures are over word pieces",
        ),
        (
            {
                "corpora": {"sample-trees": {"level": "words"}},
                "runs": {"sample": {"clark2019": {"options": {"word_mode": "first"}}}},
            },
            "runs.sample.clark2019.options.word_mode: first needs level: tokens",
        ),
        ({"runs": {"sample": {"clark2019": {"figure1_heads": "best"}}}}, "figure1_heads: 'best' does not fit"),
        (
            {"corpora": {"sample-questions": {"level": "words"}}},
            "runs.sample.guan2020.questions: distances are those of word pieces",
        ),
        (
            {"runs": {"sample": {"guan2020": {"compared": {"pretrain": {"model": "minilms"}}}}}},
            "runs.sample.guan2020.compared.pretrain.model: there is no model 'minilms'; did you mean 'minilm'",
        ),
        ({"runs": {"sample": {"guan2020": {"questions": "sample-trees"}}}}, "has the reader conllu, but squad is needed here"),
        (
            {"models": {"minilm-squad": {"source": {"fine_tuned": "bert"}}}},
            "models.minilm-squad.source.fine_tuned: there is no",
        ),
        (
            {"models": {"minilm-squad": {"layers": 7}}},
            "models.minilm-squad.layers: 7 contradicts its base 'minilm', which says 6",
        ),
        (
            {"models": {"minilm-squad": {"training": {"corpus": "sample-trees"}}}},
            "models.minilm-squad.training.corpus: corpus 'sample-trees' has the reader conllu, but squad is needed here",
        ),
        (
            {"models": {"minilm": {"training": {"task": "questions", "corpus": "squad-flat"}}}},
            "models.minilm: a source of kind fine_tuned and the key training (task, corpus) go together",
        ),
        (
            {"models": {"other": {"source": {"fine_tuned": "minilm"}, "layers": 6}}},
            "models.other: a source of kind fine_tuned and the key training (task, corpus) go together",
        ),
        (
            {
                "models": {
                    "other": {
                        "source": {"fine_tuned": "minilm-squad"},
                        "training": {"task": "questions", "corpus": "squad-flat"},
                        "layers": 6,
                    }
                }
            },
            "models.other.source.fine_tuned: 'minilm-squad' is fine-tuned itself",
        ),
        (
            {"models": {"marian-sample-untrained": {"init": "pretrained"}}},
            "marian-sample-untrained.init: an untrained model has no pre-trained weights",
        ),
        (
            {"models": {name: {"heads": 7} for name in ("marian-sample-untrained", "marian-sample")}},
            "untrained: a hidden size of 128 does not fit 7 heads",
        ),
        (
            {"models": {"marian-sample-untrained": {"source": {"untrained": {"corpus": "sample-trees"}}}}},
            "source.untrained.corpus: corpus 'sample-trees' has the reader conllu, but parallel is needed here",
        ),
        (
            {"models": {"marian-sample": {"training": {"corpus": "sample-mrpc"}}}},
            "marian-sample.training.corpus: corpus 'sample-mrpc' has the reader glue, but parallel is needed here",
        ),
        (
            {"corpora": {"sample-parallel": {"translations": "sample-trees"}}},
            "corpora.sample-parallel.translations: corpus 'sample-trees' has the reader conllu, but lines is needed here",
        ),
        ({"corpora": {"sample-trees": {"languages": ["en", "fr"]}}}, "corpora.sample-trees.languages: this key belongs to"),
        (
            {"corpora": {"mine": {"reader": "parallel", "source": {"path": "a.jsonl"}, "limit": 3}}},
            "corpora.mine: the reader parallel needs the key 'languages' as well",
        ),
        (
            {"corpora": {"mine": {"reader": "parallel", "source": {"sacrebleu": ["wmt13"]}, "limit": 3}}},
            "corpora.mine.source: the source sacrebleu needs the key 'pair' as well",
        ),
        (
            {"corpora": {"mine": {"reader": "lines", "source": {"sacrebleu": ["wmt13"], "pair": "en-fr"}, "limit": 3}}},
            "corpora.mine.source.sacrebleu: test sets of translation need the reader parallel",
        ),
        (
            {"models": {"marian-sample": {"training": {"keep_epochs": [2, 9]}}}},
            "models.marian-sample.training.keep_epochs: 9 is more than its 6 epochs",
        ),
        (
            {"runs": {"sample": {"michel2019": {"trained_translator": "minilm-squad"}}}},
            "michel2019.trained_translator: 'minilm-squad' is trained for questions, not for translation",
        ),
        (
            {"runs": {"sample": {"michel2019": {"trained_translator": "marian-sample-untrained"}}}},
            "michel2019.trained_translator: no epoch of 'marian-sample-untrained' is kept: set keep_epochs in its training",
        ),
        (
            {"runs": {"mine": {"michel2019": {**WITHOUT_TRAINING, "dynamics": "sample-parallel"}}}},
            "Figure 5 needs the keys trained_translator, dynamics, dynamics_importance together",
        ),
        (
            {"corpora": {"mine": {"reader": "edges", "source": {"sample": "edges.jsonl"}, "limit": 3}}},
            "corpora.mine: the reader edges needs the key 'edge_tasks' as well",
        ),
        (
            {"corpora": {"mine": {"reader": "glue", "task": "mrpc", "part": "all", "source": {"path": "x"}, "limit": 3}}},
            "corpora.mine.part: this key belongs to the reader edges, not to glue",
        ),
        (
            {"runs": {"sample": {"tenney2019": {"tasks": {"roles": {"training": "ewt-edges-train"}}}}}},
            "tenney2019.tasks.roles.training: corpus 'ewt-edges-train' has targets for pos, dependencies, not for roles",
        ),
        (
            {"runs": {"sample": {"tenney2019": {"tasks": {"pos": {"training": "sample-trees"}}}}}},
            "tenney2019.tasks.pos.training: corpus 'sample-trees' has the reader conllu, but edges is needed here",
        ),
        (
            {"runs": {"sample": {"tenney2019": {"second_model": "minilm"}}}},
            "tenney2019.second_model: 'minilm' is the model of the study; name another one",
        ),
        (
            {"runs": {"sample": {"tenney2019": {"second_model": "minilm-random-1"}}}},
            "tenney2019.second_model is the random_model",
        ),
        (
            {"runs": {"sample": {"tenney2019": {"random_model": "minilm-squad"}}}},
            "tenney2019.random_model: 'minilm-squad' is not random: set init: random_encoder",
        ),
        (
            {"runs": {"sample": {"stefanik2021": {"family": "minilm-glue"}}}},
            "stefanik2021.family: the family 'minilm-glue' has no task keyphrases",
        ),
        (
            {"runs": {"any": {"stefanik2021": {"test": "sample-keyphrases-test"}}}},
            "any.stefanik2021.family: taggers need all of family, development, test",
        ),
        (
            {"corpora": {"sample-trees": {"level": "words"}}},
            "atlas.sentences: the corpus 'sample-trees' must have level: tokens",
        ),
        (
            {"runs": {"sample": {"stefanik2021": {"test": "sample-trees"}}}},
            "stefanik2021.test: corpus 'sample-trees' has the reader conllu, but keyphrases is needed here",
        ),
        (
            {"families": {"minilm-keyphrases": {"tasks": {"keyphrases": {"corpus": "sample-rte-train"}}}}},
            "training.corpus: corpus 'sample-rte-train' has the reader glue, but keyphrases is needed here",
        ),
    ],
)
def test_what_does_not_belong_together_is_refused(change, sentence):
    def merged(base, over):
        return base | {k: merged(base.get(k, {}), v) if isinstance(v, dict) else v for k, v in over.items()}

    with pytest.raises(AtlasError, match=re.escape(sentence)):
        resolve(merged(SHIPPED, change))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("families/small/base", "tinny", "config: families.small.base: there is no model 'tinny'; did you mean 'tiny'"),
        ("runs/one/kovaleva2019/family", "smal", "kovaleva2019.family: there is no family 'smal'; did you mean 'small'"),
        (
            "runs/one/kovaleva2019/tasks/qnli",
            "rte-dev",
            "tasks.qnli: the family 'small' has no task 'qnli'; its tasks: rte, mrpc.",
        ),
        ("runs/one/kovaleva2019/tasks/rte", "mrpc-dev", "corpus 'mrpc-dev' is one of the task mrpc, not of rte."),
        ("runs/one/kovaleva2019/tasks/rte", "trees", "corpus 'trees' has the reader conllu, but glue is needed here."),
        ("families/small/tasks/rte/corpus", "mrpc-train", "corpus 'mrpc-train' is one of the task mrpc, not of rte."),
        ("families/small/tasks/nosuchtask", {"corpus": "x"}, "config: families.small.tasks"),
        ("families/small/training/epoch", 2, "unknown key 'epoch'; did you mean 'epochs'"),
        (
            "corpora/trees/overlong",
            "drop",
            "corpora.trees.overlong: this key belongs to the reader glue and keyphrases, not to",
        ),
        ("runs/one/kovaleva2019/patterns", {"model": "x"}, "patterns.model: there is no model 'x'"),
    ],
)
def test_mistakes_in_families_are_named(path, value, message):
    raw = with_family()
    assert message in sentence(changed(path, value, raw))


def test_a_member_that_is_in_the_registry_already_is_refused():
    raw = with_family()
    raw["models"]["small-rte-1"] = copy.deepcopy(raw["models"]["tiny"])
    with pytest.raises(AtlasError, match="'small-rte-1' is in the registry of models already"):
        resolve(raw)


def test_compared_models_of_another_shape_are_refused():
    raw = copy.deepcopy(SHIPPED)
    raw["runs"]["sample"]["guan2020"]["compared"]["pretrain"]["model"] = "bert-base-uncased"
    with pytest.raises(AtlasError, match="'bert-base-uncased' has 12 layers of 12 heads, the study's model 6 of 12"):
        resolve(raw)
