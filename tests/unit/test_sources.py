"""Where corpora come from: the mirror, a pinned address and the hub, without any network."""

import gzip
import hashlib
import io
import json
import tarfile
from itertools import islice
from pathlib import Path
from unittest.mock import Mock

import datasets
import numpy as np
import pandas as pd
import pooch
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import requests
import sacrebleu.utils
from sacrebleu import DATASETS

from attention_atlas.corpora.sources import check_content, fetch, hub_rows
from attention_atlas.corpora.text import parallel_records
from attention_atlas.errors import AtlasError
from attention_atlas.io.hub_files import MIRROR_VARIABLE

TEXT = b"One sentence.\nAnother one.\n" * 200
DIGEST = hashlib.sha256(TEXT).hexdigest()
SOURCE = {"url": "https://example.org/data/text.txt", "sha256": DIGEST, "mirror": "folder/text.txt"}


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    """Whoever asks for a download is told that there is no way."""
    monkeypatch.setattr(pooch, "retrieve", Mock(side_effect=ConnectionError("no route to host")))
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "kept" / name)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    # Seconds that streaming waits at its end.
    monkeypatch.setattr(datasets.config, "SLEEP_TIME_ON_THREADS_SHUTDOWN", 0)


def refused(source: dict, target: Path, **options: str) -> str:
    with pytest.raises(AtlasError) as caught:
        fetch(source, target, **options)
    assert not target.exists()
    assert list(target.parent.glob(".*")) == []
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_of_the_mirror_is_taken_if_its_checksum_packed_or_unpacked_is_right(tmp_path, monkeypatch):
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path))
    place, packed = tmp_path / "folder" / "text.txt", gzip.compress(TEXT)
    place.parent.mkdir()
    for content in (TEXT, packed):
        place.write_bytes(content)
        fetch(SOURCE, tmp_path / "out" / "raw")
        assert (tmp_path / "out" / "raw").read_bytes() == place.read_bytes() == content
    fetch(SOURCE | {"sha256": hashlib.sha256(packed).hexdigest()}, tmp_path / "raw")
    place.write_bytes(packed[:-20])
    digest = hashlib.sha256(packed[:-20]).hexdigest()
    assert f"expected sha256 {DIGEST}, found {digest}." in refused(SOURCE, tmp_path / "other")


def test_the_order_of_an_archive_does_not_matter_where_two_folders_have_a_file_of_one_name(tmp_path):
    for names in (("a/1.conll", "b/1.conll"), ("b/1.conll", "a/1.conll")):
        with tarfile.open(tmp_path / "x.tar", "w") as archive:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = len(name)
                archive.addfile(member, io.BytesIO(name.encode()))
        check_content(tmp_path / "x.tar", hashlib.sha256(b"a/1.conllb/1.conll").hexdigest(), "*.conll")


def test_a_redirect_to_a_file_is_no_wrong_checksum(tmp_path, monkeypatch):
    monkeypatch.setattr(pooch, "retrieve", Mock(side_effect=requests.exceptions.InvalidSchema("file:///etc/passwd")))
    source = {"url": "https://example.org/x", "sha256": "0" * 64}
    (tmp_path / "out").mkdir()
    assert "could not be downloaded (InvalidSchema)" in refused(source, tmp_path / "out" / "raw")
    monkeypatch.setattr(pooch, "retrieve", Mock(side_effect=ValueError("hash")))
    assert "wrong checksum" in refused(source, tmp_path / "out" / "raw")


def test_a_downloaded_archive_with_the_wrong_content_is_fetched_again(tmp_path, monkeypatch):
    kept, contents = tmp_path / "kept.conll", iter([b"a a", b"a a (0)\n"])

    def download(url, known_hash, path):
        if not kept.exists():
            kept.write_bytes(next(contents))
        return str(kept)

    monkeypatch.setattr(pooch, "retrieve", download)
    source = {"url": "https://example.org/x", "content_sha256": hashlib.sha256(b"a a (0)\n").hexdigest()}
    (tmp_path / "out").mkdir()
    assert "wrong checksum: expected content_sha256" in refused(source, tmp_path / "out" / "raw")
    fetch(source, tmp_path / "out" / "raw")
    assert (tmp_path / "out" / "raw").read_bytes() == b"a a (0)\n"


