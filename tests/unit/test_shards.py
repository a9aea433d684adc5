"""Shards: the bytes that the safetensors library writes, in whatever order the arrays come; nothing is left of a failed one."""

import json
import random

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from attention_atlas.io.shards import new_shard, tensor_name

FACTS = {"level": "tokens", "examples": []}
# Lengths of the header of every remainder by 8 come from records and sizes of different numbers of digits.
SHAPES = st.dictionaries(
    st.integers(0, 200) | st.integers(99_999_990, 100_000_010), st.lists(st.integers(0, 12), max_size=4).map(tuple), max_size=6
)


@settings(max_examples=20, deadline=None)
@given(shapes=SHAPES, order=st.randoms(use_true_random=False))
def test_the_file_is_the_librarys_byte_for_byte_in_any_order(tmp_path_factory, shapes: dict, order: random.Random):
    folder = tmp_path_factory.mktemp("shard")
    path = folder / "0.safetensors"
    arrays = {r: np.asarray(np.random.default_rng(r).standard_normal(s).astype(np.float16)) for r, s in shapes.items()}
    records = order.sample(list(shapes), len(shapes))
    with new_shard(path, folder / "0.json", shapes, FACTS) as shard:
        for record in records:
            # Memory of a written array may be used again, and need not lie in the order of the file.
            buffer = np.array(arrays[record], order="F")
            shard.write(record, buffer)
            buffer[...] = 0
    by_name = {tensor_name(record): array for record, array in arrays.items()}
    save_file(by_name or {"empty": np.zeros(0, np.float16)}, folder / "library.safetensors")
    assert path.read_bytes() == (folder / "library.safetensors").read_bytes()
    described = json.loads((folder / "0.json").read_text())
    checksum = described.pop("xxh3_128")
    assert checksum == xxhash.xxh3_128_hexdigest(json.dumps(described).encode() + path.read_bytes())


@pytest.mark.parametrize(
    ("records", "array", "message"),
    [
        ([0], np.zeros((2, 3), np.float16), r"no array was written for records \[7\]"),
        ([0, 0], np.zeros((2, 3), np.float16), r"record 0: expected float16 None, got float16 \(2, 3\)"),
        ([0], np.zeros((2, 3), np.float32), r"record 0: expected float16 \(2, 3\), got float32 \(2, 3\)"),
    ],
)
def test_what_is_not_as_announced_is_an_error_and_keeps_what_was_there(tmp_path, records, array, message):
    path = tmp_path / "0.safetensors"
    path.write_bytes(b"of an earlier run")

    def write() -> None:
        with new_shard(path, tmp_path / "0.json", {0: (2, 3), 7: (2, 3)}, FACTS) as shard:
            for record in records:
                shard.write(record, array)

    with pytest.raises(ValueError, match=message):
        write()
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"of an earlier run"
