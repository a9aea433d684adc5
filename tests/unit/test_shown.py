"""Marked functions of a toy study: their declarations, what an edit reruns, and what the job reads and writes."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import attention_atlas.studies
from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import Table
from attention_atlas.io.tables import RunLabel
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.run import arguments, run
from attention_atlas.workflow.shown import STUDIES, shown
from attention_atlas.workflow.shown import table as marked

MEASURING = '''"""A measure."""

import logging

import numpy as np
import pandas as pd

_log = logging.getLogger(__name__)


def offsets(attention: np.ndarray, farthest: int) -> pd.DataFrame:
    """Mean attention at each distance."""
    if farthest < 1:
        raise ValueError("there is no distance")
    _log.info("up to %d tokens", farthest)
    shares = [_share(attention, k) for k in range(farthest + 1)]
    return pd.DataFrame({"offset": range(farthest + 1), "share": shares})


def _share(attention, offset):
    return np.diagonal(attention, offset).mean()
'''
SHOWN = '''"""What the study shows."""

import pandas as pd

from attention_atlas.io.html_tables import Table
from attention_atlas.workflow.shown import table

SHARE = ".1%"


@table(title="Attention by distance", reads=("offsets",))
def table1(offsets: pd.DataFrame, farthest: int) -> Table:
    """Mean attention at each distance."""
    return Table(offsets, [_note(farthest)], formats={"share": SHARE})


@table(title="The nearest", reads=("offsets",))
def table2(offsets: pd.DataFrame) -> Table:
    """The token itself."""
    return Table(offsets[:1])


def _note(farthest: int) -> str:
    return f"At most {farthest} tokens."
'''
LABEL = RunLabel("Test run", "tiny", "made up")


def write_study(folder, measuring=MEASURING, tables=SHOWN):
    """The toy study in a library; the library's folder."""
    study = folder / "attention_atlas" / "studies" / "toy2020"
    study.mkdir(parents=True)
    empty = dict.fromkeys(("__init__", "../__init__", "../../__init__"), "")
    for name, text in {"measures": measuring, "tables": tables, **empty}.items():
        (study / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("np.diagonal(attention, offset)", "np.diagonal(attention, -offset)", {"offsets"}),
        ("there is no distance", "no distance is left", set()),
        ('SHARE = ".1%"', 'SHARE = ".2%"', {"table1"}),
        ("At most {farthest} tokens", "Up to {farthest} tokens", {"table1"}),
        ('"""The token itself."""', '"""The same token."""', {"table2"}),
    ],
)
def test_an_edit_reruns_what_it_can_change(tmp_path, old, new, changed):
    assert (MEASURING + SHOWN).count(old) == 1
    params = []
    for number, (measuring, tables) in enumerate([(MEASURING, SHOWN), (MEASURING.replace(old, new), SHOWN.replace(old, new))]):
        library = write_study(tmp_path / str(number), measuring, tables)
        captions = {item.id: item.caption for item in shown("toy2020", library / "attention_atlas" / "studies")}
        functions = {"offsets": "measures", "table1": "tables", "table2": "tables"}
        calls = {name: (f"attention_atlas.studies.toy2020.{module}:{name}",) for name, module in functions.items()}
        digests = {name: script_digest("run.py", modules=call, library=library) for name, call in calls.items()}
        params.append({name: (digest, captions.get(name)) for name, digest in digests.items()})
    assert {name for name in params[0] if params[0][name] != params[1][name]} == changed


