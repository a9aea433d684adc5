"""Tokenizers of OPUS-MT models, against the (slow) one of transformers on SentencePiece models trained here."""

import itertools
import json
import shutil

import pytest
import sentencepiece
from sample_corpus.parallel import parallel_lines
from small_entries import FILE_ORDER
from tokenizers import Tokenizer
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.models.loading import describe
from attention_atlas.models.marian import SOURCE, TARGET, is_marian, marian_tokenizer
from attention_atlas.studies.michel2019.experiments import open_experiment

ODD = ["", "a", "  two   spaces  ", "ﬁne ＡＢＣ", "où est-il?", "日本語 zzz", "$ — ok", "tab\tand\u00a0space", "\u200bzero"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model in the form of the hub's: two SentencePiece models, a vocabulary of both, no tokenizer.json."""
    folder = tmp_path_factory.mktemp("opus")
    rows = [json.loads(line) for line in parallel_lines(300, 5)]
    pieces = []
    for name, language in ((SOURCE, "en"), (TARGET, "fr")):
        with (folder / name).open("wb") as stream:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter([row[language] for row in rows]),
                model_writer=stream,
                vocab_size=250,
                hard_vocab_limit=False,
                minloglevel=2,
            )
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / name))
        pieces += [model.id_to_piece(k) for k in range(model.get_piece_size())]
    known = dict.fromkeys(["</s>", "<unk>", *(piece for piece in pieces if piece != "<s>")])
    vocabulary = {piece: number for number, piece in enumerate([*known, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 48, "tokenizer_class": "MarianTokenizer"}')
    size = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_position_embeddings": 48}
    pad = vocabulary["<pad>"]
    ids = {"vocab_size": len(vocabulary), "pad_token_id": pad, "eos_token_id": 0, "decoder_start_token_id": pad}
    MarianMTModel(MarianConfig(**size, **heads, **ids, forced_eos_token_id=None)).save_pretrained(folder)
    return folder


def texts(language):
    return [json.loads(line)[language] for line in parallel_lines(200, 77)] + ODD


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_pieces_and_texts_are_those_of_transformers(folder):
    slow = MarianTokenizer.from_pretrained(folder)
    source, target = marian_tokenizer(folder), marian_tokenizer(folder, TARGET)
    for text in texts("en"):
        assert source.encode(text).ids == slow(text)["input_ids"], text
    for text in texts("fr")[:200]:
        ids = slow(text_target=text)["input_ids"]
        assert target.encode(text).ids == ids, text
        assert target.decode(ids) == slow.decode(ids, skip_special_tokens=True), text
        assert 1 in ids or target.decode(ids) == text


def test_a_model_of_the_hub_is_described_and_translates(folder, tmp_path):
    assert is_marian(folder)
    shape = {"layers": 2, "heads": 4, "hidden_size": 16}
    entry = {"source": {"path": str(folder)}, "init": "pretrained", **shape, "seed": 0, "dtype": "float32"}
    describe("opus", entry, tmp_path / "card.json", tmp_path / "tokenizer.json")
    raw = tmp_path / "raw.jsonl"
    raw.write_text("".join(parallel_lines(6, 3)), encoding="utf-8")
    corpus = {"reader": "parallel", "languages": ["en", "fr"], "max_tokens": 48, "shard": 8, **FILE_ORDER}
    build_shard(corpus, raw, tmp_path / "tokenizer.json", 48, 0, tmp_path / "e.parquet", tmp_path / "d.tsv")
    examples = list(read_examples([tmp_path / "e.parquet"]))
    assert len(examples) == 6
    files = {"card": tmp_path / "card.json", "tokenizer": tmp_path / "tokenizer.json"}
    experiment = open_experiment({"reader": "parallel", "model": entry, **files, "beams": 2})
    (translations,) = experiment.answers(examples, [])
    assert len(translations) == 6
    wanted = marian_tokenizer(folder, TARGET).encode(examples[0].label).ids
    assert experiment.target_tokenizer.encode(examples[0].label).ids == wanted
    # The two languages are cut differently.
    assert Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode(examples[0].label).ids != wanted


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vocab.json", b"[1, 2]", "not the vocabulary of a Marian model"),
        ("vocab.json", b'{"a": 0, "b": 2}', "ids from 0 on"),
        (SOURCE, b"\xff\xff\xffnonsense", "SentencePiece model cannot be read"),
        (SOURCE, b"", "only unigram models"),
    ],
)
def test_damaged_files_are_named(folder, tmp_path, name, content, message):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / name).write_bytes(content)
    with pytest.raises(AtlasError, match=message) as error:
        marian_tokenizer(copy)
    assert name in str(error.value)


def test_pieces_without_an_entry_are_counted(folder, tmp_path, caplog):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    vocabulary = json.loads((copy / "vocab.json").read_text(encoding="utf-8"))
    (gone,) = itertools.islice((piece for piece in vocabulary if piece.startswith("▁") and len(piece) > 3), 1)
    renamed = {("\ue001" if piece == gone else piece): number for piece, number in vocabulary.items()}
    (copy / "vocab.json").write_text(json.dumps(renamed), encoding="utf-8")
    marian_tokenizer(copy)
    assert "1 subwords have no entry" in caplog.text
