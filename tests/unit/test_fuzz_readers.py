"""Malformed corpora: readers accept or refuse them with a sentence, and no example is ever aligned wrongly.

The same cases each time, and few; ATLAS_FUZZ=5000 tries that many, new ones, of each kind.
"""

import io
import os
import unicodedata
import zipfile
from pathlib import Path

import pytest
from edge_records import read_edge_records, read_edges
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_entries import FILE_ORDER, KEYPHRASES
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.edges import FORM_TASKS
from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.corpora.keyphrases import keyphrases_records
from attention_atlas.corpora.word_vectors import read_vector_file
from attention_atlas.errors import AtlasError

TRIES = int(os.environ.get("ATLAS_FUZZ", "0"))
FUZZ = settings(
    max_examples=TRIES or 80,
    derandomize=not TRIES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
BOUND, SHARD = 24, 6
ENTRY = {
    **{"limit": SHARD, "shard": SHARD, "max_tokens": BOUND, "level": "tokens", "view": "none", "lines": "sentences"},
    **{"recipe": "authors", "segment_ids": "pair", "windows": "all", "overlong": "drop", **FILE_ORDER},
    "languages": ["en", "fr"],
    **{"files": "*gold_conll"},
}
TREES = """# sent_id = one
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tcat\tcat\tNOUN\tNN\t_\t3\tnsubj\t_\tSpaceAfter=No
3-4\tisn't\t_\t_\t_\t_\t_\t_\t_\t_
3\tis\tbe\tVERB\tVBZ\t_\t0\troot\t_\t_
4\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_

# sent_id = two
1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

"""
CHAINS = """#begin document (doc); part 000
doc\t0\t0\tThe\tDT\t(TOP(S(NP*\t-\t-\t-\t-\t*\t(0
doc\t0\t1\tcat\tNN\t*)\t-\t-\t-\t-\t*\t0)
doc\t0\t2\tsleeps\tVBZ\t(VP*)))\t-\t-\t-\t-\t*\t-

doc\t0\t0\tIt\tPRP\t(TOP(S(NP*)\t-\t-\t-\t-\t*\t(0)
doc\t0\t1\tsnores\tVBZ\t(VP*)))\t-\t-\t-\t-\t*\t-

#end document
"""
PASSAGES = (
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    "t-1\tAnn met Bea before she left.\tshe\t19\tAnn\t0\tTRUE\tBea\t8\tFALSE\tu\n"
    "t-2\tTom saw Jim and he ran.\the\t16\tTom\t0\tFALSE\tJim\t8\tTRUE\tu\n"
)
TEXT = "The cat sleeps.\nIt snores.\n\nDogs bark at the cat.\nThe cat runs.\nAll is well.\n"
VECTORS = "the 0.1 0.2 0.3\ncat -1 2e-1 3\ndogs 1 2 3\n"
PAIRS = "index\tsentence1\tsentence2\tlabel\n0\tThe cat.\tIt runs.\tyes\n1\tDogs bark.\tDogs.\tno\n"
_LAYERS = '{"words": ["The", "cat"], "xpos": ["DT", "NN"], "relations": ["det", "nsubj"]}'
TAGGED = f'{{"sentence1": "The cat", "sentence2": "The cat", "label": "yes", "layers": [{_LAYERS}, {_LAYERS}]}}\n' * 2
TRANSLATED = '{"en": "The cat sleeps.", "fr": "Le chat dort."}\n{"en": "It runs", "fr": "Il court"}\n'
FRAMES = """[
{"sentence": "He sat up and leapt .", "target": "leapt", "links": ["He"], "frame": "Motion"},
{"sentence": "The cat was slowly becoming sad", "target": "sad", "links": ["The cat"]}
]
"""
DOCUMENTS = (
    '{"id": "a", "text": "The cat sleeps, the cats dream.", "keyphrases": ["cat", "the cats", "dogs"]}\n'
    '{"text": "Dogs bark.", "keyphrases": ["dogs", "noise"]}\n'
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Path:
    """WordPiece over letters: every piece is one letter, so that a word can be read off its pieces."""
    return save_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json", (".", "'", "##'"))


BYTES = st.sampled_from(
    [b"\t", b"\n", b"0", b"-1", b"99", b"(", b")", b"|", b"_", b"\xff", b"\xc3\xa9", b" ", b"\x00", b"#", b"1.1\t"]
)


@st.composite
def damaged(draw, sound: str | bytes) -> bytes:
    """A sound file after a few cuts, insertions, and lines that are doubled, dropped or swapped."""
    data = sound if isinstance(sound, bytes) else sound.encode()
    for _ in range(draw(st.integers(1, 4))):
        place, length = draw(st.integers(0, len(data))), draw(st.integers(0, 8))
        kind = draw(st.sampled_from(["cut", "insert", "replace", "double", "drop", "swap", "end"]))
        lines = data.split(b"\n")
        number = draw(st.integers(0, len(lines) - 1))
        target = draw(st.integers(0, len(lines) - 1))
        if kind == "cut":
            data = data[:place] + data[place + length :]
        elif kind == "insert":
            data = data[:place] + draw(BYTES) + data[place:]
        elif kind == "replace":
            data = data[:place] + draw(BYTES) + data[place + 1 :]
        elif kind == "end":
            data = data[:place]
        else:
            if kind == "double":
                lines.insert(target, lines[number])
            elif kind == "drop":
                del lines[number]
            else:
                lines[number], lines[target] = lines[target], lines[number]
            data = b"\n".join(lines)
    return data


def spelled(word: str) -> str:
    """A word as a lower-casing model reads it: no accents, no control characters, no spaces."""
    plain = "".join(c for c in unicodedata.normalize("NFD", word.lower()) if unicodedata.category(c) != "Mn")
    return "".join(c for c in plain if c.isprintable() and not c.isspace())


def check(example, raw: bytes, cut: bool) -> None:
    """An example says of every piece which word it is of, and its layers fit its words; a segment may be cut inside a word."""
    n, m = len(example.tokens), len(example.words)
    assert len(example.input_ids) == len(example.segment_ids) == len(example.word) == n <= BOUND
    units = [k for k in example.word if k >= 0]
    assert sorted(set(units)) == list(range(m))
    assert units == sorted(units)
    text = raw.decode("utf-8", errors="replace")
    for position, word in enumerate(example.words):
        pieces = [t for t, k in zip(example.tokens, example.word, strict=True) if k == position]
        assert word in text
        if "[UNK]" not in pieces:
            read = "".join(piece.removeprefix("##") for piece in pieces)
            assert read == spelled(word) or (cut and read in spelled(word))
    for name, layer in example.layers.items():
        assert len(layer) == m, name
    for position, head in enumerate(example.layers.get("heads", ()), start=1):
        assert 0 <= head <= m
        assert head != position
    for mention in example.mentions or ():
        assert 0 <= mention.start < mention.stop <= m


def accepted_or_refused(raw: bytes, folder: Path, tokenizer: Path, entry: dict) -> None:
    (folder / "raw").write_bytes(raw)
    out, dropped = folder / "examples.parquet", folder / "dropped.tsv"
    out.unlink(missing_ok=True)
    try:
        build_shard(entry, folder / "raw", tokenizer, BOUND, 0, out, dropped)
    except AtlasError:
        assert not out.exists()
        return
    for example in read_examples([out]):
        check(example, raw, cut=entry["reader"] in ("segments", "glue"))


READERS = {
    "conllu": (TREES, {}),
    "conllu-stanford": (TREES, {"view": "stanford"}),
    "conll2012": (CHAINS, {}),
    "gap": (PASSAGES, {}),
    "segments": (TEXT, {}),
    "segments-clean": (TEXT, {"recipe": "clean", "lines": "paragraphs"}),
    "sentences": (TEXT, {}),
    "glue": (PAIRS, {"task": "rte"}),
    "glue-truncate": (PAIRS, {"task": "rte", "overlong": "truncate", "max_tokens": 12}),
    "glue-tagged": (TAGGED, {"task": "rte"}),
    "frames": (FRAMES, {}),
    "parallel": (TRANSLATED, {}),
    "keyphrases": (DOCUMENTS, KEYPHRASES),
    "keyphrases-truncate": (DOCUMENTS, {**KEYPHRASES, "stemmed": True, "overlong": "truncate", "max_tokens": 12}),
}


@pytest.mark.parametrize("name", READERS)
def test_sound_files_give_examples(name, tokenizer, tmp_path):
    sound, changes = READERS[name]
    entry = ENTRY | {"reader": name.split("-")[0]} | changes
    (tmp_path / "raw").write_text(sound, encoding="utf-8")
    build_shard(entry, tmp_path / "raw", tokenizer, BOUND * 2, 0, tmp_path / "e.parquet", tmp_path / "d.tsv")
    assert list(read_examples([tmp_path / "e.parquet"]))


@pytest.mark.parametrize("name", READERS)
@FUZZ
@given(data=st.data())
def test_damaged_files_are_accepted_or_refused(name, tokenizer, tmp_path, data):
    sound, changes = READERS[name]
    raw = data.draw(damaged(sound))
    accepted_or_refused(raw, tmp_path, tokenizer, ENTRY | {"reader": name.split("-")[0]} | changes)


@pytest.mark.parametrize("name", READERS)
@FUZZ
@given(raw=st.binary(max_size=120))
def test_any_bytes_are_accepted_or_refused(name, tokenizer, tmp_path, raw):
    accepted_or_refused(raw, tmp_path, tokenizer, ENTRY | {"reader": name.split("-")[0]} | READERS[name][1])


@FUZZ
@given(raw=st.one_of(damaged(VECTORS), st.binary(max_size=60)))
def test_word_vectors_are_accepted_or_refused(tmp_path, raw):
    (tmp_path / "raw").write_bytes(raw)
    try:
        vectors = read_vector_file(tmp_path / "raw", {"the", "cat", "dogs"})
    except AtlasError:
        return
    assert vectors.vectors.shape[0] == max(vectors.index.values(), default=0) + 1
    assert (vectors.vectors[0] == 0).all()


def packed_documents(method: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name in ("a", "b"):
            archive.writestr(zipfile.ZipInfo(f"set/docsutf8/{name}.txt"), "The cat sleeps, the cats dream.\n")
            archive.writestr(zipfile.ZipInfo(f"set/keys/{name}.key"), "cat\nthe cats\ndogs\n")
    return stream.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@FUZZ
@given(data=st.data())
def test_archives_and_key_files_are_refused_or_have_their_phrases_in_the_text(tmp_path, method, data):
    path = tmp_path / "raw"
    path.write_bytes(data.draw(damaged(packed_documents(method))))
    try:
        documents = list(keyphrases_records(path, stemmed=data.draw(st.booleans())))
    except AtlasError:
        return
    for document in documents:
        assert len(document.tags) == len(document.words)
        assert set(document.absent) <= set(document.phrases)
        assert all(0 <= start < stop <= len(document.words) for start, stop in document.spans)
        assert bool(document.spans) == (set(document.absent) != set(document.phrases))


EDGES = (
    '{"text": "The cat sleeps", "targets": [{"span1": [0, 2], "span2": [2, 3], "label": "nsubj"}], "info": {"id": "a"}}\n'
    '{"text": "It runs", "targets": [{"span1": [0, 1], "span2": [1, 2], "label": ["x", "y"]}]}\n'
)
ROLES = """# sent_id = one
1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\t_\tARG0
2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\tbark.01\tV
3\tloudly\tloudly\tADV\tRB\t_\t2\tadvmod\t_\t_\t_\tARGM-MNR

"""
RELATED = (
    '1\t"The <e1>cat</e1> sleeps on the <e2>mat</e2>."\nOther\nComment:\n\n2\t"A <e2>b</e2> <e1>c</e1>"\nCause-Effect(e1,e2)\n'
)


TAGGED = "The\tB-PER\tO\nmayor\tI-PER\tB-GPE\n\nAnna\tB-PER\tO\n"
COLUMNS = """#begin document (d); part 000
d\t0\t0\tJoan\tNNP\t(S(NP*)\t-\t-\t-\t-\t(PERSON)\t(ARG0*)\t(0)
d\t0\t1\tfed\tVBD\t(VP*\tfeed\t01\t-\t-\t*\t(V*)\t-
d\t0\t2\ther\tPRP$\t(NP*\t-\t-\t-\t-\t*\t(ARG1*\t(1|(0)
d\t0\t3\tcat\tNN\t*)))\t-\t-\t-\t-\t*\t*)\t1)

#end document
"""


@pytest.mark.parametrize(
    ("sound", "form"),
    [(EDGES, None), (ROLES, "propositions"), (RELATED, "semeval"), (TAGGED, "entities"), (COLUMNS, "conll2012")],
    ids=["edges", "roles", "relations", "entities", "columns"],
)
@FUZZ
@given(data=st.data())
def test_edge_records_are_refused_or_have_their_spans_in_the_text(tmp_path, sound, form, data):
    raw = data.draw(damaged(sound))
    path = tmp_path / "raw"
    path.write_bytes(raw)
    try:
        records = list(read_edge_records(form, FORM_TASKS[form], path) if form else read_edges(path))
    except AtlasError:
        return
    text = raw.decode("utf-8", errors="replace")
    for record in records:
        assert all(word in text for word in record.words)
        for target in record.targets:
            # Without a second span, a target is one of a task with one.
            for span in filter(None, (target.span1, target.span2)):
                assert 0 <= span[0] < span[1] <= len(record.words)
            assert all(target.labels)
