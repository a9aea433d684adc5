"""Pages of a run that may be redistributed: no text of a corpus, pictures of generated sentences, sizes, and what is absent."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from mkdocs.config.defaults import MkDocsConfig
from PIL import Image
from small_config import SHIPPED, changed

from attention_atlas.atlas.embedded_data import data_of_page, embedded
from attention_atlas.atlas.other_sentences import write_with_sentences_of
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import write_text
from attention_atlas.io.html_pages import link_pages
from attention_atlas.io.html_tables import Layout, write_html_table
from attention_atlas.io.markdown import frame_table
from attention_atlas.io.tables import write_table
from attention_atlas.published.claims import CLAIM_COLUMNS
from attention_atlas.published.compare import COLUMNS
from attention_atlas.published.corpus_text import check_no_corpus_text
from attention_atlas.published.page_layout import page_layout
from attention_atlas.published.run_pages import (
    ShownArtifact,
    StudyPage,
    TableFile,
    claims_table,
    examples_of,
    study_page,
)
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.studies import artifacts, study
from tools import publish
from tools.publish import (
    ABSENT_NOTE,
    ATLAS_NOTE,
    GENERATED_NOTE,
    MARK,
    OTHER_RUN_NOTE,
    REDISTRIBUTABLE_NOTE,
    Source,
    is_part_of_project,
    write_pages,
)
from tools.site_hook import on_config
from tools.small_pictures import write_small_picture

CANARY = "seven yellow canaries sang loudly beneath the old bridge"
PIECES = CANARY.split()
GENERATED = "the generated cat saw a generated dog"


def noisy_picture(path, size=(60, 40), seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (*size[::-1], 3), np.uint8)).save(path)


def test_pictures_shrink_below_the_limit_and_keep_their_shape(tmp_path):
    noisy_picture(tmp_path / "large.png", (800, 100))
    write_small_picture(tmp_path / "large.png", tmp_path / "small.png", 37_500)
    assert (tmp_path / "small.png").stat().st_size <= 37_500 < (tmp_path / "large.png").stat().st_size
    with Image.open(tmp_path / "small.png") as small:
        assert small.width / small.height == pytest.approx(8, abs=0.1)


def test_a_picture_that_is_small_keeps_its_size(tmp_path):
    Image.new("RGBA", (400, 100), (255, 0, 0, 0)).save(tmp_path / "one.png")
    write_small_picture(tmp_path / "one.png", tmp_path / "two.png", 150_000)
    with Image.open(tmp_path / "two.png") as picture:
        assert picture.size == (400, 100)
        assert picture.convert("RGB").getpixel((5, 5)) == (255, 255, 255), "transparent is white, as on paper"
    (tmp_path / "one.png").write_bytes(b"no picture")
    with pytest.raises(AtlasError, match="this picture cannot be read"):
        write_small_picture(tmp_path / "one.png", tmp_path / "three.png", 150_000)


def write_examples(folder, words):
    folder.mkdir(parents=True)
    pd.DataFrame({"words": [words, None]}).to_parquet(folder / "0.parquet")
    return {folder.name: [folder / "0.parquet"]}


@pytest.mark.parametrize(
    "frame",
    [
        {"sentence": [CANARY], "n": [3]},
        {"example": ["1", "1"], "text": ["nothing", f"It was said: {CANARY.upper()}!"]},
        {"token": PIECES, "weight": range(len(PIECES))},
        {"query_token": [word for word in PIECES for _ in range(3)]},
    ],
)
def test_text_of_a_corpus_is_found_in_cells_and_down_a_column(tmp_path, frame):
    examples = write_examples(tmp_path / "birds", ["Once", *PIECES, "."])
    write_table(pd.DataFrame(frame), tmp_path / "table.tsv")
    with pytest.raises(AtlasError, match=r"table\.tsv: this table holds text of the corpus birds"):
        check_no_corpus_text([tmp_path / "table.tsv"], examples)


def test_names_and_short_phrases_are_no_text_of_a_corpus(tmp_path):
    examples = write_examples(tmp_path / "birds", PIECES)
    frame = {"relation": ["nsubj", "dobj"], "word": ["the", "old"], "phrase": [" ".join(PIECES[:5]), ""], "n": [1, 2]}
    write_table(pd.DataFrame(frame), tmp_path / "table.tsv")
    check_no_corpus_text([tmp_path / "table.tsv"], examples)


def atlas_page(sentence, name="minilm", heads=12, others=()):
    data = {
        "name": name,
        "layers": 6,
        "heads": heads,
        "sentences": [{"text": sentence}] if sentence else [],
        "sources": {
            "entropy": ["../study/figure.tsv", "../study/figure.svg"],
            "class": ["../study/long.tsv", "../study/page.html"],
        },
    }
    data |= {
        "evidence": {"texts": [sentence], "pairs": [[0]], "kinds": ["nsubj"]},
        "shown_note": sentence,
        "others": list(others),
    }
    return data


def html(data):
    return f'<html><script type="application/gzip" id="data">{embedded(data)}</script><script>1</script></html>'


def test_the_page_of_an_atlas_shows_the_sentences_of_the_page_with_generated_ones(tmp_path):
    other = atlas_page(CANARY, name="tuned")
    (tmp_path / "run.html").write_text(html(atlas_page(CANARY, others=[other])), encoding="utf-8")
    (tmp_path / "sample.html").write_text(html(atlas_page("a generated sentence</b>")), encoding="utf-8")
    write_with_sentences_of(tmp_path / "run.html", tmp_path / "sample.html", "Generated ones.", tmp_path / "out.html")
    data = data_of_page((tmp_path / "out.html").read_text(encoding="utf-8"))
    assert "canaries" not in str(data)
    assert data["sentences"] == [{"text": "a generated sentence</b>"}]
    assert data["evidence"] == {"texts": ["a generated sentence</b>"], "pairs": [[0]], "kinds": ["nsubj"]}
    assert data["shown_note"].startswith("Generated ones.")
    assert data["others"][0]["sentences"] == [], "the second page has no such model"
    assert data["others"][0]["evidence"]["kinds"] == ["nsubj"]


def test_a_page_of_the_atlas_links_to_the_files_that_were_copied(tmp_path):
    other = atlas_page(CANARY, name="tuned")
    (tmp_path / "run.html").write_text(html(atlas_page(CANARY, others=[other])), encoding="utf-8")
    moved = {"../study/figure.svg": "../../pictures/study/figure.png", "../study/page.html": "../study/page.html"}
    for places, expected in (
        (moved, {"entropy": ["", moved["../study/figure.svg"]], "class": ["", "../study/page.html"]}),
        ({"../study/figure.tsv": "t.tsv"}, {"entropy": ["t.tsv", ""]}),
        (None, {}),
    ):
        write_with_sentences_of(tmp_path / "run.html", None, "", tmp_path / "out.html", places)
        text = (tmp_path / "out.html").read_text(encoding="utf-8")
        data = data_of_page(text)
        assert data["sources"] == data["others"][0]["sources"] == expected


def test_a_page_without_a_second_one_or_with_other_heads_shows_no_sentences(tmp_path):
    (tmp_path / "run.html").write_text(html(atlas_page(CANARY)), encoding="utf-8")
    (tmp_path / "sample.html").write_text(html(atlas_page("generated", heads=4)), encoding="utf-8")
    for second in (None, tmp_path / "sample.html"):
        write_with_sentences_of(tmp_path / "run.html", second, "Generated ones.", tmp_path / "out.html")
        assert "canaries" not in str(data_of_page((tmp_path / "out.html").read_text(encoding="utf-8")))
    (tmp_path / "bare.html").write_text("<html></html>", encoding="utf-8")
    with pytest.raises(AtlasError, match="does not have the data of an atlas"):
        write_with_sentences_of(tmp_path / "bare.html", None, "", tmp_path / "out.html")


@pytest.fixture
def source(tmp_path):
    """A run whose study Clark et al. is built, with a canary in every file that is declared to show text."""
    config = resolve(changed("corpora/trees/source", {"sample": "sd.conllu"}))
    folder = tmp_path / "results" / "one"
    clark = study("clark2019")
    write_examples(folder / "examples" / "tiny" / "birds", PIECES)
    (folder / "corpora").mkdir()
    (folder / "corpora" / "birds.raw").write_text(CANARY, encoding="utf-8")
    for artifact in clark.artifacts:
        for name in artifact.files:
            path = tmp_path / clark.path(name, "one")
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".png":
                noisy_picture(path, seed=1)
            elif path.suffix != ".tsv":
                path.write_text(CANARY, encoding="utf-8")
            elif name in artifact.text_files:
                write_table(pd.DataFrame({"sentence": [CANARY]}), path)
            else:
                write_table(pd.DataFrame({"head": ["1-1"], "n": [7], "unit": ["documents"], "mean": [0.25]}), path)
    tested = [1.0, "above", 0.0, -1.0, 3.0, 0.95, 30, "documents"]
    not_tested = [math.nan, "below", 0.1, math.nan, math.nan, 0.95, 0, "documents"]
    rows = [
        ["a claim", "x", "undecided", "mean | share", *tested],
        ["another claim", "no second corpus", "not tested", "correlation", *not_tested],
    ]
    write_table(pd.DataFrame(rows, columns=list(CLAIM_COLUMNS)), folder / "clark2019" / "claims.tsv")
    value = dict.fromkeys(COLUMNS, "") | {"id": "a", "item": "Table 1", "quantity": "accuracy", "published": 34.5, "ours": 34.5}
    value |= {"verdict": "match", "scope": "claim", "comparable": "exact", "recomputed": math.nan}
    write_table(pd.DataFrame([value], columns=list(COLUMNS)), folder / "clark2019" / "comparison.tsv")
    dropped = [["birds", "kept", "record", 9, 0.9], ["birds", "too long", "record", 1, 0.1]]
    write_table(
        pd.DataFrame(dropped, columns=["corpus", "outcome", "unit", "n", "share"]), folder / "clark2019" / "dropped.tsv"
    )
    generated = tmp_path / "results" / "sample"
    noisy_picture(generated / "clark2019" / "figure1.png", seed=2)
    return Source("one", tmp_path, config, None, generated)


def all_text(folder):
    return "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.suffix in (".md", ".tsv", ".html"))


def test_published_pages_hold_no_text_of_a_corpus(source, tmp_path):
    out = tmp_path / "docs" / "one"
    assert write_pages(source, out, "Which?", "A machine.") == ["clark2019"]
    assert "canaries" in all_text(source.folder)
    assert "canaries" not in all_text(out)
    text_files = {name for artifact in study("clark2019").artifacts for name in artifact.text_files}
    assert {"figure1.tsv", "figure5.tsv"} <= text_files
    assert not text_files & {path.name for path in (out / "tables").rglob("*")}
    page = (out / "clark2019.md").read_text(encoding="utf-8")
    assert GENERATED_NOTE.format(run="sample") in page
    assert "](pictures/clark2019/figure1.png)" in page
    assert ABSENT_NOTE.format(run="sample") in page, "the run on generated sentences lacks Figure 5"
    assert "](pictures/clark2019/figure5.png)" not in page
    with (
        Image.open(out / "pictures/clark2019/figure1.png") as shown,
        Image.open(tmp_path / "results/sample/clark2019/figure1.png") as generated,
    ):
        difference = np.asarray(shown.convert("RGB"), float) - np.asarray(generated.convert("RGB"), float)
        assert np.abs(difference).mean() < 30, "the picture of the run on generated sentences"


@pytest.fixture
def redrawn(source):
    """The same run with Figure 5 on generated sentences."""
    config = copy.deepcopy(source.config)
    config["runs"]["one"]["clark2019"]["generated_dependencies"] = "trees"
    folder = source.folder / "clark2019"
    noisy_picture(folder / "figure5_generated.png", seed=3)
    write_table(pd.DataFrame({"relation": "det", "from_word": GENERATED.split()}), folder / "figure5_generated.tsv")
    for suffix in (".svg", ".pdf"):
        (folder / f"figure5_generated{suffix}").write_text("a picture", encoding="utf-8")
    return replace(source, config=config)


def test_a_figure_on_generated_text_is_published_in_place_of_the_one_that_shows_a_corpus(redrawn, tmp_path):
    out = tmp_path / "docs" / "one"
    write_pages(redrawn, out, "Which?", "A machine.")
    figure = study("clark2019").artifact("figure5")
    page = (out / "clark2019.md").read_text(encoding="utf-8").partition("## Figure 5")[2].partition("\n## ")[0]
    assert "](pictures/clark2019/figure5_generated.png)" in page
    assert REDISTRIBUTABLE_NOTE.format(corpora="trees") in page
    assert ABSENT_NOTE.format(run="sample") not in page
    assert figure.redistributable.caption in page
    assert figure.caption not in page
    assert (out / "tables/clark2019/figure5_generated.tsv").is_file()
    assert "canaries" not in all_text(out)
    with_text = tmp_path / "with_text"
    write_pages(replace(redrawn, generated=None), with_text, "Which?", "A machine.")
    page = (with_text / "clark2019.md").read_text(encoding="utf-8")
    assert figure.caption in page
    assert "figure5_generated" not in page, "pages on the reader's machine show the sentences of the corpora"


def test_sentences_that_a_paper_quotes_are_published_if_they_are_part_of_the_project(source, tmp_path):
    """They may be in a corpus of the run, too; a file of the user's is no part of the project."""
    table = tmp_path / "table.tsv"
    write_table(pd.DataFrame({"words": [CANARY]}), table)
    corpus, quoted = (write_examples(tmp_path / name, PIECES) for name in ("corpus", "quoted"))
    check_no_corpus_text([table], corpus, allowed=quoted)
    with pytest.raises(AtlasError, match="holds text of the corpus corpus"):
        check_no_corpus_text([table], corpus, allowed=write_examples(tmp_path / "short", PIECES[:5]))
    config = copy.deepcopy(source.config)
    config["runs"]["one"]["tenney2019"] = {"cases": "mine"}
    tenney = study("tenney2019")
    figure = tenney.artifact("figure3")
    for suffix in ("svg", "png", "pdf", "tsv"):
        write_text(tmp_path / tenney.path(f"figure3_cases.{suffix}", "one"), "drawn")
    for path, published in (("workflow/resources/tenney2019_sentences.jsonl", True), ("mine.jsonl", False)):
        config["corpora"]["mine"] = {"source": {"path": path}}
        pages = publish._Pages(replace(source, config=config), tmp_path / "docs")
        assert bool(pages._redrawn(tenney, figure)) is published


