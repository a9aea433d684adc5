"""Attention maps that authors released: the same numbers as from the cache, one text in memory, and no code that is run."""

import os
import pickle
import re
import weakref
from dataclasses import asdict, replace
from itertools import count

import numpy as np
import pytest
from released_files import documents, write_pickle
from small_config import shipped, shipped_copy

from attention_atlas.attention.cache import read_attention
from attention_atlas.corpora.examples import all_examples, build_shard
from attention_atlas.corpora.released_maps import pickled_items, released_maps_records, store_maps
from attention_atlas.errors import AtlasError
from attention_atlas.methods.options import AS_PUBLISHED
from attention_atlas.models.card import read_card
from attention_atlas.models.extraction import extract_shard
from attention_atlas.models.loading import describe, load_model
from attention_atlas.studies.clark2019.surface import summed_divergences, surface
from attention_atlas.studies.clark2019.syntax import dependencies
from attention_atlas.workflow.paths import limit_of

MINILM = shipped()["models"]["minilm"]
RELEASED = {**MINILM, "source": {"released": "maps of somebody"}}
DEFAULTS = {"order": "file", "seed": 0, "skip": 0, "limit": 20, "shard": 20, "max_tokens": 40}
SEGMENTS = {"reader": "segments", "lines": "sentences", "recipe": "authors", "segment_ids": "zeros", **DEFAULTS}
TREES = {"reader": "conllu", "view": "none", **DEFAULTS}
TEXT = "A naïve judge did n't read the co-author 's unbelievable letters , which the wordsmith wrote in Reykjavík ."
SETTINGS = asdict(AS_PUBLISHED) | {"preset": "as_published"}


def sentences() -> list[list[str]]:
    """Parts of one sentence, twice."""
    words = TEXT.split()
    return [[*words[start : start + 5 + start % 4], "."] for start in range(12)] * 2


def write_trees(path, labels=("det", "dobj", "nsubj")):
    """A treebank in which every word but the last depends on the next one."""
    blocks = []
    for words in sentences():
        heads = [(k + 1, labels[k % 3]) if k < len(words) else (0, "root") for k in range(1, len(words) + 1)]
        lines = zip(count(1), words, heads, strict=False)
        rows = [f"{k}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_" for k, word, (head, relation) in lines]
        blocks.append("\n".join(rows))
    path.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def minilm(tmp_path_factory):
    """Card and tokenizer of MiniLM, and of a model of which only maps are known."""
    folder = tmp_path_factory.mktemp("models")
    for name, entry in (("minilm", MINILM), ("released", RELEASED)):
        describe(name, entry, folder / f"{name}.json", folder / f"{name}.tokenizer.json")
    return folder


@pytest.fixture
def read(tmp_path, minilm):
    """Function from a corpus to its examples and maps by the rules of other corpora, and the same, numbered and named alike, of
    a file as it was released, whose second text has no maps; and that file.
    """

    def both(entry, raw, level, name, trees=None):
        of_model = tmp_path / "m.parquet", tmp_path / "m.safetensors", tmp_path / "m.json"
        build_shard(entry, raw, minilm / "minilm.tokenizer.json", 512, 0, of_model[0], tmp_path / "dropped.tsv")
        extract_shard(MINILM, minilm / "minilm.json", of_model[0], "c", level, *of_model[1:])
        texts = list(documents(read_attention(of_model[1:2])))
        del texts[1]["attns"]
        pickled = write_pickle(tmp_path / "attn.pkl", texts)
        of_file = released(tmp_path, minilm, pickled, level, trees)
        kept = [[e for e in items if e.record != 1] for items in (all_examples(of_model[:1]), read_attention(of_model[1:2]))]
        return [[replace(e, id=f"{name} {e.record + 1}", document=None) for e in items] for items in kept], of_file, pickled

    return both


def released(folder, minilm, raw, level, trees=None):
    """Examples and maps of a released file, by its rules."""
    shard, maps, entry = folder / "r.parquet", folder / "r.safetensors", {"reader": "released_maps", **DEFAULTS}
    build_shard(entry, raw, minilm / "released.tokenizer.json", 512, 0, shard, folder / "dropped.tsv", trees)
    store_maps(raw, vars(read_card(minilm / "released.json")), shard, "c", level, maps, maps.with_suffix(".json"))
    return all_examples([shard]), list(read_attention([maps]))


