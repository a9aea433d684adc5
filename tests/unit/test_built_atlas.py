"""The atlas of a built run as data."""

import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from small_treebank import write_treebank

from attention_atlas import atlas
from attention_atlas.atlas.correlations import correlations
from attention_atlas.atlas.measures import heads
from attention_atlas.atlas.sentences import attended
from attention_atlas.attention.cache import read_attention
from attention_atlas.corpora.examples import all_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_table


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
    measured = heads({"clark2019/surface": surface, "guan2020/head_types": types}, "tiny", (2, 2), {}, {})
    measured["correlations"] = correlations(measured["heads"], measured["measures"], resamples=100, shuffles=100, seed=0)
    examples = all_examples([maps / "0.parquet"])
    for name, table in attended(read_attention([maps / "0.safetensors"]), examples, strongest_pairs=5).items():
        measured[f"models/tiny/attended_{name}"] = table
    for name, table in measured.items():
        write_table(table, tables / f"{name}.tsv")
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