ROWS = [
    {"title": "A", "text": "First paragraph.\n\n  Second paragraph. \n"},
    {"title": "B", "text": ""},
    {"title": "C", "text": None},
    {"title": "D", "text": "Only\u2028one: é."},
    {"title": "E", "text": "Behind the rows."},
]
HUB = {"split": "train", "column": "text", "rows": 4}
IN_FILE = {"order": "file"}


def test_a_data_set_becomes_documents_of_a_paragraph_a_line(tmp_path):
    dataset = tmp_path / "dataset"
    dataset.mkdir()
    (dataset / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    fetch({"hub": str(dataset), **HUB}, tmp_path / "raw", **IN_FILE)
    assert (tmp_path / "raw").read_text(encoding="utf-8") == "First paragraph.\nSecond paragraph.\n\nOnly\u2028one: é.\n\n"


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
    # All of them, once, where more rows are asked for than there are.
    in_file = [f"{file}-{group}-{row}" for file in range(FILES) for group in range(GROUPS) for row in range(SIZE)]
    assert sorted(drawn(dump | {"rows": 9999}, tmp_path)) == sorted(in_file)
    assert drawn(dump | {"rows": 60}, tmp_path, order="file") == in_file[:60]


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
    label, text = datasets.ClassLabel(names=["no", "maybe", "yes"]), datasets.Value("string")
    features = datasets.Features({"label": label, "parts": [{"text": text, "tags": datasets.Sequence(label)}]})
    rows = [{"label": 2, "parts": [{"text": "a", "tags": [0, 1]}]}, {"label": -1, "parts": []}]
    (tmp_path / "pairs").mkdir()
    datasets.Dataset.from_list(rows, features=features).to_parquet(str(tmp_path / "pairs" / "train.parquet"))
    fetch({"hub": str(tmp_path / "pairs"), **HUB}, tmp_path / "raw", reader="glue", **IN_FILE)
    first, second = map(json.loads, (tmp_path / "raw").read_text().splitlines())
    assert first == {"label": "yes", "parts": [{"text": "a", "tags": ["no", "maybe"]}]}
    assert second == {"label": "-", "parts": []}


def test_test_sets_of_sacrebleu_are_written_as_pairs(tmp_path, monkeypatch):
    texts = {"src": ("One day.", "Two  days."), "ref": ("Un jour.", "Deux jours.")}
    texts |= dict.fromkeys(("docid", "genre", "origlang"), ("", ""))
    for name in ("wmt12", "wmt13"):
        monkeypatch.setattr(DATASETS[name], "_outdir", str(tmp_path / name))
        (tmp_path / name).mkdir()
        for field, (first, second) in texts.items():
            (tmp_path / name / f"{name}.en-fr.{field}").write_text(f"{name} {first}\n{second}\n", encoding="utf-8")
    fetch({"sacrebleu": ["wmt12", "wmt13"], "pair": "en-fr"}, tmp_path / "raw", reader="parallel")
    pairs = [(pair.source, pair.target) for pair in parallel_records(tmp_path / "raw", ["en", "fr"])]
    assert pairs[:2] == [("wmt12 One day.", "wmt12 Un jour."), ("Two  days.", "Deux jours.")]
    assert pairs[2:] == [("wmt13 One day.", "wmt13 Un jour."), ("Two  days.", "Deux jours.")]


def test_test_sets_that_sacrebleu_cannot_give_are_named_and_no_damaged_archive_is_kept(tmp_path, monkeypatch):
    source = {"sacrebleu": ["wmt13"], "pair": "en-fr"}
    assert "No such test set wmt99" in refused(source | {"sacrebleu": ["wmt99"]}, tmp_path / "raw")
    raw = tmp_path / "none/wmt13/raw"
    monkeypatch.setattr(sacrebleu.utils, "SACREBLEU_DIR", str(tmp_path / "none"))
    monkeypatch.setattr(DATASETS["wmt13"], "_outdir", str(raw.parent))
    monkeypatch.setattr(DATASETS["wmt13"], "_rawdir", str(raw))
    monkeypatch.setattr("sacrebleu.dataset.base.download_file", pooch.retrieve)
    raw.mkdir(parents=True)
    (archive,) = (raw / f"wmt13.{url.rpartition('/')[2]}" for url in DATASETS["wmt13"].data)
    archive.write_bytes(b"damaged")
    message = refused(source, tmp_path / "raw")
    assert "test set wmt13 (en-fr): sacrebleu could not provide it (ConnectionError: no route to host)" in message
    assert not archive.exists()