def test_the_published_page_of_the_atlas_has_the_generated_sentences_of_the_run_for_every_model(redrawn, tmp_path):
    pages = publish._Pages(redrawn, tmp_path / "docs")
    of_corpus, generated, of_sample = (
        tmp_path / name / "atlas.html" for name in ("corpus", "generated", "results/sample/atlas")
    )
    for page, text in ((of_corpus, CANARY), (generated, GENERATED), (of_sample, "a sentence of the sample run")):
        write_text(page, html(atlas_page(text, others=[atlas_page(text, name="tuned")])))
    for redrawn_page, sentence, note in (
        (generated, GENERATED, ATLAS_NOTE),
        (None, "a sentence of the sample run", OTHER_RUN_NOTE.format(run="sample")),
    ):
        pages.atlas_pages[of_corpus] = "pages/atlas.html", redrawn_page
        pages.write_atlas_pages()
        data = data_of_page((tmp_path / "docs/pages/atlas.html").read_text(encoding="utf-8"))
        for model in (data, *data["others"]):
            assert model["sentences"] == [{"text": sentence}]
            assert model["shown_note"] == f"{note} {sentence}"


def test_a_figure_said_to_be_on_generated_text_is_refused_if_it_shows_a_corpus(redrawn, tmp_path):
    table = redrawn.folder / "clark2019" / "figure5_generated.tsv"
    write_table(pd.DataFrame({"from_word": CANARY.split()}), table)
    with pytest.raises(AtlasError, match=r"figure5_generated\.tsv: this table holds text of the corpus birds"):
        write_pages(redrawn, tmp_path / "docs" / "one", "Which?", "A machine.")
    config = copy.deepcopy(redrawn.config)
    for source, part_of_project in (
        ({"sample": "sd.conllu"}, True),
        ({"path": "workflow/resources/tenney2019_sentences.jsonl"}, True),
        ({"path": "nowhere/workflow/resources/wsj.jsonl"}, False),
        ({"url": "https://somewhere"}, False),
    ):
        config["corpora"]["birds"] = {"source": source}
        assert is_part_of_project(config, "birds") is part_of_project
    assert not is_part_of_project(config, "of another configuration")


