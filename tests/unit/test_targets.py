"""What the target rules build: artefacts and caches of the target runs, and what is done about missing files."""

from types import SimpleNamespace

import pytest
from shipped_runs import shipped, shipped_copy, wildcards
from small_config import SMALL, changed, give_model

from attention_atlas.errors import AtlasError
from attention_atlas.studies.kovaleva2019 import study as kovaleva_study
from attention_atlas.workflow.artifacts import Targets, built_tables
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.requirements import missing_for, without_missing
from attention_atlas.workflow.resources import forecast, pending
from attention_atlas.workflow.study import extracted, is_part_of, study

CLARK = study("clark2019")
TREES = "corpus trees: nowhere/trees.conllu does not exist."


class Warnings(list):
    """What a run was warned of."""

    def __call__(self, sentence: str) -> None:
        self.append(sentence)


def targets(**changes) -> tuple[Targets, Warnings]:
    warned = Warnings()
    named = shipped_copy() | changes
    return Targets(without_missing(named), warned, named), warned


def small(missing: str = "error", **changes) -> tuple[Targets, Warnings]:
    warned = Warnings()
    named = resolve(SMALL | {"missing": missing} | changes)
    return Targets(without_missing(named), warned, named), warned


def put(folder, *names) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_an_artefact_is_part_of_a_run_that_names_all_it_needs():
    config = resolve(SMALL)
    parts = {artifact.id for artifact in CLARK.artifacts if is_part_of(config, "one", CLARK, artifact)}
    assert "options" in parts
    assert not {"table2", "gap", "table3"} & parts
    # A second model is no corpus, but needed all the same.
    tenney = study("tenney2019")
    figure = tenney.artifact("figure_a3")
    assert [is_part_of(shipped(), run, tenney, figure) for run in ("sample", "laptop", "paper")] == [True, False, True]


def test_files_of_an_artefact_that_are_missing(without_files):
    give_model(without_files, SMALL["models"]["tiny"])
    config = resolve(SMALL)
    missing = {artifact.id: missing_for(config, "one", CLARK, artifact) for artifact in CLARK.artifacts}
    # What needs the treebank waits for it; what needs the generated segments alone does not.
    assert {title: one.sentence for title, one in missing["table1"].items()} == {"corpus trees": TREES}
    assert missing["options"] == missing["table1"]
    assert missing["figure2"] == {}
    # Corpora that an artefact uses where a run names them count as well.
    table3 = missing_for(shipped(), "paper", CLARK, CLARK.artifact("table3"))
    assert set(table3) == {"corpus wsj-dev", "corpus wsj-train", "corpus glove-6b-100d"}
    # So do those that a study reads for every artefact, its models, and what these are trained on.
    guan = study("guan2020")
    missing = {}
    for what in ("error", "skip"):
        paper = shipped_copy(what)
        for name in ("bert-large-wwm", "bert-large-wwm-squad"):
            paper["models"][name]["source"] = {"path": f"models/{name}"}
        missing[what] = set(missing_for(paper, "paper", guan, guan.artifact("figure1")))
    assert missing["error"] == {
        *("corpus mrpc-train", "corpus mrpc-dev", "corpus mnli-train", "corpus mnli-dev"),
        *("model bert-large-wwm-squad", "model bert-large-wwm"),
    }
    # Models that are compared can be left out, the study's own cannot.
    assert missing["skip"] == {"model bert-large-wwm-squad"}
    put(without_files, "nowhere/trees.conllu")
    assert missing_for(config, "one", CLARK, CLARK.artifact("options")) == {}


@pytest.mark.usefixtures("at_root")
def test_artefacts_by_kind_and_study():
    built_targets, warned = targets()
    everything, tables, figures = (built_targets.artifacts(kind=kind)(wildcards()) for kind in (None, "table", "figure"))
    assert set(tables) | set(figures) == set(everything)
    assert not set(tables) & set(figures)
    assert "results/sample/clark2019/figure2.pdf" in figures
    assert "results/sample/clark2019/table1.html" in tables
    clark = built_targets.artifacts(study="clark2019")(wildcards())
    assert set(clark) < set(everything)
    assert all(path.startswith("results/sample/clark2019/") for path in clark)
    assert built_targets.artifacts(study="scoreboard")(wildcards()) == [
        f"results/sample/{name}.{suffix}" for name in ("scoreboard", "comparison", "claims") for suffix in ("tsv", "html")
    ]
    both = built_targets.artifacts(kind="figure", study="tenney2019")(wildcards())
    assert both == [path for path in figures if "/tenney2019/" in path]
    assert warned == []