def written(tables):
    """Each table as it is written, with six digits."""
    return {name: table.to_csv(sep="\t", float_format="%.6g") for name, table in tables.items()}


def test_tables_of_segments_equal_those_from_the_cache(tmp_path, minilm, read):
    (tmp_path / "text.txt").write_text("\n".join(" ".join(words) for words in sentences() * 2) + "\n\n", encoding="utf-8")
    of_model, of_file, _ = read(SEGMENTS, tmp_path / "text.txt", "tokens", "segment")
    assert "no maps in the file" in (tmp_path / "dropped.tsv").read_text()
    for one, other in zip(of_model[1], of_file[1], strict=True):
        assert (one.record, one.tokens, one.maps.dtype) == (other.record, other.tokens, np.float16)
        assert np.array_equal(one.maps, other.maps)
    card = read_card(minilm / "minilm.json")
    one, other = (surface(iter(maps), card, SETTINGS, "auto", 100, 0) for _, maps in (of_model, of_file))
    assert written(one) == written(other)
    assert other["surface"]["unit"].unique().tolist() == ["segments"]
    one, other = (summed_divergences(iter(maps), examples, 0.001, 4, 1) for examples, maps in (of_model, of_file))
    assert np.array_equal(one[0], other[0])
    # The file of distances has sums over all rows, of smoothed probabilities, in nats.
    sums = np.zeros((72, 72))
    for maps in (cached.maps.reshape(72, *cached.maps.shape[2:]).astype(float) for cached in of_model[1]):
        p = 0.999 * maps + 0.001 / maps.shape[-1]
        for a in range(0, 72, 9):
            m = (p[a] + p) / 2
            sums[a] += ((p[a] * np.log(p[a] / m)).sum((1, 2)) + (p * np.log(p / m)).sum((1, 2))) / 2
    theirs = next(pickled_items(write_pickle(tmp_path / "d.pkl", sums))) / sum(len(e.tokens) for e in of_model[0])
    np.testing.assert_allclose(theirs[::9], (other[0].sum(axis=0) / other[1].sum())[::9], rtol=2e-4, atol=1e-9)


def test_tables_of_a_treebank_equal_those_from_the_cache(tmp_path, minilm, read):
    trees = write_trees(tmp_path / "trees.conllu")
    of_model, of_file, raw = read(TREES, trees, "words", "sentence", trees)
    assert any(len(example.tokens) > len(example.words) + 2 for example in of_file[0])
    for one, other in zip(of_model[0], of_file[0], strict=True):
        layers = {name: one.layers[name] for name in ("heads", "relations")}
        assert (one.tokens, one.word, one.words, layers) == (other.tokens, other.word, other.words, other.layers)
    card = read_card(minilm / "minilm.json")
    one, other = (dependencies(c, e, card, SETTINGS, "auto", 1, 5, 100, 0) for e, c in (of_model, of_file))
    assert written(one) == written(other)
    assert other["dependencies"]["n"].max() > 50
    # Another treebank, or another order, has no labels for these sentences.
    blocks = trees.read_text().split("\n\n")
    for text in (trees.read_text().replace("judge", "jury"), "\n\n".join(blocks[11::-1])):
        trees.write_text(text + "\n\n")
        with pytest.raises(AtlasError, match=r"text \d+ \(.* is not in .*trees.conllu, or not in this order"):
            released(tmp_path, minilm, raw, "words", trees)
    with pytest.raises(AtlasError, match="text 1 is over words: name its treebank trees"):
        released(tmp_path, minilm, raw, "tokens")


def texts(count=3, n=4):
    maps = np.full((2, 3, n, n), 1 / n, np.float16)
    return [{"tokens": ["[CLS]", f"t{k}", "##s", "[SEP]"], "attns": maps.copy()} for k in range(count)]