def test_n_counts_examples_and_units_what_the_intervals_resample():
    segments = pd.DataFrame({"n": [1000, 1000], "unit": ["documents"] * 2, "units": [61, 58]})
    assert examples_of(segments) == "1,000; intervals over 58 to 61 documents"
    assert examples_of(segments.drop(columns="units")) == "1,000 documents"
    assert examples_of(segments.assign(units=np.nan)) == "1,000"
    assert examples_of(pd.DataFrame({"n": [3, 5, 9], "n_unit": ["words", "words", "texts"]})) == "3 to 5 words; 9 texts"
    assert examples_of(pd.DataFrame({"n": [0, 5], "unit": ["words", "texts"]})) == "5 texts", "0 of something is not n"
    assert examples_of(pd.DataFrame({"value": [1]})) == ""


@pytest.mark.parametrize(("rows", "shown"), [(3, 3), (70, 8)])
def test_a_table_is_shown_as_its_page_shows_it(tmp_path, rows, shown):
    long = "A text that is folded on the page. " * 4
    frame = pd.DataFrame({"head_name": [f"{number}-1" for number in range(rows)], "share": 0.25, "why": f"{long}<a|b>"})
    names, layout = {"head_name": "Head | name"}, Layout(folded=["why"])
    notes = ["A run: minilm on trees.", "Share: of *all* words.", "x" * 900]
    write_html_table(frame, tmp_path / "page.html", "Heads", notes, names, {"share": ".1%"}, layout)
    link_pages({"page": str(tmp_path / "page.html")}, {"page": [("TSV", "page.tsv")]})
    read = page_layout(tmp_path / "page.html")
    assert (read.run, read.notes) == (notes[0], tuple(notes[1:]))
    assert (read.names, read.rows[0]) == (("Head | name", "share", "why"), ("0-1", "25.0%", f"{long}<a|b>"))
    table = TableFile("page.tsv", frame, "tables/page.tsv", 10, read)
    part = ShownArtifact("heads", "Table 1", "Heads", "Caption.", "", "", [table], {})
    page = study_page(StudyPage("one", "One", "", [part], {}), "A run")
    assert "| Head \\| name | share | why |" in page
    assert page.count("| 25.0% |") == shown
    assert ("The first 8 of 70 rows" in page) == (rows > shown)
    assert "A run: minilm on trees." in page
    assert "<details><summary>How to read it</summary><p>Share: of *all* words.</p>" in page
    assert "folded on the page. &lt;a\\|b&gt; |" in page


