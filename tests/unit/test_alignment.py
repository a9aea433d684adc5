"""Words and their pieces under four kinds of tokenizers, built here: the pieces of words are those of running text."""

import functools
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tokenizer import LETTERS, word_pieces
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.errors import AtlasError

TEXT = ["the cat sat on the mat", "in one big house the cats sat", "houses are big, and cats are small"]


def bert_like() -> Tokenizer:
    """WordPiece."""
    tokenizer = word_pieces(["the", "cat", "sat", "un", "##aff", "##able", "house", ",", ".", "'"])
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    return tokenizer


def byte_level(add_prefix_space: bool = False, template: bool = False) -> Tokenizer:
    """Byte-level BPE; `template`: <s> A </s></s> B </s>, segment ids all 0."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    specials = [AddedToken(name, special=True) for name in ("<s>", "</s>", "<pad>", "<mask>")]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=specials, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXT, trainer)
    if template:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0), add_prefix_space=False)
    return tokenizer


def xlmr_like() -> Tokenizer:
    """Unigram on single words, <s> A </s></s> B </s>; only the template says that <s> and </s> are special."""
    entries = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁cat", "▁sat", "s", "house", "▁in", "'t", "▁<"]
    entries += [letter for letter in LETTERS + "éß,.'</>" if letter not in entries]
    tokenizer = Tokenizer(models.Unigram([(e, -1.0 - (len(e) == 1)) for e in entries], unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens(["<pad>", "<unk>"])
    return tokenizer


def llama_like(legacy: bool = True) -> Tokenizer:
    """BPE with bytes for unknown characters, <s> A; a mark before the text by a normaliser, in newer files by Metaspace."""
    entries = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *LETTERS, *",.'</>"]
    merges = [("t", "h"), ("th", "e"), ("▁", "the"), ("a", "t"), ("▁", "c"), ("▁c", "at"), ("'", "t"), ("▁", "s"), ("n", "'t")]
    entries += ["".join(pair) for pair in merges]
    tokenizer = Tokenizer(models.BPE({e: i for i, e in enumerate(entries)}, merges, unk_token="<unk>", byte_fallback=True))
    if legacy:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


BUILDERS = {
    "bert": bert_like,
    "roberta": functools.partial(byte_level, template=True),
    "bart": functools.partial(byte_level, add_prefix_space=True),
    "gpt2": byte_level,
    "xlmr": xlmr_like,
    "llama": llama_like,
    "llama-new": functools.partial(llama_like, legacy=False),
}
SPLIT_INSIDE_WORDS = ("bert", "roberta", "bart", "gpt2")
"""Those whose pre-tokeniser also splits text between white space."""


@functools.cache
def load(name: str) -> tuple[Tokenizer, WordPieces]:
    tokenizer = BUILDERS[name]()
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(f"{folder}/tokenizer.json")
        return tokenizer, WordPieces(f"{folder}/tokenizer.json")


KNOWN = ["the", "The", "cat", "cats", "unaffable", "house", "it's", "3.5", "éclair", "naïve", "日本", "-", "#"]
WORD = st.sampled_from(KNOWN) | st.text(LETTERS + "éß,.'Z", min_size=1, max_size=7)
WORDS = st.lists(WORD, min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(first_words=WORDS, second_words=WORDS)
@pytest.mark.parametrize("name", BUILDERS)
def test_pieces_of_words_are_those_of_running_text_and_inputs_those_of_the_tokenizer(name, first_words, second_words):
    tokenizer, ours = load(name)
    texts = [" ".join(words) for words in (first_words, second_words)]
    first, second = (ours.pieces(words, [True] * len(words)) for words in (first_words, second_words))
    assert [piece for ids in first for piece in ids] == tokenizer.encode(texts[0], add_special_tokens=False).ids
    for gold, encoding in (([first], tokenizer.encode(texts[0])), ([first, second], tokenizer.encode(*texts))):
        assembled = ours.assemble(gold)
        assert list(assembled.input_ids) == encoding.ids
        assert list(assembled.tokens) == list(map(tokenizer.id_to_token, encoding.ids))
        assert list(assembled.segment_ids) == encoding.type_ids
        by_word = [[] for text in gold for _ in text] + [[]]
        for piece, word in zip(assembled.input_ids, assembled.word, strict=True):
            by_word[word].append(piece)
        assert by_word[:-1] == [list(ids) for text in gold for ids in text]


SPACED = st.lists(st.tuples(WORD | st.sampled_from(["n't", "do", "'t"]), st.booleans()))


@settings(max_examples=150, deadline=None)
@given(first=st.sampled_from(["the", "cat", "'t"]), spaced=SPACED)
@pytest.mark.parametrize("name", BUILDERS)
def test_pieces_are_those_of_running_text_wherever_it_is_split_at_the_ends_of_words(name, first, spaced):
    tokenizer, ours = load(name)
    text, ends = first, []
    for word, space in spaced:
        ends.append(len(text))
        text += " " * space + word
    spelled = ours.pieces([first, *(word for word, _ in spaced)], [False, *(space for _, space in spaced)])
    assert len(spelled) == 1 + len(spaced)
    encoding = tokenizer.encode(text, add_special_tokens=False)
    parts = (
        [span for _, span in tokenizer.pre_tokenizer.pre_tokenize_str(text)] if name in SPLIT_INSIDE_WORDS else encoding.offsets
    )
    if not any(start < end < stop for start, stop in parts for end in ends):
        assert [piece for ids in spelled for piece in ids] == encoding.ids


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("space", [True, False])
def test_no_word_becomes_a_special_token(name, space):
    tokenizer, ours = load(name)
    special = {"[SEP]", "[PAD]", "[CLS]", "<s>", "</s>", "<pad>", "<mask>"}
    for word in (*special, "a</s>b"):
        for spelled in (ours.pieces(["the", word], [False, space]), ours.pieces([word, "the"], [False, space])):
            assert all(spelled)
            assert not special & {ours.token(piece) for ids in spelled for piece in ids}
    assert tokenizer.encode("the").ids == list(ours.assemble([ours.pieces(["the"])]).input_ids)


def test_a_hand_made_wordpiece_example(tmp_path):
    tokenizer = bert_like()
    tokenizer.enable_truncation(4)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    ours = WordPieces(tmp_path / "tokenizer.json")
    spelled = ours.pieces(["The", "unaffable", "\u200b", "café", ""])
    assert [len(ids) for ids in spelled] == [1, 3, 0, 4, 0], "words that map to nothing have no pieces"
    assembled = ours.assemble([spelled[:2], spelled[2:]])
    assert assembled.tokens == ("[CLS]", "the", "un", "##aff", "##able", "[SEP]", "c", "##a", "##f", "##e", "[SEP]")
    assert assembled.word == (-1, 0, 1, 1, 1, -1, 3, 3, 3, 3, -1)
    assert assembled.segment_ids == (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1)
    assert assembled.input_ids[:2] == (2, 4)


def test_a_tokenizer_that_merges_over_the_ends_of_words_is_refused(tmp_path):
    entries = {entry: number for number, entry in enumerate(["<unk>", *LETTERS, " ", "e ", "the "])}
    Tokenizer(models.BPE(entries, [("e", " ")], unk_token="<unk>")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(AtlasError, match="running text is split differently from single words"):
        WordPieces(tmp_path / "tokenizer.json")
