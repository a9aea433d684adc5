"""The attention cache: what is written is read, and whatever is damaged, half-written or foreign is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from small_shards import write_shard

from attention_atlas.attention.cache import CachedExample, read_attention, to_words
from attention_atlas.errors import AtlasError
from attention_atlas.io.shards import FORMAT, check_shard, read_description

LIBRARY = Path(__file__).parents[2] / "workflow" / "lib"
LAYERS, HEADS = 2, 3
TOKENS = ("[CLS]", "the", "cat", "##s", "[SEP]", "sat", "[SEP]")
WORD = (-1, 0, 1, 1, -1, 2, -1)
WORDS = ("the", "cats", "sat")


def maps_of(record: int, size: int = len(WORD)) -> np.ndarray:
    maps = np.random.default_rng(record).random((LAYERS, HEADS, size, size))
    return (maps / maps.sum(-1, keepdims=True)).astype(np.float16)


def entry(record: int) -> dict:
    return {"record": record, "id": f"n{record} é", "tokens": TOKENS, "word": WORD, "words": WORDS}


def write(folder: Path, shard: int, records: list[int], level: str = "tokens", size: int = len(WORD)) -> Path:
    path = folder / f"{shard}.safetensors"
    facts = {"level": level, "layers": LAYERS, "heads": HEADS, "examples": [entry(r) for r in records]}
    write_shard(path, path.with_suffix(".json"), {r: maps_of(r, size) for r in records}, facts)
    return path


def refusal(source: Path, **options) -> str:
    with pytest.raises(AtlasError) as caught:
        list(read_attention(source, **options))
    return str(caught.value)


def test_what_is_written_is_read(tmp_path):
    path = write(tmp_path, 0, [0, 3, 12])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.json", "0.safetensors"]
    examples = list(read_attention([path]))
    assert [example.record for example in examples] == [0, 3, 12]
    for example in examples:
        assert np.array_equal(example.maps, maps_of(example.record))
        assert example.maps.dtype == np.float16
        assert (example.id, example.level) == (f"n{example.record} é", "tokens")
        assert (example.tokens, example.word, example.gold_words) == (TOKENS, WORD, WORDS)


def test_the_description_says_what_it_was_told_and_its_format(tmp_path):
    facts = read_description(write(tmp_path, 0, [5]))
    assert facts["format"] == FORMAT
    assert (facts["layers"], facts["heads"], facts["examples"][0]["record"]) == (LAYERS, HEADS, 5)
    check_shard(tmp_path / "0.safetensors", facts)


def test_rows_of_word_maps_are_words_with_the_special_tokens_in_their_places(tmp_path):
    (example,) = read_attention([write(tmp_path, 0, [0])])
    assert example.words == ("[CLS]", "the", "cats", "[SEP]", "sat", "[SEP]")
    assert example.special_units.tolist() == [True, False, False, True, False, True]
    for mode in ("mean", "first", "max"):
        assert np.array_equal(example.word_maps(mode), to_words(maps_of(0), WORD, mode))
    assert not np.array_equal(example.word_maps("first"), example.word_maps())
    assert np.array_equal(example.word_maps(), example.word_maps("mean"))


def test_maps_stored_over_words_are_given_as_they_are_and_only_in_their_mode(tmp_path):
    (example,) = read_attention([write(tmp_path, 0, [0], level="words", size=6)])
    assert example.word_maps().shape == (LAYERS, HEADS, 6, 6)
    assert example.word_maps().dtype == np.float32
    assert np.array_equal(example.word_maps(), maps_of(0, 6).astype(np.float32))
    for mode in ("first", "max"):
        with pytest.raises(AtlasError, match=f"was stored at level words .* mode {mode} needs level: tokens"):
            example.word_maps(mode)


def test_an_empty_shard_is_a_shard(tmp_path):
    empty, full = write(tmp_path, 0, []), write(tmp_path, 1, [4])
    assert list(read_attention([empty])) == []
    assert [example.record for example in read_attention([empty, full, empty])] == [4]


def test_a_folder_is_read_in_the_order_of_its_numbers(tmp_path):
    for shard in (10, 0, 2, 1):
        write(tmp_path, shard, [10 * shard, 10 * shard + 7])
    assert [e.record for e in read_attention(tmp_path)] == [0, 7, 10, 17, 20, 27, 100, 107]
    assert [e.record for e in read_attention(str(tmp_path))][-1] == 107
    # A list is taken in the order in which it is given.
    assert [e.record for e in read_attention([tmp_path / "2.safetensors", str(tmp_path / "0.safetensors")])] == [20, 27, 0, 7]


def test_the_limit_counts_records_not_examples(tmp_path):
    for shard in range(3):
        write(tmp_path, shard, [4 * shard, 4 * shard + 1, 4 * shard + 3])
    everything = [0, 1, 3, 4, 5, 7, 8, 9, 11]
    for limit in range(13):
        assert [e.record for e in read_attention(tmp_path, limit)] == [r for r in everything if r < limit]


def test_shards_behind_the_limit_are_not_even_opened(tmp_path):
    write(tmp_path, 0, [0, 5])
    (tmp_path / "1.safetensors").write_bytes(b"rubbish")
    assert [e.record for e in read_attention(tmp_path, 5)] == [0]
    reader = read_attention(tmp_path)
    assert [next(reader).record, next(reader).record] == [0, 5]
    with pytest.raises(AtlasError):
        next(reader)


@pytest.mark.parametrize("place", [0, 9, 300, -1])
def test_a_flipped_byte_is_noticed(tmp_path, place):
    path = write(tmp_path, 0, [0, 1])
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    message = refusal(tmp_path)
    assert message == (
        f"{path}: this shard cannot be used (the checksum is wrong). Delete it and run again: only this file is rebuilt."
    )


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("size", [0, 5, 100, -2])
def test_a_truncated_shard_is_noticed_even_without_its_checksum(tmp_path, size, verify):
    path = write(tmp_path, 0, [0, 1])
    path.write_bytes(path.read_bytes()[:size])
    assert refusal(tmp_path, verify=verify).startswith(f"{path}: this shard cannot be used (")


def test_verification_can_be_left_out(tmp_path):
    path = write(tmp_path, 0, [0])
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert len(list(read_attention(tmp_path, verify=False))) == 1


@pytest.mark.parametrize("verify", [True, False])
def test_a_shard_that_is_not_there_is_named(tmp_path, verify):
    path = write(tmp_path, 0, [0])
    path.unlink()
    with pytest.raises(AtlasError, match=r"0\.safetensors: this shard cannot be used \("):
        list(read_attention([path], verify=verify))


def test_a_missing_tensor_is_named(tmp_path):
    path = write(tmp_path, 0, [0, 1])
    save_file({"00000000": maps_of(0)}, path)
    assert f"{path}: this shard cannot be used (" in refusal(tmp_path, verify=False)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "its description 0.json cannot be read"),
        ("", "its description 0.json cannot be read"),
        ('{"format": 1, "lev', "its description 0.json cannot be read"),
        (b"\xff\xfe", "its description 0.json cannot be read"),
        (json.dumps({"format": FORMAT + 1}), f"format {FORMAT + 1} instead of {FORMAT}"),
        ("{}", f"format None instead of {FORMAT}"),
        ("[]", f"format None instead of {FORMAT}"),
    ],
)
def test_a_missing_damaged_or_foreign_description_is_noticed(tmp_path, content, expected):
    path = write(tmp_path, 0, [0])
    if content is None:
        path.with_suffix(".json").unlink()
    else:
        path.with_suffix(".json").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert f"{path}: this shard cannot be used ({expected}" in refusal(tmp_path)


def test_a_shard_beside_the_description_of_another_is_noticed(tmp_path):
    first, second = write(tmp_path, 0, [0]), write(tmp_path, 1, [1])
    first.write_bytes(second.read_bytes())
    assert "the checksum is wrong" in refusal(tmp_path)


def test_a_folder_without_shards_is_an_error(tmp_path):
    assert refusal(tmp_path) == f"{tmp_path}: there are no attention shards in this folder."


FULL_DISK = """
import resource, signal, sys
import numpy as np
from attention_atlas.io.shards import new_shard
from attention_atlas.errors import AtlasError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
folder = sys.argv[1]
for maps, examples in (({0: np.zeros((2, 2, 40, 40), np.float16)}, []), ({}, [{"id": "n" * 5000}])):
    try:
        shapes, facts = {record: of.shape for record, of in maps.items()}, {"level": "tokens", "examples": examples}
        with new_shard(folder + "/0.safetensors", folder + "/0.json", shapes, facts) as shard:
            for record, of in maps.items():
                shard.write(record, of)
    except AtlasError as error:
        print(error)
