"""What a run reads: models, records, shards and their paths; files that are not there, and licences to accept first."""

import json

import pytest
from small_config import SMALL, changed, shipped

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.paths import limit_of, shard_count, shard_paths, tokenised_by
from attention_atlas.workflow.requirements import raw_path


@pytest.mark.parametrize(
    ("limit", "records", "count"), [(1, None, 1), (4, None, 1), (5, None, 2), (8, None, 2), (9, None, 3), (9, 4, 1), (9, 99, 3)]
)
def test_as_many_whole_shards_as_hold_the_records(limit, records, count):
    config = resolve(changed("corpora/pairs/shard", 4))
    config["runs"]["one"]["limits"] = {"pairs": limit}
    assert limit_of(config, "one", "pairs") == limit
    assert shard_count(config, "one", "pairs", records) == count
    paths = shard_paths(config, "one", "tiny", "pairs", "attention", "safetensors", records)
    assert paths == [f"results/one/attention/tiny/pairs/{shard}.safetensors" for shard in range(count)]


TREE = "1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n\n"
QUESTION = {"context": "a b c", "question": "a?", "answer": "a"}
DOCUMENT = "d 0 0 a - - - - - - - -\n" * 2


@pytest.mark.parametrize(
    ("entry", "text", "records"),
    [
        ({"reader": "conllu", "skip": 250}, TREE * 300, 50),
        ({"reader": "squad", "windows": "all"}, json.dumps([QUESTION] * 7), 35),
        ({"reader": "conll2012"}, f"#begin document (a);\n{DOCUMENT}#end document\n#begin document (b);\n{DOCUMENT}", 2),
        ({"reader": "segments"}, "One two. Three.\n\nFour.\n", 4),
        ({"reader": "parallel", "languages": ["en", "fr"]}, '{"en": "a", "fr": "b"}\n' * 9, 9),
        # Nothing to count, or nothing that can be: the limit stands.
        ({"reader": "glue", "task": "sst2"}, "<html>\n</html>\n", 5000),
        ({"reader": "parallel", "languages": ["en", "fr"], "translations": "texts"}, "a\n", 5000),
    ],
)
def test_a_limit_above_the_size_of_a_users_file_plans_no_empty_shards(tmp_path, entry, text, records):
    (tmp_path / "mine").write_text(text, encoding="utf-8")
    mine = {"source": {"path": str(tmp_path / "mine")}, "limit": 5000, **entry}
    texts = {"reader": "lines", "source": {"sample": "sentences.txt"}, "limit": 1}
    config = resolve(changed("corpora", SMALL["corpora"] | {"mine": mine, "texts": texts}))
    assert limit_of(config, "one", "mine") == records
    assert shard_count(config, "one", "mine") == -(-records // 128)


def test_models_with_one_tokenizer_share_their_examples_but_not_their_maps():
    for model, owner in (
        ("minilm-random-2", "minilm"),  # other weights with the same tokenizer
        ("minilm-glue-mnli-random-42", "minilm"),
        ("marian-sample", "marian-sample-untrained"),
        ("bert-large-mrpc", "bert-large-wwm"),
    ):
        assert tokenised_by(shipped(), model) == owner
        place = shipped(), "sample", model, "sample-trees"
        assert shard_paths(*place, "examples", "parquet") == [f"results/sample/examples/{owner}/sample-trees/0.parquet"]
        assert shard_paths(*place, "attention", "json") == [f"results/sample/attention/{model}/sample-trees/0.json"]


def test_a_raw_file_is_generated_fetched_or_the_users(without_files):
    config, file = shipped(), without_files / "licensed/wsj/dev.conllu"
    assert raw_path(config, "any", "sample-trees") == "results/any/corpora/sample/sd.conllu"
    assert raw_path(config, "laptop", "ewt-dev") == "results/laptop/corpora/ewt-dev.raw"
    message = r"corpus wsj-dev: licensed/wsj/dev\.conllu does not exist\. Licence: LDC99T42.*Expected layout: CoNLL-U"
    for make in (None, file.mkdir):  # a folder is no file
        if make:
            make(parents=True)
        with pytest.raises(AtlasError, match=message):
            raw_path(config, "paper", "wsj-dev")
    file.rmdir()
    file.touch()
    assert raw_path(config, "paper", "wsj-dev") == "licensed/wsj/dev.conllu"


LICENCE = "CC BY-NC-ND 4.0"
SHARED = {"reader": "conllu", "source": {"hub": "a/trees", "revision": "1" * 40}, "limit": 5, "accept_licence": LICENCE}


def with_licence(accepted: list[str]) -> dict:
    raw = changed("corpora/shared", SHARED)
    raw["runs"]["one"]["accepting"] = {LICENCE: {"clark2019": {"dependencies": "shared"}, "limits": {"shared": 3}}}
    return raw | {"accept_licences": accepted}


def test_what_a_run_says_under_a_licence_counts_where_it_is_accepted():
    without, accepted = resolve(with_licence([]))["runs"]["one"], resolve(with_licence([LICENCE]))["runs"]["one"]
    assert (without["clark2019"]["dependencies"], without["limits"]) == ("trees", {})
    assert (accepted["clark2019"]["dependencies"], accepted["limits"]) == ("shared", {"shared": 3})
    assert without["clark2019"]["segments"] == accepted["clark2019"]["segments"] == "pairs"


def test_a_corpus_is_not_fetched_before_its_licence_is_accepted():
    assert raw_path(resolve(with_licence([LICENCE])), "one", "shared") == "results/one/corpora/shared.raw"
    with pytest.raises(
        AtlasError, match=r"^corpus shared: it is downloaded only if its licence is accepted\. Read CC BY-NC-ND"
    ):
        raw_path(resolve(with_licence([])), "one", "shared")
