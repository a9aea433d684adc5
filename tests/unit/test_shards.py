"""Shards: the bytes that the safetensors library writes, in whatever order the arrays come."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

from attention_atlas.errors import AtlasError
from attention_atlas.io.shards import new_shard, tensor_name

FACTS = {"level": "tokens", "examples": []}
# Lengths of the header of every remainder by 8 come from records and sizes of different numbers of digits.
SHAPES = st.dictionaries(
    st.integers(0, 200) | st.integers(99_999_990, 100_000_010),
    st.lists(st.integers(0, 12), max_size=4).map(tuple),
    max_size=6,
)


def array_of(record: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(record).standard_normal(shape).astype(np.float16)


def by_library(path: Path, shapes: dict[int, tuple[int, ...]]) -> bytes:
    """The file that safetensors makes of the same arrays."""
    arrays = {tensor_name(record): np.asarray(array_of(record, shape)) for record, shape in shapes.items()}
    save_file(arrays or {"empty": np.zeros(0, np.float16)}, path)
    return path.read_bytes()


@settings(max_examples=30, deadline=None)
@given(shapes=SHAPES, order=st.randoms(use_true_random=False))
def test_the_file_is_the_librarys_byte_for_byte_in_any_order(tmp_path_factory, shapes: dict, order: random.Random):
    folder = tmp_path_factory.mktemp("shard")
    path = folder / "0.safetensors"
    records = list(shapes)
    order.shuffle(records)
    with new_shard(path, folder / "0.json", shapes, FACTS) as shard:
        for record in records:
            shard.write(record, np.asarray(array_of(record, shapes[record])))
    assert path.read_bytes() == by_library(folder / "library.safetensors", shapes)
    assert json.loads((folder / "0.json").read_text())["xxh3_128"] == xxhash.xxh3_128_hexdigest(path.read_bytes())


def test_the_library_reads_it(tmp_path):
    shapes = {3: (2, 3, 5, 5), 0: (2, 3, 4, 4), 12: (2, 3, 1, 1)}
    with new_shard(tmp_path / "0.safetensors", tmp_path / "0.json", shapes, FACTS) as shard:
        for record in (12, 3, 0):
            shard.write(record, array_of(record, shapes[record]))
    with safe_open(tmp_path / "0.safetensors", framework="np") as read:
        assert list(read.offset_keys()) == ["00000000", "00000003", "00000012"]
        for record, shape in shapes.items():
            assert read.get_tensor(tensor_name(record)).dtype == np.float16
            assert np.array_equal(read.get_tensor(tensor_name(record)), array_of(record, shape))
    with new_shard(tmp_path / "1.safetensors", tmp_path / "1.json", {}, FACTS):
        pass
    with safe_open(tmp_path / "1.safetensors", framework="np") as read:
        assert [(name, read.get_tensor(name).size) for name in read.keys()] == [("empty", 0)]  # noqa: SIM118  # no dict


def test_memory_of_a_written_array_may_be_used_again(tmp_path):
    shapes = dict.fromkeys(range(4), (3, 2))
    buffer = np.empty((2, 3), np.float16)
    with new_shard(tmp_path / "0.safetensors", tmp_path / "0.json", shapes, FACTS) as shard:
        for record, shape in shapes.items():
            # Nor need it lie in the order of the file.
            buffer.T[:] = array_of(record, shape)
            shard.write(record, buffer.T)
    assert (tmp_path / "0.safetensors").read_bytes() == by_library(tmp_path / "library.safetensors", shapes)


@pytest.mark.parametrize(
    ("records", "array", "message"),
    [
        ([0], np.zeros((2, 3), np.float16), r"no array was written for records \[7\]"),
        ([], np.zeros((2, 3), np.float16), r"no array was written for records \[0, 7\]"),
        ([0, 0], np.zeros((2, 3), np.float16), r"record 0: expected float16 None, got float16 \(2, 3\)"),
        ([0, 5], np.zeros((2, 3), np.float16), r"record 5: expected float16 None, got float16 \(2, 3\)"),
        ([0], np.zeros((3, 2), np.float16), r"record 0: expected float16 \(2, 3\), got float16 \(3, 2\)"),
        ([0], np.zeros((2, 3), np.float32), r"record 0: expected float16 \(2, 3\), got float32 \(2, 3\)"),
    ],
)
def test_what_is_not_as_announced_is_an_error_and_leaves_nothing(tmp_path, records, array, message):
    def write() -> None:
        with new_shard(tmp_path / "0.safetensors", tmp_path / "0.json", {0: (2, 3), 7: (2, 3)}, FACTS) as shard:
            for record in records:
                shard.write(record, array)

    with pytest.raises(ValueError, match=message):
        write()
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_arrays_are_made_leaves_nothing_and_keeps_what_was_there(tmp_path):
    path = tmp_path / "0.safetensors"
    path.write_bytes(b"of an earlier run")

    def write() -> None:
        with new_shard(path, tmp_path / "0.json", {0: (200, 300)}, FACTS) as shard:
            assert [entry.name.startswith(".0.safetensors.") for entry in tmp_path.iterdir() if entry != path] == [True]
            shard.write(0, np.zeros((200, 300), np.float16))
            raise AtlasError("not finite")

    with pytest.raises(AtlasError, match="not finite"):
        write()
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"of an earlier run"
