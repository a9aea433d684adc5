"""Files are whole or not there; packed text is read as it is; every complaint names the file and the line."""

import bz2
import gzip
import lzma
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import raw_lines, read_json, read_lines, whole_file, whole_files, write_text

PACKERS = {"plain": bytes, "gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, PermissionError])
def test_a_file_is_whole_or_as_it_was(tmp_path, error):
    target = tmp_path / "new" / "file.txt"
    for before in (None, "old"):
        with pytest.raises(error, match="mine"), whole_file(target) as part:  # noqa: PT012
            part.write_text("half")
            raise error("mine")
        assert [path.read_text() for path in target.parent.iterdir()] == ([before] if before else [])
        with whole_file(target) as part:
            part.write_text("old", newline="\n")
            assert part.parent == target.parent
    with target.open() as reader:
        write_text(target, "é\n")
        assert reader.read() == "old"
    assert target.read_bytes() == b"\xc3\xa9\n"


def test_what_a_killed_process_left_is_overwritten(tmp_path):
    (tmp_path / ".table.tsv.part").write_text("half of a longer text")
    write_text(tmp_path / "table.tsv", "whole")
    with whole_files(tmp_path, ["weights"]) as folder:
        (folder / "weights").write_text("whole")
        (folder / "weights").chmod(0o600)  # as safetensors does
    assert (tmp_path / "weights").stat().st_mode == (tmp_path / "table.tsv").stat().st_mode, "readable for others"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"table.tsv": "whole", "weights": "whole"}
    with pytest.raises(ValueError, match="mine"), whole_files(tmp_path, ["weights"]) as folder:
        raise ValueError("mine")
    assert (tmp_path / "weights").read_text() == "whole"


def test_a_folder_in_which_another_process_works_is_refused(tmp_path):
    """A lock is of one opening of the folder: that of a job that outlived its Snakemake, and that of the next job."""
    with whole_files(tmp_path, ["weights"]) as folder:
        (folder / "weights").write_text("of the first")
        with pytest.raises(AtlasError, match="another process still works in this folder"), whole_files(tmp_path, ["weights"]):
            raise AssertionError
    assert (tmp_path / "weights").read_text() == "of the first"
    with whole_files(tmp_path, ["weights"]) as folder:
        (folder / "weights").write_text("of the next")


@settings(max_examples=25, deadline=None)
@given(lines=st.lists(st.text(st.characters(exclude_characters="\r\n\ufeff", exclude_categories=["Cs"]), max_size=8)))
@pytest.mark.parametrize("packer", PACKERS)
def test_lines_come_back_whatever_they_are_packed_in(tmp_path_factory, packer, lines):
    path = tmp_path_factory.mktemp("lines") / "text"
    for end in ("\n", "\r\n"):
        path.write_bytes(PACKERS[packer]("".join(line + end for line in lines).encode()))
        assert list(read_lines(path)) == list(enumerate(lines, start=1))
    assert list(raw_lines(path)) == [(i, (line + "\r\n").encode()) for i, line in enumerate(lines, start=1)]


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
        with pytest.raises(AtlasError, match="compressed file is damaged or incomplete here") as caught:
            read.extend(read_lines(path))
        assert str(caught.value).startswith(f"{path}:{len(read) + 1}: ")


@pytest.mark.parametrize(
    "content",
    [b'{"a": ', b'{"a": 1' + b"0" * 5000 + b"}", b"[" * 100_000, b'{"a": "\\ud800"}', gzip.compress(b"{}" * 99, mtime=0)[:20]],
)
def test_json_that_cannot_be_read_is_named(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(AtlasError, match=r"a\.json.*: .*damaged"):
        read_json(tmp_path / "a.json")


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


def test_bytes_that_are_not_utf8_name_line_and_byte(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(b"fine\ncaf\xe9 au lait\n"))
    with pytest.raises(AtlasError, match=r"text:2: byte 4 \(0xe9\) is not UTF-8; convert the file, for example with iconv"):
        list(read_lines(path))
