"""A tokenizer over letters and a few words, [CLS] A [SEP] B [SEP]: every word has pieces, nothing is downloaded."""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def word_pieces(extra: Iterable[str]) -> Tokenizer:
    """Its pieces are letters and `extra`."""
    marked = (f"##{letter}" for letter in LETTERS)
    entries = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *extra, *LETTERS, *marked])
    built = Tokenizer(models.WordPiece({entry: i for i, entry in enumerate(entries)}, unk_token="[UNK]"))
    built.normalizer = normalizers.BertNormalizer(lowercase=True)
    built.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    built.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return built


def save_tokenizer(path: Path, extra: Iterable[str] = (".", "the", "cat", "##s")) -> Path:
    """Write its tokenizer.json."""
    word_pieces(extra).save(str(path))
    return path