def test_a_page_without_a_table_has_no_layout(tmp_path):
    (tmp_path / "view.html").write_text("<html><body><p>A view</p><table></table></body></html>", encoding="utf-8")
    assert page_layout(tmp_path / "view.html") is None


def test_a_claim_without_a_value_says_so_and_shows_no_number_of_examples():
    row = dict.fromkeys(CLAIM_COLUMNS, math.nan) | {
        **{"claim": "in order", "verdict": "not tested", "ours": "A before B", "statistic": "shift"},
        **{"side": "below", "threshold": 0.1, "n": 0, "unit": "documents"},
    }
    expected = "| in order | **not tested** | A before B | shift | not computed | &lt; 0.1 |  |  |"
    assert expected in claims_table(pd.DataFrame([row]))


def test_pages_have_captions_n_tables_verdicts_and_how_they_were_made(source, tmp_path):
    out = tmp_path / "docs" / "one"
    write_pages(source, out, "Which findings hold?", "A machine.")
    page = (out / "clark2019.md").read_text(encoding="utf-8")
    for artifact in study("clark2019").artifacts:
        assert f"## {artifact.number}: {artifact.title}".replace("[", "\\[").replace("]", "\\]") in page
        assert artifact.caption in page
    assert "n: 7 documents." in page
    assert "| 1-1 | 7 | documents | 0.25 |" in page
    assert "| Table 1 | accuracy | 34.5 | 34.5 |" in page
    assert (out / "tables/clark2019/table1.tsv").read_bytes() == (source.folder / "clark2019/table1.tsv").read_bytes()
    overview = (out / "index.md").read_text(encoding="utf-8")
    assert "# Which findings hold?" in overview
    assert "a claim | **undecided** | x | mean \\| share | 1 | &gt; 0 | -1 to 3 (95 %) | 30 documents |" in overview
    assert "About 120 documents could decide it" in overview
    assert "| clark2019 | another claim | no second corpus |" in overview.split("## Not tested, and why")[1]
    assert "| clark2019 | birds | too long | record | 1 |" in overview
    assert "kept" not in overview
    assert "6c0b" not in overview.split("birds.raw")[0]
    assert "A machine." in overview
    assert "digest of the library" in overview