def test_one_text_is_in_memory_at_a_time(tmp_path):
    # Python writes lists in batches of 1,000, the last of one item in another way.
    path, earlier = write_pickle(tmp_path / "a.pkl", texts(2001)), []
    assert len(pickle.loads(path.read_bytes(), encoding="latin1")) == 2001, "Python reads what the tests write"
    for number, text in zip(count(1), released_maps_records(path), strict=False):
        assert (text.number, text.tokens[1]) == (number, f"t{number - 1}")
        earlier.append(weakref.ref(text.maps.base))
        assert [k for k, maps in enumerate(earlier) if maps() is not None][-3:][0] >= number - 2
    assert number == 2001


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attns": np.full((2, 3, 5, 5), 0.2, np.float16)}, "maps of shape (2, 3, 5, 5) do not fit 4 tokens"),
        ({"attns": np.full((2, 3, 4, 4), 0.2, np.float16)}, "does not sum to 1"),
        ({"attns": np.full((2, 3, 4, 4), np.nan, np.float16)}, "not finite"),
        ({"attns": np.array([1.5, -0.5, 0, 0] * 24, np.float16).reshape(2, 3, 4, 4)}, "negative"),
        ({"tokens": "abc"}, "no dictionary with lists of tokens"),
    ],
)
def test_wrong_maps_are_refused(tmp_path, change, message):
    path = write_pickle(tmp_path / "a.pkl", [texts()[0], texts()[1] | change])
    with pytest.raises(AtlasError, match=rf"a.pkl: text 2: .*{re.escape(message)}"):
        list(released_maps_records(path))


class Run:
    """Runs a command where it is unpickled."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __reduce__(self):
        return self.arguments


def hostile(tmp_path):
    """Pickles, and what the message says of each."""
    run = Run(os.system, (f"touch {tmp_path / 'it ran'}",))
    whole = write_pickle(tmp_path / "whole.pkl", texts()).read_bytes()
    header = whole.replace(b"K\x02K\x03K\x04K\x04t", b"K\x02K\x03K\x04J\xff\xff\xff\x7ft", 1)
    assert header != whole
    yield pickle.dumps([{"tokens": run}], protocol=2), r"it names (posix|nt)\.system"
    yield pickle.dumps([Run(np.dtype, (run,))], protocol=2), r"it names (posix|nt)\.system"
    yield b"(cos\nsystem\nS'true'\no.", r"it names os\.system"
    yield b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "the instruction SHORT_BINUNICODE"
    yield b"\x80\x02]cnumpy\ndtype\nU\x02f2\x85R)R.", "it calls"
    yield b"\x80\x02]cnumpy\ndtype\nU\x01O\x85R.", "it calls numpy dtype with"
    yield b"\x80\x02]cnumpy\nndarray\n)\x81.", "the instruction NEWOBJ"
    yield header, "an array of shape .*2147483647.*at most"
    yield b"\x80\x02](}U\x06tokensT\xff\xff\xff\x7f.", "a string of 2,147,483,647 bytes"
    yield b"\x80\x02]r\xff\xff\xff\x7f.", "place 2147483647 of a memo"
    yield b"\x80\x02](}U\x06tokens" + b"]" * 30_000, "more values than any"
    yield whole[:-2] + b"h\x01e.", "part of an earlier text"
    for damaged in (whole[: len(whole) // 2], whole[:-2], b"", b"<html>please confirm the download</html>"):
        yield damaged, "not a whole file of maps|the instruction"


def test_nothing_in_a_file_is_run_and_no_size_is_believed(tmp_path, monkeypatch):
    attacks, path = [*hostile(tmp_path)], tmp_path / "a.pkl"
    for name in ("loads", "load", "Unpickler", "_Unpickler"):
        monkeypatch.setattr(pickle, name, None)
    for content, message in attacks:
        path.write_bytes(content)
        with pytest.raises(AtlasError, match=rf"a\.pkl: (after )?byte \d+: .*({message})"):
            list(pickled_items(path))
    assert not (tmp_path / "it ran").exists()


def test_a_model_of_released_maps_has_no_weights(minilm):
    card = read_card(minilm / "released.json")
    assert (card.layers, card.heads, card.origin, card.weights_sha256) == (6, 12, "maps of somebody", "")
    with pytest.raises(AtlasError, match=r"only attention maps .* \(maps of somebody\); name a model with weights"):
        load_model(RELEASED)


def test_a_file_is_not_read_to_plan_its_jobs(tmp_path):
    config = shipped_copy()
    config["corpora"]["released-segments"]["source"]["path"] = str(tmp_path / "a.pkl")
    (tmp_path / "a.pkl").write_bytes(b"nothing that can be read")
    assert limit_of(config, "released", "released-segments") == 1000