@pytest.mark.usefixtures("at_root")
def test_every_target_run_is_built_and_no_other():
    built_targets, _ = targets(targets=["any", "sample"])
    paths = built_targets.artifacts(study="guan2020")(wildcards()) + built_targets.artifacts(study="clark2019")(wildcards())
    # The run `any` has nothing of Guan et al., and no corpus of segments.
    assert {path.split("/")[1] for path in paths} == {"any", "sample"}
    assert not [path for path in paths if path.startswith(("results/any/guan2020", "results/any/clark2019/figure2."))]
    assert "results/any/clark2019/table2.tsv" in paths
    assert "results/any/clark2019/gap.tsv" not in paths


def test_missing_files_are_an_error_that_names_them(without_files):
    config = changed("corpora/trees/licence", "LDC99T42", changed("corpora/trees/layout", "ten columns"))
    give_model(without_files, SMALL["models"]["tiny"])
    built_targets, warned = small(corpora=config["corpora"])
    with pytest.raises(AtlasError) as caught:
        built_targets.artifacts()(wildcards())
    first, line, last = str(caught.value).splitlines()
    assert first == "Missing, but needed by the target runs (one):"
    assert line.startswith(
        f"- {TREES} Licence: LDC99T42. Expected layout: ten columns. Needed by: clark2019: figure5, figure6, table1,"
    )
    assert "make check RUN=" in last
    assert "missing: skip" in last
    assert warned == []
    # What does not need them can be built by itself.
    assert built_targets.artifacts(kind="figure", study="guan2020")(wildcards()) == []


def test_what_needs_missing_files_is_skipped_with_a_warning(without_files):
    give_model(without_files, SMALL["models"]["tiny"])
    built_targets, warned = small("skip")
    paths = built_targets.artifacts()(wildcards())
    assert "results/one/clark2019/figure2.svg" in paths
    assert not [path for path in paths if "/table1." in path or "/options." in path]
    assert [text.splitlines() for text in warned] == [
        [
            "missing; the artefacts that need these are skipped, or built without them:",
            f"- {TREES} Skipped: clark2019: figure5, figure6, table1, dropped, options, comparison, claims.",
        ]
    ]
    put(without_files, "nowhere/trees.conllu")
    assert "results/one/clark2019/table1.tsv" in built_targets.artifacts()(wildcards())
    assert len(warned) == 1


def test_an_optional_file_may_be_missing_whatever_the_configuration_says(without_files):
    built_targets, warned = targets(targets=["laptop"])
    paths = built_targets.artifacts(study="kovaleva2019")(wildcards())
    assert "results/laptop/kovaleva2019/figure5.svg" in paths
    assert not [path for path in paths if "figure3" in path or "figure4" in path]
    assert warned[-1].splitlines()[1].startswith("- corpus framenet-473: licensed/framenet_473.json")
    # A file that is not optional is an error beside it, and only that one is named.
    built_targets, _ = targets(targets=["laptop", "paper"])
    with pytest.raises(AtlasError, match="wsj-dev") as caught:
        built_targets.artifacts()(wildcards())
    assert "framenet-473" not in str(caught.value)


@pytest.mark.parametrize("run", ["laptop", "open"])
def test_open_runs_need_no_file_of_the_users(without_files, run):
    built_targets, warned = targets(targets=[run])
    paths = built_targets.artifacts()(wildcards())
    assert f"results/{run}/tenney2019/figure2.svg" in paths
    assert [sentence for sentence in warned if "framenet-473" in sentence]


@pytest.mark.parametrize(("installed", "expected"), [(False, 1), (True, 0)])
def test_features_that_will_be_absent_are_a_warning_before_the_first_job(monkeypatch, installed, expected):
    monkeypatch.setattr(kovaleva_study, "missing_tagger", lambda name: "" if installed else f"no {name}")
    built_targets, warned = targets(targets=["laptop", "sample"])
    for _ in range(2):
        built_targets.artifacts(study="kovaleva2019")(wildcards())
    sentences = [sentence for sentence in warned if "features and links that need tags" in sentence]
    assert sentences == expected * [
        "run laptop, kovaleva2019: without gold tags in STS-B, QNLI, features and links that need tags will be absent: "
        "no en_core_web_md"
    ]