def test_checksums_are_those_of_what_the_run_measures(source):
    write_text(source.folder / "corpora" / "sample" / "sentences.txt", "generated")
    assert "`sample/sentences.txt`" in publish._made(source, "A machine.")["Corpora"]
    config = copy.deepcopy(source.config)
    for corpus in ("pairs", "trees"):
        config["corpora"][corpus]["source"] = {"path": "mine.txt"}
    drawn_only = publish._made(replace(source, config=config), "A machine.")["Corpora"]
    assert "sample/" not in drawn_only
    assert "`birds.raw`" in drawn_only


def test_the_pages_of_a_user_show_the_corpus(source, tmp_path):
    with_text = Source(source.run, source.root, source.config, None, None)
    write_pages(with_text, tmp_path / "pages", "Which?", "A machine.")
    page = (tmp_path / "pages" / "clark2019.md").read_text(encoding="utf-8")
    assert "](pictures/clark2019/figure5.png)" in page
    assert "No text of the corpora" not in page
    assert "canaries" in all_text(tmp_path / "pages")


def test_text_in_a_table_that_is_not_declared_to_have_it_is_refused_and_nothing_written(source, tmp_path):
    write_table(pd.DataFrame({"note": [CANARY]}), source.folder / "clark2019" / "gap.tsv")
    with pytest.raises(AtlasError, match=r"gap\.tsv: this table holds text of the corpus birds"):
        write_pages(source, tmp_path / "docs" / "one", "Which?", "A machine.")
    assert list((tmp_path / "docs").iterdir()) == []


