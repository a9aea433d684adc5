"""Files are whole or not there; packed text is read as it is; every complaint names the file and the line."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import (
    columns_of,
    raw_lines,
    read_json,
    read_lines,
    sha256,
    whole_file,
    whole_files,
    write_text,
)

LIBRARY = Path(__file__).parents[2] / "workflow" / "lib"
PACKERS = {"plain": bytes, "gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}


def fail_after_half(target, error):
    with whole_file(target) as part:
        part.write_text("half")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, PermissionError])
def test_a_file_is_whole_or_as_it_was(tmp_path, error):
    target = tmp_path / "new" / "file.txt"
    for before in (None, "old"):
        with pytest.raises(error, match="mine"):
            fail_after_half(target, error("mine"))
        assert [path.read_text() for path in target.parent.iterdir()] == ([before] if before else [])
        with whole_file(target) as part:
            part.write_text("old", newline="\n")
            assert part.parent == target.parent
    with target.open() as reader:
        write_text(target, "é\n")
        assert reader.read() == "old"
    assert target.read_bytes() == b"\xc3\xa9\n"


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_any_new_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_text(tmp_path / "file.txt", "text")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "file.txt").stat().st_mode & 0o777 == 0o666 & ~mask


FULL_DISK = """
import resource, signal, sys
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import write_text
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
write_text(sys.argv[1] + "/fits.txt", "x" * 900)
try:
    write_text(sys.argv[1] + "/big.txt", "x" * 100_000)
except AtlasError as error:
    sys.exit(str(error))
"""


def test_a_full_disk_is_said_in_a_sentence_and_leaves_nothing_behind(tmp_path):
    (tmp_path / "big.txt").write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, env={"PYTHONPATH": str(LIBRARY)}
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path}/big.txt: no space left to write this file; nothing was left behind.")
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {"big.txt": 3, "fits.txt": 900}


KILLED = """
import sys, time
from attention_atlas.io.files import whole_file, whole_files
with whole_file(sys.argv[1] + "/table[1].tsv") as part, whole_files(sys.argv[1], ["weights"]) as folder:
    part.write_text("half")
    (folder / "weights").write_text("half")
    print(flush=True)
    time.sleep(600)
"""


def test_what_a_killed_process_left_is_removed_by_the_next_attempt_and_not_while_it_lives(tmp_path):
    writer = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, env={"PYTHONPATH": str(LIBRARY)}
    )
    try:
        writer.stdout.readline()

        def write() -> list[str]:
            write_text(tmp_path / "table[1].tsv", "whole")
            with whole_files(tmp_path, ["weights"]) as folder:
                (folder / "weights").write_text("whole")
            return sorted(path.name for path in tmp_path.iterdir())

        names = write()
        assert [name for name in names if not name.startswith(".")] == ["table[1].tsv", "weights"]
        assert sum(name.endswith(".part") for name in names) == 2, "still being written"
    finally:
        writer.kill()
        writer.communicate()
    (tmp_path / ".table2.tsv.x.part").touch()
    assert write() == [".table2.tsv.x.part", "table[1].tsv", "weights"], "of other files nothing is removed"


def test_sha256_reads_the_whole_file(tmp_path):
    # Three megabytes: more than one block of the reader.
    data = b"abc" * (1 << 20)
    (tmp_path / "file").write_bytes(data)
    assert sha256(tmp_path / "file") == hashlib.sha256(data).hexdigest()


@settings(max_examples=25, deadline=None)
@given(lines=st.lists(st.text(st.characters(exclude_characters="\r\n\ufeff", exclude_categories=["Cs"]), max_size=8)))
@pytest.mark.parametrize("packer", PACKERS)
def test_lines_come_back_whatever_they_are_packed_in(tmp_path_factory, packer, lines):
    path = tmp_path_factory.mktemp("lines") / "text"
    for end in ("\n", "\r\n"):
        path.write_bytes(PACKERS[packer]("".join(line + end for line in lines).encode()))
        assert list(read_lines(path)) == list(enumerate(lines, start=1))
    assert list(raw_lines(path)) == [(i, (line + "\r\n").encode()) for i, line in enumerate(lines, start=1)]


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("", []),
        ("  a  b ", ["a", "b"]),
        ("a\t\tb c\t", ["a", "", "b c", ""]),
        ("10\u00a0000 a\u2028b \u3000 c\x85", ["10\u00a0000", "a\u2028b", "\u3000", "c\x85"]),
    ],
)
def test_columns_are_separated_by_tabs_or_spaces_alone(line, cells):
    assert columns_of(line) == cells


# Squares, so that the text does not pack into nothing and breaks off in the middle of the lines.
NUMBERED = "".join(f"line {i} {i * i * 7919 % 100_003}\n" for i in range(5000)).encode()


@pytest.mark.parametrize("packer", ["gz", "xz", "bz2"])
def test_a_packed_file_that_breaks_off_or_is_damaged_names_the_line(tmp_path, packer):
    packed, path = PACKERS[packer](NUMBERED), tmp_path / "text"
    middle = len(packed) // 2
    flipped = packed[:middle] + bytes(byte ^ 0xFF for byte in packed[middle : middle + 8]) + packed[middle + 8 :]
    for content in (packed[:middle], packed[:-3], packed[:12], flipped):
        path.write_bytes(content)
        read = []
        with pytest.raises(AtlasError) as caught:
            read.extend(read_lines(path))
        expected = f"{path}:{len(read) + 1}: the compressed file is damaged or incomplete here. Fetch it again."
        assert str(caught.value) == expected


@pytest.mark.parametrize("packer", PACKERS)
def test_bytes_that_are_not_utf8_name_line_and_byte(tmp_path, packer):
    path = tmp_path / "text"
    path.write_bytes(PACKERS[packer](b"fine\ncaf\xe9 au lait\n"))
    lines = read_lines(path)
    assert next(lines) == (1, "fine")
    with pytest.raises(AtlasError) as caught:
        next(lines)
    assert str(caught.value).startswith(f"{path}:2: byte 4 (0xe9) is not UTF-8; convert the file, for example with iconv")


def test_files_are_known_by_their_content_and_what_cannot_be_read_is_named(tmp_path):
    (tmp_path / "text.gz").write_bytes("\ufeffone\n\ufefftwo\ufeff".encode())
    assert list(read_lines(tmp_path / "text.gz")) == [(1, "one"), (2, "two\ufeff")], "joined files have several marks"
    (tmp_path / "text.txt").write_bytes(lzma.compress(b"packed\n"))
    assert list(read_lines(tmp_path / "text.txt")) == [(1, "packed")]
    with zipfile.ZipFile(tmp_path / "dev.conllu", "w") as out:
        out.writestr("dev.conllu", "1\tDogs\n")
    for name, message in (
        ("dev.conllu", r"dev\.conllu: this is a zip archive; unpack it and name the file in it"),
        ("nowhere", r"nowhere: there is no such file\. Check the path in the configuration\."),
        ("", "this is a directory, but a file is needed here"),
    ):
        for read in (lambda path: list(read_lines(path)), read_json):
            with pytest.raises(AtlasError, match=message):
                read(tmp_path / name)