def test_tables_that_overviews_are_made_from(without_files):
    give_model(without_files, SMALL["models"]["tiny"])
    skipping = resolve(SMALL | {"missing": "skip"})
    tables = built_tables(skipping, "one")
    assert tables["clark2019/surface"] == "results/one/clark2019/surface.tsv"
    assert not {"clark2019/dependencies", "clark2019/table2"} & set(tables)
    assert all(path.endswith(".tsv") for path in tables.values())
    # An overview is made from no overview.
    assert not [name for name in built_tables(shipped(), "sample") if name.startswith(("atlas/", "scoreboard/"))]


def test_attention_caches_of_the_target_runs(without_files):
    built_targets, _ = targets()
    paths = built_targets.attention(wildcards())
    assert len(set(paths)) == len(paths)
    assert "results/sample/attention/minilm-squad/sample-questions/0.safetensors" in paths
    assert "results/sample/attention/minilm-random-1/sample-trees-train/0.safetensors" in paths
    # Michel et al. and Tenney et al. read no cached attention.
    assert not [path for path in paths if "parallel" in path or "edges" in path]
    give_model(without_files, SMALL["models"]["tiny"])
    skipping, warned = small("skip")
    assert skipping.attention(wildcards()) == ["results/one/attention/tiny/pairs/0.safetensors"]
    assert warned == [f"missing; the artefacts that need these are skipped, or built without them:\n- {TREES}"]
    with pytest.raises(AtlasError, match=r"nowhere/trees\.conllu does not exist"):
        small()[0].attention(wildcards())


def test_no_more_shards_are_cached_than_a_study_reads():
    built_targets, _ = targets(targets=["laptop"])
    built_targets.config["runs"]["laptop"] = {
        key: built_targets.config["runs"]["laptop"][key] for key in ("model", "limits", "guan2020")
    }
    built_targets.config["runs"]["laptop"]["guan2020"]["samples"] = 150
    questions = [path for path in built_targets.attention(wildcards()) if "/minilm/xquad-en/" in path]
    assert questions == [f"results/laptop/attention/minilm/xquad-en/{shard}.safetensors" for shard in range(2)]


def test_the_forecast_counts_each_cache_once():
    config = resolve(changed("corpora/trees/source", {"sample": "sd.conllu"}))
    config["corpora"]["trees"]["mean_tokens"] = config["corpora"]["pairs"]["mean_tokens"] = 64
    extracting = [
        SimpleNamespace(
            rule=SimpleNamespace(name=rule), wildcards=SimpleNamespace(run="one", model="tiny", corpus=corpus, shard=shard)
        )
        for corpus in ("trees", "pairs")
        for rule, shard in (("extract_attention", "0"), ("extract_attention", "1"))
    ]
    # 10 records of 144 maps of 128 x 128 cells, two bytes each, for both corpora.
    expected = 2 * 10 * 144 * 128 * 128 * 2 / 1e9
    assert expected == pytest.approx(0.094, abs=1e-3)
    for records in (10, 10_000):
        config["corpora"]["pairs"]["limit"] = config["corpora"]["trees"]["limit"] = records
        size = expected * records / 10
        line = f"attention maps to extract: about {size / 4:.1f} GB in float16, at most {size:.1f} GB"
        assert forecast(config, pending(extracting))[0] == line
    # The same corpus in two studies is one cache, as large as the larger part that is read.
    config["runs"]["one"]["atlas"] = {"sentences": "trees"}
    assert forecast(config, pending(extracting))[0] == line
    assert sorted(extracted(config, "one", "clark2019")) == [("tiny", "pairs", 10_000), ("tiny", "trees", 10_000)]
    removing = forecast(config | {"keep_attention": False}, pending(extracting))[0]
    assert removing == f"{line}; each shard is removed after its last reader"
    # Only what is requested and not yet there counts.
    half = f"attention maps to extract: about {size / 8:.1f} GB in float16, at most {size / 2:.1f} GB"
    assert forecast(config, pending(extracting[:2]))[0] == half
    assert forecast(config, pending([]))[0] == ""
