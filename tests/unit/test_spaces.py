"""Spaces between words: every reader gives a model the running text, as far as the corpus knows it."""

from __future__ import annotations

import json

import pytest
from small_entries import FILE_ORDER, KEYPHRASES
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from attention_atlas.corpora.alignment import spaces_by_rule
from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.corpora.text import WORD, spaces_in

ENTRY = {
    **{"shard": 9, "max_tokens": 512, "view": "none", "overlong": "drop", "windows": "all", "stride": 32, "recipe": "authors"},
    **{"segment_ids": "zeros", "part": "all", "files": "*", "languages": ["en", "fr"]},
    **FILE_ORDER,
    **KEYPHRASES,
}
TREEBANK = """1\tWe\twe\tPRON\tPRP\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
5\t!\t!\tPUNCT\t.\t_\t4\tpunct\t_\tSpaceAfter=No
6\t?\t?\tPUNCT\t.\t_\t4\tpunct\t_\t_

"""
CHAINS = "#begin document (d);\n" + "".join(
    f"d 0 0 {word} - - - - - - - {'(0)' if word == 'Joan' else '-'}\n" for word in "`` Joan 's cat , '' he said .".split()
)
GAP = (
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    "t-1\tAnn (her) met Bea .\ther\t5\tAnn\t0\tTRUE\tBea\t14\tFALSE\tu\n"
)
QUESTIONS = [{"context": "It's 3.5 m (or so).", "question": "How long?", "answer": "3.5 m"}]
WORDS = {"text": "Joan 's ( big ) cat , n't", "targets": [{"span1": [0, 1], "label": "x"}]}
RELATION = '1\t"The <e1>cat\'s</e1> (big)<e2>ear</e2> ."\nPart(e1,e2)\n'


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """Bytes, with the space before a word as Ġ: <s> A </s></s> B </s>."""
    entries = {"<s>": 0, "</s>": 1}
    entries |= {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()), start=2)}
    built = Tokenizer(models.BPE(entries, []))
    built.add_special_tokens(["<s>", "</s>"])
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0), add_prefix_space=False)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    built.save(str(path))
    return path


@pytest.mark.parametrize(
    ("entry", "raw", "expected"),
    [
        ({"reader": "conllu"}, TREEBANK, "We don't go !?"),
        ({"reader": "conllu"}, TREEBANK.replace("SpaceAfter=No", "_"), "We don't go!?"),
        ({"reader": "edges", "format": "conllu", "edge_tasks": ["pos"]}, TREEBANK, "We don't go !?"),
        (
            {"reader": "edges", "format": "propositions", "edge_tasks": ["pos"]},
            TREEBANK.replace("\n", "\t_\n").replace("\n\t_\n", "\n\n"),
            "We don't go !?",
        ),
        ({"reader": "edges", "format": "semeval", "edge_tasks": ["relations"]}, RELATION, "The cat's (big)ear ."),
        ({"reader": "edges", "format": "records", "edge_tasks": ["pos"]}, json.dumps(WORDS), "Joan's (big) cat,n't"),
        ({"reader": "conll2012"}, CHAINS, "``Joan's cat,'' he said."),
        ({"reader": "gap"}, GAP, "Ann (her) met Bea ."),
        ({"reader": "squad"}, json.dumps(QUESTIONS), "How long?|It's 3.5 m (or so)."),
        ({"reader": "glue", "task": "rte"}, "sentence1\tsentence2\tlabel\nIt's (so)  so .\tA-b?\ty\n", "It's (so) so .|A-b?"),
        (
            {"reader": "glue", "task": "sst2"},
            json.dumps(
                {"sentence": "Isn't it ?", "label": "y"}
                | {"layers": [{"words": ["Is", "n't", "it", "?"], "xpos": ["X"] * 4, "relations": ["x"] * 4}]}
            ),
            "Isn't it ?",
        ),
        ({"reader": "keyphrases"}, json.dumps({"text": "A (big) cat .", "keyphrases": ["cat"]}), "A (big) cat ."),
        (
            {"reader": "keyphrases", "max_tokens": 9, "overlong": "truncate"},
            json.dumps({"text": "A (big) cat .", "keyphrases": ["big"]}),
            "A (big)",
        ),
        ({"reader": "frames"}, json.dumps([{"sentence": "He leapt .", "target": "leapt", "links": ["He"]}]), "He leapt."),
        ({"reader": "sentences"}, "C'est  vrai !\n", "C'est vrai !"),
        ({"reader": "parallel"}, json.dumps({"en": "It , too .", "fr": "Lui , aussi ."}), "It , too ."),
        ({"reader": "segments", "lines": "sentences"}, "One , two.\nThree.\nFour.\n\n", "One , two. Three. Four."),
        ({"reader": "segments", "lines": "wikitext"}, "One , two . Three . Four .\n", "One, two. Three. Four."),
    ],
)
def test_a_model_reads_running_text(tmp_path, tokenizer, entry, raw, expected):
    (tmp_path / "raw.jsonl").write_text(raw, encoding="utf-8")
    build_shard(ENTRY | entry, tmp_path / "raw.jsonl", tokenizer, 512, 0, tmp_path / "out.parquet", tmp_path / "dropped.tsv")
    (example,) = read_examples([tmp_path / "out.parquet"])
    text = "".join(example.tokens).replace("Ġ", " ").removeprefix("<s>").removesuffix("</s>")
    assert text.replace("</s></s>", " " if entry["reader"] == "segments" else "|") == expected
    spelled = "".join(token for token, word in zip(example.tokens, example.word, strict=True) if word >= 0)
    assert spelled.replace("Ġ", "") == "".join(example.words)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("`` She wo n't go , '' he said ; it 's 5 % of $ 3 ...", "``She won't go,'' he said; it's 5% of $3..."),
        ("-LRB- a -RRB- [ b ] { c } # 4 -- d : e ? !", "-LRB-a-RRB- [b] {c} #4 -- d: e?!"),
        ("“ N'T ” ‘ I’ve ’ John 're THEY 'LL ' \" x \" 'tis", "“N'T” ‘I’ve’ John're THEY'LL' \" x \" 'tis"),
    ],
)
def test_tokens_of_the_penn_treebank_are_joined_by_rule(tokens, text):
    words = tokens.split()
    assert "".join(" " * space + word for word, space in zip(words, spaces_by_rule(words), strict=True)) == text


@pytest.mark.parametrize("text", ["", "a", " a  (b)c\t.", "a\u00a0b\u2028c", "x-y z"])
def test_spaces_of_a_text_are_those_before_its_words(text):
    words = WORD.findall(text)
    spaces = spaces_in(text, words)
    assert "".join(" " * space + word for word, space in zip(words, spaces, strict=True)) == " ".join(text.split())
