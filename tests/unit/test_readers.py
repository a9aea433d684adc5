"""Every reader: a sound file becomes running text, a damaged one is read or refused, and no example is aligned wrongly.

The same damage each time, and little; ATLAS_FUZZ=5000 tries that many, new ones, for each file.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_entries import FILE_ORDER
from small_entries import KEYPHRASES as KEYS
from small_tokenizer import save_tokenizer
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from attention_atlas.corpora.alignment import spaces_by_rule
from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.errors import AtlasError

TRIES = int(os.environ.get("ATLAS_FUZZ", "0"))
FUZZ = settings(
    max_examples=TRIES or 40, derandomize=not TRIES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
BOUND = 24
ENTRY = {
    **{"shard": 9, "max_tokens": 512, "view": "none", "overlong": "drop", "windows": "all", "stride": 32, "recipe": "authors"},
    **{"segment_ids": "zeros", "part": "all", "files": "*", "languages": ["en", "fr"]},
    **FILE_ORDER,
    **KEYS,
}
KEYPHRASES = {"reader": "keyphrases", "overlong": "truncate"}
TREEBANK = """1\tWe\twe\tPRON\tPRP\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
5\t!\t!\tPUNCT\t.\t_\t4\tpunct\t_\tSpaceAfter=No
6\t?\t?\tPUNCT\t.\t_\t4\tpunct\t_\t_

"""
ROLES = """1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\t_\tARG0
2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\tSpaceAfter=No\tbark.01\tV
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_\t_\t_

"""
CHAINS = "#begin document (d);\n" + "".join(
    f"d 0 0 {word} - - - - - - - {'(0)' if word == 'Joan' else '-'}\n" for word in "`` Joan 's cat , '' he said .".split()
)
COLUMNS = """#begin document (d); part 000
d\t0\t0\tJoan\tNNP\t(S(NP*)\t-\t-\t-\t-\t(PERSON)\t(ARG0*)\t(0)
d\t0\t1\tfed\tVBD\t(VP*\tfeed\t01\t-\t-\t*\t(V*)\t-
d\t0\t2\ther\tPRP$\t(NP*\t-\t-\t-\t-\t*\t(ARG1*\t(1|(0)
d\t0\t3\tcat\tNN\t*)))\t-\t-\t-\t-\t*\t*)\t1)