"""


def test_a_full_disk_is_a_sentence_and_leaves_no_description_without_its_shard(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, env={"PYTHONPATH": str(LIBRARY)}
    )
    assert done.stderr == ""
    shard, description = done.stdout.splitlines()
    assert shard.startswith(f"{tmp_path}/0.safetensors: no space left to write this file; nothing was left behind.")
    assert description.startswith(f"{tmp_path}/0.json: no space left to write this file")
    # The second shard itself had room; without its description nobody takes it for whole.
    assert [path.name for path in tmp_path.iterdir()] == ["0.safetensors"]
    assert "0.json cannot be read" in refusal(tmp_path)


def test_a_shard_that_cannot_be_written_leaves_no_description(tmp_path, monkeypatch):
    with pytest.raises(Exception, match="object"):
        write_shard(tmp_path / "0.safetensors", tmp_path / "0.json", {0: np.array([object()])}, {"examples": []})
    assert list(tmp_path.iterdir()) == []


def test_special_tokens_named_alike_keep_their_places():
    example = CachedExample(0, "n", "tokens", ("<s>", "a", "</s>", "</s>", "b"), (-1, 0, -1, -1, 1), ("a", "b"), maps_of(0, 5))
    assert example.words == ("<s>", "a", "</s>", "</s>", "b")
    assert example.special_units.tolist() == [True, False, True, True, False]
