"""Data files that come with the library."""

from pathlib import Path

from attention_atlas.io.files import RESOURCES, with_data_file
from attention_atlas.workflow.paths import local_file

ROOT = Path(__file__).resolve().parents[2]


def test_a_corpus_that_comes_with_the_library_is_found_from_any_directory(without_files):
    path = "workflow/resources/tenney2019_sentences.jsonl"
    config = {"corpora": {"cases": {"source": {"path": path}}}, "data_mirror": None}
    assert local_file(config, "cases") == RESOURCES / "tenney2019_sentences.jsonl"
    # In the directory of the workflow its path does not depend on where that directory is.
    (without_files / path).parent.mkdir(parents=True)
    (without_files / path).touch()
    assert local_file(config, "cases") == Path(path)
    assert with_data_file(Path("workflow/resource")) == Path("workflow/resource")