def test_pages_replace_earlier_ones_and_nothing_else(source, tmp_path):
    out = tmp_path / "docs" / "one"
    write_pages(source, out, "Which?", "A machine.")
    (out / "tables" / "old.tsv").write_text("", encoding="utf-8")
    write_pages(source, out, "Which?", "A machine.")
    assert not (out / "tables" / "old.tsv").exists()
    assert MARK in (out / "index.md").read_text(encoding="utf-8")
    (out / "index.md").write_text("my notes", encoding="utf-8")
    with pytest.raises(AtlasError, match="holds files that are not pages of a run"):
        write_pages(source, out, "Which?", "A machine.")


def test_what_is_not_up_to_date_is_left_out(source, tmp_path):
    paths = [path for artifact in study("clark2019").artifacts for path in study("clark2019").paths(artifact, "one")]
    stale = Source(
        source.run, source.root, source.config, frozenset(paths) - {"results/one/clark2019/figure2.svg"}, source.generated
    )
    write_pages(stale, tmp_path / "docs" / "one", "Which?", "A machine.")
    page = (tmp_path / "docs" / "one" / "clark2019.md").read_text(encoding="utf-8")
    assert "](pictures/clark2019/figure2.png)" not in page
    assert "Figure 2: Attention to" in page.split("## Not on this page")[1]
    nothing = Source(source.run, source.root, source.config, frozenset(), source.generated)
    with pytest.raises(AtlasError, match=r"no study of this run has a comparison\.tsv yet"):
        write_pages(nothing, tmp_path / "docs" / "two", "Which?", "A machine.")