#end document
"""
GAP = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
GAP += "t-1\tAnn (her) met Bea .\ther\t5\tAnn\t0\tTRUE\tBea\t14\tFALSE\tu\n"
QUESTIONS = [{"context": "It's 3.5 m (or so).", "question": "How long?", "answer": "3.5 m"}]
WORDS = {"text": "Joan 's ( big ) cat , n't", "targets": [{"span1": [0, 1], "label": "x"}]}
TAGGED = {"words": ["Is", "n't", "it", "?"], "xpos": ["X"] * 4, "relations": ["x"] * 4}
ISNT = {"sentence": "Isn't it ?", "label": "y", "layers": [TAGGED]}
RELATION = '1\t"The <e1>cat\'s</e1> (big)<e2>ear</e2> ."\nPart(e1,e2)\n'
FRAMES = [{"sentence": "He leapt .", "target": "leapt", "links": ["He"]}]


def edges(form: str, *tasks: str) -> dict:
    return {"reader": "edges", "format": form, "edge_tasks": tasks}


FILES = [
    ({"reader": "conllu"}, TREEBANK, "We don't go !?"),
    ({"reader": "conllu", "view": "stanford"}, TREEBANK.replace("SpaceAfter=No", "_"), "We don't go!?"),
    (edges("propositions", "roles"), ROLES, "Dogs bark."),
    (edges("semeval", "relations"), RELATION, "The cat's (big)ear ."),
    (edges("records", "pos"), json.dumps(WORDS), "Joan's (big) cat,n't"),
    (edges("entities", "entities"), "The\tB-PER\tO\nmayor\tI-PER\tB-GPE\n", "The mayor"),
    (edges("conll2012", "constituents", "roles", "coreference"), COLUMNS, "Joan fed her cat"),
    ({"reader": "conll2012"}, CHAINS, "``Joan's cat,'' he said."),
    ({"reader": "gap"}, GAP, "Ann (her) met Bea ."),
    ({"reader": "squad"}, json.dumps(QUESTIONS), "How long?|It's 3.5 m (or so)."),
    ({"reader": "glue", "task": "rte"}, "sentence1\tsentence2\tlabel\nIt's (so)  so .\tA-b?\ty\n", "It's (so) so .|A-b?"),
    ({"reader": "glue", "task": "sst2"}, json.dumps(ISNT), "Isn't it ?"),
    (KEYPHRASES | {"max_tokens": 9}, json.dumps({"text": "A (big) cat .", "keyphrases": ["big"]}), "A (big)"),
    ({"reader": "frames"}, json.dumps(FRAMES), "He leapt."),
    ({"reader": "sentences"}, "C'est  vrai !\n", "C'est vrai !"),
    ({"reader": "parallel"}, '{"en": "It , too .", "fr": "Lui , aussi ."}\n{"en": "x", "fr": " "}\n', "It , too ."),
    ({"reader": "segments", "lines": "sentences"}, "One , two.\nThree.\nFour.\n\n", "One , two. Three. Four."),
    ({"reader": "segments", "lines": "wikitext"}, "One , two . Three . Four .\n", "One, two. Three. Four."),
]


@pytest.fixture(scope="module")
def byte_level(tmp_path_factory):
    """Bytes, with the space before a word as Ġ: <s> A </s></s> B </s>."""
    entries = ["<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    built = Tokenizer(models.BPE({entry: number for number, entry in enumerate(entries)}, []))
    built.add_special_tokens(entries[:2])
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0), add_prefix_space=False)
    built.save(str(tmp_path_factory.getbasetemp() / "bytes.json"))
    return tmp_path_factory.getbasetemp() / "bytes.json"


@pytest.mark.parametrize(("entry", "raw", "expected"), FILES)
def test_a_model_reads_running_text(tmp_path, byte_level, entry, raw, expected):
    (tmp_path / "raw.jsonl").write_text(raw, encoding="utf-8")
    build_shard(ENTRY | entry, tmp_path / "raw.jsonl", byte_level, 512, 0, tmp_path / "out.parquet", tmp_path / "dropped.tsv")
    (example,) = read_examples([tmp_path / "out.parquet"])
    text = "".join(example.tokens).replace("Ġ", " ").removeprefix("<s>").removesuffix("</s>")
    assert text.replace("</s></s>", " " if entry["reader"] == "segments" else "|") == expected
    spelled = "".join(token for token, word in zip(example.tokens, example.word, strict=True) if word >= 0)
    assert spelled.replace("Ġ", "") == "".join(example.words)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("`` She wo n't go , '' he said ; it 's 5 % of $ 3 ...", "``She won't go,'' he said; it's 5% of $3..."),
        ("“ N'T ” ‘ I’ve ’ John 're THEY 'LL ' \" x \" 'tis", "“N'T” ‘I’ve’ John're THEY'LL' \" x \" 'tis"),
    ],
)
def test_tokens_of_the_penn_treebank_are_joined_by_rule(tokens, text):
    words = tokens.split()
    assert "".join(" " * space + word for word, space in zip(words, spaces_by_rule(words), strict=True)) == text


BYTES = st.sampled_from(
    [b"\t", b"\n", b"0", b"-1", b"99", b"(", b")", b"|", b"_", b"\xff", b"\xc3\xa9", b" ", b"\x00", b"#", b"1.1\t"]
)


@st.composite
def damaged(draw, data: bytes) -> bytes:
    """A sound file after a few cuts, insertions, and lines that are doubled, dropped or put elsewhere."""
    for _ in range(draw(st.integers(1, 4))):
        place, length = draw(st.integers(0, len(data))), draw(st.integers(0, 8))
        if draw(st.booleans()):
            data = data[:place] + draw(BYTES) * draw(st.integers(0, 1)) + data[place + length :]
        else:
            lines = data.split(b"\n")
            number, target = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
            lines[number : number + draw(st.integers(0, 1))] = [lines[target]] * draw(st.integers(0, 1))
            data = b"\n".join(lines)
    return data


@pytest.fixture(scope="module")
def letters(tmp_path_factory) -> Path:
    """WordPiece over letters: every piece is one letter, so that a word can be read off its pieces."""
    return save_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json", (".", "'", "##'"))


def spelled(word: str) -> str:
    """A word as a lower-casing model reads it: no accents, no control characters, no spaces."""
    plain = "".join(c for c in unicodedata.normalize("NFD", word.lower()) if unicodedata.category(c) != "Mn")
    return "".join(c for c in plain if c.isprintable() and not c.isspace())


def check(example, cut: bool) -> None:
    """An example says of every piece which word it is of, and its layers fit its words; a segment may be cut inside a word."""
    m = len(example.words)
    assert len(example.input_ids) == len(example.segment_ids) == len(example.word) == len(example.tokens) <= BOUND
    units = [k for k in example.word if k >= 0]
    assert (sorted(set(units)), units) == (list(range(m)), sorted(units))
    for position, word in enumerate(example.words):
        pieces = [t for t, k in zip(example.tokens, example.word, strict=True) if k == position]
        if "[UNK]" not in pieces:
            read = "".join(piece.removeprefix("##") for piece in pieces)
            assert read == spelled(word) or (cut and read in spelled(word))
    assert all(len(layer) == m for layer in example.layers.values())
    assert all(0 <= head <= m for head in example.layers.get("heads", ()))
    spans = [(mention.start, mention.stop) for mention in example.mentions or ()]
    spans += [span for target in example.edges or () for span in (target.span1, target.span2) if span]
    assert all(0 <= start < stop <= m for start, stop in spans)


@pytest.mark.parametrize(("entry", "sound", "expected"), [file for file in FILES if file[1][0] in "{["])
def test_half_a_surrogate_pair_is_refused_by_name_of_the_file(tmp_path, letters, entry, sound, expected):
    # At the end of each of its texts in turn, but for keys.
    for end in (place.end() - 1 for place in re.finditer(r'"[^"]*"(?!:)', sound)):
        (tmp_path / "raw").write_text(f"{sound[:end]}\\ud800{sound[end:]}", encoding="utf-8")
        with pytest.raises(AtlasError, match=r"raw"):
            build_shard(ENTRY | entry, tmp_path / "raw", letters, BOUND, 0, tmp_path / "out", tmp_path / "dropped.tsv")


VALUES = st.recursive(
    st.sampled_from([None, True, 0, -1, 10**30, 0.5, float("nan"), "", " ", "x", "\ud800", "\0", "a\tb\nc"]),
    lambda values: st.lists(values, max_size=2) | st.dictionaries(st.sampled_from(["text", "span1", "x"]), values, max_size=2),
    max_leaves=3,
)


@st.composite
def with_another_value(draw, text: str) -> bytes:
    """JSON lines in which something, from the whole of a line to one number, is another value."""
    lines = [json.loads(line) for line in text.splitlines()]
    inside, key = lines, draw(st.integers(0, len(lines) - 1))
    while isinstance(inside[key], dict | list) and inside[key] and draw(st.integers(0, 3)):
        inside = inside[key]
        key = draw(st.sampled_from(sorted(inside) if isinstance(inside, dict) else range(len(inside))))
    inside[key] = draw(VALUES)
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


@pytest.mark.parametrize(("entry", "sound", "expected"), FILES)
@FUZZ
@given(data=st.data())
def test_damaged_files_are_accepted_or_refused(tmp_path, letters, entry, sound, expected, data):
    is_json = sound[0] in "{["
    raw = data.draw(with_another_value(sound) if is_json and data.draw(st.booleans()) else damaged(sound.encode()))
    (tmp_path / "raw").write_bytes(raw)
    out = tmp_path / "examples.parquet"
    out.unlink(missing_ok=True)
    try:
        build_shard(ENTRY | entry, tmp_path / "raw", letters, BOUND, 0, out, tmp_path / "dropped.tsv")
    except AtlasError:
        assert not out.exists()
        return
    text = raw.decode("utf-8", errors="replace") if not is_json else ""
    for example in read_examples([out]):
        assert all(word in text for word in example.words if text)
        check(example, cut=entry["reader"] in ("segments", "glue"))
