"""What users do with a run that is built, in whole or in part: remove its caches, make a page of the built part, compare."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from tools.cache import used_caches
from workspaces import SMALL, Workspace

from attention_atlas.atlas.embedded_data import data_of_page
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_table
from attention_atlas.published.corpus_text import check_no_corpus_text
from attention_atlas.workflow.caches import remove
from attention_atlas.workflow.studies import artifacts
from tools import publish, results


@pytest.fixture
def copy(done: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the built run that may be changed: files can be removed and replaced, not written into."""
    shutil.copytree(done.folder, tmp_path / "copy", copy_function=os.link, dirs_exist_ok=True)
    return Workspace(tmp_path / "copy")


def test_caches_of_a_built_run_can_go_and_nothing_is_to_do_again(copy):
    listed = used_caches("sample", SMALL, copy.folder)
    assert {cache.kind for cache, _ in listed} == {"attention", "weights"}
    assert all(use.removable and use.part_of_run for _, use in listed)
    for cache, _ in listed:
        remove(copy.folder, cache)
    assert used_caches("sample", SMALL, copy.folder) == []
    assert copy.jobs(*SMALL) == {}, "no table is out of date"


def test_a_cache_that_a_job_to_do_reads_stays(copy):
    (copy.folder / "results/sample/clark2019/dependency_heads.tsv").unlink()
    (copy.folder / "results/sample/clark2019/table1.tsv").unlink()
    needed = {
        (cache.kind, cache.model, cache.corpus) for cache, use in used_caches("sample", SMALL, copy.folder) if use.readers
    }
    assert ("attention", "minilm", "sample-trees") in needed
    assert ("attention", "minilm", "sample-questions") not in needed


def test_the_scoreboard_of_what_is_built_leaves_out_the_rest(copy, monkeypatch, capsys):
    """A job of Tenney et al. has failed: its comparison and the scoreboard of all studies have not been built."""
    folder = copy.folder / "results/sample"
    shutil.rmtree(folder / "tenney2019")
    for name in ("scoreboard", "comparison", "claims"):
        (folder / f"{name}.tsv").unlink()
    monkeypatch.chdir(copy.folder)
    monkeypatch.setattr(results, "ROOT", copy.folder)
    monkeypatch.setattr(sys, "argv", ["results.py", "sample", "--configfile", *SMALL[1:]])
    assert results.main() == 1
    assert "PARTIAL=yes" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["results.py", "sample", "--partial", "--configfile", *SMALL[1:]])
    assert results.main() == 0
    printed = capsys.readouterr().out
    assert "| tenney2019 | 0 of" in printed
    values = read_table(folder / "partial/comparison.tsv")
    whole = read_table(copy.folder / "results/sample/clark2019/comparison.tsv")
    assert set(values["study"]) == {"clark2019", "guan2020", "kovaleva2019", "michel2019", "stefanik2021"}
    assert (values["study"] == "clark2019").sum() == len(whole)
    page = (folder / "partial/results.md").read_text(encoding="utf-8")
    assert "| clark2019 |" in page
    assert "Not built, and not in these tables: tenney2019" in (folder / "partial/scoreboard.html").read_text(encoding="utf-8")
    assert not (folder / "scoreboard.tsv").exists(), "no partial table is where the whole one belongs"


@pytest.mark.parametrize("name", ["clark2019/figure1", "clark2019/figure5", "kovaleva2019/figure1"])
def test_a_figure_drawn_from_generated_text_is_that_of_the_run_where_the_run_reads_the_same_text(done, name):
    folder = done.folder / "results/sample"
    drawn, redrawn = (read_table(folder / f"{file}.tsv") for file in (name, f"{name}_generated"))
    assert len(drawn) > 100
    pd.testing.assert_frame_equal(drawn, redrawn)


def test_the_page_of_the_atlas_with_generated_sentences_is_that_of_the_run_where_the_run_reads_the_same(done):
    pages = [
        (done.folder / "results/sample/atlas" / name).read_text(encoding="utf-8")
        for name in ("atlas.html", "atlas_generated.html")
    ]
    of_corpus, generated = map(data_of_page, pages)
    assert len(of_corpus["others"]) == 2
    assert of_corpus["evidence"]["pairs"] != []
    assert of_corpus == generated


def test_pages_of_a_built_run_have_its_studies_and_no_text_of_its_corpora(done, tmp_path, monkeypatch, capsys):
    folder, out = done.folder / "results/sample", tmp_path / "pages"
    arguments = ["sample", "--publish", str(out), "--generated", str(folder), "--checkout", str(done.folder), "--unchecked"]
    monkeypatch.chdir(done.folder)
    # Fewer colours take most of the time, and are tested elsewhere.
    monkeypatch.setattr(publish, "PICTURE_BYTES", 10**9)
    monkeypatch.setattr(sys, "argv", ["publish.py", *arguments, "--configfile", *SMALL[1:]])
    assert publish.main() == 0, capsys.readouterr().err
    studies = {"clark2019", "kovaleva2019", "guan2020", "michel2019", "tenney2019", "stefanik2021", "atlas"}
    assert {path.stem for path in out.glob("*.md")} == {*studies, "index"}
    claims = read_table(folder / "claims.tsv")
    assert (out / "index.md").read_text(encoding="utf-8").count(".md#claims)") == len(claims)
    for name in ("clark2019/figure1_generated", "clark2019/figure5_generated", "tenney2019/figure3_cases"):
        assert (out / "pictures" / f"{name}.png").is_file()
        assert (out / "tables" / f"{name}.tsv").is_file()
    page = out / "pages/atlas/atlas.html"
    sources = data_of_page(page.read_text(encoding="utf-8"))["sources"]
    addresses = [address for files in sources.values() for address in files if address]
    assert len(addresses) > 30
    assert [address for address in addresses if not (page.parent / address).is_file()] == []
    examples = publish.corpus_examples(folder)
    for owner, artifact in artifacts():
        for name in artifact.text_files:
            assert not (out / "tables" / owner.id / name).exists()
    for name in ("clark2019/figure1", "kovaleva2019/figure1", "guan2020/figure1", "tenney2019/figure3"):
        with pytest.raises(AtlasError, match="holds text of the corpus"):
            check_no_corpus_text([folder / f"{name}.tsv"], examples)