def test_results_of_other_code_are_refused_or_left_out(monkeypatch):
    tables = {"results/one/a.tsv", "results/one/b.tsv"}

    def planned(run, root, options, all_jobs=False):
        return tables if all_jobs else to_do

    monkeypatch.setattr(publish, "outputs_of", planned)
    to_do = {"results/one/b.tsv"}
    with pytest.raises(AtlasError, match="1 files are missing or out of date"):
        publish.up_to_date("one", publish.ROOT, [], partial=False)
    assert publish.up_to_date("one", publish.ROOT, [], partial=True) == {"results/one/a.tsv"}
    to_do = set()
    assert publish.up_to_date("one", publish.ROOT, [], partial=False) is None, "all files count"


def test_pictures_of_an_outdated_run_on_generated_sentences_are_refused(monkeypatch, tmp_path, capsys):
    outdated = {"results/sample/kovaleva2019/figure1.png"}
    monkeypatch.setattr(publish, "outputs_of", lambda run, root, options, **_: outdated if run == "sample" else set())
    monkeypatch.setattr(publish, "without_missing", lambda config: config)
    monkeypatch.setattr("sys.argv", ["publish.py", "laptop", "--publish", str(tmp_path / "laptop")])
    assert publish.main() == 1
    assert "results/sample: 1 files are missing or out of date for this code" in capsys.readouterr().err
    assert not (tmp_path / "laptop").exists()


def test_figures_of_a_run_on_real_text_do_not_stand_for_generated_ones():
    config = resolve(SHIPPED)
    publish.check_is_generated(config, "sample")
    for run in ("laptop", "nowhere"):
        with pytest.raises(AtlasError, match=f"'{run}' is not a run on generated text"):
            publish.check_is_generated(config, run)


def test_the_question_names_the_model_and_the_kind_of_text():
    config = resolve(SHIPPED)
    assert publish.default_question(config, "laptop") == (
        "Which findings of six papers hold for minilm on real text, and which do not?"
    )
    assert "on generated text" in publish.default_question(config, "sample")


def test_published_runs_stand_in_the_navigation(tmp_path):
    for name in ("index", "stefanik2021", "clark2019"):
        write_text(tmp_path / "results" / "laptop" / f"{name}.md", "# A page")
    (tmp_path / "results" / "notes").mkdir()
    config = MkDocsConfig()
    config.docs_dir, config.nav = str(tmp_path), [{"Results": ["results.md"]}, {"Running": ["runs.md"]}]
    pages = [f"results/laptop/{name}.md" for name in ("index", "clark2019", "stefanik2021")]
    assert on_config(config).nav == [{"Results": ["results.md", {"Run laptop": pages}]}, {"Running": ["runs.md"]}]


def test_artefacts_that_show_text_are_declared():
    declared = {f"{owner.id}/{artifact.id}" for owner, artifact in artifacts() if artifact.text_files}
    assert declared >= {
        *("clark2019/figure1", "clark2019/figure5", "kovaleva2019/figure1", "kovaleva2019/figure4", "guan2020/figure1"),
        *("tenney2019/figure3", "atlas/measures"),
    }
    for owner, artifact in artifacts():
        assert set(artifact.text_files) <= set(artifact.files), f"{owner.id}/{artifact.id}"


def test_cells_show_what_is_in_them():
    frame = pd.DataFrame({"a_b": ["x|y", "*_<"], "n": [3.0, math.nan], "p": [0.01234, math.inf]})
    lines = frame_table(frame).splitlines()
    assert lines[0] == "| a b | n | p |"
    assert lines[2:] == ["| x\\|y | 3 | 0.0123 |", "| \\*\\_&lt; |  | inf |"]
