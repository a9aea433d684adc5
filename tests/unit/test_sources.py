"""Where corpora come from: the mirror, a pinned address and the hub, without any network."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
from collections import Counter
from itertools import islice
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pooch
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets.packaged_modules.parquet.parquet import Parquet
from sacrebleu import DATASETS

from attention_atlas.corpora import sources
from attention_atlas.corpora.glue import Labelled, glue_records
from attention_atlas.corpora.records import Dropped
from attention_atlas.corpora.sources import MIRROR_VARIABLE, check_sha256, fetch, hub_rows
from attention_atlas.corpora.text import parallel_records
from attention_atlas.errors import AtlasError

TEXT = b"One sentence.\nAnother one.\n" * 200
DIGEST = hashlib.sha256(TEXT).hexdigest()
SOURCE = {"url": "https://example.org/data/text.txt", "sha256": DIGEST, "mirror": "folder/text.txt"}


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    """Whoever asks for a download is told that there is no way."""

    def refuse(*args, **options):
        raise ConnectionError("no route to host")

    monkeypatch.setattr(pooch, "retrieve", refuse)
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "kept" / name)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    # Seconds that streaming waits at its end.
    monkeypatch.setattr(datasets.config, "SLEEP_TIME_ON_THREADS_SHUTDOWN", 0)


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    (tmp_path / "mirror" / "folder").mkdir(parents=True)
    (tmp_path / "mirror" / "folder" / "text.txt").write_bytes(TEXT)
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path / "mirror"))
    return tmp_path / "mirror"


def refused(source: dict, target: Path, **options: str) -> str:
    with pytest.raises(AtlasError) as caught:
        fetch(source, target, **options)
    assert not target.exists()
    assert list(target.parent.glob(".*")) == []
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_of_the_mirror_is_taken_and_left_there(tmp_path, mirror):
    fetch(SOURCE, tmp_path / "out" / "raw")
    assert (tmp_path / "out" / "raw").read_bytes() == TEXT
    assert (mirror / "folder" / "text.txt").read_bytes() == TEXT


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_the_checksum_may_be_of_the_unpacked_file(tmp_path, mirror, pack):
    packed = pack(TEXT)
    (mirror / "folder" / "text.txt").write_bytes(packed)
    fetch(SOURCE, tmp_path / "raw")
    assert (tmp_path / "raw").read_bytes() == packed
    check_sha256(tmp_path / "raw", hashlib.sha256(packed).hexdigest())


@pytest.mark.parametrize("packed", [gzip.compress(TEXT)[:-20], lzma.compress(TEXT)[:-20], b"PK\x03\x04"])
def test_a_damaged_packed_file_has_the_wrong_checksum(tmp_path, mirror, packed):
    (mirror / "folder" / "text.txt").write_bytes(packed)
    digest = hashlib.sha256(packed).hexdigest()
    assert f"expected sha256 {DIGEST}, found {digest}." in refused(SOURCE, tmp_path / "raw")


def test_without_mirror_and_network_the_sentence_says_where_to_put_the_file(tmp_path, mirror, monkeypatch):
    monkeypatch.delenv(MIRROR_VARIABLE)
    message = refused(SOURCE, tmp_path / "raw")
    assert message.startswith(f"{SOURCE['url']}: could not be downloaded (ConnectionError). Without a network, put the file")
    monkeypatch.setenv(MIRROR_VARIABLE, str(mirror))
    (mirror / "folder" / "text.txt").unlink()
    assert f"and there is no {mirror}/folder/text.txt." in refused(SOURCE, tmp_path / "raw")
    without = {key: value for key, value in SOURCE.items() if key != "mirror"}
    assert refused(without, tmp_path / "raw").endswith(f"data_mirror (or {MIRROR_VARIABLE}) as text.txt.")

    def wrong_checksum(*args, **options):
        raise ValueError("SHA256 hash of downloaded file does not match")

    monkeypatch.setattr(pooch, "retrieve", wrong_checksum)
    assert f"wrong checksum: expected sha256 {DIGEST}, but the download has a different one" in refused(
        SOURCE, tmp_path / "raw"
    )


def test_a_downloaded_archive_with_the_wrong_content_is_fetched_again(tmp_path, monkeypatch):
    served = tmp_path / "served.conll"
    downloads = []

    def download(url, known_hash, path):
        kept = tmp_path / "kept.conll"
        if not kept.exists():
            downloads.append(url)
            kept.write_bytes(served.read_bytes())
        return str(kept)

    monkeypatch.setattr(pooch, "retrieve", download)
    source = {"url": "https://example.org/x", "content_sha256": hashlib.sha256(b"a a (0)\n").hexdigest()}
    served.write_bytes(b"a a")
    (tmp_path / "out").mkdir()
    assert "wrong checksum: expected content_sha256" in refused(source, tmp_path / "out" / "raw")
    served.write_bytes(b"a a (0)\n")
    fetch(source, tmp_path / "raw")
    assert (tmp_path / "raw").read_bytes() == served.read_bytes()
    assert len(downloads) == 2


ROWS = [
    {"title": "A", "text": "First paragraph.\n\n  Second paragraph. \n"},
    {"title": "B", "text": ""},
    {"title": "C", "text": None},
    {"title": "D", "text": "Only\u2028one: é."},
    {"title": "E", "text": "Behind the rows."},
]
HUB = {"split": "train", "column": "text", "rows": 4}
IN_FILE = {"order": "file"}


@pytest.fixture
def dataset(tmp_path):
    """A local folder in the form of a repository of the hub."""
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return tmp_path / "dataset"


def test_a_data_set_becomes_documents_of_a_paragraph_a_line(tmp_path, dataset):
    fetch({"hub": str(dataset), **HUB}, tmp_path / "raw", **IN_FILE)
    assert (tmp_path / "raw").read_text(encoding="utf-8") == "First paragraph.\nSecond paragraph.\n\nOnly\u2028one: é.\n\n"
    fetch({"hub": str(dataset), **HUB, "rows": 1, "column": "title"}, tmp_path / "raw", **IN_FILE)
    assert (tmp_path / "raw").read_text(encoding="utf-8") == "A\n\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"column": "body"}, "there is no column 'body'. Columns: text, title."),
        ({"column": "none"}, "split train has no document with text in column none."),
        ({"split": "dev"}, "could not be opened ("),
    ],
)
def test_what_a_data_set_does_not_have_is_named(tmp_path, dataset, change, message):
    if change == {"column": "none"}:
        (dataset / "train.jsonl").write_text(json.dumps({"none": " \n"}) + "\n", encoding="utf-8")
    assert refused({"hub": str(dataset), **HUB, **change}, tmp_path / "raw").startswith(f"data set {dataset}: {message}")


def test_a_connection_that_breaks_off_while_reading_is_a_sentence(tmp_path, monkeypatch):
    def breaks_off(*args, **options):
        raise ConnectionError("reset by peer\nby whom")

    (tmp_path / "data").mkdir()
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "data" / "train.parquet")
    monkeypatch.setattr(Parquet, "_generate_tables", breaks_off)
    message = refused({"hub": str(tmp_path / "data"), **HUB}, tmp_path / "raw")
    assert message.startswith(f"data set {tmp_path}/data: could not be read completely (ConnectionError: reset by peer).")


FILES, GROUPS, SIZE = 4, 6, 50


@pytest.fixture
def dump(tmp_path):
    """A data set of several files with several row groups, in whose order neighbours are alike."""
    folder = tmp_path / "dump"
    folder.mkdir()
    for file in range(FILES):
        names = [f"{file}-{group}-{row}" for group in range(GROUPS) for row in range(SIZE)]
        rows = [{"id": f"i{name}", "title": f"t{name}", "text": name, "other": "x" * 9} for name in names]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"train-{file}.parquet", row_group_size=SIZE)
    return {"hub": str(folder), **HUB}


def drawn(source, folder, **options):
    fetch(source, folder / "raw", rows_out=folder / "rows.tsv", **options)
    rows = pd.read_csv(folder / "rows.tsv", sep="\t")
    texts = (folder / "raw").read_text(encoding="utf-8").split()
    # The table says which rows these are.
    assert rows["number"].tolist() == list(range(1, len(texts) + 1))
    assert rows["id"].tolist() == [f"i{text}" for text in texts]
    assert rows["title"].tolist() == [f"t{text}" for text in texts]
    return texts


def test_a_sample_is_the_beginning_of_one_order_by_the_seed(tmp_path, dump):
    many = drawn(dump | {"rows": 300}, tmp_path)
    assert drawn(dump | {"rows": 90}, tmp_path) == many[:90]
    assert drawn(dump | {"rows": 90}, tmp_path, seed=1) != many[:90]
    assert len(set(many)) == 300
    # All of them, once, where more rows are asked for than there are.
    in_file = [f"{file}-{group}-{row}" for file in range(FILES) for group in range(GROUPS) for row in range(SIZE)]
    assert sorted(drawn(dump | {"rows": 9999}, tmp_path)) == sorted(in_file)
    assert drawn(dump | {"rows": 60}, tmp_path, order="file") == in_file[:60]
    # A quarter of the 1,200 rows: 12.5 expected of a row group of 50, 75 of a file.
    for part, count in ((2, 12.5), (1, 75)):
        counts = Counter(text.rsplit("-", 3 - part)[0] for text in many)
        assert len(counts) == (FILES * GROUPS if part == 2 else FILES)
        assert max(abs(n - count) for n in counts.values()) < 4.5 * (count * 0.75) ** 0.5


def test_a_sample_of_a_large_dump_is_spread_over_row_groups_and_the_places_in_them(tmp_path):
    groups, size, count = 150, 1000, 2000
    table = pa.table({"text": [str(number) for number in range(groups * size)]})
    (tmp_path / "dump").mkdir()
    pq.write_table(table, tmp_path / "dump" / "train.parquet", row_group_size=size)
    rows = hub_rows({"hub": str(tmp_path / "dump"), **HUB}, "shuffled", 0)
    numbers = np.array([int(row["text"]) for row in islice(rows, count)])
    assert len(np.unique(numbers)) == count
    # From 100 of the row groups, 20 expected of each; 200 expected of each tenth of the places.
    assert len(np.unique(numbers // size)) == 100
    assert np.bincount(numbers // size).max() < 20 + 4.5 * 20**0.5
    assert np.abs(np.bincount(numbers % size // 100) - 200).max() < 4.5 * (200 * 0.9) ** 0.5


def test_rows_of_the_hub_are_written_with_the_names_of_their_classes(tmp_path):
    rows = [{"premise": "a", "hypothesis": "b", "label": 2}, {"premise": "c", "hypothesis": "d", "label": -1}]
    folder = tmp_path / "pairs"
    folder.mkdir()
    names = datasets.ClassLabel(names=["entailment", "neutral", "contradiction"])
    text = datasets.Value("string")
    features = datasets.Features({"premise": text, "hypothesis": text, "label": names})
    datasets.Dataset.from_list(rows, features=features).to_parquet(str(folder / "train.parquet"))
    fetch({"hub": str(folder), **HUB}, tmp_path / "raw", reader="glue", **IN_FILE)
    assert list(glue_records(tmp_path / "raw", "mnli")) == [
        Labelled("1", ("a", "b"), "contradiction"),
        Dropped("2", "no label"),
    ]


def test_test_sets_of_sacrebleu_are_written_as_pairs(tmp_path, monkeypatch):
    texts = {"src": ("One day.", "Two  days."), "ref": ("Un jour.", "Deux jours.")}
    texts |= dict.fromkeys(("docid", "genre", "origlang"), ("", ""))
    for name in ("wmt12", "wmt13"):
        monkeypatch.setattr(DATASETS[name], "_outdir", str(tmp_path / name))
        (tmp_path / name).mkdir()
        for field, (first, second) in texts.items():
            (tmp_path / name / f"{name}.en-fr.{field}").write_text(f"{name} {first}\n{second}\n", encoding="utf-8")
    fetch(
        {"sacrebleu": ["wmt12", "wmt13"], "pair": "en-fr"}, tmp_path / "raw", reader="parallel", rows_out=tmp_path / "rows.tsv"
    )
    # A source that is taken whole draws no rows.
    assert (tmp_path / "rows.tsv").read_text(encoding="utf-8") == "number\tcommit\tid\ttitle\n"
    pairs = list(parallel_records(tmp_path / "raw", ["en", "fr"]))
    assert [pair.source for pair in pairs] == ["wmt12 One day.", "Two  days.", "wmt13 One day.", "Two  days."]
    assert [pair.target for pair in pairs] == ["wmt12 Un jour.", "Deux jours.", "wmt13 Un jour.", "Deux jours."]
    (tmp_path / "wmt13/wmt13.en-fr.ref").write_text("only one\n", encoding="utf-8")
    assert "the file ends after line 1" in refused({"sacrebleu": ["wmt13"], "pair": "en-fr"}, tmp_path / "other")


def test_test_sets_that_sacrebleu_cannot_give_are_named(tmp_path, monkeypatch):
    source = {"sacrebleu": ["wmt13"], "pair": "en-fr"}
    assert "No such test set wmt99" in refused(source | {"sacrebleu": ["wmt99"]}, tmp_path / "raw")
    monkeypatch.setattr(DATASETS["wmt13"], "_outdir", str(tmp_path / "none"))
    monkeypatch.setattr(DATASETS["wmt13"], "_rawdir", str(tmp_path / "none/raw"))
    monkeypatch.setattr("sacrebleu.dataset.base.download_file", pooch.retrieve)
    message = refused(source, tmp_path / "raw")
    assert "test set wmt13 (en-fr): sacrebleu could not provide it (ConnectionError: no route to host)" in message
    assert "without a network copy the folder" in message


TEST_SET = """
import sys
from datasets.packaged_modules.parquet.parquet import Parquet
from sacrebleu import DATASETS
from attention_atlas.corpora.sources import fetch
from attention_atlas.errors import AtlasError
DATASETS["wmt13"].md5 = [sys.argv[1]]
DATASETS["wmt13"].data = ["http://127.0.0.1:9/dev.tgz"]
try:
    fetch({"sacrebleu": ["wmt13"], "pair": "en-fr"}, "raw", reader="parallel")
