"""Paths of the files of a run."""

import pytest
from shipped_runs import shipped
from small_config import SMALL, changed

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.paths import (
    card_path,
    checkpoint_path,
    is_fine_tuned,
    keeps_epochs,
    shard_paths,
    tokenised_by,
    tokenizer_path,
)
from attention_atlas.workflow.requirements import raw_path


@pytest.mark.parametrize(
    ("limit", "records", "count"), [(1, None, 1), (4, None, 1), (5, None, 2), (8, None, 2), (9, None, 3), (9, 4, 1), (9, 99, 3)]
)
def test_as_many_whole_shards_as_hold_the_records(limit, records, count):
    config = resolve(changed("corpora/pairs/shard", 4))
    config["runs"]["one"]["limits"] = {"pairs": limit}
    paths = shard_paths(config, "one", "tiny", "pairs", "attention", "safetensors", records)
    assert paths == [f"results/one/attention/tiny/pairs/{shard}.safetensors" for shard in range(count)]


def test_folders_and_suffixes():
    config = resolve(SMALL)
    place = config, "one", "tiny", "pairs"
    assert shard_paths(*place, "hidden", "json") == ["results/one/hidden/tiny/pairs/0.json"]
    assert shard_paths(*place, "examples", "dropped.tsv") == ["results/one/examples/tiny/pairs/0.dropped.tsv"]
    assert card_path("one", "tiny") == "results/one/models/tiny/card.json"
    assert tokenizer_path("one", "tiny") == "results/one/models/tiny/tokenizer.json"
    assert checkpoint_path("one", "tiny") == "results/one/models/tiny/checkpoint/model.safetensors"


@pytest.mark.parametrize(
    ("model", "owner"),
    [
        ("minilm", "minilm"),
        # Other weights with the same tokenizer.
        ("minilm-random-2", "minilm"),
        ("minilm-squad", "minilm"),
        ("minilm-glue-mrpc-random-42", "minilm"),
        ("marian-sample", "marian-sample-untrained"),
        ("bert-base-random-3", "bert-base-uncased"),
        ("bert-base-cased", "bert-base-cased"),
        ("bert-large-mrpc", "bert-large-wwm"),
    ],
)
def test_models_with_one_tokenizer_share_their_examples_but_not_their_maps(model, owner):
    assert tokenised_by(shipped(), model) == owner
    place = shipped(), "sample", model, "sample-trees"
    assert shard_paths(*place, "examples", "parquet") == [f"results/sample/examples/{owner}/sample-trees/0.parquet"]
    assert shard_paths(*place, "attention", "json") == [f"results/sample/attention/{model}/sample-trees/0.json"]


def test_a_raw_file_is_generated_fetched_or_the_users(without_files):
    config = shipped()
    assert raw_path(config, "any", "sample-trees") == "results/any/corpora/sample/sd.conllu"
    assert raw_path(config, "laptop", "ewt-dev") == "results/laptop/corpora/ewt-dev.raw"
    assert raw_path(config, "paper", "newstest2013") == "results/paper/corpora/newstest2013.raw"
    with pytest.raises(AtlasError, match=r"corpus wsj-dev: licensed/wsj/dev\.conllu does not exist") as caught:
        raw_path(config, "paper", "wsj-dev")
    assert "Licence: LDC99T42" in str(caught.value)
    assert "Expected layout: CoNLL-U or CoNLL-X" in str(caught.value)
    (without_files / "licensed" / "wsj").mkdir(parents=True)
    (without_files / "licensed" / "wsj" / "dev.conllu").touch()
    assert raw_path(config, "paper", "wsj-dev") == "licensed/wsj/dev.conllu"


def test_models_that_are_trained_and_those_whose_training_is_followed():
    config = shipped()
    assert not is_fine_tuned(config, "marian-sample-untrained")
    assert [is_fine_tuned(config, "marian-sample"), keeps_epochs(config, "marian-sample")] == [True, True]
    assert [is_fine_tuned(config, "minilm-squad"), keeps_epochs(config, "minilm-squad")] == [True, False]
    assert not keeps_epochs(config, "minilm")