def test_a_digest_of_no_function_and_a_mark_that_does_not_fit_are_errors(tmp_path):
    library = write_study(tmp_path, tables=SHOWN.replace('reads=("offsets",)', 'reads=("distances",)'))
    with pytest.raises(AtlasError, match="there is no function table9"):
        script_digest("run.py", modules=("attention_atlas.studies.toy2020.tables:table9",), library=library)
    with pytest.raises(TypeError, match=r"toy2020.tables:table1 has no parameter distances$"):
        shown("toy2020", library / "attention_atlas" / "studies")


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The toy study, importable as one of the library."""
    folder = write_study(tmp_path / "toy") / "attention_atlas" / "studies"
    monkeypatch.setattr(attention_atlas.studies, "__path__", [str(STUDIES), str(folder)])
    yield tmp_path
    for name in [name for name in sys.modules if "toy2020" in name]:
        del sys.modules[name]


def job(call, inputs, outputs, **params):
    """What Snakemake gives to a script."""
    return SimpleNamespace(threads=1, input=inputs, output=outputs, params={"call": f"toy2020.{call}", "code": "x", **params})


def test_the_job_of_a_table_reads_calls_and_writes(toy):
    pd.DataFrame({"offset": [0, 1], "share": [0.75, 0.25]}).to_csv(toy / "offsets.tsv", sep="\t", index=False)
    outputs = {kind: str(toy / f"table1.{kind}") for kind in ("tsv", "html")}
    of_page = {"heading": "Toy (2020), Table 1", "caption": "Mean attention.", "links": {}, "run_title": "Test run"}
    params = {**of_page, "labels": {"sentences": vars(LABEL)}, "farthest": 1}
    run(job("tables:table1", {"offsets": str(toy / "offsets.tsv")}, outputs, **params))
    assert (toy / "table1.tsv").read_text() == "offset\tshare\n0\t0.75\n1\t0.25\n"
    page = (toy / "table1.html").read_text(encoding="utf-8")
    for text in ("Toy (2020), Table 1</h1>", LABEL.line, "<p>Mean attention.</p>", "At most 1 tokens.", ">75.0%</td>"):
        assert text in page


def test_what_a_run_lacks_is_not_passed_and_frames_and_limits_are_by_name(tmp_path, monkeypatch):
    @marked(title="", reads=("offsets",), optional={"random": ("model", "random.tsv")})
    def joined(frames: Mapping[str, pd.DataFrame]) -> Table:
        return Table(pd.DataFrame({"name": list(frames)}))

    monkeypatch.setattr("attention_atlas.workflow.run.call_function", lambda call: joined)
    path, outputs = str(tmp_path / "offsets.tsv"), {kind: str(tmp_path / f"t.{kind}") for kind in ("tsv", "html")}
    pd.DataFrame({"offset": [0]}).to_csv(path, sep="\t", index=False)
    for random, names in (([], ["offsets"]), ([path], ["offsets", "random"])):
        run(job("", {"offsets": path, "random": random}, outputs, heading="", caption="", links={}, labels={}))
        assert pd.read_csv(tmp_path / "t.tsv", sep="\t")["name"].tolist() == names

    def limited(one: Annotated[list, lambda path, limit: [path, limit]], two: Annotated[list, lambda path: [path]]) -> None:
        """Readers with a limit and without."""

    assert arguments(limited, {"one": "a", "two": "b"}, {"one": 7}) == {"one": ["a", 7], "two": ["b"]}
    assert arguments(limited, {"one": "a", "two": "b"}, 8) == {"one": ["a", 8], "two": ["b"]}


def test_the_job_of_a_measure_writes_its_outputs_and_refuses_others(toy):
    attention = np.eye(3)
    run(job("measures:offsets", {}, {"offsets": str(toy / "offsets.tsv")}, attention=attention, farthest=1))
    assert (toy / "offsets.tsv").read_text() == "offset\tshare\n0\t1\n1\t0\n"
    for outputs in ({}, {"offsets": str(toy / "a.tsv"), "more": str(toy / "b.tsv")}):
        with pytest.raises(TypeError, match="the function returns"):
            run(job("measures:offsets", {}, outputs, attention=attention, farthest=1))
    with pytest.raises(TypeError, match="measures:offsets has no parameter nearest"):
        run(job("measures:offsets", {}, {"offsets": "a.tsv"}, attention=attention, nearest=1))


@dataclass(frozen=True)
class Sizes:
    """An array and a text."""

    layers: npt.NDArray[np.int64]
    unit: str
    models: Sequence[str]


def doubled(sizes: Sizes) -> Sizes:
    """A measure of arrays that returns arrays."""
    return Sizes(2 * sizes.layers, sizes.unit, sizes.models)


@pytest.mark.parametrize("function", [doubled, lambda sizes: {"sizes": vars(doubled(sizes))}])
def test_arrays_are_read_as_they_were_written_and_a_damaged_file_is_named(tmp_path, monkeypatch, function):
    function.__annotations__ = doubled.__annotations__
    monkeypatch.setattr("attention_atlas.workflow.run.call_function", lambda call: function)
    once, twice, more = (tmp_path / f"{name}.safetensors" for name in ("once", "twice", "more"))
    facts = {"facts": '{"unit": "heads", "models": ["é"]}'}
    save_file({"layers": np.arange(3)}, once, facts)
    for before, after in ((once, twice), (twice, more)):
        run(job("", {"sizes": str(before)}, {"sizes": str(after)}))
    with safe_open(more, "np") as file:
        # The library writes several entries in random order.
        assert (file.get_tensor("layers").tolist(), file.metadata()) == ([0, 4, 8], facts)
    once.write_bytes(b"no arrays")
    with pytest.raises(AtlasError, match=r"once\.safetensors: it does not hold the arrays of"):
        run(job("", {"sizes": str(once)}, {"sizes": str(twice)}))