except AtlasError as error:
    sys.exit(str(error))
"""


def test_a_test_set_in_the_mirror_is_checked_and_needs_no_network(tmp_path):
    place = tmp_path / "mirror" / "sacrebleu" / "wmt13" / "raw" / "wmt13.dev.tgz"
    place.parent.mkdir(parents=True)
    with tarfile.open(place, "w:gz") as archive:
        for name, text in zip(DATASETS["wmt13"].langpairs["en-fr"], ("A cat.", "Un chat."), strict=True):
            content = f'<seg id="1">{text}</seg>\n'.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    md5 = hashlib.md5(place.read_bytes(), usedforsecurity=False).hexdigest()
    environment = os.environ | {"SACREBLEU": str(tmp_path / "kept"), MIRROR_VARIABLE: str(tmp_path / "mirror")}
    environment |= {"PYTHONPATH": str(Path(sources.__file__).parents[2])}

    def fetched(expected: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", TEST_SET, expected]
        return subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=environment)

    assert f"{place}: wrong checksum: sacrebleu expects md5 {'0' * 32}" in fetched("0" * 32).stderr
    assert not (tmp_path / "raw").exists()
    assert fetched(md5).returncode == 0
    assert json.loads((tmp_path / "raw").read_text(encoding="utf-8")) == {"en": "A cat.", "fr": "Un chat."}
    # Kept from then on.
    place.unlink()
    assert fetched(md5).returncode == 0
